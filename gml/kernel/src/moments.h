/* Exact sums of fixed-point numbers. */
#ifndef GML_MOMENTS_H
#define GML_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/* 192-bit two's complement, little end first: room for 2^64 products of 53-bit numbers. */
typedef struct {
    uint64_t limb[3];
} wide_integer;

/* sum of x[i] * y[i] (* weights[i]); exact, so the order of rows does not matter. */
wide_integer exact_dot(const int64_t *x, const int64_t *y, const int64_t *weights, size_t n);

#endif
