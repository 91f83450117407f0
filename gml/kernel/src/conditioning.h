/* The conditioning sets of PC: subsets of the neighbours of x, then of those of y, each once. */
#ifndef GML_CONDITIONING_H
#define GML_CONDITIONING_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const int64_t *starts;     /* neighbours of node i are neighbours[starts[i]..starts[i+1]-1] */
    const int32_t *neighbours; /* ascending */
    const int32_t *tiers;      /* of each node; negative = none */
    size_t level;              /* members of a set */
} conditioning;

/* How many sets there are for the pair; `scratch` has room for the neighbours of both. */
int64_t conditioning_total(const conditioning *from, int32_t x, int32_t y, int32_t *scratch);

/* Sets first..first+count-1, which must exist, into out (count rows of `level` nodes, ascending). */
void conditioning_fill(const conditioning *from, int32_t x, int32_t y, int64_t first, int64_t count,
                       int32_t *scratch, int32_t *out);

#endif
