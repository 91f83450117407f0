/* Tables with more cells than rows, from the rows sorted by cell. */
#ifndef GML_SPARSE_H
#define GML_SPARSE_H

#include "counting.h"
#include "statistics.h"

/* The usable rows of a set of columns, in ascending order of their cells. */
typedef struct {
    uint64_t *cells;
    uint64_t *rows; /* numbers of the rows, NULL unless rows have weights */
    size_t n;
    unsigned char *seen; /* which levels of the columns rows have, one column after the other */
    uint64_t *room;
} sorted_rows;

/* Returns 1, 0 when memory ran out, -1 when the number of cells does not fit into 63 bits. */
int sort_rows(const coded_data *data, const int32_t *set, size_t size, sorted_rows *sorted);
void free_sorted_rows(sorted_rows *sorted);

/* How many strata have rows. */
size_t distinct_strata(const sorted_rows *sorted, size_t cells_of_stratum);

typedef void (*stratum_visitor)(void *context, const int64_t *stratum);

/* One stratum that has rows after the other, in ascending order; `stratum` is a small table of zeros,
   cleared behind each. */
void visit_strata(const coded_data *data, const sorted_rows *sorted, size_t cells_of_stratum,
                  int64_t *stratum, stratum_visitor visit, void *context);

/* Statistics of (x, y | Z), set = *Z, x, y; strata in ascending order, as in a dense table.
   Returns 1, 0 when memory ran out, -1 when a stratum has over `most_cells` cells or their number does
   not fit into 63 bits. */
int sparse_statistics(const coded_data *data, const int32_t *set, size_t size,
                      size_t most_cells, table_statistics *out);

#endif
