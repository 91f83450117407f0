/* Test statistics of many tables of one data set. */
#ifndef GML_SET_STATISTICS_H
#define GML_SET_STATISTICS_H

#include "counting.h"
#include "statistics.h"

/* Statistics of (x, y | Z) for each set members[starts[k]..starts[k+1]-1] = *Z, x, y. A set with over
   `most_cells` cells in a stratum, or 2^63 in all, is left out: its n is -1. Returns 0 when memory ran
   out. */
int set_statistics(const coded_data *data, const int32_t *members, const int64_t *starts,
                   size_t n_sets, uint64_t most_cells, table_statistics *out);

#endif
