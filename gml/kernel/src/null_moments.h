/* What G and X2 are like under independence, over all tables with the margins of a stratum. */
#ifndef GML_NULL_MOMENTS_H
#define GML_NULL_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/* The margins of a stratum, which may have empty levels, and how many of them are not empty. */
typedef struct {
    const int64_t *row_totals, *column_totals;
    size_t rows, columns;
    int64_t seen_rows, seen_columns, n;
} stratum_margins;

/* The first two moments of X2, and by how much the mean of G is above its degrees of freedom to the
   order of 1/n (Williams 1976); here and below both seen_rows and seen_columns are above 1. */
typedef struct {
    double x2_mean, x2_variance, g_excess;
} null_moments;

null_moments moments_of_stratum(const stratum_margins *margins);

/* By how much the mean of G is above its degrees of freedom if the cells are Poisson. */
double poisson_g_excess(const stratum_margins *margins);

/* The third central moment of X2. */
double x2_third_moment(const stratum_margins *margins);

#endif
