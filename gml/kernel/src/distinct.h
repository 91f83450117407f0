/* Equal rows, found by hashing and exact comparison. */
#ifndef GML_DISTINCT_H
#define GML_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

/* rows: row-major, `width` bytes each. group[i] gets the number of the distinct row that row i
   equals, in order of first appearance; firsts[g] the first row of group g. Gives up when there are
   more than `limit` distinct rows. Returns their number, -1 when it gave up, -2 without memory. */
int64_t group_rows(const uint8_t *rows, size_t n, size_t width, int64_t limit, int32_t *group,
                   int64_t *firsts);

#endif
