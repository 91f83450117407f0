#include "configurations.h"

#include <stdlib.h>
#include <string.h>

/* Below this, popcounts are faster. Columns of two bytes per cell are left to other ways. */
#define FEWEST_COLUMNS 5
#define FEWEST_CELLS 48
/* The numbers of all rows together take at most 64 MB. */
#define MOST_NUMBERS (UINT64_C(1) << 24)
#define CELLS_PER_ROW 2
/* Parents that are numbered in less time than it takes to sort the rows. */
#define FEW_OF_SPARSE 4

void configurations_begin(configurations *configs, const coded_data *data)
{
    memset(configs, 0, sizeof *configs);
    configs->data = data;
}

void configurations_end(configurations *configs)
{
    for (size_t d = 0; d < MOST_PARENTS; d++)
        free(configs->of_row[d]);
    free(configs->lookup);
}

/* How many columns two families have in common from the first on. */
static size_t shared_columns(const int32_t *one, const int32_t *other, size_t most)
{
    size_t shared = 0;
    while (shared < most && one[shared] == other[shared])
        shared++;
    return shared;
}

int configurations_serve(const configurations *configs, const int32_t *set, size_t size,
                         const int32_t *next, size_t next_size, double cells)
{
    const coded_data *data = configs->data;
    if (size < FEWEST_COLUMNS || size > MOST_PARENTS || cells < FEWEST_CELLS || cells > 0x1p63 ||
        data->n_rows == 0 || data->n_rows * size > MOST_NUMBERS)
        return 0;
    const size_t known = shared_columns(set, configs->parents,
                                        configs->depth < size - 2 ? configs->depth : size - 2);
    const size_t few = cells > CELLS_PER_ROW * (double)data->n_rows ? FEW_OF_SPARSE : 0;
    if (known + few < size - 2 &&
        (next_size < size || shared_columns(set, next, size - 2) < size - 2))
        return 0;
    for (size_t k = 0; k < size; k++)
        if (data->columns[set[k]].has_missing || data->columns[set[k]].width != 1)
            return 0;
    return 1;
}

/* Number the configurations of one more parent. Returns as configurations_reach does. */
static int refine(configurations *configs, int32_t parent, uint64_t most)
{
    const uint8_t *codes = configs->data->columns[parent].codes;
    const size_t n = configs->data->n_rows, d = configs->depth;
    const size_t levels = configs->data->columns[parent].n_levels;
    const size_t before = d == 0 ? 1 : configs->seen[d - 1];
    const uint32_t *from = d == 0 ? NULL : configs->of_row[d - 1];
    if (before * levels > most)
        return -1;
    if (configs->of_row[d] == NULL) {
        configs->of_row[d] = malloc((n + 1) * sizeof **configs->of_row);
        if (configs->of_row[d] == NULL)
            return 0;
    }
    if (before * levels > configs->lookup_room) {
        free(configs->lookup);
        configs->lookup = malloc(before * levels * sizeof *configs->lookup);
        configs->lookup_room = configs->lookup == NULL ? 0 : before * levels;
        if (configs->lookup == NULL)
            return 0;
    }
    uint32_t *lookup = configs->lookup, *to = configs->of_row[d], seen = 0;
    memset(lookup, 0, before * levels * sizeof *lookup);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = (from == NULL ? 0 : from[i] * (uint32_t)levels) + codes[i];
        lookup[at] = 1;
        to[i] = at;
    }
    for (size_t at = 0; at < before * levels; at++) {
        uint32_t here = lookup[at];
        lookup[at] = seen;
        seen += here;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = lookup[to[i]];
    configs->parents[d] = parent;
    configs->seen[d] = seen;
    configs->depth = d + 1;
    return 1;
}

/* Whether the last parent of the family is numbered too. */
static int has_all(const configurations *configs, size_t size)
{
    return configs->depth == size - 1;
}

uint64_t configurations_cells(const configurations *configs, const int32_t *set, size_t size)
{
    uint64_t cells = configs->data->columns[set[size - 1]].n_levels;
    if (!has_all(configs, size))
        cells *= configs->data->columns[set[size - 2]].n_levels;
    return cells * configs->seen[configs->depth - 1];
}

int configurations_reach(configurations *configs, const int32_t *set, size_t size, uint64_t most)
{
    configs->depth =
        shared_columns(set, configs->parents, configs->depth < size - 1 ? configs->depth : size - 1);
    int done = 1;
    while (done == 1 && configs->depth < size - 2)
        done = refine(configs, set[configs->depth], most);
    /* The last parent is different in the next family: it is numbered only where that makes the table
       much smaller. */
    if (done == 1 && !has_all(configs, size) &&
        configurations_cells(configs, set, size) > CELLS_PER_ROW * configs->data->n_rows)
        done = refine(configs, set[size - 2], most);
    return done == 1 && configurations_cells(configs, set, size) > most ? -1 : done;
}

void configurations_count(const configurations *configs, const int32_t *set, size_t size,
                          int64_t *table)
{
    const coded_data *data = configs->data;
    const uint8_t *x = data->columns[set[size - 1]].codes, *y = data->columns[set[size - 2]].codes;
    const uint32_t *from = configs->of_row[configs->depth - 1];
    const uint32_t levels = data->columns[set[size - 1]].n_levels;
    const uint32_t parent_levels = data->columns[set[size - 2]].n_levels;
    const size_t n = data->n_rows;
    const int64_t *weights = data->weights;
    memset(table, 0, configurations_cells(configs, set, size) * sizeof *table);
    if (has_all(configs, size))
        for (size_t i = 0; i < n; i++)
            table[from[i] * levels + x[i]] += weights == NULL ? 1 : weights[i];
    else
        for (size_t i = 0; i < n; i++)
            table[(from[i] * parent_levels + y[i]) * levels + x[i]] +=
                weights == NULL ? 1 : weights[i];
}
