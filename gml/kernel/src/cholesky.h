/* Linear systems with symmetric positive definite matrices, row after row. */
#ifndef GML_CHOLESKY_H
#define GML_CHOLESKY_H

#include <stddef.h>
#include <stdint.h>

/* Replaces the lower triangle of a matrix by its factor, with the inverse of each pivot on the diagonal;
   a direction in which the matrix is not positive is shut off. `work` is for asking whether to stop. */
void cholesky(double *matrix, size_t size, uint64_t *work);

/* Solves factor · x = b in place. */
void cholesky_forward(const double *factor, size_t size, double *b);

/* Solves factor · factor' · x = b in place. */
void cholesky_solve(const double *factor, size_t size, double *b);

#endif
