/* Regressions from correlations, for many sets of columns, and within groups of rows. */
#ifndef GML_REGRESSIONS_H
#define GML_REGRESSIONS_H

#include <stddef.h>
#include <stdint.h>

/* For each set members[starts[s]..starts[s+1]], the share of the variance of each member that is left
   given those before it (the pivots of the Cholesky decomposition of its correlations, size x size).
   A member of which less than `floor` is left counts as a function of those before it, and nothing
   is regressed on it. Returns 0 without memory. */
int cholesky_pivots(const double *correlation, size_t size, const int32_t *members, const int64_t *starts,
                    size_t n_sets, double floor, double *pivots);

/* Columns that stand for neighbouring rows of the matrix: column j for width[j] of them, from first[j] on. */
typedef struct {
    const double *correlation;
    size_t size;
    const int32_t *first, *width;
    const int32_t *ranks; /* parents are regressed on in ascending order of these */
} block_matrix;

/* For each of n_families rows child, *parents of `length` columns: the shares of the variances of the child's
   rows of the matrix that are left given those of all parents and its own before, the positions of these rows
   (family after family), and the least share of a variance on the way. Returns 0 without memory. */
int family_pivots(const block_matrix *matrix, const int32_t *families, size_t n_families, size_t length,
                  double *shares, int32_t *rows, double *least);

/* For each row *Z, x, y of n_sets sets of `length` members: r/sqrt(1 - r^2) of the partial correlation r
   of x and y given Z, and the least share of a variance that was divided by or is left.
   Returns 0 without memory. */
int partial_slopes(const double *correlation, size_t size, const int32_t *members, size_t n_sets,
                   size_t length, double *slopes, double *least);

typedef struct {
    double log_sum;        /* sum over groups of rows times ln of the residual variance */
    double least_pivot;    /* least share of a variance that is left, over members and groups */
    int64_t fewest_rows;   /* of a group with rows; 0 without rows */
    int64_t n_groups;      /* with rows */
    int64_t n_rows;        /* weighted */
} group_residuals;

/* Regress the last of `n_columns` integer columns on the others within each of `n_groups` groups; a
   column is in units of 2^-scale. Integers and weights must be so small that sums of products fit
   126 bits. A group whose variances or pivots vanish has a least pivot of 0 and no part in the sum.
   Returns 0 without memory. */
int residuals_within(const int32_t *group, size_t n_rows, size_t n_groups, const int64_t *const *columns,
                     size_t n_columns, const int64_t *weights, int scale, group_residuals *found);

/* What residuals_within adds up, of a part of the rows: the weights of each group, and for each group the sums of
   the columns and those of products about 0 (the lower triangle, row by row), each as three digits of 42 bits, the
   lowest first, of which the last has the sign. Digits of up to 2^20 parts add up one by one. Returns 0 without
   memory. */
int sums_within(const int32_t *group, size_t n_rows, size_t n_groups, const int64_t *const *columns,
                size_t n_columns, const int64_t *weights, int64_t *counts, int64_t *digits);

/* What residuals_within finds, to the last bit, from such sums over all rows. Returns 0 without memory. */
int residuals_of_sums(const int64_t *counts, const int64_t *digits, size_t n_groups, size_t n_columns, int scale,
                      group_residuals *found);

#endif
