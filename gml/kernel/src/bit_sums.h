/* Sums over the rows that have a bit in columns of bits, eight rows at a time: a block. */
#ifndef GML_BIT_SUMS_H
#define GML_BIT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "cpu.h"

/* Vectors are passed differently to functions for other instructions, so none takes them. */
#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 8 };

typedef double lanes __attribute__((vector_size(64), aligned(64)));
typedef int64_t lane_bits __attribute__((vector_size(64), aligned(64)));

LANE_INLINE double lane_sum(lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

LANE_INLINE lanes all_lanes(double number)
{
    return (lanes){number, number, number, number, number, number, number, number};
}

/* For each of the 256 bytes of a column: all ones in the lanes of its bits. */
void fill_lane_masks(lane_bits *masks);

/* Sums of numbers over the rows that have a bit in each of some columns and, if `also` is not NULL, in
   that one. */
void sums_over(const uint8_t *first, size_t stride, size_t n_columns, const uint8_t *also, size_t blocks,
               const double *numbers, const lane_bits *masks, double *out);

double plain_sum(size_t blocks, const double *numbers);

/* Add a number to the rows with a bit. */
void add_where(const uint8_t *bits, size_t blocks, double number, const lane_bits *masks, double *out);

#endif
