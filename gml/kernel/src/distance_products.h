/* Sums of products of distances between numbers, in time n log n (Huo & Szekely 2016). */
#ifndef GML_DISTANCE_PRODUCTS_H
#define GML_DISTANCE_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

/* Sum over all i, j of |x_i - x_j| |y_i - y_j|; x ascends. 0: no memory. */
int distance_product(const double *x, const double *y, size_t n, double *out);

/* Two columns, and for each row the sum of its distances to all others; x ascends. */
typedef struct {
    const double *x, *y, *x_sums, *y_sums;
    size_t n;
} distance_columns;

/* The part of the distance covariance that changes with a permutation of y, for each replicate, whose
   permutation is a function of the key and its number: the sum above less 2/n times that of the products of
   the sums of rows. 0: no memory. */
int permuted_distance_products(const distance_columns *columns, const uint64_t key[2], int64_t first,
                               int64_t last, double *out);

#endif
