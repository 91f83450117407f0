/* Many tables that are held end to end: put in other orders of their columns, and described. */
#ifndef GML_HELD_TABLES_H
#define GML_HELD_TABLES_H

#include "families.h"
#include "statistics.h"

/* Tables of `size` columns each: that of table t has levels[t * size + a] levels of column a. */
typedef struct {
    const int64_t *cells;
    const int64_t *starts; /* of each table among the cells, the last column fastest */
    const int32_t *levels;
    size_t n_tables, size;
} held_tables;

/* Write each table with its columns in another order: table t of `found` is read in steps of
   steps[t * size + a] cells per level of column a, as `levels` are ordered now, and is summed over
   summed[2t] levels that are summed[2t + 1] cells apart. The results are end to end in `out`. */
void turn_tables(const held_tables *found, const int64_t *steps, const int64_t *summed, int64_t *out);

/* Statistics of (x, y | Z) for tables of *Z, x, y. Returns 0 when memory ran out or it was stopped. */
int held_statistics(const held_tables *tables, table_statistics *out);

/* What the families of tables of *parents, child are worth; nothing without rows. */
void held_families(const held_tables *tables, const family_rule *rule, family_worth *worth);

#endif
