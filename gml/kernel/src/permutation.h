/* Monte Carlo over tables with fixed stratum margins. */
#ifndef GML_PERMUTATION_H
#define GML_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

/* Among replicates first .. last-1, count those whose G is at least `threshold`. Each replicate
   draws every stratum's table given its margins (the law of a random relabelling), cell by cell
   from the hypergeometric distribution; draw d of replicate r uses the uniform number of counter
   r * draws + d under `key`, so chunks of replicates can be computed in any order. Returns -1 when
   memory ran out. */
int64_t permutation_exceedances(const int64_t *table, size_t strata, size_t rows, size_t columns,
                                double threshold, const uint64_t key[2], int64_t first,
                                int64_t last);

#endif
