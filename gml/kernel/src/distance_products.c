#include "distance_products.h"

#include <stdlib.h>
#include <string.h>

#include "permuting.h"
#include "stop.h"

/* A row: its numbers, and for the rows before it (by x) with a y that is not larger their number and sums. */
typedef struct {
    double x, y;
    double count, sum_x, sum_y, sum_xy;
} ranked_row;

/* Merge two runs in order of y; rows of the later run learn what the earlier one has below them. */
static void merge(const ranked_row *earlier, size_t n_earlier, const ranked_row *later,
                  size_t n_later, ranked_row *out)
{
    double sum_x = 0, sum_y = 0, sum_xy = 0;
    size_t i = 0;
    for (size_t j = 0; j < n_later; j++) {
        while (i < n_earlier && earlier[i].y <= later[j].y) {
            sum_x += earlier[i].x;
            sum_y += earlier[i].y;
            sum_xy += earlier[i].x * earlier[i].y;
            *out++ = earlier[i++];
        }
        *out = later[j];
        out->count += (double)i;
        out->sum_x += sum_x;
        out->sum_y += sum_y;
        out->sum_xy += sum_xy;
        out++;
    }
    memcpy(out, earlier + i, (n_earlier - i) * sizeof *out);
}

/* Sorts rows that ascend by x by their y; the result lies in one of the two rooms. */
static const ranked_row *sort_by_y(ranked_row *rows, ranked_row *room, size_t n)
{
    uint64_t steps = 0;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            const size_t middle = start + width < n ? start + width : n;
            const size_t end = middle + width < n ? middle + width : n;
            merge(rows + start, middle - start, rows + middle, end - middle, room + start);
            if (stop_after(&steps, 4 * (end - start)))
                return rows;
        }
        ranked_row *kept = rows;
        rows = room;
        room = kept;
    }
    return rows;
}

/* The sum for rows that ascend by x; the rooms are used up. With D the sum of (x_j - x_i)(y_j - y_i) over the
   pairs in which both ascend and S the sum over all pairs, the rest enters negatively: 2 D - S. */
static double product_of(ranked_row *rows, ranked_row *room, size_t n)
{
    double all_x = 0, all_y = 0, all_xy = 0, ascending = 0;
    const ranked_row *sorted = sort_by_y(rows, room, n);
    for (size_t i = 0; i < n; i++) {
        const ranked_row *row = &sorted[i];
        all_x += row->x;
        all_y += row->y;
        all_xy += row->x * row->y;
        ascending += row->x * (row->y * row->count - row->sum_y) - row->y * row->sum_x + row->sum_xy;
    }
    return 2 * (2 * ascending - ((double)n * all_xy - all_x * all_y));
}

int distance_product(const double *x, const double *y, size_t n, double *out)
{
    ranked_row *rooms = malloc(2 * n * sizeof *rooms);
    if (rooms == NULL)
        return 0;
    for (size_t i = 0; i < n; i++)
        rooms[i] = (ranked_row){.x = x[i], .y = y[i]};
    *out = product_of(rooms, rooms + n, n);
    free(rooms);
    return 1;
}

int permuted_distance_products(const distance_columns *columns, const uint64_t key[2], int64_t first,
                               int64_t last, double *out)
{
    const size_t n = columns->n;
    ranked_row *rooms = malloc(2 * n * sizeof *rooms);
    uint32_t *order = malloc(n * sizeof *order);
    if (rooms == NULL || order == NULL) {
        free(rooms);
        free(order);
        return 0;
    }
    for (int64_t r = first; r < last && !stop_wanted(); r++) {
        double by_rows = 0;
        permute(order, n, key, r);
        for (size_t i = 0; i < n; i++) {
            rooms[i] = (ranked_row){.x = columns->x[i], .y = columns->y[order[i]]};
            by_rows += columns->x_sums[i] * columns->y_sums[order[i]];
        }
        out[r - first] = product_of(rooms, rooms + n, n) - 2 * by_rows / (double)n;
    }
    free(rooms);
    free(order);
    return 1;
}
