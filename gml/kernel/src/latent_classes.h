/* Rows of labels in latent classes: what a step of EM expects, and the tables that it leads to. */
#ifndef GML_LATENT_CLASSES_H
#define GML_LATENT_CLASSES_H

#include <stddef.h>
#include <stdint.h>

/* Labels of rows, several columns to a code: group g has the columns group_starts[g] to group_starts[g + 1] - 1,
   the last of them fastest. Column j has sizes[j] codes, and its levels stand from row offsets[j] of the tables. */
typedef struct {
    const void *codes; /* rows x groups */
    size_t code_bytes; /* 1 or 2 */
    size_t n_groups, n_classes;
    const int64_t *group_starts, *sizes, *offsets;
    const double *weights; /* how often each row counts */
} class_rows;

/* Add, for the rows first to last - 1, the probabilities of the classes times the weight of the row to `totals`
   (one per class) and to `counts` (levels x classes), and weight times ln of the probability of the row to
   *log_likelihood. `shares` are those of the classes, `tables` the probabilities of levels: levels x classes.
   Returns 0 where memory is lacking. */
int latent_class_rows(const class_rows *rows, size_t first, size_t last, const double *shares, const double *tables,
                      double *counts, double *totals, double *log_likelihood);

/* The shares and tables that make such counts most probable. Column j has the rows offsets[j] to offsets[j + 1] - 1
   of the tables, the last of them for what is missing: it holds 1. Where a class has no rows of a column, its
   table stays as it is in `before`. */
void latent_class_tables(const int64_t *offsets, size_t n_columns, size_t n_classes, const double *counts,
                         const double *totals, const double *before, double *shares, double *tables);

#endif
