/* Sums over all states of a model of pairs, two levels each: meet in the middle.

   The variables are in three groups: inner and middle ones, PAIR_BITS each, and outer ones, of which every
   configuration is a block. A state weighs exp of the sum of its fields, and of the couplings of the pairs
   that are both 1. For each configuration of outer and middle variables the weights of all inner ones are
   built by doubling, in a table that stays in the cache, added up by folding it, and added to the sums by
   inner configuration. */
#ifndef GML_PAIR_SUMS_H
#define GML_PAIR_SUMS_H

#include <stddef.h>

#define PAIR_BITS 10
#define PAIR_STATES (1 << PAIR_BITS)
#define PAIR_ROWS (PAIR_BITS + 1)

typedef struct {
    const double *middle;   /* sums of couplings among the middle variables, by configuration */
    const double *inner;    /* exp of the same among inner ones, divided by the largest */
    const double *couplings; /* middle x inner */
} pair_model;

/* One block: where the outer variables are. */
typedef struct {
    double constant;            /* what they add to every state */
    double middle[PAIR_BITS];   /* the fields of the others, given them */
    double inner[PAIR_BITS];
} pair_block;

/* Sums over the states of blocks one after the other. `scales` has a logarithm per block, by which its sums in
   `moments` are to be multiplied: a table per block whose first row is over all states and whose others are
   over those where an inner variable is 1; the columns likewise for the middle ones. `by_inner` and `by_middle`
   are sums over all blocks, by configuration, and `scale` their logarithm. */
void pair_sums(const pair_model *model, const pair_block *blocks, size_t n_blocks, double *scales,
               double *moments, double *by_inner, double *by_middle, double *scale);

#endif
