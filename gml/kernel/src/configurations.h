/* The configuration of parents that each row has, kept from family to family: one that shares its first
   parents with the last one begins where they part. */
#ifndef GML_CONFIGURATIONS_H
#define GML_CONFIGURATIONS_H

#include "counting.h"

enum { MOST_PARENTS = 64 };

typedef struct {
    const coded_data *data;
    size_t depth; /* parents that the numbers are kept for, one after the other */
    int32_t parents[MOST_PARENTS];
    uint32_t seen[MOST_PARENTS];   /* configurations that occur in rows */
    uint32_t *of_row[MOST_PARENTS]; /* numbers of these in lexicographic order */
    uint32_t *lookup;
    size_t lookup_room;
} configurations;

void configurations_begin(configurations *configs, const coded_data *data);
void configurations_end(configurations *configs);

/* Whether a family (*parents, child) of so many cells is counted faster this way: the one before or the
   next has all but its last parent. */
int configurations_serve(const configurations *configs, const int32_t *set, size_t size,
                         const int32_t *next, size_t next_size, double cells);

/* Number the configurations as far as the family needs it; 0 when memory ran out, -1 when its table, or
   one on the way to it, would have more than so many cells. */
int configurations_reach(configurations *configs, const int32_t *set, size_t size, uint64_t most);

/* Size of the table of the family, which has every stratum that rows have, in ascending order. */
uint64_t configurations_cells(const configurations *configs, const int32_t *set, size_t size);
void configurations_count(const configurations *configs, const int32_t *set, size_t size,
                          int64_t *table);

#endif
