/* Sums of doubles without rounding: integers in units of 2^-1074, the least double, in limbs of 32 bits that
   sign the last one (Kulisch 2013, Computer Arithmetic and Validity, ch. 8; Neal 2015, arXiv:1505.05571). Each
   limb but the last is kept below 2^32, so that 2^31 sums can be added limb by limb. */
#ifndef GML_FLOAT_SUMS_H
#define GML_FLOAT_SUMS_H

#include <stddef.h>
#include <stdint.h>

/* 2098 bits of doubles, and 63 of the numbers of rows. */
#define FLOAT_LIMBS 69
/* After the limbs: how often +inf, -inf and NaN were there. */
#define FLOAT_SUM_WORDS (FLOAT_LIMBS + 3)

/* out[k] is the sum over n rows of values of column first[k], or of their products with those of second[k]
   unless that is below 0, each rounded to a double as such; row i counts times[i] times, once if NULL. The
   counts of all rows add up to less than 2^63. */
void float_sums(const double *const *columns, const int32_t *first, const int32_t *second, size_t n_sums,
                const int64_t *times, size_t n, int64_t *out);

#endif
