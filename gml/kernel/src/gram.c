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
#define BLOCK_ROWS 4096
/* The reduction of arguments of cosines is exact up to here. */
#define LARGEST_ANGLE 1e6
#define ROOT_2 1.41421356237309504880

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

/* The number of pairs of ascending numbers whose squared distance is at most this. */
static uint64_t pairs_within(const double *x, size_t n, double square)
{
    uint64_t pairs = 0;
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j + 1 < n && (x[j + 1] - x[i]) * (x[j + 1] - x[i]) <= square)
            j++;
        pairs += j - i;
    }
    return pairs;
}

/* The squared distance that so many pairs do not exceed: the bits of positive doubles are in the order of
   their values. */
static double ranked_square(const double *x, size_t n, uint64_t rank)
{
    const double range = x[n - 1] - x[0], largest = range * range;
    uint64_t low = 0, high;
    memcpy(&high, &largest, sizeof high);
    while (low < high && !stop_wanted()) {
        const uint64_t middle = low + (high - low) / 2;
        double square;
        memcpy(&square, &middle, sizeof square);
        if (pairs_within(x, n, square) >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    double found;
    memcpy(&found, &low, sizeof found);
    return found;
}

double median_square(const double *x, size_t n)
{
    const uint64_t zeros = pairs_within(x, n, 0), some = (uint64_t)n * (n - 1) / 2 - zeros;
    if (some == 0)
        return NAN;
    const double middle = ranked_square(x, n, zeros + (some + 1) / 2);
    return some % 2 ? middle : (middle + ranked_square(x, n, zeros + some / 2 + 1)) / 2;
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

/* The cosine of an angle up to LARGEST_ANGLE: a Taylor series on half a turn around 0, in operations that
   every machine does alike. */
LANE_INLINE double cos_of(double x)
{
    const double shifted = x * 0x1.45f306dc9c883p-2 + 0x1.8p52, turns = shifted - 0x1.8p52;
    const double r = ((x - turns * 0x1.921fb544p1) - turns * 0x1.0b4611a6p-33) - turns * 4.0445324975919013e-21;
    const double t = r * r;
    double sum = t * (1.0 / 2432902008176640000.0) - 1.0 / 6402373705728000.0;
    sum = sum * t + 1.0 / 20922789888000.0;
    sum = sum * t - 1.0 / 87178291200.0;
    sum = sum * t + 1.0 / 479001600.0;
    sum = sum * t - 1.0 / 3628800.0;
    sum = sum * t + 1.0 / 40320.0;
    sum = sum * t - 1.0 / 720.0;
    sum = sum * t + 1.0 / 24.0;
    sum = sum * t - 0.5;
    sum = sum * t + 1.0;
    uint64_t of_sum, of_turns;
    memcpy(&of_sum, &sum, sizeof sum);
    memcpy(&of_turns, &shifted, sizeof sum);
    of_sum ^= of_turns << 63;
    memcpy(&sum, &of_sum, sizeof sum);
    return sum;
}

LANE_INLINE void cosines_lanes(double *restrict row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        row[i] = ROOT_2 * cos_of(row[i]);
}

static BY_LEVEL(void, cosines, (double *restrict row, size_t n), (row, n))

LANE_INLINE int has_large_lanes(const double *row, size_t n)
{
    int large = 0;
    for (size_t i = 0; i < n; i++)
        large |= !(fabs(row[i]) <= LARGEST_ANGLE);
    return large;
}

static BY_LEVEL(int, has_large, (const double *row, size_t n), (row, n))

void fourier_features(const double *points, size_t n, size_t columns, const double *weights,
                      const double *phases, size_t features, double *out)
{
    uint64_t steps = 0;
    for (size_t start = 0; start < n; start += BLOCK_ROWS) {
        const size_t rows = n - start < BLOCK_ROWS ? n - start : BLOCK_ROWS;
        for (size_t k = 0; k < features; k++) {
            double *row = out + k * n + start;
            for (size_t i = 0; i < rows; i++)
                row[i] = phases[k];
            for (size_t c = 0; c < columns; c++)
                subtract_multiple(row, points + c * n + start, -weights[k * columns + c], rows);
            if (has_large(row, rows))
                for (size_t i = 0; i < rows; i++)
                    row[i] = ROOT_2 * (fabs(row[i]) <= LARGEST_ANGLE ? cos_of(row[i]) : cos(row[i]));
            else
                cosines(row, rows);
            if (stop_after(&steps, 8 * rows))
                return;
        }
    }
}
