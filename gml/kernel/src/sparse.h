/* Statistics of tables with more cells than rows, from the rows sorted by cell. */
#ifndef GML_SPARSE_H
#define GML_SPARSE_H

#include "counting.h"
#include "statistics.h"

/* Statistics of (x, y | Z), set = *Z, x, y; strata in ascending order, as in a dense table.
   Returns 1, 0 when memory ran out, -1 when a stratum
   has over `most_cells` cells or their number does not fit into 63 bits. */
int sparse_statistics(const coded_data *data, const int32_t *set, size_t size,
                      size_t most_cells, table_statistics *out);

#endif
