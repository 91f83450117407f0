/* The ways in which incomplete rows may be complete, with their probabilities, or draws of them. */
#ifndef GML_COMPLETION_H
#define GML_COMPLETION_H

#include <stddef.h>
#include <stdint.h>

#include "missing_parts.h"

/* What became of a row. */
enum { ROW_CROSSED, ROW_DRAWN, ROW_TOO_LARGE, ROW_IMPOSSIBLE };

typedef struct {
    const double *tables;
    const uint64_t *key;
    size_t most_points; /* of a row */
    size_t most_states; /* of a part; a row with a larger one is left to the caller */
} completion_plan;

/* Complete rows first .. last-1 of the collector. Row r gets n_points[r - first] points from
   (r - first) * most_points on: a level for each node, and a weight; those of a row add up to 1. Draws
   depend on the key and the number of the row. Returns 0 without memory. */
int complete_rows(parts_collector *rows, const family_layout *layout, const completion_plan *plan,
                  size_t first, size_t last, int32_t *points, double *weights, int64_t *n_points,
                  uint8_t *became);

#endif
