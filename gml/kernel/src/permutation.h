/* Monte Carlo over tables with fixed stratum margins. */
#ifndef GML_PERMUTATION_H
#define GML_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

/* G of replicates first .. last-1, to `out`. Each replicate draws every stratum's table given its
   margins (the law of a random relabelling), cell by cell from the hypergeometric distribution; draw
   d of replicate r uses the uniform number of counter r * draws + d under `key`, so chunks of
   replicates can be computed in any order. Returns 0 when memory ran out. */
int permutation_draws(const int64_t *table, size_t strata, size_t rows, size_t columns,
                      const uint64_t key[2], int64_t first, int64_t last, double *out);

/* Two samples of a column, a stratum for each configuration of its parents: how much less
   information the second one has, in replicates that share the rows of a stratum out to the samples
   anew. `table` is strata x 2 x columns; every stratum has rows in both samples. The information of
   a sample is sum_z w_z H(mixture of z) - sum_s w_s H(stratum s), mixtures being over the strata of
   a group z (equal `groups`, side by side) with their `weights`, which both samples share. Returns 0
   when memory ran out. */
int information_loss_draws(const int64_t *table, size_t strata, size_t columns,
                           const double *weights, const int64_t *groups, const uint64_t key[2],
                           int64_t first, int64_t last, double *out);

#endif
