/* Sums are made in eight lanes in one order, whatever the instructions. Four rows are made at a time, so
   that each row above them is read once for all four. */

#include "cholesky.h"

#include <math.h>

#include "cpu.h"
#include "stop.h"

#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 8, ROWS = 4 };

typedef double lanes __attribute__((vector_size(64), aligned(8)));

LANE_INLINE double lane_sum(lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

LANE_INLINE double product(const double *a, const double *b, size_t n)
{
    lanes sum = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        sum += *(const lanes *)(a + k) * *(const lanes *)(b + k);
    double rest = lane_sum(sum);
    for (; k < n; k++)
        rest += a[k] * b[k];
    return rest;
}

/* The products of four rows, one after the other in a matrix of this size, with another. */
LANE_INLINE void four_products(const double *rows, size_t size, const double *b, size_t n, double *out)
{
    const double *r0 = rows, *r1 = r0 + size, *r2 = r1 + size, *r3 = r2 + size;
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        const lanes here = *(const lanes *)(b + k);
        s0 += *(const lanes *)(r0 + k) * here;
        s1 += *(const lanes *)(r1 + k) * here;
        s2 += *(const lanes *)(r2 + k) * here;
        s3 += *(const lanes *)(r3 + k) * here;
    }
    out[0] = lane_sum(s0);
    out[1] = lane_sum(s1);
    out[2] = lane_sum(s2);
    out[3] = lane_sum(s3);
    for (; k < n; k++) {
        out[0] += r0[k] * b[k];
        out[1] += r1[k] * b[k];
        out[2] += r2[k] * b[k];
        out[3] += r3[k] * b[k];
    }
}

LANE_INLINE void factor_rows_lanes(double *matrix, size_t size, size_t first, size_t count)
{
    double found[ROWS];
    for (size_t c = 0; c < first; c++) {
        const double *above = matrix + c * size;
        if (count == ROWS)
            four_products(matrix + first * size, size, above, c, found);
        else
            for (size_t r = 0; r < count; r++)
                found[r] = product(matrix + (first + r) * size, above, c);
        for (size_t r = 0; r < count; r++) {
            double *cell = matrix + (first + r) * size + c;
            *cell = (*cell - found[r]) * above[c];
        }
    }
    for (size_t r = first; r < first + count; r++) {
        double *row = matrix + r * size;
        for (size_t c = first; c < r; c++)
            row[c] = (row[c] - product(row, matrix + c * size, c)) * matrix[c * size + c];
        const double pivot = row[r] - product(row, row, r);
        row[r] = pivot > 0 ? 1 / sqrt(pivot) : 0;
    }
}

static BY_LEVEL(void, factor_rows,
         (double *matrix, size_t size, size_t first, size_t count),
         (matrix, size, first, count))

void cholesky(double *matrix, size_t size, uint64_t *work)
{
    for (size_t first = 0; first < size; first += ROWS) {
        const size_t count = size - first < ROWS ? size - first : ROWS;
        factor_rows(matrix, size, first, count);
        if (stop_after(work, first * first / 2))
            return;
    }
}

LANE_INLINE void cholesky_forward_lanes(const double *factor, size_t size, double *b)
{
    for (size_t r = 0; r < size; r++)
        b[r] = (b[r] - product(factor + r * size, b, r)) * factor[r * size + r];
}

BY_LEVEL(void, cholesky_forward,
         (const double *factor, size_t size, double *b),
         (factor, size, b))

LANE_INLINE void cholesky_solve_lanes(const double *factor, size_t size, double *b)
{
    for (size_t r = 0; r < size; r++)
        b[r] = (b[r] - product(factor + r * size, b, r)) * factor[r * size + r];
    for (size_t r = size; r-- > 0;) {
        const double *row = factor + r * size;
        b[r] *= row[r];
        for (size_t c = 0; c < r; c++)
            b[c] -= row[c] * b[r];
    }
}

BY_LEVEL(void, cholesky_solve,
         (const double *factor, size_t size, double *b),
         (factor, size, b))
