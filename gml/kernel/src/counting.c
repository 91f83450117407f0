#include "counting.h"

#include <stdlib.h>
#include <string.h>

#include "popcount.h"

/* Rows per block of index arithmetic: indices stay in the first-level cache. */
#define BLOCK_ROWS 2048
/* Words per block of masks: the masks of a few dozen columns stay in the second-level cache. */
#define BLOCK_WORDS 512
/* A cell costs a mask scan of about 1/100 of what indexing a row costs. */
#define POPCOUNT_CELLS 192
/* Tables up to this size are counted four times side by side. */
#define LANE_CELLS 4096
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

VECTOR_CLONES static void extend_index8(uint32_t *restrict index, const uint8_t *restrict codes,
                                        uint32_t n_levels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        index[i] = index[i] * n_levels + codes[i];
}

VECTOR_CLONES static void extend_index16(uint32_t *restrict index, const uint16_t *restrict codes,
                                         uint32_t n_levels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        index[i] = index[i] * n_levels + codes[i];
}

VECTOR_CLONES static void divert8(uint32_t *restrict index, const uint8_t *restrict codes,
                                  uint32_t elsewhere, size_t n)
{
    for (size_t i = 0; i < n; i++)
        index[i] = codes[i] == 0xFF ? elsewhere : index[i];
}

VECTOR_CLONES static void divert16(uint32_t *restrict index, const uint16_t *restrict codes,
                                   uint32_t elsewhere, size_t n)
{
    for (size_t i = 0; i < n; i++)
        index[i] = codes[i] == 0xFFFF ? elsewhere : index[i];
}

/* Index of the table cell of each row; rows with a missing value go to cell `cells`. */
static void index_rows(const coded_data *data, const int32_t *set, size_t size, size_t from,
                       size_t n, uint32_t cells, uint32_t *index)
{
    memset(index, 0, n * sizeof *index);
    for (size_t k = 0; k < size; k++) {
        const coded_column *column = &data->columns[set[k]];
        if (column->width == 1)
            extend_index8(index, (const uint8_t *)column->codes + from, column->n_levels, n);
        else
            extend_index16(index, (const uint16_t *)column->codes + from, column->n_levels, n);
    }
    for (size_t k = 0; k < size; k++) {
        const coded_column *column = &data->columns[set[k]];
        if (!column->has_missing)
            continue;
        if (column->width == 1)
            divert8(index, (const uint8_t *)column->codes + from, cells, n);
        else
            divert16(index, (const uint16_t *)column->codes + from, cells, n);
    }
}

static int count_directly(const coded_data *data, const int32_t *set, size_t size, uint32_t cells,
                          int64_t *table)
{
    uint32_t index[BLOCK_ROWS];
    memset(table, 0, cells * sizeof *table);
    if (data->weights != NULL || cells >= LANE_CELLS) {
        for (size_t from = 0; from < data->n_rows; from += BLOCK_ROWS) {
            size_t n = data->n_rows - from < BLOCK_ROWS ? data->n_rows - from : BLOCK_ROWS;
            index_rows(data, set, size, from, n, cells, index);
            for (size_t i = 0; i < n; i++)
                if (index[i] != cells)
                    table[index[i]] += data->weights == NULL ? 1 : data->weights[from + i];
        }
        return 1;
    }
    /* Equal neighbours would wait for each other's store: four tables take turns. */
    int64_t *lane = calloc(4 * ((size_t)cells + 1), sizeof *lane);
    if (lane == NULL)
        return 0;
    int64_t *lane1 = lane + cells + 1, *lane2 = lane1 + cells + 1, *lane3 = lane2 + cells + 1;
    for (size_t from = 0; from < data->n_rows; from += BLOCK_ROWS) {
        size_t n = data->n_rows - from < BLOCK_ROWS ? data->n_rows - from : BLOCK_ROWS;
        index_rows(data, set, size, from, n, cells, index);
        size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            lane[index[i]]++;
            lane1[index[i + 1]]++;
            lane2[index[i + 2]]++;
            lane3[index[i + 3]]++;
        }
        for (; i < n; i++)
            lane[index[i]]++;
    }
    for (uint32_t c = 0; c < cells; c++)
        table[c] = lane[c] + lane1[c] + lane2[c] + lane3[c];
    free(lane);
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

int count_set(const coded_data *data, const int32_t *set, size_t size, int64_t *table)
{
    uint32_t cells = (uint32_t)count_cells(data, set, size);
    if (size < 2 || cells > POPCOUNT_CELLS || !all_have_masks(data, set, size))
        return count_directly(data, set, size, cells, table);
    uint64_t *buffers = malloc(size * BLOCK_WORDS * sizeof *buffers);
    if (buffers == NULL)
        return 0;
    memset(table, 0, cells * sizeof *table);
    for (size_t word = 0; word < data->mask_words; word += BLOCK_WORDS) {
        size_t words =
            data->mask_words - word < BLOCK_WORDS ? data->mask_words - word : BLOCK_WORDS;
        count_masks(data, set, size, word, words, NULL, buffers, table, cells);
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
