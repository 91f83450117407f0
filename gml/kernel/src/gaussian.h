/* Ancestral sampling of columns of numbers with normal errors. */
#ifndef GML_GAUSSIAN_H
#define GML_GAUSSIAN_H

#include <stddef.h>
#include <stdint.h>

/* Quantile of the standard normal distribution at 0 < p < 1 (Wichura 1988, AS 241). */
double normal_quantile(double p);

/* target = intercept + sum of coefficients * parents + sd * a standard normal error */
typedef struct {
    size_t target;
    const uint32_t *parents;
    const double *coefficients;
    size_t n_parents;
    double intercept, sd;
    uint64_t key[2];
} gaussian_step;

/* Draw rows first_row .. first_row + n_rows - 1 of the columns that the steps are for; the others
   hold what was observed. */
void sample_numbers(const gaussian_step *steps, size_t n_steps, double *const *columns,
                    uint64_t first_row, size_t n_rows);

/* Replace by NaN the cells whose 63 random bits are below the threshold. */
void blank_numbers(double *column, const uint64_t key[2], uint64_t threshold, uint64_t first_row,
                   size_t n_rows);

#endif
