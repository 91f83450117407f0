/* Sums over orders of variables, in logarithms (Koivisto & Sood 2004). */
#ifndef GML_ORDERS_H
#define GML_ORDERS_H

#include <stddef.h>
#include <stdint.h>

/* values[T] becomes the logarithm of the sum of exp(values[S]) over all S within T, or with `up` over all
   S that contain T, of sets of m variables. */
void log_sum_sets(double *values, int m, int up);

/* sums[T] = ln of the sum over all orders of the variables in T, or with `rest` of those not in T that
   follow the ones in T, of the product of exp(parents[x][before x]); of m variables. parents[x] is for
   sets of the others: bit x is left out. */
void sum_orders(const double *parents, int m, int rest, double *sums);

#endif
