/* Sums are made in eight lanes in one order, whatever the instructions. */

#include "precision_step.h"

#include <math.h>

#include "cpu.h"
#include "stop.h"

#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 8 };

typedef double lanes __attribute__((vector_size(64), aligned(8)));

LANE_INLINE double product(const double *a, const double *b, size_t n)
{
    lanes even = {0}, odd = {0};
    size_t k = 0;
    for (; k + 2 * LANES <= n; k += 2 * LANES) {
        even += *(const lanes *)(a + k) * *(const lanes *)(b + k);
        odd += *(const lanes *)(a + k + LANES) * *(const lanes *)(b + k + LANES);
    }
    even += odd;
    double sum = ((even[0] + even[4]) + (even[2] + even[6])) + ((even[1] + even[5]) + (even[3] + even[7]));
    for (; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

LANE_INLINE void add_times(double *to, double factor, const double *row, size_t n)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        *(lanes *)(to + k) += factor * *(const lanes *)(row + k);
    for (; k < n; k++)
        to[k] += factor * row[k];
}

LANE_INLINE double shrunk(double value, double by)
{
    if (value > by)
        return value - by;
    return value < -by ? value + by : 0;
}

/* Changes the pairs of row i; returns the largest change in units of the curvature. */
LANE_INLINE double sweep_row_lanes(const precision_problem *problem, size_t i, double *step, double *image,
                                   double *column)
{
    const size_t size = problem->size;
    const double *of_i = problem->covariance + i * size;
    double largest = 0;
    for (size_t k = 0; k < size; k++)
        column[k] = image[k * size + i];
    for (int64_t pair = problem->starts[i]; pair < problem->starts[i + 1]; pair++) {
        const size_t j = (size_t)problem->columns[pair], cell = i * size + j;
        const double *of_j = problem->covariance + j * size;
        const double curvature = i == j ? of_i[i] * of_i[i] : of_i[j] * of_i[j] + of_i[i] * of_j[j];
        const double slope = problem->gradient[cell] + product(of_j, column, size);
        const double now = problem->precision[cell] + step[cell];
        const double change =
            shrunk(now - slope / curvature, problem->penalties[cell] / curvature) - now;
        if (change == 0)
            continue;
        step[cell] += change;
        column[i] += change * of_i[j];
        add_times(image + i * size, change, of_j, size);
        if (i != j) {
            step[j * size + i] += change;
            column[j] += change * of_i[i];
            add_times(image + j * size, change, of_i, size);
        }
        const double moved = fabs(change) * sqrt(curvature);
        largest = moved > largest ? moved : largest;
    }
    return largest;
}

static BY_LEVEL(double, sweep_row,
         (const precision_problem *problem, size_t i, double *step, double *image, double *column),
         (problem, i, step, image, column))

size_t precision_step(const precision_problem *problem, double accuracy, size_t most_sweeps, double *step,
                      double *image, double *column)
{
    const size_t size = problem->size;
    double largest_ever = 0;
    uint64_t work = 0;
    for (size_t sweep = 1; sweep <= most_sweeps; sweep++) {
        double largest = 0;
        for (size_t i = 0; i < size; i++) {
            const size_t pairs = (size_t)(problem->starts[i + 1] - problem->starts[i]);
            if (pairs == 0)
                continue;
            const double moved = sweep_row(problem, i, step, image, column);
            largest = moved > largest ? moved : largest;
            if (stop_after(&work, (pairs + 1) * size))
                return sweep;
        }
        largest_ever = largest > largest_ever ? largest : largest_ever;
        if (largest <= accuracy * largest_ever)
            return sweep;
    }
    return most_sweeps;
}
