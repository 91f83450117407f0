#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "null_moments.h"
#include "tail.h"

/* O n - R C, exact in 128 bits: the sign and size of a small deviation survive. */
static inline double deviation(int64_t observed, int64_t n, int64_t row, int64_t column)
{
    if (n < INT64_C(1) << 31)
        return (double)(observed * n - row * column);
    return (double)((__int128)observed * n - (__int128)row * column);
}

/* 1 / (k (k-1)) for k = 2, 3, ... */
#define SERIES_TERMS 18
static const double series[SERIES_TERMS] = {
    1.0 / 2,   1.0 / 6,   1.0 / 12,  1.0 / 20,  1.0 / 30,  1.0 / 42,  1.0 / 56,  1.0 / 72,  1.0 / 90,
    1.0 / 110, 1.0 / 132, 1.0 / 156, 1.0 / 182, 1.0 / 210, 1.0 / 240, 1.0 / 272, 1.0 / 306, 1.0 / 342,
};

/* (1+t) ln(1+t) - t without cancellation, t >= -1. */
static inline double divergence(double t)
{
    if (fabs(t) < 0.125) {
        /* sum over k >= 2 of (-1)^k t^k / (k (k-1)); the rest is below the last bit */
        double power = t * t, sum = power * series[0];
        for (int k = 1; k < SERIES_TERMS; k++) {
            power *= -t;
            double next = sum + power * series[k];
            if (next == sum)
                break;
            sum = next;
        }
        return sum;
    }
    return t <= -1 ? 1.0 : (1 + t) * log1p(t) - t;
}

/* G and X2 of one stratum. Since sum O = sum E, G/2 = sum E ((1+t) ln(1+t) - t) with t = (O-E)/E: no
   term is negative. */
static inline double stratum_sums(const int64_t *table, size_t rows, size_t columns,
                                  const int64_t *row_totals, const int64_t *column_totals,
                                  int64_t n, double *x2)
{
    const double per_row = 1 / (double)n;
    double half_g = 0, sum = 0;
    for (size_t a = 0; a < rows; a++) {
        if (row_totals[a] == 0)
            continue;
        for (size_t b = 0; b < columns; b++) {
            if (column_totals[b] == 0)
                continue;
            const int64_t observed = table[a * columns + b];
            const double product = (double)row_totals[a] * (double)column_totals[b];
            if (observed == 0) {
                /* t is -1: the same sums without a division, and by far the most cells are such */
                half_g += product;
                sum += product;
                continue;
            }
            const double d = deviation(observed, n, row_totals[a], column_totals[b]);
            const double t = d / product;
            half_g += product * divergence(t);
            sum += d * t;
        }
    }
    *x2 = sum * per_row;
    return 2 * half_g * per_row;
}

double g_of_stratum(const int64_t *table, size_t rows, size_t columns, const int64_t *row_totals,
                    const int64_t *column_totals, int64_t n)
{
    double x2;
    return stratum_sums(table, rows, columns, row_totals, column_totals, n, &x2);
}

/* How far the mean of G may be above its degrees of freedom, in standard deviations. */
#define DENSE 0.1
/* With Poisson cells the mean of G is at most this often as far above it as Williams' formula says. */
#define ABOVE_WILLIAMS 2
/* Where neither G nor X2 is this far above its mean, in standard deviations, p is so large that it
   does not matter how exactly it is found. */
#define TELLING 0.5
/* Where G is so far above it, p is tiny, however uneven the margins are. */
#define CERTAIN 20

static double most_excess(const table_statistics *found)
{
    return DENSE * sqrt(2 * (double)found->df_adjusted);
}

/* Whether the table has rows enough for G, if the strata are equal and their margins even. */
static int is_dense_if_even(const table_statistics *found)
{
    const double strata = found->seen_strata > 0 ? (double)found->seen_strata : 1;
    const double n = found->n > 0 ? (double)found->n : 1;
    const double rows = (double)found->cells_xz / strata, columns = (double)found->cells_yz / strata;
    return strata * strata * (rows * rows - 1) * (columns * columns - 1) / (6 * n) <=
           most_excess(found);
}

static int is_telling(const table_statistics *found)
{
    const double df = (double)found->df_adjusted;
    return found->g > df + TELLING * sqrt(2 * df) ||
           found->x2 > found->x2_mean + TELLING * sqrt(fmax(found->x2_variance, 0));
}

/* Whether it may matter that the margins are uneven. */
static int is_in_doubt(const table_statistics *found)
{
    const double df = (double)found->df_adjusted;
    return is_telling(found) && found->g <= df + CERTAIN * sqrt(2 * df);
}

/* What a stratum adds to the moments under independence. */
static inline void add_moments(table_sums *sums, const stratum_margins *margins)
{
    const null_moments moments = moments_of_stratum(margins);
    sums->found.x2_mean += moments.x2_mean;
    sums->found.x2_variance += moments.x2_variance;
    sums->g_excess += moments.g_excess;
    if (sums->at_once) {
        sums->poisson_g_excess += poisson_g_excess(margins);
        sums->found.x2_third += x2_third_moment(margins);
    }
}

int statistics_begin(table_sums *sums, size_t rows, size_t columns)
{
    memset(&sums->found, 0, sizeof sums->found);
    sums->found.seen_z = 1;
    sums->at_once = 0;
    sums->g_excess = sums->poisson_g_excess = 0;
    sums->rows = rows;
    sums->columns = columns;
    sums->margins = NULL;
    sums->totals = sums->few;
    if (2 * (rows + columns) > FEW_LEVELS)
        sums->totals = malloc(2 * (rows + columns) * sizeof *sums->totals);
    if (sums->totals == NULL)
        return 0;
    memset(sums->totals, 0, 2 * (rows + columns) * sizeof *sums->totals);
    return 1;
}

/* By far the most frequent stratum: all four deviations are the same except for their sign. */
static void add_two_by_two(table_sums *sums, const int64_t *stratum)
{
    table_statistics *out = &sums->found;
    const int64_t row_totals[2] = {stratum[0] + stratum[1], stratum[2] + stratum[3]};
    const int64_t column_totals[2] = {stratum[0] + stratum[2], stratum[1] + stratum[3]};
    const int64_t n = row_totals[0] + row_totals[1];
    int64_t *all_rows = sums->totals + 4, *all_columns = sums->totals + 6;
    if (n == 0)
        return;
    const int64_t seen_rows = (row_totals[0] != 0) + (row_totals[1] != 0);
    const int64_t seen_columns = (column_totals[0] != 0) + (column_totals[1] != 0);
    for (size_t i = 0; i < 2; i++) {
        all_rows[i] += row_totals[i];
        all_columns[i] += column_totals[i];
    }
    for (size_t i = 0; i < 4; i++)
        out->cells_xyz += stratum[i] != 0;
    out->n += n;
    out->seen_strata++;
    out->cells_xz += seen_rows;
    out->cells_yz += seen_columns;
    if (seen_rows * seen_columns < 4)
        return;
    const double d = deviation(stratum[0], n, row_totals[0], column_totals[0]);
    const double per_row = 1 / (double)n;
    double half_g = 0, sum = 0;
    for (size_t i = 0; i < 4; i++) {
        double product = (double)row_totals[i >> 1] * (double)column_totals[i & 1];
        double t = (i == 0 || i == 3 ? d : -d) / product;
        half_g += product * divergence(t);
        sum += fabs(d * t);
    }
    out->df_adjusted++;
    out->v_denominator += (double)n;
    out->g += 2 * half_g * per_row;
    out->x2 += sum * per_row;
    add_moments(sums, &(stratum_margins){row_totals, column_totals, 2, 2, 2, 2, n});
}

/* The margins of a stratum; returns how many of its cells are not empty. */
static inline int64_t add_up(const int64_t *stratum, size_t rows, size_t columns,
                             int64_t *row_totals, int64_t *column_totals)
{
    int64_t cells = 0;
    for (size_t b = 0; b < columns; b++)
        column_totals[b] = 0;
    for (size_t a = 0; a < rows; a++) {
        int64_t total = 0;
        for (size_t b = 0; b < columns; b++) {
            const int64_t count = stratum[a * columns + b];
            total += count;
            column_totals[b] += count;
            cells += count != 0;
        }
        row_totals[a] = total;
    }
    return cells;
}

void statistics_add(table_sums *sums, const int64_t *stratum)
{
    const size_t rows = sums->rows, columns = sums->columns;
    if (rows == 2 && columns == 2) {
        add_two_by_two(sums, stratum);
        return;
    }
    table_statistics *out = &sums->found;
    int64_t *all_rows = sums->totals + rows + columns, *all_columns = all_rows + rows;
    int64_t *row_totals = sums->totals;
    if (sums->margins != NULL)
        row_totals = sums->margins + (size_t)out->seen_strata * (rows + columns);
    int64_t *column_totals = row_totals + rows;
    int64_t n = 0, cells = add_up(stratum, rows, columns, row_totals, column_totals);
    int64_t seen_rows = 0, seen_columns = 0;
    for (size_t a = 0; a < rows; a++) {
        n += row_totals[a];
        seen_rows += row_totals[a] != 0;
        all_rows[a] += row_totals[a];
    }
    if (n == 0)
        return;
    for (size_t b = 0; b < columns; b++) {
        seen_columns += column_totals[b] != 0;
        all_columns[b] += column_totals[b];
    }
    out->n += n;
    out->seen_strata++;
    out->cells_xyz += cells;
    out->cells_xz += seen_rows;
    out->cells_yz += seen_columns;
    int64_t df = (seen_rows - 1) * (seen_columns - 1);
    if (df == 0)
        return;
    out->df_adjusted += df;
    int64_t smaller = seen_rows < seen_columns ? seen_rows : seen_columns;
    out->v_denominator += (double)n * (double)(smaller - 1);
    double x2;
    out->g += stratum_sums(stratum, rows, columns, row_totals, column_totals, n, &x2);
    out->x2 += x2;
    add_moments(sums, &(stratum_margins){row_totals, column_totals, rows, columns, seen_rows,
                                         seen_columns, n});
}

/* Leave out the third moment where it is not needed. */
static void settle(const table_sums *sums, table_statistics *out)
{
    const double most = most_excess(out);
    if (is_dense_if_even(out) && (!is_in_doubt(out) || ABOVE_WILLIAMS * sums->g_excess <= most ||
                                  sums->poisson_g_excess <= most))
        out->x2_third = NAN;
    else if (!is_telling(out))
        out->x2_third = 0;
}

void statistics_end(table_sums *sums, table_statistics *out)
{
    const int64_t *all_rows = sums->totals + sums->rows + sums->columns;
    const int64_t *all_columns = all_rows + sums->rows;
    for (size_t a = 0; a < sums->rows; a++)
        sums->found.seen_x += all_rows[a] != 0;
    for (size_t b = 0; b < sums->columns; b++)
        sums->found.seen_y += all_columns[b] != 0;
    *out = sums->found;
    if (sums->at_once)
        settle(sums, out);
    if (sums->totals != sums->few)
        free(sums->totals);
}

/* A function of the margins, summed over the strata in which both variables vary. */
static double sum_over_strata(const int64_t *table, size_t strata, const table_sums *sums,
                              double (*function)(const stratum_margins *))
{
    const size_t rows = sums->rows, columns = sums->columns;
    double sum = 0;
    if (rows == 2 && columns == 2) {
        for (const int64_t *cell = table; cell < table + 4 * strata; cell += 4) {
            const int64_t row_totals[2] = {cell[0] + cell[1], cell[2] + cell[3]};
            const int64_t column_totals[2] = {cell[0] + cell[2], cell[1] + cell[3]};
            if (row_totals[0] && row_totals[1] && column_totals[0] && column_totals[1])
                sum += function(&(stratum_margins){row_totals, column_totals, 2, 2, 2, 2,
                                                   row_totals[0] + row_totals[1]});
        }
        return sum;
    }
    const int64_t *totals = sums->margins;
    for (int64_t s = 0; s < sums->found.seen_strata; s++, totals += rows + columns) {
        stratum_margins margins = {totals, totals + rows, rows, columns, 0, 0, 0};
        for (size_t a = 0; a < rows; a++) {
            margins.n += totals[a];
            margins.seen_rows += totals[a] != 0;
        }
        for (size_t b = 0; b < columns; b++)
            margins.seen_columns += totals[rows + b] != 0;
        if (margins.seen_rows > 1 && margins.seen_columns > 1)
            sum += function(&margins);
    }
    return sum;
}

/* What costs most is found last, and only where it is needed: few tables of a search need it. */
static void find_third_moment(const int64_t *table, size_t strata, table_sums *sums,
                              table_statistics *out)
{
    const double most = most_excess(out);
    const int dense_if_even = is_dense_if_even(out);
    if (dense_if_even && is_in_doubt(out) && ABOVE_WILLIAMS * sums->g_excess > most)
        sums->poisson_g_excess = sum_over_strata(table, strata, sums, poisson_g_excess);
    if ((!dense_if_even || sums->poisson_g_excess > most) && is_telling(out))
        out->x2_third = sum_over_strata(table, strata, sums, x2_third_moment);
    settle(sums, out);
}

/* Margins of tables up to this size need no allocation. */
#define FEW_MARGINS 512

int statistics_of_table(const int64_t *table, size_t strata, size_t rows, size_t columns,
                        table_statistics *out)
{
    table_sums sums;
    int64_t few[FEW_MARGINS], *margins = few;
    /* Those of two levels each are as soon added up anew. */
    const size_t room = rows == 2 && columns == 2 ? 0 : strata * (rows + columns);
    if (room > FEW_MARGINS)
        margins = malloc(room * sizeof *margins);
    const int begun = margins != NULL && statistics_begin(&sums, rows, columns);
    if (begun) {
        sums.margins = room == 0 ? NULL : margins;
        for (size_t s = 0; s < strata; s++)
            statistics_add(&sums, table + s * rows * columns);
        statistics_end(&sums, out);
        find_third_moment(table, strata, &sums, out);
    }
    if (margins != few)
        free(margins);
    return begun;
}

int64_t seen_configurations(const int64_t *table, size_t strata, int64_t seen_strata, size_t cells,
                            const uint32_t *n_levels, size_t n_columns)
{
    if (seen_strata == (int64_t)strata)
        return seen_strata;
    size_t all_levels = 1;
    for (size_t k = 0; k < n_columns; k++)
        all_levels += n_levels[k];
    unsigned char *seen = calloc(all_levels, 1);
    if (seen == NULL)
        return -1;
    for (size_t s = 0; s < strata; s++) {
        const int64_t *stratum = table + s * cells;
        size_t c = 0;
        while (c < cells && stratum[c] == 0)
            c++;
        if (c == cells)
            continue;
        size_t rest = s, base = all_levels;
        for (size_t k = n_columns; k-- > 0;) {
            base -= n_levels[k];
            seen[base + rest % n_levels[k]] = 1;
            rest /= n_levels[k];
        }
    }
    int64_t product = 1;
    size_t base = 1;
    for (size_t k = 0; k < n_columns; k++) {
        int64_t levels = 0;
        for (uint32_t level = 0; level < n_levels[k]; level++)
            levels += seen[base + level];
        product *= levels;
        base += n_levels[k];
    }
    free(seen);
    return product;
}

/* What ln Gamma(n + a) - ln Gamma(a) has besides z ln z - z, z = n + a (Stirling with its error). */
static double stirling_rest(int64_t n, double a)
{
    if (n == 0)
        return 0;
    return stirling_error((double)n + a) - stirling_error(a) - 0.5 * log1p((double)n / a);
}

/* With z = n + prior count, the factor of a stratum is Gamma(z_xy) Gamma(z) / Gamma(z_x) Gamma(z_y)
   over all levels, relative to the prior's. The parts z ln z of the four add up to half the G of the
   table of z, the parts z cancel, and what is left is small: nothing of the size n ln n is ever
   subtracted. */
double log_bayes_factor(const int64_t *table, size_t strata, size_t rows, size_t columns,
                        double alpha)
{
    const double r = (double)rows, c = (double)columns;
    double total = 0;
    int64_t *totals = malloc((rows + columns + 1) * sizeof *totals);
    if (totals == NULL)
        return NAN;
    int64_t *row_totals = totals, *column_totals = totals + rows;
    for (size_t s = 0; s < strata; s++) {
        const int64_t *stratum = table + s * rows * columns;
        int64_t n = 0;
        memset(totals, 0, (rows + columns) * sizeof *totals);
        for (size_t a = 0; a < rows; a++)
            for (size_t b = 0; b < columns; b++) {
                row_totals[a] += stratum[a * columns + b];
                column_totals[b] += stratum[a * columns + b];
                n += stratum[a * columns + b];
            }
        if (n == 0)
            continue;
        const double z = (double)n + alpha * r * c;
        double sum = stirling_rest(n, alpha * r * c);
        for (size_t a = 0; a < rows; a++)
            sum -= stirling_rest(row_totals[a], alpha * c);
        for (size_t b = 0; b < columns; b++)
            sum -= stirling_rest(column_totals[b], alpha * r);
        for (size_t a = 0; a < rows; a++)
            for (size_t b = 0; b < columns; b++) {
                int64_t count = stratum[a * columns + b];
                double product = ((double)row_totals[a] + alpha * c) *
                                 ((double)column_totals[b] + alpha * r);
                /* z_xy z - z_x z_y, of which the squares of alpha cancel */
                double d = deviation(count, n, row_totals[a], column_totals[b]) +
                           alpha * ((double)n + r * c * (double)count - r * (double)row_totals[a] -
                                    c * (double)column_totals[b]);
                sum += product / z * divergence(d / product) + stirling_rest(count, alpha);
            }
        total += sum;
    }
    free(totals);
    return total;
}
