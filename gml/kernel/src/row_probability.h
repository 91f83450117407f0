/* Probabilities of rows of coded columns, family by family. */
#ifndef GML_ROW_PROBABILITY_H
#define GML_ROW_PROBABILITY_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const void *const *codes; /* of each member: parents, then the child, which varies fastest */
    const int *widths;        /* bytes of a code, 1 or 2 */
    const uint32_t *sizes;    /* levels; a code that is not below is missing or unknown */
    size_t n_members;
    const double *table;      /* logarithms, one per configuration and level */
} row_family;

/* Sum over the families of the table's value for rows first .. last-1, to out[0 ..]; NaN for a row
   with a missing or unknown code. */
void row_log_probabilities(const row_family *families, size_t n_families, size_t first, size_t last,
                           double *out);

#endif
