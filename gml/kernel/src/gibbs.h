/* Gibbs sampling of log-linear models: many chains, drawn variable by variable. */
#ifndef GML_GIBBS_H
#define GML_GIBBS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that may be read beyond those of a step. */
#define GIBBS_SLACK 64

/* Chains are drawn in groups of so many; there is room for a multiple of it. */
#define GIBBS_GROUP 64

/* Random bits of a draw, and so of a threshold; 2^GIBBS_BITS itself stands for certainty. */
#define GIBBS_BITS 40

/* A table over a variable and some of its neighbours. */
typedef struct {
    size_t start;            /* of the table among all numbers */
    size_t stride;           /* of the variable drawn */
    const uint32_t *members; /* neighbours, by their places in the blanket */
    const uint64_t *strides;
    size_t n_members;
} gibbs_factor;

/* Draw a level of `target` given its neighbours, the blanket. */
typedef struct {
    size_t target;
    uint32_t n_levels;
    const uint32_t *blanket;
    const uint32_t *sizes; /* levels of the neighbours */
    const uint32_t *bits;  /* of their codes in a configuration */
    size_t n_blanket;
    int is_binary; /* two levels each, the variable's own included */
    const gibbs_factor *factors;
    size_t n_factors;
    uint64_t key[2];
    /* If the blanket has few configurations: where levels end in each of them, and for few levels the
       highest byte of that, a row per level. A configuration has the codes of the neighbours one after
       the other, each in as many bits as its levels need. */
    unsigned n_bits;
    uint64_t *thresholds;
    uint8_t *bytes;
} gibbs_step;

/* Whether the steps' thresholds are compared by bytes first: few configurations and few levels. */
int gibbs_has_bytes(const gibbs_step *step);

/* Find the thresholds of the steps that keep them; returns 0 without memory. */
int gibbs_prepare(gibbs_step *steps, size_t n_steps, const double *numbers);

/* Draw the chains from `first` to `last`, multiples of GIBBS_GROUP, of variables x n_chains codes of
   `width` bytes, in `n_sweeps` sweeps; returns 0 without memory. */
int gibbs_sweep(const gibbs_step *steps, size_t n_steps, const double *numbers, void *states, int width,
                size_t n_chains, size_t first, size_t last, uint64_t first_sweep, uint64_t n_sweeps);

/* Scopes of tables: variables members[starts[k]] to members[starts[k + 1] - 1] with their strides; the table
   has the cells from tables[k] to tables[k + 1] - 1. */
typedef struct {
    const uint32_t *members;
    const uint64_t *strides;
    const uint64_t *starts;
    const uint64_t *tables;
    size_t n_scopes;
} gibbs_scopes;

/* Add to counts how many of the first `n` chains are in each cell of each table. */
void gibbs_count(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains, size_t n,
                 int64_t *counts);

/* Add to sums, of each of the first `n` chains, the numbers of the cells that it is in. */
void gibbs_sum(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains, size_t n,
               const double *numbers, double *sums);

#endif
