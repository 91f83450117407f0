#include "mixture_rows.h"

#include <math.h>

#include "class_loops.h"
#include "cpu.h"
#include "exp_series.h"
#include "stop.h"

/* Below, the series is none, and nothing is added to a sum that has a 1. */
#define LEAST_EXPONENT -700.0

EXP_SERIES(exp_of, double, int64_t)

LANE_INLINE size_t code_at(const mixture_labels *labels, size_t cell)
{
    return labels->code_bytes == 1 ? ((const uint8_t *)labels->codes)[cell]
                                   : ((const uint16_t *)labels->codes)[cell];
}

LANE_INLINE size_t table_place(const mixture_labels *labels, size_t row, size_t column, size_t n_classes)
{
    const size_t code = code_at(labels, row * labels->n_columns + column);
    return ((size_t)labels->offsets[column] + code) * n_classes;
}

LANE_INLINE double rows_of_classes(const mixture_labels *labels, double *densities, double *counts,
                                   const size_t n_classes)
{
    double sum = 0;
    uint64_t steps = 0;
    for (size_t row = 0; row < labels->n_rows; row++) {
        double *restrict shares = densities + row * n_classes;
        for (size_t j = 0; j < labels->n_columns; j++) {
            const double *restrict logs = labels->tables + table_place(labels, row, j, n_classes);
            for (size_t k = 0; k < n_classes; k++)
                shares[k] += logs[k];
        }
        double largest = shares[0], total = 0;
        for (size_t k = 1; k < n_classes; k++)
            largest = shares[k] > largest ? shares[k] : largest;
        for (size_t k = 0; k < n_classes; k++) {
            const double below = shares[k] - largest;
            const double power = exp_of(below < LEAST_EXPONENT ? LEAST_EXPONENT : below);
            shares[k] = below < LEAST_EXPONENT ? 0.0 : power;
        }
        for (size_t k = 0; k < n_classes; k++)
            total += shares[k];
        const double weight = labels->weights[row], scale = weight / total;
        sum += weight * (largest + log(total));
        for (size_t k = 0; k < n_classes; k++)
            shares[k] *= scale;
        for (size_t j = 0; j < labels->n_columns; j++) {
            double *restrict own = counts + table_place(labels, row, j, n_classes);
            for (size_t k = 0; k < n_classes; k++)
                own[k] += shares[k];
        }
        if (stop_after(&steps, n_classes * (4 + labels->n_columns)))
            break;
    }
    return sum;
}

LANE_INLINE double mixture_rows_lanes(const mixture_labels *labels, double *densities, double *counts)
{
    WITH_CLASSES_KNOWN(labels->n_classes, rows_of_classes, labels, densities, counts)
}

BY_LEVEL(double, mixture_rows, (const mixture_labels *labels, double *densities, double *counts),
         (labels, densities, counts))
