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

static inline double reciprocals(const int64_t *totals, size_t levels)
{
    double sum = 0;
    for (size_t i = 0; i < levels; i++)
        if (totals[i] != 0)
            sum += 1 / (double)totals[i];
    return sum;
}

/* Variance of X2 over all tables with the margins of this one (Haldane 1940, Biometrika 31:346;
   Lewis, Saunders & Westcott 1984, equation 3), from the sums of the reciprocal margins. */
static inline double x2_variance(int64_t total, double by_row, int64_t rows, double by_column,
                                 int64_t columns)
{
    const double n = (double)total, r = (double)rows, c = (double)columns;
    if (total <= 3)
        return total == 3 && rows == 2 && columns == 2 ? 1.125 : 0;
    const double v_rows = (r - 1) * (n - r) / (n - 1), v_columns = (c - 1) * (n - c) / (n - 1);
    const double w_rows = (n * by_row - r * r) / (n - 2);
    const double w_columns = (n * by_column - c * c) / (n - 2);
    return 2 * n / (n - 3) * (v_rows - w_rows) * (v_columns - w_columns) +
           n * n / (n - 1) * w_rows * w_columns;
}

static inline null_moments moments_of_stratum(const stratum_margins *margins)
{
    const int64_t r = margins->seen_rows, c = margins->seen_columns;
    const double by_row = reciprocals(margins->row_totals, margins->rows);
    const double by_column = reciprocals(margins->column_totals, margins->columns);
    const double n = (double)margins->n;
    null_moments found;
    found.x2_mean = (double)((r - 1) * (c - 1)) * n / (n - 1);
    found.x2_variance = x2_variance(margins->n, by_row, r, by_column, c);
    found.g_excess = (n * by_row - 1) * (n * by_column - 1) / (6 * n);
    return found;
}

/* By how much the mean of G is above its degrees of freedom if the cells are Poisson. */
double poisson_g_excess(const stratum_margins *margins);

/* The third central moment of X2. */
double x2_third_moment(const stratum_margins *margins);

#endif
