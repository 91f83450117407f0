/* Contingency tables of sets of coded columns. */
#ifndef GML_COUNTING_H
#define GML_COUNTING_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const void *codes;     /* uint8 (width 1) or uint16 (width 2); all ones = missing */
    int width;
    int has_missing;
    uint32_t n_levels;
    const uint64_t *masks; /* n_levels masks of mask_words each, or NULL */
    const int64_t *totals; /* rows at each level (with masks) */
    size_t first_level;    /* of its levels among those of all columns */
} coded_column;

typedef struct {
    const coded_column *columns;
    size_t n_rows;
    size_t mask_words;
    const int64_t *weights; /* NULL = 1 each */
    /* Tables of all pairs, once they are known, or NULL: rows that have level a and level b, both
       numbered over all columns, at pairs[a * n_levels + b]. */
    const int32_t *pairs;
    size_t n_levels;
} coded_data;

/* Whether a column has a missing cell. */
int has_missing(const void *codes, int width, size_t n);

/* Cells of the joint table of a set of columns; 0 when that overflows 2^40. */
uint64_t count_cells(const coded_data *data, const int32_t *set, size_t size);

/* Joint counts of `set`, the last column fastest, into table (count_cells entries, overwritten).
   Rows with a missing value in the set are left out. Returns 0 when memory ran out. */
int count_set(const coded_data *data, const int32_t *set, size_t size, int64_t *table);

/* About how many nanoseconds count_set takes. */
double count_cost(const coded_data *data, const int32_t *set, size_t size);

/* Tables of all pairs of columns, none of which has a missing value, into pairs (n_levels squared). */
int count_all_pairs(const coded_data *data, size_t n_columns, int32_t *pairs);

/* Tables of many pairs, one after the other, sharing the pass over the masks. */
int count_pairs(const coded_data *data, const int32_t *pairs, size_t n_pairs, int64_t *tables,
                const int64_t *offsets);

#endif
