/* The Hessian of the mean loss of a (multinomial) logistic regression in the coefficients of the groups of
   the set. For one score and few columns it is made from sums of the curvatures of the rows over those with
   a bit in both of two columns; for several scores, or columns with many levels, from sums of the curvatures
   of all pairs of scores at once over the rows with a pair of levels. */

#include <stdlib.h>
#include <string.h>

#include "path_state.h"
#include "stop.h"

/* Rows whose curvatures are made at a time, and the most pairs of scores for which they are. */
enum { TILE = 32, MOST_PAIRS = 128 };

/* Weights of the rows in the Hessian of one score. */
static void find_curvature(path *p)
{
    for (size_t i = 0; i < p->problem->n_rows; i++)
        p->curvature[i] = p->weights[i] * (p->probabilities[i] * (1 - p->probabilities[i]));
}

static void put(path *p, size_t row, size_t col, double value)
{
    p->hessian[row * p->dimension + col] = value;
    p->hessian[col * p->dimension + row] = value;
}

/* The block of the Hessian of one score for two groups, from sums over pairs of columns. */
static void put_block(path *p, size_t kg, size_t kh, const double *pairs)
{
    const path_problem *problem = p->problem;
    const size_t g = p->set[kg], h = p->set[kh];
    const size_t rank_g = (size_t)problem->ranks[g], rank_h = (size_t)problem->ranks[h];
    const size_t wide_g = (size_t)(problem->starts[g + 1] - problem->starts[g]);
    const size_t wide_h = (size_t)(problem->starts[h + 1] - problem->starts[h]);
    const double *basis_g = problem->bases + problem->base_starts[g];
    const double *basis_h = problem->bases + problem->base_starts[h];
    double *half = p->scratch + wide_g * wide_h;
    for (size_t j = 0; j < wide_g; j++)
        for (size_t m = 0; m < rank_h; m++) {
            double sum = 0;
            for (size_t l = 0; l < wide_h; l++)
                sum += pairs[j * wide_h + l] * basis_h[l * rank_h + m];
            half[j * rank_h + m] = sum;
        }
    for (size_t m = 0; m < rank_g; m++)
        for (size_t r = 0; r < rank_h; r++) {
            double sum = 0;
            for (size_t j = 0; j < wide_g; j++)
                sum += basis_g[j * rank_g + m] * half[j * rank_h + r];
            put(p, p->local[kg] + m, p->local[kh] + r, sum);
        }
}

/* The Hessian of one score, from sums over columns. */
static void find_hessian_by_columns(path *p)
{
    const path_problem *problem = p->problem;
    find_curvature(p);
    const double total = plain_sum(p->blocks, p->curvature);
    put(p, 0, 0, total);
    for (size_t k = 0; k < p->set_size; k++) {
        const size_t g = p->set[k], rank = (size_t)problem->ranks[g];
        const size_t from = (size_t)problem->starts[g], to = (size_t)problem->starts[g + 1];
        const double *basis = problem->bases + problem->base_starts[g];
        sums_over(column(p, from), problem->stride, to - from, NULL, p->blocks, p->curvature,
                  p->lane_masks, p->column_sums + from);
        for (size_t m = 0; m < rank; m++) {
            double sum = 0;
            for (size_t j = from; j < to; j++)
                sum += basis[(j - from) * rank + m]
                       * (p->column_sums[j] - problem->means[j] * total);
            put(p, p->local[k] + m, 0, sum);
        }
    }
    for (size_t kg = 0; kg < p->set_size; kg++)
        for (size_t kh = 0; kh <= kg; kh++) {
            const size_t g = p->set[kg], h = p->set[kh];
            const size_t from = (size_t)problem->starts[h];
            const size_t wide = (size_t)problem->starts[h + 1] - from;
            for (int64_t j = problem->starts[g]; j < problem->starts[g + 1]; j++) {
                double *sums = p->scratch + (size_t)(j - problem->starts[g]) * wide;
                sums_over(column(p, from), problem->stride, wide, column(p, (size_t)j), p->blocks,
                          p->curvature, p->lane_masks, sums);
                const double mean = problem->means[j];
                for (size_t l = 0; l < wide; l++)
                    sums[l] += mean * problem->means[from + l] * total
                               - mean * p->column_sums[from + l]
                               - problem->means[from + l] * p->column_sums[j];
                if (stop_after(&p->work, wide * p->blocks))
                    return;
            }
            put_block(p, kg, kh, p->scratch);
        }
}

/* What levels the rows have and which values these have in the dimensions of their group. */
static int find_levels(path *p)
{
    const path_problem *problem = p->problem;
    const size_t groups = problem->n_groups, n = problem->n_rows;
    size_t total = 0;
    p->levels = aligned_zeros(groups * n, sizeof(int32_t));
    p->values_at = aligned_zeros(groups, sizeof(size_t));
    if (!p->levels || !p->values_at)
        return 0;
    for (size_t g = 0; g < groups; g++) {
        p->values_at[g] = total;
        total += (size_t)(problem->starts[g + 1] - problem->starts[g] + 1) * (size_t)problem->ranks[g];
        for (int64_t j = problem->starts[g]; j < problem->starts[g + 1]; j++) {
            const uint8_t *bits = column(p, (size_t)j);
            for (size_t i = 0; i < n; i++)
                if (bits[i / 8] >> i % 8 & 1)
                    p->levels[g * n + i] = (int32_t)(j - problem->starts[g] + 1);
        }
    }
    p->level_values = aligned_zeros(total, sizeof(double));
    if (!p->level_values)
        return 0;
    for (size_t g = 0; g < groups; g++) {
        const size_t rank = (size_t)problem->ranks[g];
        const size_t wide = (size_t)(problem->starts[g + 1] - problem->starts[g]);
        const double *basis = problem->bases + problem->base_starts[g];
        const double *means = problem->means + problem->starts[g];
        double *values = p->level_values + p->values_at[g];
        for (size_t m = 0; m < rank; m++) {
            for (size_t j = 0; j < wide; j++)
                values[m] -= means[j] * basis[j * rank + m];
            for (size_t j = 0; j < wide; j++)
                values[(j + 1) * rank + m] = values[m] + basis[j * rank + m];
        }
    }
    return 1;
}

/* Some pairs of scores, the second no later than the first. */
typedef struct {
    size_t count, lanes;
    size_t first[MOST_PAIRS], second[MOST_PAIRS];
} score_pairs;

/* The curvatures of some rows for the pairs, a row's side by side. */
static void find_tile(const path *p, const score_pairs *pairs, size_t from, size_t count, double *tile)
{
    for (size_t i = from; i < from + count; i++, tile += pairs->lanes * LANES) {
        const double *here = p->probabilities + i;
        for (size_t k = 0; k < pairs->count; k++) {
            const double one = here[pairs->first[k] * p->padded];
            const double other = here[pairs->second[k] * p->padded];
            tile[k] = p->weights[i]
                      * (pairs->first[k] == pairs->second[k] ? one * (1 - one) : -one * other);
        }
    }
}

/* Add the numbers of each row to those of its cell. */
LANE_INLINE void add_to_cells_lanes(const double *tile, size_t count, size_t n_lanes,
                                      const size_t *cells, double *table)
{
    const lanes *from = (const lanes *)tile;
    for (size_t i = 0; i < count; i++) {
        lanes *to = (lanes *)table + cells[i] * n_lanes;
        for (size_t k = 0; k < n_lanes; k++)
            to[k] += *from++;
    }
}

static BY_LEVEL(void, add_to_cells,
         (const double *tile, size_t count, size_t n_lanes, const size_t *cells, double *table),
         (tile, count, n_lanes, cells, table))

LANE_INLINE void add_multiple_lanes(double *to, const double *from, double by, size_t n_lanes)
{
    const lanes all = all_lanes(by);
    for (size_t k = 0; k < n_lanes; k++)
        ((lanes *)to)[k] += all * ((const lanes *)from)[k];
}

static BY_LEVEL(void, add_multiple,
         (double *to, const double *from, double by, size_t n_lanes),
         (to, from, by, n_lanes))

static size_t level_count(const path *p, size_t g)
{
    return (size_t)(p->problem->starts[g + 1] - p->problem->starts[g]) + 1;
}

/* Sums for the pairs over the rows with each level of a group and, one after the other, each level of the
   groups before it in the set; those over its own levels come last. */
static void fill_tables(path *p, const score_pairs *pairs, size_t kg, double *tile)
{
    const size_t n = p->problem->n_rows, g = p->set[kg], step = pairs->lanes * LANES;
    size_t cells[TILE];
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        const int32_t *own = p->levels + g * n + from;
        double *table = p->tables;
        find_tile(p, pairs, from, count, tile);
        for (size_t kh = 0; kh < kg; kh++) {
            const size_t h = p->set[kh], wide = level_count(p, h);
            const int32_t *other = p->levels + h * n + from;
            for (size_t i = 0; i < count; i++)
                cells[i] = (size_t)own[i] * wide + (size_t)other[i];
            add_to_cells(tile, count, pairs->lanes, cells, table);
            table += level_count(p, g) * wide * step;
        }
        for (size_t i = 0; i < count; i++)
            cells[i] = (size_t)own[i];
        add_to_cells(tile, count, pairs->lanes, cells, table);
        if (stop_after(&p->work, count * pairs->lanes * (kg + 1)))
            return;
    }
}

/* Put sums for the pairs where a dimension of one group and one of another meet. */
static void put_pairs(path *p, const score_pairs *pairs, size_t row, size_t col, const double *sums)
{
    for (size_t k = 0; k < pairs->count; k++) {
        put(p, row + pairs->first[k], col + pairs->second[k], sums[k]);
        put(p, row + pairs->second[k], col + pairs->first[k], sums[k]);
    }
}

/* The blocks of the Hessian for a group, the intercepts and the groups before it in the set. */
static void put_tables(path *p, const score_pairs *pairs, size_t kg, double *half, double *sums)
{
    const size_t g = p->set[kg], q = p->n_scores, step = pairs->lanes * LANES;
    const size_t rank = (size_t)p->problem->ranks[g], levels = level_count(p, g);
    const double *values = p->level_values + p->values_at[g], *table = p->tables;
    for (size_t kh = 0; kh < kg; kh++) {
        const size_t h = p->set[kh], other = (size_t)p->problem->ranks[h];
        const double *others = p->level_values + p->values_at[h];
        memset(half, 0, levels * other * step * sizeof(double));
        for (size_t l = 0; l < levels; l++)
            for (size_t c = 0; c < level_count(p, h); c++, table += step)
                for (size_t r = 0; r < other; r++)
                    add_multiple(half + (l * other + r) * step, table, others[c * other + r],
                                 pairs->lanes);
        for (size_t m = 0; m < rank; m++)
            for (size_t r = 0; r < other; r++) {
                memset(sums, 0, step * sizeof(double));
                for (size_t l = 0; l < levels; l++)
                    add_multiple(sums, half + (l * other + r) * step, values[l * rank + m],
                                 pairs->lanes);
                put_pairs(p, pairs, p->local[kg] + m * q, p->local[kh] + r * q, sums);
            }
        if (stop_after(&p->work, levels * other * (level_count(p, h) + rank) * pairs->lanes))
            return;
    }
    for (size_t m = 0; m < rank; m++)
        for (size_t r = 0; r <= m + 1; r++) {
            /* One more than its dimensions: the intercepts. */
            const int is_intercept = r == m + 1;
            memset(sums, 0, step * sizeof(double));
            for (size_t l = 0; l < levels; l++)
                add_multiple(sums, table + l * step,
                             values[l * rank + m] * (is_intercept ? 1 : values[l * rank + r]),
                             pairs->lanes);
            put_pairs(p, pairs, p->local[kg] + m * q, is_intercept ? 0 : p->local[kg] + r * q, sums);
        }
}

/* The Hessian for some pairs of scores from sums over levels. */
static void find_hessian_from_levels(path *p, const score_pairs *pairs, double *tile, double *half,
                                     double *sums)
{
    const size_t n = p->problem->n_rows;
    const size_t cells[TILE] = {0};
    memset(tile, 0, TILE * pairs->lanes * LANES * sizeof(double));
    memset(sums, 0, pairs->lanes * LANES * sizeof(double));
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        find_tile(p, pairs, from, count, tile);
        add_to_cells(tile, count, pairs->lanes, cells, sums);
    }
    put_pairs(p, pairs, 0, 0, sums);
    for (size_t kg = 0, before = 0; kg < p->set_size; kg++) {
        const size_t levels = level_count(p, p->set[kg]);
        memset(p->tables, 0, levels * (before + 1) * pairs->lanes * LANES * sizeof(double));
        fill_tables(p, pairs, kg, tile);
        put_tables(p, pairs, kg, half, sums);
        before += levels;
        if (stop_wanted())
            return;
    }
}

static int find_hessian_by_levels(path *p)
{
    const size_t q = p->n_scores, all = q * (q + 1) / 2;
    const size_t most = all < MOST_PAIRS ? all : MOST_PAIRS;
    const size_t step = (most + LANES - 1) / LANES * LANES;
    size_t largest = 0, half = 0, before = 0, rank = 0;
    if (!p->levels && !find_levels(p))
        return 0;
    for (size_t kg = 0; kg < p->set_size; kg++) {
        const size_t levels = level_count(p, p->set[kg]);
        largest = levels * (before + 1) > largest ? levels * (before + 1) : largest;
        half = levels * rank > half ? levels * rank : half;
        before += levels;
        if ((size_t)p->problem->ranks[p->set[kg]] > rank)
            rank = (size_t)p->problem->ranks[p->set[kg]];
    }
    const size_t wanted = (largest + half + TILE + 1) * step;
    if (wanted > p->tables_room) {
        free(p->tables);
        p->tables_room = 2 * wanted;
        p->tables = aligned_zeros(p->tables_room, sizeof(double));
        if (!p->tables) {
            p->tables_room = 0;
            return 0;
        }
    }
    score_pairs pairs = {0};
    double *after = p->tables + largest * step;
    for (size_t a = 0; a < q; a++)
        for (size_t b = 0; b <= a; b++) {
            pairs.first[pairs.count] = a;
            pairs.second[pairs.count++] = b;
            if (pairs.count < most && !(a == q - 1 && b == a))
                continue;
            pairs.lanes = (pairs.count + LANES - 1) / LANES;
            find_hessian_from_levels(p, &pairs, after, after + TILE * step, after + (TILE + half) * step);
            pairs.count = 0;
        }
    return 1;
}

int find_hessian(path *p)
{
    size_t columns = 0;
    for (size_t k = 0; k < p->set_size; k++)
        columns += level_count(p, p->set[k]) - 1;
    p->is_current = 1;
    /* Eight rows are summed at a time for a pair of columns, or one for a pair of groups. */
    if (p->n_scores > 1 || columns * columns > 2 * LANES * p->set_size * p->set_size)
        return find_hessian_by_levels(p);
    find_hessian_by_columns(p);
    return 1;
}
