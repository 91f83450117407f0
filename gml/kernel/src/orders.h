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

/* The sets of parents of n variables. Those of x are sets[set_starts[x]..set_starts[x+1]-1], as bits of its
   candidates[candidate_starts[x]..candidate_starts[x+1]-1], with their logs in descending order. */
typedef struct {
    int32_t n;
    const int32_t *candidates;
    const int64_t *candidate_starts;
    const uint64_t *sets;
    const double *logs;
    const int64_t *set_starts;
} order_model;

/* Where a chain is: the variables in order, and for each the log of the sum over the sets of parents that
   come before it. */
typedef struct {
    int32_t *order;
    int32_t *position;
    double *sums;
} order_state;

/* Fill in position and sums of an order. */
void place_order(const order_model *model, order_state *state);

/* Metropolis steps `first` to `last` - 1 (Friedman & Koller 2003): two variables change places, or two
   neighbours do, or one variable moves elsewhere. Step s draws the numbers 4s to 4s + 3 of the key.
   `saved` and `saved_sums` have room for n. Returns how many steps were accepted. */
int64_t walk_orders(const order_model *model, order_state *state, const uint64_t key[2],
                    int64_t first, int64_t last, int32_t *saved, double *saved_sums);

/* edges[y * n + x] = probability of y -> x given the order. */
void order_edges(const order_model *model, const order_state *state, double *edges);

#endif
