#include "counting.h"

#include <stdlib.h>
#include <string.h>

#include "popcount.h"
#include "stop.h"

/* Rows per block of index arithmetic: indices stay in the first-level cache. */
#define BLOCK_ROWS 2048
/* Words per block of masks: the masks of a few dozen columns stay in the second-level cache. */
#define BLOCK_WORDS 512
/* Nanoseconds, measured: to scan a word of masks, to begin a scan, to count a row, and to extend its
   index by a column, and what a row costs more when the table is too large for lanes. */
#define MASK_COST 0.3
#define MASK_CALL_COST 8.0
#define ROW_COST 0.5
#define INDEX_COST 0.04
#define SPREAD_ROW_COST 1.5
#define MOST_MASK_CELLS 4096
/* Tables up to this size are counted four times side by side. */
#define LANE_CELLS 4096
#define FEW_CELLS 256
/* Rows after which the tables of the four lanes are added up, before they overflow. */
#define LANE_ROWS ((size_t)1 << 31)
#define MAX_CELLS (UINT64_C(1) << 40)

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define VECTOR_CLONES
#endif

int has_missing(const void *codes, int width, size_t n)
{
    if (width == 1)
        return memchr(codes, 0xFF, n) != NULL;
    const uint16_t *wide = codes;
    for (size_t i = 0; i < n; i++)
        if (wide[i] == 0xFFFF)
            return 1;
    return 0;
}

uint64_t count_cells(const coded_data *data, const int32_t *set, size_t size)
{
    uint64_t cells = 1;
    for (size_t k = 0; k < size; k++) {
        cells *= data->columns[set[k]].n_levels;
        if (cells > MAX_CELLS)
            return 0;
    }
    return cells;
}

/* Index of the table cell of each row; rows with a missing value go to cell `cells`. Narrow indices
   where the table allows it: the fewer bytes, the more rows at a time. */
#define INDEX_ROWS(name, type)                                                                     \
    VECTOR_CLONES static void extend8_##name(type *restrict index, const uint8_t *restrict codes,  \
                                             type n_levels, size_t n)                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            index[i] = (type)(index[i] * n_levels + codes[i]);                                     \
    }                                                                                              \
    VECTOR_CLONES static void extend16_##name(type *restrict index,                                \
                                              const uint16_t *restrict codes, type n_levels,       \
                                              size_t n)                                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            index[i] = (type)(index[i] * n_levels + codes[i]);                                     \
    }                                                                                              \
    VECTOR_CLONES static void divert8_##name(type *restrict index, const uint8_t *restrict codes,  \
                                             type elsewhere, size_t n)                             \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            index[i] = codes[i] == 0xFF ? elsewhere : index[i];                                    \
    }                                                                                              \
    VECTOR_CLONES static void divert16_##name(type *restrict index,                                \
                                              const uint16_t *restrict codes, type elsewhere,      \
                                              size_t n)                                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            index[i] = codes[i] == 0xFFFF ? elsewhere : index[i];                                  \
    }                                                                                              \
    static void index_rows_##name(const coded_data *data, const int32_t *set, size_t size,         \
                                  size_t from, size_t n, type cells, type *index)                  \
    {                                                                                              \
        memset(index, 0, n * sizeof *index);                                                       \
        for (size_t k = 0; k < size; k++) {                                                        \
            const coded_column *column = &data->columns[set[k]];                                   \
            if (column->width == 1)                                                                \
                extend8_##name(index, (const uint8_t *)column->codes + from,                       \
                               (type)column->n_levels, n);                                         \
            else                                                                                   \
                extend16_##name(index, (const uint16_t *)column->codes + from,                     \
                                (type)column->n_levels, n);                                        \
        }                                                                                          \
        for (size_t k = 0; k < size; k++) {                                                        \
            const coded_column *column = &data->columns[set[k]];                                   \
            if (!column->has_missing)                                                              \
                continue;                                                                          \
            if (column->width == 1)                                                                \
                divert8_##name(index, (const uint8_t *)column->codes + from, cells, n);            \
            else                                                                                   \
                divert16_##name(index, (const uint16_t *)column->codes + from, cells, n);          \
        }                                                                                          \
    }

/* Equal neighbours would wait for each other's store: four tables take turns. */
#define COUNT_IN_LANES(name, type)                                                                \
    static int count_in_lanes_##name(const coded_data *data, const int32_t *set, size_t size,      \
                                     type cells, int64_t *table)                                   \
    {                                                                                              \
        type index[BLOCK_ROWS];                                                                    \
        const size_t room = (size_t)cells + 1;                                                     \
        uint32_t few[4 * FEW_CELLS];                                                               \
        uint64_t steps = 0;                                                                        \
        uint32_t *lane = few;                                                                      \
        if (room > FEW_CELLS)                                                                      \
            lane = malloc(4 * room * sizeof *lane);                                                \
        if (lane == NULL)                                                                          \
            return 0;                                                                              \
        uint32_t *lane1 = lane + room, *lane2 = lane1 + room, *lane3 = lane2 + room;               \
        memset(table, 0, cells * sizeof *table);                                                   \
        for (size_t start = 0; start < data->n_rows; start += LANE_ROWS) {                         \
            size_t stop = data->n_rows - start < LANE_ROWS ? data->n_rows : start + LANE_ROWS;     \
            memset(lane, 0, 4 * room * sizeof *lane);                                              \
            for (size_t from = start; from < stop; from += BLOCK_ROWS) {                           \
                size_t n = stop - from < BLOCK_ROWS ? stop - from : BLOCK_ROWS, i = 0;             \
                index_rows_##name(data, set, size, from, n, cells, index);                         \
                if (stop_after(&steps, n))                                                         \
                    break;                                                                         \
                for (; i + 4 <= n; i += 4) {                                                       \
                    lane[index[i]]++;                                                              \
                    lane1[index[i + 1]]++;                                                         \
                    lane2[index[i + 2]]++;                                                         \
                    lane3[index[i + 3]]++;                                                         \
                }                                                                                  \
                for (; i < n; i++)                                                                 \
                    lane[index[i]]++;                                                              \
            }                                                                                      \
            for (size_t c = 0; c < cells; c++)                                                     \
                table[c] += (int64_t)lane[c] + lane1[c] + lane2[c] + lane3[c];                     \
        }                                                                                          \
        if (lane != few)                                                                           \
            free(lane);                                                                            \
        return 1;                                                                                  \
    }

INDEX_ROWS(narrow, uint8_t)
INDEX_ROWS(middle, uint16_t)
INDEX_ROWS(wide, uint32_t)
COUNT_IN_LANES(narrow, uint8_t)
COUNT_IN_LANES(middle, uint16_t)

static int count_directly(const coded_data *data, const int32_t *set, size_t size, uint32_t cells,
                          int64_t *table)
{
    if (data->weights == NULL && cells < 0xFF)
        return count_in_lanes_narrow(data, set, size, (uint8_t)cells, table);
    if (data->weights == NULL && cells < LANE_CELLS)
        return count_in_lanes_middle(data, set, size, (uint16_t)cells, table);
    uint32_t index[BLOCK_ROWS];
    uint64_t steps = 0;
    memset(table, 0, cells * sizeof *table);
    for (size_t from = 0; from < data->n_rows && !stop_after(&steps, BLOCK_ROWS);
         from += BLOCK_ROWS) {
        size_t n = data->n_rows - from < BLOCK_ROWS ? data->n_rows - from : BLOCK_ROWS;
        index_rows_wide(data, set, size, from, n, cells, index);
        for (size_t i = 0; i < n; i++)
            if (index[i] != cells)
                table[index[i]] += data->weights == NULL ? 1 : data->weights[from + i];
    }
    return 1;
}

/* Cells below one prefix of levels: `mask` holds the rows of the prefix in this block. */
static void count_masks(const coded_data *data, const int32_t *set, size_t size, size_t word,
                        size_t words, const uint64_t *mask, uint64_t *buffers, int64_t *table,
                        size_t stride)
{
    const coded_column *column = &data->columns[set[0]];
    stride /= column->n_levels;
    for (uint32_t level = 0; level < column->n_levels; level++) {
        const uint64_t *rows = column->masks + level * data->mask_words + word;
        if (size == 1)
            table[level] += popcount_and(mask, rows, words);
        else if (mask == NULL)
            count_masks(data, set + 1, size - 1, word, words, rows, buffers, table + level * stride,
                        stride);
        else if (mask_and(buffers, mask, rows, words))
            count_masks(data, set + 1, size - 1, word, words, buffers, buffers + BLOCK_WORDS,
                        table + level * stride, stride);
    }
}

static int all_have_masks(const coded_data *data, const int32_t *set, size_t size)
{
    for (size_t k = 0; k < size; k++)
        if (data->columns[set[k]].masks == NULL)
            return 0;
    return 1;
}

/* Cells to count by masks when the tables of all pairs are known: those that say the level of at least
   three columns, the last level of each column standing for "any". */
static uint64_t cells_left(const coded_data *data, const int32_t *set, size_t size)
{
    uint64_t all = 1, singles = 0, squares = 0;
    for (size_t k = 0; k < size; k++) {
        uint64_t core = data->columns[set[k]].n_levels - 1;
        all *= core + 1;
        singles += core;
        squares += core * core;
    }
    return all - 1 - singles - (singles * singles - squares) / 2;
}

/* Like count_masks, over cells whose last level of a column means any level of it; cells that say the
   level of fewer than three columns are left alone. `said` counts the columns said so far. */
static void count_said(const coded_data *data, const int32_t *set, size_t size, size_t word,
                       size_t words, const uint64_t *mask, size_t said, uint64_t *buffers,
                       int64_t *table, size_t stride)
{
    const coded_column *column = &data->columns[set[0]];
    const uint32_t core = column->n_levels - 1;
    if (said + size < 3)
        return;
    if (size == 1) {
        for (uint32_t level = 0; level < core; level++)
            table[level] +=
                popcount_and(mask, column->masks + level * data->mask_words + word, words);
        if (said >= 3)
            table[core] += popcount_and(mask, mask, words);
        return;
    }
    stride /= column->n_levels;
    for (uint32_t level = 0; level < core; level++) {
        const uint64_t *rows = column->masks + level * data->mask_words + word;
        if (mask == NULL)
            count_said(data, set + 1, size - 1, word, words, rows, 1, buffers,
                       table + level * stride, stride);
        else if (mask_and(buffers, mask, rows, words))
            count_said(data, set + 1, size - 1, word, words, buffers, said + 1,
                       buffers + BLOCK_WORDS, table + level * stride, stride);
    }
    count_said(data, set + 1, size - 1, word, words, mask, said, buffers, table + core * stride,
               stride);
}

/* Cells that say the level of at most two columns, from the tables of all pairs. `levels` holds the
   ones said so far. */
static void look_up_pairs(const coded_data *data, const int32_t *set, size_t size, size_t said,
                          const size_t *levels, int64_t *table, size_t stride)
{
    if (size == 0) {
        if (said == 0)
            *table = (int64_t)data->n_rows;
        else
            *table = data->pairs[levels[0] * data->n_levels + levels[said - 1]];
        return;
    }
    const coded_column *column = &data->columns[set[0]];
    const uint32_t core = column->n_levels - 1;
    size_t more[2] = {said > 0 ? levels[0] : 0, 0};
    stride /= column->n_levels;
    if (said < 2)
        for (uint32_t level = 0; level < core; level++) {
            more[said] = column->first_level + level;
            look_up_pairs(data, set + 1, size - 1, said + 1, more, table + level * stride, stride);
        }
    look_up_pairs(data, set + 1, size - 1, said, levels, table + core * stride, stride);
}

/* Turn "any level" into "the last level", one column after the other. */
static void split_any(const coded_data *data, const int32_t *set, size_t size, uint32_t cells,
                      int64_t *table)
{
    size_t inner = cells;
    for (size_t k = 0; k < size; k++) {
        const size_t n_levels = data->columns[set[k]].n_levels, outer = inner;
        inner /= n_levels;
        for (size_t start = 0; start < cells; start += outer)
            for (size_t level = 0; level + 1 < n_levels; level++) {
                const int64_t *said = table + start + level * inner;
                int64_t *any = table + start + (n_levels - 1) * inner;
                for (size_t i = 0; i < inner; i++)
                    any[i] -= said[i];
            }
    }
}

/* Nanoseconds by masks; more than any other way where masks are useless. */
static double mask_cost(const coded_data *data, const int32_t *set, size_t size, uint64_t cells)
{
    if (size < 2 || cells > MOST_MASK_CELLS || !all_have_masks(data, set, size))
        return 1e300;
    uint64_t scans = cells;
    if (data->pairs != NULL)
        scans = cells_left(data, set, size);
    else if (size == 2)
        scans = (uint64_t)(data->columns[set[0]].n_levels - 1) *
                (data->columns[set[1]].n_levels - 1);
    return (double)scans * (MASK_COST * (double)data->mask_words + MASK_CALL_COST);
}

static double direct_cost(const coded_data *data, size_t size, uint64_t cells)
{
    double row = ROW_COST + INDEX_COST * (double)size;
    if (cells >= LANE_CELLS)
        row += SPREAD_ROW_COST;
    return (double)data->n_rows * row + (double)cells;
}

double count_cost(const coded_data *data, const int32_t *set, size_t size)
{
    uint64_t cells = count_cells(data, set, size);
    double by_masks = mask_cost(data, set, size, cells), direct = direct_cost(data, size, cells);
    return by_masks < direct ? by_masks : direct;
}

int count_set(const coded_data *data, const int32_t *set, size_t size, int64_t *table)
{
    uint32_t cells = (uint32_t)count_cells(data, set, size);
    if (size == 1 && data->columns[set[0]].masks != NULL) {
        memcpy(table, data->columns[set[0]].totals, cells * sizeof *table);
        return 1;
    }
    if (mask_cost(data, set, size, cells) > direct_cost(data, size, cells))
        return count_directly(data, set, size, cells, table);
    if (size == 2 && data->pairs == NULL) {
        const int64_t start = 0;
        return count_pairs(data, set, 1, table, &start);
    }
    const int by_pairs = data->pairs != NULL;
    uint64_t *buffers = malloc(size * BLOCK_WORDS * sizeof *buffers);
    if (buffers == NULL)
        return 0;
    memset(table, 0, cells * sizeof *table);
    for (size_t word = 0; word < data->mask_words; word += BLOCK_WORDS) {
        /* A block has up to some thousand scans. */
        if (word > 0 && stop_wanted())
            break;
        size_t words =
            data->mask_words - word < BLOCK_WORDS ? data->mask_words - word : BLOCK_WORDS;
        if (by_pairs)
            count_said(data, set, size, word, words, NULL, 0, buffers, table, cells);
        else
            count_masks(data, set, size, word, words, NULL, buffers, table, cells);
    }
    if (by_pairs) {
        look_up_pairs(data, set, size, 0, NULL, table, cells);
        split_any(data, set, size, cells, table);
    }
    free(buffers);
    return 1;
}

/* Without missing values the last row and column of a pair table follow from the totals. */
static void complete_pair(const coded_column *x, const coded_column *y, int64_t *table)
{
    uint32_t r = x->n_levels, c = y->n_levels;
    for (uint32_t b = 0; b + 1 < c; b++) {
        int64_t rest = y->totals[b];
        for (uint32_t a = 0; a + 1 < r; a++)
            rest -= table[a * c + b];
        table[(r - 1) * c + b] = rest;
    }
    for (uint32_t a = 0; a < r; a++) {
        int64_t rest = x->totals[a];
        for (uint32_t b = 0; b + 1 < c; b++)
            rest -= table[a * c + b];
        table[a * c + c - 1] = rest;
    }
}

int count_pairs(const coded_data *data, const int32_t *pairs, size_t n_pairs, int64_t *tables,
                const int64_t *offsets)
{
    for (size_t p = 0; p < n_pairs; p++) {
        const int32_t *pair = pairs + 2 * p;
        if (all_have_masks(data, pair, 2))
            memset(tables + offsets[p], 0, count_cells(data, pair, 2) * sizeof *tables);
        else if (!count_set(data, pair, 2, tables + offsets[p]))
            return 0;
    }
    for (size_t word = 0; word < data->mask_words; word += BLOCK_WORDS) {
        if (word > 0 && stop_wanted())
            return 0;
        size_t words =
            data->mask_words - word < BLOCK_WORDS ? data->mask_words - word : BLOCK_WORDS;
        for (size_t p = 0; p < n_pairs; p++) {
            if (!all_have_masks(data, pairs + 2 * p, 2))
                continue;
            const coded_column *x = &data->columns[pairs[2 * p]];
            const coded_column *y = &data->columns[pairs[2 * p + 1]];
            uint32_t spared = !(x->has_missing || y->has_missing);
            int64_t *table = tables + offsets[p];
            for (uint32_t a = 0; a + spared < x->n_levels; a++)
                for (uint32_t b = 0; b + spared < y->n_levels; b++)
                    table[a * y->n_levels + b] +=
                        popcount_and(x->masks + a * data->mask_words + word,
                                     y->masks + b * data->mask_words + word, words);
        }
    }
    for (size_t p = 0; p < n_pairs; p++) {
        const coded_column *x = &data->columns[pairs[2 * p]];
        const coded_column *y = &data->columns[pairs[2 * p + 1]];
        if (x->masks != NULL && y->masks != NULL && !x->has_missing && !y->has_missing)
            complete_pair(x, y, tables + offsets[p]);
    }
    return 1;
}

int count_all_pairs(const coded_data *data, size_t n_columns, int32_t *pairs)
{
    const size_t all = data->n_levels;
    int64_t *table = NULL;
    size_t room = 0;
    for (size_t j = 0; j < n_columns; j++)
        for (size_t i = 0; i <= j; i++) {
            if (i == 0 && stop_wanted()) {
                free(table);
                return 0;
            }
            const coded_column *x = &data->columns[i], *y = &data->columns[j];
            const int32_t pair[2] = {(int32_t)i, (int32_t)j};
            const int64_t offset = 0;
            const size_t cells = (size_t)x->n_levels * y->n_levels;
            if (cells > room) {
                free(table);
                room = cells;
                table = malloc(room * sizeof *table);
                if (table == NULL)
                    return 0;
            }
            if (i == j) {
                memset(table, 0, cells * sizeof *table);
                for (size_t a = 0; a < x->n_levels; a++)
                    table[a * y->n_levels + a] = x->totals[a];
            } else if (!count_pairs(data, pair, 1, table, &offset)) {
                free(table);
                return 0;
            }
            for (size_t a = 0; a < x->n_levels; a++)
                for (size_t b = 0; b < y->n_levels; b++) {
                    int32_t count = (int32_t)table[a * y->n_levels + b];
                    pairs[(x->first_level + a) * all + y->first_level + b] = count;
                    pairs[(y->first_level + b) * all + x->first_level + a] = count;
                }
        }
    free(table);
    return 1;
}
