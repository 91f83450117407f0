/* Rows of a mixture: how probable each class is given the row, and what the labels of the rows add to the
   tables of the classes. */
#ifndef GML_MIXTURE_ROWS_H
#define GML_MIXTURE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Labels of rows, and the tables of all columns below one another: column j has the rows from offsets[j]. */
typedef struct {
    const void *codes; /* rows x columns */
    size_t code_bytes; /* 1 or 2 */
    size_t n_rows, n_columns, n_classes;
    const int64_t *offsets;
    const double *tables; /* ln of probabilities: rows x classes */
    const double *weights; /* how often each row counts */
} mixture_labels;

/* Return the sum over rows of weight times ln of the density. `densities` (rows x classes) has, in logarithms,
   the share of the class times the density of all that are no labels; in their place come the probabilities
   of the classes times the weight of the row, and these are added to `counts`, which is as large as the tables. */
double mixture_rows(const mixture_labels *labels, double *densities, double *counts);

#endif
