/* Sets of parents as bits, and dynamic programming over sets of variables. */
#ifndef GML_SUBSETS_H
#define GML_SUBSETS_H

#include <stddef.h>
#include <stdint.h>

/* The score of what cannot be. */
#define NEVER INT64_MIN

/* Sets of one more member from `n` sets of equal size, which come in lexicographic order of their members:
   those all of whose subsets of that size are there, each with the best value of these. Members above
   the last of a set are taken from `candidates`. `grown` and `values` have room for every set with every
   candidate above its last member; they come in lexicographic order again. Returns how many there are,
   -1 when memory ran out. */
int64_t grow_sets(const uint64_t *sets, const int64_t *best, size_t n, uint64_t candidates,
                  uint64_t *grown, int64_t *values);

/* best_parents[lo] = the units of the best of n sets of parents within the `low` lowest bits lo and the bits
   hi above them; NEVER where there is none. */
void best_within(const uint64_t *masks, const int64_t *units, size_t n, int low, uint64_t hi,
                 int64_t *best_parents);

/* The best order of m variables, one slice of sets after the other (Silander & Myllymaki 2006).

   Variable x has the sets of parents masks[starts[x]..starts[x+1]-1] with their units. best[T] is the
   highest sum of units over all DAGs on the variables T, and sinks[T] the first variable that is last in
   an order of such a DAG. A slice is the sets that agree in all but the `low` lowest bits; slices `first`
   to `last` - 1 are done, those before being ready. best is NEVER at the beginning, but 0 for the empty
   set. Returns 0 when memory ran out. */
int best_sinks(const uint64_t *masks, const int64_t *units, const int64_t *starts, int m, int low,
               uint64_t first, uint64_t last, int64_t *best, uint8_t *sinks);

#endif
