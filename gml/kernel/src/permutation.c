#include "permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "statistics.h"
#include "stop.h"
#include "tail.h"

#define MAX_LOG_FACTORIALS 1024
#define HALF_LOG_2PI 0.918938533204672741780329736405617639861

typedef struct {
    double *table;
    int64_t size;
} log_factorials;

/* ln of the binomial density at k (Loader 2000): nothing of the size n ln n is subtracted. */
static double log_binomial(int64_t k, int64_t n, double p, double q)
{
    double x = (double)k, y = (double)(n - k), size = (double)n;
    if (k == 0)
        return size * (p < 0.5 ? log1p(-p) : log(q));
    if (k == n)
        return size * (q < 0.5 ? log1p(-q) : log(p));
    return stirling_error(size) - stirling_error(x) - stirling_error(y) - deviance(x, size * p) -
           deviance(y, size * q) - HALF_LOG_2PI - 0.5 * (log(x) + log1p(-x / size));
}

/* ln P(k marked among `drawn` of `total`, `marked` of them marked) */
static double log_hypergeometric(int64_t k, int64_t total, int64_t marked, int64_t drawn,
                                 const log_factorials *known)
{
    if (total < known->size) {
        const double *f = known->table;
        return f[marked] - f[k] - f[marked - k] + f[total - marked] - f[drawn - k] -
               f[total - marked - drawn + k] - f[total] + f[drawn] + f[total - drawn];
    }
    double p = (double)drawn / (double)total, q = (double)(total - drawn) / (double)total;
    return log_binomial(k, marked, p, q) + log_binomial(drawn - k, total - marked, p, q) -
           log_binomial(drawn, total, p, q);
}

/* Number of marked among `drawn` of `total` balls, `marked` of them marked: inversion outwards
   from the mode, downwards and upwards in turn. */
static int64_t hypergeometric(double u, int64_t total, int64_t marked, int64_t drawn,
                              const log_factorials *known)
{
    int64_t lowest = drawn - (total - marked) > 0 ? drawn - (total - marked) : 0;
    int64_t highest = drawn < marked ? drawn : marked;
    if (lowest == highest)
        return lowest;
    int64_t mode = (int64_t)(((double)drawn + 1) * ((double)marked + 1) / ((double)total + 2));
    if (mode < lowest)
        mode = lowest;
    if (mode > highest)
        mode = highest;
    double at_mode = exp(log_hypergeometric(mode, total, marked, drawn, known));
    double unmarked_left = (double)(total - marked - drawn);
    int64_t down = mode, up = mode;
    double p_down = at_mode, p_up = at_mode;
    u -= at_mode;
    while (u >= 0 && (down > lowest || up < highest)) {
        double before = u;
        if (down > lowest) {
            double k = (double)down;
            p_down *= k * (unmarked_left + k) / (((double)marked - k + 1) * ((double)drawn - k + 1));
            down--;
            u -= p_down;
            if (u < 0)
                return down;
        }
        if (up < highest) {
            double k = (double)up;
            p_up *= ((double)marked - k) * ((double)drawn - k) / ((k + 1) * (unmarked_left + k + 1));
            up++;
            u -= p_up;
            if (u < 0)
                return up;
        }
        /* What is left of u is the rounding of the sum. */
        if (u == before)
            break;
    }
    return mode;
}

/* A table with the given margins. Cells are drawn row by row; what remains of a row goes to the
   last column, what remains of the columns to the last row. */
static uint64_t draw_table(const int64_t *row_totals, const int64_t *column_totals, size_t rows,
                           size_t columns, int64_t n, const uint64_t key[2], uint64_t counter,
                           const log_factorials *known, int64_t *left, int64_t *table)
{
    memcpy(left, column_totals, columns * sizeof *left);
    int64_t remaining = n; /* in rows a.. */
    uint64_t steps = 0;
    for (size_t a = 0; a + 1 < rows; a++) {
        if (stop_after(&steps, columns))
            return counter;
        int64_t in_row = row_totals[a], pool = remaining;
        for (size_t b = 0; b + 1 < columns; b++) {
            int64_t count =
                hypergeometric(random_uniform(key, counter++), pool, left[b], in_row, known);
            table[a * columns + b] = count;
            in_row -= count;
            pool -= left[b];
            left[b] -= count;
        }
        table[a * columns + columns - 1] = in_row;
        left[columns - 1] -= in_row;
        remaining -= row_totals[a];
    }
    memcpy(table + (rows - 1) * columns, left, columns * sizeof *left);
    return counter;
}

typedef struct {
    size_t rows, columns;
    int64_t n;
    int64_t *row_totals, *column_totals; /* without the empty ones */
} margins;

/* Strata in which the margins leave a choice; returns how many, and draws per replicate. */
static size_t find_margins(const int64_t *table, size_t strata, size_t rows, size_t columns,
                           margins *free_strata, int64_t *totals, uint64_t *draws, int64_t *largest)
{
    size_t kept = 0;
    *draws = 0;
    *largest = 0;
    for (size_t s = 0; s < strata; s++) {
        const int64_t *stratum = table + s * rows * columns;
        margins *m = &free_strata[kept];
        m->row_totals = totals + kept * (rows + columns);
        m->column_totals = m->row_totals + rows;
        m->rows = m->columns = 0;
        m->n = 0;
        for (size_t a = 0; a < rows; a++) {
            int64_t total = 0;
            for (size_t b = 0; b < columns; b++)
                total += stratum[a * columns + b];
            if (total)
                m->row_totals[m->rows++] = total;
            m->n += total;
        }
        for (size_t b = 0; b < columns; b++) {
            int64_t total = 0;
            for (size_t a = 0; a < rows; a++)
                total += stratum[a * columns + b];
            if (total)
                m->column_totals[m->columns++] = total;
        }
        if (m->rows < 2 || m->columns < 2)
            continue;
        *draws += (m->rows - 1) * (m->columns - 1);
        if (m->n > *largest)
            *largest = m->n;
        kept++;
    }
    return kept;
}

static int fill_log_factorials(log_factorials *known, int64_t largest)
{
    known->size = largest < MAX_LOG_FACTORIALS ? largest + 1 : MAX_LOG_FACTORIALS;
    known->table = malloc((size_t)known->size * sizeof *known->table);
    if (known->table == NULL)
        return 0;
    for (int64_t k = 0; k < known->size; k++)
        known->table[k] = lgamma((double)k + 1);
    return 1;
}

int permutation_draws(const int64_t *table, size_t strata, size_t rows, size_t columns,
                      const uint64_t key[2], int64_t first, int64_t last, double *out)
{
    int done = 0;
    int64_t largest;
    uint64_t draws;
    log_factorials known = {NULL, 0};
    margins *free_strata = malloc((strata + 1) * sizeof *free_strata);
    int64_t *totals = malloc((strata + 1) * (rows + columns) * sizeof *totals);
    int64_t *drawn = malloc((rows * columns + columns) * sizeof *drawn);
    if (free_strata == NULL || totals == NULL || drawn == NULL)
        goto end;
    size_t kept = find_margins(table, strata, rows, columns, free_strata, totals, &draws, &largest);
    if (!fill_log_factorials(&known, largest))
        goto end;
    int64_t *left = drawn + rows * columns;
    uint64_t steps = 0;
    for (int64_t r = first; r < last; r++) {
        uint64_t counter = (uint64_t)r * draws;
        double g = 0;
        for (size_t s = 0; s < kept; s++) {
            const margins *m = &free_strata[s];
            if (stop_after(&steps, m->rows * m->columns))
                goto end;
            counter = draw_table(m->row_totals, m->column_totals, m->rows, m->columns, m->n, key,
                                 counter, &known, left, drawn);
            g += g_of_stratum(drawn, m->rows, m->columns, m->row_totals, m->column_totals, m->n);
        }
        out[r - first] = g;
    }
    done = 1;
end:
    free(known.table);
    free(drawn);
    free(totals);
    free(free_strata);
    return done;
}

/* -sum p ln p of a row of counts; adds `weight` times the row's shares to `mixture`. */
static double entropy_of_row(const int64_t *counts, size_t columns, double weight, double *mixture)
{
    double total = 0, entropy = 0;
    for (size_t b = 0; b < columns; b++)
        total += (double)counts[b];
    for (size_t b = 0; b < columns; b++) {
        if (counts[b] == 0)
            continue;
        double share = (double)counts[b] / total;
        entropy -= share * log(share);
        mixture[b] += weight * share;
    }
    return entropy;
}

/* The information of one group about the column: its weight times the entropy of the mixture. */
static double entropy_of_mixture(double *mixture, size_t columns, double weight)
{
    double entropy = 0;
    for (size_t b = 0; b < columns; b++) {
        if (mixture[b] > 0)
            entropy -= mixture[b] * log(mixture[b] / weight);
        mixture[b] = 0;
    }
    return entropy;
}

int information_loss_draws(const int64_t *table, size_t strata, size_t columns,
                           const double *weights, const int64_t *groups, const uint64_t key[2],
                           int64_t first, int64_t last, double *out)
{
    int done = 0;
    int64_t largest = 0;
    log_factorials known = {NULL, 0};
    int64_t *margin = malloc((strata + 1) * (2 + columns) * sizeof *margin);
    int64_t *drawn = malloc(3 * columns * sizeof *drawn);
    double *mixture = calloc(2 * columns, sizeof *mixture);
    if (margin == NULL || drawn == NULL || mixture == NULL)
        goto end;
    for (size_t s = 0; s < strata; s++) {
        int64_t *m = margin + s * (2 + columns);
        memset(m, 0, (2 + columns) * sizeof *m);
        for (size_t sample = 0; sample < 2; sample++)
            for (size_t b = 0; b < columns; b++) {
                int64_t count = table[(2 * s + sample) * columns + b];
                m[sample] += count;
                m[2 + b] += count;
            }
        if (m[0] + m[1] > largest)
            largest = m[0] + m[1];
    }
    if (!fill_log_factorials(&known, largest))
        goto end;
    uint64_t draws = strata * (columns - 1);
    int64_t *left = drawn + 2 * columns;
    uint64_t steps = 0;
    for (int64_t r = first; r < last; r++) {
        uint64_t counter = (uint64_t)r * draws;
        double loss = 0, weight = 0;
        for (size_t s = 0; s < strata; s++) {
            const int64_t *m = margin + s * (2 + columns);
            if (stop_after(&steps, 2 * columns))
                goto end;
            counter = draw_table(m, m + 2, 2, columns, m[0] + m[1], key, counter, &known, left,
                                 drawn);
            loss -= weights[s] * entropy_of_row(drawn, columns, weights[s], mixture);
            loss += weights[s] *
                    entropy_of_row(drawn + columns, columns, weights[s], mixture + columns);
            weight += weights[s];
            if (s + 1 == strata || groups[s + 1] != groups[s]) {
                loss += entropy_of_mixture(mixture, columns, weight);
                loss -= entropy_of_mixture(mixture + columns, columns, weight);
                weight = 0;
            }
        }
        out[r - first] = loss;
    }
    done = 1;
end:
    free(known.table);
    free(mixture);
    free(drawn);
    free(margin);
    return done;
}
