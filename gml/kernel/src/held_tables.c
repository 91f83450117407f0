#include "held_tables.h"

#include <string.h>

#include "stop.h"

/* A table that is held with every cell has at most some thousands, so at most this many columns of two
   levels and more. */
#define MOST_AXES 64

static uint64_t cells_of(const int32_t *levels, size_t size)
{
    uint64_t cells = 1;
    for (size_t a = 0; a < size; a++)
        cells *= (uint64_t)levels[a];
    return cells;
}

/* Columns of one level have no say in where a cell is. */
static size_t axes_that_count(const int32_t *levels, const int64_t *steps, size_t size,
                              uint32_t *n_levels, int64_t *step)
{
    size_t axes = 0;
    for (size_t a = 0; a < size; a++)
        if (levels[a] > 1) {
            n_levels[axes] = (uint32_t)levels[a];
            if (step != NULL)
                step[axes] = steps[a];
            axes++;
        }
    return axes;
}

void turn_tables(const held_tables *found, const int64_t *steps, const int64_t *summed, int64_t *out)
{
    uint64_t work = 0;
    for (size_t t = 0; t < found->n_tables; t++) {
        const int32_t *levels = found->levels + t * found->size;
        const uint64_t cells = cells_of(levels, found->size);
        const int64_t *from = found->cells + found->starts[t];
        uint32_t n_levels[MOST_AXES], digits[MOST_AXES];
        int64_t step[MOST_AXES];
        if (stop_after(&work, cells))
            return;
        const size_t axes =
            axes_that_count(levels, steps + t * found->size, found->size, n_levels, step);
        memset(digits, 0, axes * sizeof *digits);
        for (uint64_t c = 0; c < cells; c++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < summed[2 * t]; k++)
                sum += from[k * summed[2 * t + 1]];
            out[c] = sum;
            for (size_t a = axes; a-- > 0;) {
                from += step[a];
                if (++digits[a] < n_levels[a])
                    break;
                from -= (int64_t)digits[a] * step[a];
                digits[a] = 0;
            }
        }
        out += cells;
    }
}

int held_statistics(const held_tables *tables, table_statistics *out)
{
    uint64_t work = 0;
    for (size_t t = 0; t < tables->n_tables; t++) {
        const int32_t *levels = tables->levels + t * tables->size;
        const int64_t *cells = tables->cells + tables->starts[t];
        const size_t given = tables->size - 2;
        const size_t rows = (size_t)levels[given], columns = (size_t)levels[given + 1];
        const uint64_t strata = cells_of(levels, given);
        uint32_t n_levels[MOST_AXES];
        if (stop_after(&work, strata * rows * columns))
            return 0;
        if (!statistics_of_table(cells, strata, rows, columns, &out[t]))
            return 0;
        if (given == 0)
            continue;
        if (out[t].n == 0) {
            out[t].seen_z = 0;
            continue;
        }
        const size_t axes = axes_that_count(levels, NULL, given, n_levels, NULL);
        const int64_t seen = seen_configurations(cells, strata, out[t].seen_strata, rows * columns,
                                                 n_levels, axes);
        if (seen < 0)
            return 0;
        out[t].seen_z = (double)seen;
    }
    return 1;
}
