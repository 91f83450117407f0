#include "set_statistics.h"

#include <stdlib.h>
#include <string.h>

#include "sparse.h"
#include "stop.h"

/* Neighbouring sets are counted together, up to a joint table of as many cells as there are rows,
   within these bounds, and summed over what each of them leaves out, where that takes less time. */
#define LEAST_JOINT_CELLS 4096
#define MOST_JOINT_CELLS 65536
#define JOINT_AXES 16
#define JOINT_SETS 256
/* Nanoseconds to add a cell of a joint table to a cell of a marginal one. */
#define ADD_COST 1.0

typedef struct {
    int32_t axes[JOINT_AXES]; /* union of the sets; x and y of the first of them are last */
    size_t size;
    uint64_t cells;
    size_t n_sets;
    size_t tried; /* sets that were looked at */
} joint_run;

/* Room that grows with the largest table. */
typedef struct {
    int64_t *cells;
    uint64_t room;
} cell_buffer;

static int reserve(cell_buffer *buffer, uint64_t cells)
{
    if (cells > buffer->room) {
        free(buffer->cells);
        buffer->cells = malloc(cells * sizeof *buffer->cells);
        buffer->room = buffer->cells == NULL ? 0 : cells;
    }
    return buffer->cells != NULL;
}

/* Add the members of a set to the run; 0 if the joint table would become too large. */
static int join(const coded_data *data, joint_run *run, uint64_t most_cells, const int32_t *set,
                size_t size)
{
    joint_run wider = *run;
    for (size_t k = 0; k < size; k++) {
        size_t at = 0;
        while (at < wider.size && wider.axes[at] != set[k])
            at++;
        if (at < wider.size)
            continue;
        if (wider.size == JOINT_AXES || data->columns[set[k]].has_missing)
            return 0;
        memmove(wider.axes + 1, wider.axes, wider.size * sizeof *wider.axes);
        wider.axes[0] = set[k];
        wider.size++;
        wider.cells *= data->columns[set[k]].n_levels;
        if (wider.cells > most_cells)
            return 0;
    }
    *run = wider;
    run->n_sets++;
    return 1;
}

/* The sets from the first on that save most by being counted together; n_sets is 0 when none do. */
static joint_run plan(const coded_data *data, const int32_t *members, const int64_t *starts,
                      size_t n_sets)
{
    const int32_t *x_y = members + starts[1] - 2;
    joint_run run = {{x_y[0], x_y[1]}, 2, count_cells(data, x_y, 2), 0, 0};
    joint_run best = run;
    double apart = 0, saved = 0;
    uint64_t most_cells = data->n_rows;
    if (most_cells < LEAST_JOINT_CELLS)
        most_cells = LEAST_JOINT_CELLS;
    if (most_cells > MOST_JOINT_CELLS)
        most_cells = MOST_JOINT_CELLS;
    if (data->columns[x_y[0]].has_missing || data->columns[x_y[1]].has_missing ||
        run.cells > most_cells)
        return best;
    while (run.n_sets < n_sets && run.n_sets < JOINT_SETS) {
        const int32_t *set = members + starts[run.n_sets];
        size_t size = (size_t)(starts[run.n_sets + 1] - starts[run.n_sets]);
        if (!join(data, &run, most_cells, set, size))
            break;
        apart += count_cost(data, set, size);
        double together = count_cost(data, run.axes, run.size) +
                          (double)run.n_sets * (double)run.cells * ADD_COST;
        if (apart - together > saved) {
            saved = apart - together;
            best = run;
        }
    }
    best.tried = run.n_sets;
    return best;
}

/* Sum the joint table of a run over the columns that the set leaves out. */
static void sum_out(const coded_data *data, const joint_run *run, const int64_t *joint,
                    const int32_t *set, size_t size, int64_t *table, uint64_t cells)
{
    size_t steps[JOINT_AXES], digits[JOINT_AXES];
    for (size_t a = 0; a < run->size; a++) {
        size_t step = 0, stride = 1;
        for (size_t k = size; k-- > 0;) {
            if (set[k] == run->axes[a])
                step = stride;
            stride *= data->columns[set[k]].n_levels;
        }
        steps[a] = step;
        digits[a] = 0;
    }
    /* The last axes may be those of the set as well: then they are added block by block. */
    size_t n_axes = run->size, block = 1;
    while (n_axes > 0 && steps[n_axes - 1] == block)
        block *= data->columns[run->axes[--n_axes]].n_levels;
    memset(table, 0, cells * sizeof *table);
    size_t to = 0;
    for (uint64_t from = 0; from < run->cells; from += block) {
        for (size_t c = 0; c < block; c++)
            table[to + c] += joint[from + c];
        for (size_t a = n_axes; a-- > 0;) {
            to += steps[a];
            if (++digits[a] < data->columns[run->axes[a]].n_levels)
                break;
            to -= digits[a] * steps[a];
            digits[a] = 0;
        }
    }
}

static int describe(const coded_data *data, const int32_t *set, size_t size, const int64_t *table,
                    uint64_t cells, table_statistics *out)
{
    const size_t rows = data->columns[set[size - 2]].n_levels;
    const size_t columns = data->columns[set[size - 1]].n_levels;
    const size_t strata = cells / (rows * columns);
    uint32_t n_levels[64];
    if (!statistics_of_table(table, strata, rows, columns, out))
        return 0;
    if (out->n == 0 && size > 2) {
        out->seen_z = 0;
        return 1;
    }
    /* A table that is held has at most 2^40 cells, so at most 40 columns of two levels and more. */
    size_t axes = 0;
    for (size_t k = 0; k + 2 < size; k++)
        if (data->columns[set[k]].n_levels > 1)
            n_levels[axes++] = data->columns[set[k]].n_levels;
    int64_t seen =
        seen_configurations(table, strata, out->seen_strata, rows * columns, n_levels, axes);
    out->seen_z = (double)seen;
    return seen >= 0;
}

int set_statistics(const coded_data *data, const int32_t *members, const int64_t *starts,
                   size_t n_sets, uint64_t most_cells, table_statistics *out)
{
    const uint64_t worth_holding = 4096 + 8 * data->n_rows;
    cell_buffer one = {NULL, 0}, joint = {NULL, 0};
    joint_run run = {{0}, 0, 0, 0, 0};
    size_t planned = 0, joint_end = 0;
    uint64_t steps = 0;
    int done = 1;
    for (size_t k = 0; k < n_sets && done; k++) {
        if (stop_after(&steps, 1024 + data->n_rows)) {
            done = 0;
            break;
        }
        const int32_t *set = members + starts[k];
        const size_t size = (size_t)(starts[k + 1] - starts[k]);
        const uint64_t cells = count_cells(data, set, size);
        if (k == planned && n_sets - k > 1) {
            run = plan(data, members, starts + k, n_sets - k);
            planned = k + (run.n_sets > 0 ? run.n_sets : run.tried > 0 ? run.tried : 1);
            if (run.n_sets > 0) {
                joint_end = planned;
                done = reserve(&joint, run.cells) &&
                       count_set(data, run.axes, run.size, joint.cells);
                if (!done)
                    break;
            }
        }
        if (k < joint_end) {
            done = reserve(&one, cells);
            if (done)
                sum_out(data, &run, joint.cells, set, size, one.cells, cells);
            done = done && describe(data, set, size, one.cells, cells, &out[k]);
        } else if (cells == 0 || cells > most_cells || cells > worth_holding) {
            int found = sparse_statistics(data, set, size, most_cells, &out[k]);
            done = found != 0;
            if (found < 0) {
                memset(&out[k], 0, sizeof out[k]);
                out[k].n = -1;
            }
        } else
            done = reserve(&one, cells) && count_set(data, set, size, one.cells) &&
                   describe(data, set, size, one.cells, cells, &out[k]);
    }
    free(one.cells);
    free(joint.cells);
    return done;
}
