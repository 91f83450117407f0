/* Gram matrices of Gaussian kernels, and what tests of independence make of them.
   Points lie column after column: values[c * n + i] is column c of row i. */
#ifndef GML_GRAM_H
#define GML_GRAM_H

#include <stddef.h>
#include <stdint.h>

/* Squared distances of the pairs i < j, row after row: n (n - 1) / 2 numbers. */
void squared_distances(const double *points, size_t n, size_t columns, double *out);

/* The median of those squared distances of the pairs of n ascending numbers that are positive; NaN without any.
   In n steps per bit of a double, without a list of them. */
double median_square(const double *x, size_t n);

/* out[i * n + j] = exp(-scale |p_i - p_j|^2); below exp(-700) it stays there. */
void gaussian_gram(const double *points, size_t n, size_t columns, double scale, double *out);

/* Subtracts the means of rows and columns of a symmetric matrix; `means` is room for n numbers. */
void centre_gram(double *gram, size_t n, double *means);

/* For each replicate, sum over i, j of a[i][j] b[p(i)][p(j)] with a random permutation p, which is a function
   of the key and the replicate. 0: no memory. */
int permuted_products(const double *a, const double *b, size_t n, const uint64_t key[2],
                      int64_t first, int64_t last, double *out);

/* Rows of a factor G with gaussian_gram = G' G up to a rest of trace at most `tolerance`: the incomplete
   Cholesky decomposition, which takes the row with the largest rest next (of equal ones the first). Each row
   has n numbers. At most `most` rows; their number is returned. `rest` is room for n numbers. */
size_t gaussian_factor(const double *points, size_t n, size_t columns, double scale, double tolerance,
                       size_t most, double *factor, double *rest);

/* out[k * n + i] = sqrt(2) cos(weights_k . p_i + phase_k): Rahimi & Recht's features of a Gaussian kernel. */
void fourier_features(const double *points, size_t n, size_t columns, const double *weights,
                      const double *phases, size_t features, double *out);

#endif
