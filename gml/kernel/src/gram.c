#include "gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "exp_series.h"
#include "permuting.h"
#include "stop.h"

#define LANES 8
#define SMALLEST -700.0

EXP_SERIES(exp_of, double, int64_t)

/* Squared distances of a row to those from `first` on. */
LANE_INLINE void row_distances_lanes(const double *restrict points, size_t n, size_t columns,
                                     size_t row, size_t first, double *restrict out)
{
    for (size_t j = first; j < n; j++) {
        const double difference = points[j] - points[row];
        out[j - first] = difference * difference;
    }
    for (size_t c = 1; c < columns; c++) {
        const double *column = points + c * n, own = column[row];
        for (size_t j = first; j < n; j++) {
            const double difference = column[j] - own;
            out[j - first] += difference * difference;
        }
    }
}

static BY_LEVEL(void, row_distances,
         (const double *restrict points, size_t n, size_t columns, size_t row, size_t first,
          double *restrict out),
         (points, n, columns, row, first, out))

LANE_INLINE void exp_row_lanes(double *row, size_t n, double scale)
{
    for (size_t j = 0; j < n; j++) {
        const double x = -scale * row[j];
        row[j] = exp_of(x > SMALLEST ? x : SMALLEST);
    }
}

static BY_LEVEL(void, exp_row, (double *row, size_t n, double scale), (row, n, scale))

void squared_distances(const double *points, size_t n, size_t columns, double *out)
{
    uint64_t steps = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        row_distances(points, n, columns, i, i + 1, out);
        out += n - 1 - i;
        if (stop_after(&steps, n * columns))
            return;
    }
}

void gaussian_gram(const double *points, size_t n, size_t columns, double scale, double *out)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < n; i++) {
        row_distances(points, n, columns, i, 0, out + i * n);
        exp_row(out + i * n, n, scale);
        if (stop_after(&steps, 2 * n * columns))
            return;
    }
}

/* Sums are kept in LANES parts, whatever the machine adds up at once, so that all add in the same order. */
LANE_INLINE double lane_total(const double *total)
{
    return ((total[0] + total[4]) + (total[2] + total[6])) +
           ((total[1] + total[5]) + (total[3] + total[7]));
}

LANE_INLINE double sum_of_lanes(const double *restrict x, size_t n)
{
    double total[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; l++)
            total[l] += x[k + l];
    for (; k < n; k++)
        total[k % LANES] += x[k];
    return lane_total(total);
}

static BY_LEVEL(double, sum_of, (const double *restrict x, size_t n), (x, n))

void centre_gram(double *gram, size_t n, double *means)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < n; i++)
        means[i] = sum_of(gram + i * n, n) / (double)n;
    const double mean = sum_of(means, n) / (double)n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            gram[i * n + j] = gram[i * n + j] - (means[i] + means[j]) + mean;
        if (stop_after(&steps, n))
            return;
    }
}

int permuted_products(const double *a, const double *b, size_t n, const uint64_t key[2],
                      int64_t first, int64_t last, double *out)
{
    uint64_t steps = 0;
    uint32_t *order = malloc(n * sizeof *order);
    double *row = malloc(n * sizeof *row);
    if (order == NULL || row == NULL) {
        free(order);
        free(row);
        return 0;
    }
    for (int64_t r = first; r < last; r++) {
        double total = 0;
        permute(order, n, key, r);
        for (size_t i = 0; i < n; i++) {
            const double *from = b + (size_t)order[i] * n;
            /* Both are symmetric: the triangle below the diagonal is half of the sum. */
            for (size_t j = 0; j < i; j++)
                row[j] = a[i * n + j] * from[order[j]];
            total += 2 * sum_of(row, i) + a[i * n + i] * from[order[i]];
            if (stop_after(&steps, n))
                break;
        }
        out[r - first] = total;
        if (stop_wanted())
            break;
    }
    free(order);
    free(row);
    return 1;
}

LANE_INLINE void subtract_multiple_lanes(double *restrict row, const double *restrict other,
                                         double factor, size_t n)
{
    for (size_t j = 0; j < n; j++)
        row[j] -= factor * other[j];
}

static BY_LEVEL(void, subtract_multiple,
                (double *restrict row, const double *restrict other, double factor, size_t n),
                (row, other, factor, n))

size_t gaussian_factor(const double *points, size_t n, size_t columns, double scale, double tolerance,
                       size_t most, double *factor, double *rest)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < n; i++)
        rest[i] = 1;
    for (size_t k = 0; k < most; k++) {
        double *row = factor + k * n;
        size_t pivot = 0;
        for (size_t i = 1; i < n; i++)
            if (rest[i] > rest[pivot])
                pivot = i;
        if (sum_of(rest, n) <= tolerance || !(rest[pivot] > 0))
            return k;
        row_distances(points, n, columns, pivot, 0, row);
        exp_row(row, n, scale);
        for (size_t l = 0; l < k; l++)
            subtract_multiple(row, factor + l * n, factor[l * n + pivot], n);
        const double size = sqrt(rest[pivot]);
        for (size_t i = 0; i < n; i++) {
            row[i] /= size;
            rest[i] = rest[i] > row[i] * row[i] ? rest[i] - row[i] * row[i] : 0;
        }
        rest[pivot] = 0;
        if (stop_after(&steps, (k + 3) * n))
            return k;
    }
    return most;
}

void fourier_features(const double *points, size_t n, size_t columns, const double *weights,
                      const double *phases, size_t features, double *out)
{
    static const double root_2 = 1.41421356237309504880;
    uint64_t steps = 0;
    for (size_t k = 0; k < features; k++) {
        double *row = out + k * n;
        for (size_t i = 0; i < n; i++)
            row[i] = phases[k];
        for (size_t c = 0; c < columns; c++)
            subtract_multiple(row, points + c * n, -weights[k * columns + c], n);
        for (size_t i = 0; i < n; i++) {
            row[i] = root_2 * cos(row[i]);
            if (i % 4096 == 4095 && stop_after(&steps, 16 * 4096))
                return;
        }
    }
}
