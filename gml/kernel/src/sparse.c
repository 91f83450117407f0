#include "sparse.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static inline uint32_t code_at(const coded_column *column, size_t row)
{
    return column->width == 1 ? ((const uint8_t *)column->codes)[row]
                              : ((const uint16_t *)column->codes)[row];
}

static inline int is_missing(const coded_column *column, uint32_t code)
{
    return code == (column->width == 1 ? 0xFFu : 0xFFFFu);
}

/* Cell of each usable row, its row number beside it when rows have weights; marks the levels seen. */
static size_t cells_of_rows(const coded_data *data, const int32_t *set, size_t size, uint64_t *cells,
                            uint64_t *rows, unsigned char *seen)
{
    size_t kept = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        uint64_t cell = 0;
        size_t k = 0;
        if (data->weights != NULL && data->weights[i] == 0)
            continue;
        for (; k < size; k++) {
            const coded_column *column = &data->columns[set[k]];
            uint32_t code = code_at(column, i);
            if (column->has_missing && is_missing(column, code))
                break;
            cell = cell * column->n_levels + code;
        }
        if (k < size)
            continue;
        size_t base = 0;
        for (k = 0; k < size; k++) {
            const coded_column *column = &data->columns[set[k]];
            seen[base + code_at(column, i)] = 1;
            base += column->n_levels;
        }
        cells[kept] = cell;
        if (rows != NULL)
            rows[kept] = i;
        kept++;
    }
    return kept;
}

/* Least significant digit first; the result ends up in *keys and *rows. */
static void radix_sort(uint64_t **keys, uint64_t **rows, uint64_t **spare_keys,
                       uint64_t **spare_rows, size_t n, uint64_t largest)
{
    size_t counts[DIGITS];
    for (int shift = 0; shift < 64 && (largest >> shift) != 0; shift += DIGIT_BITS) {
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < n; i++)
            counts[((*keys)[i] >> shift) & (DIGITS - 1)]++;
        size_t start = 0;
        for (size_t d = 0; d < DIGITS; d++) {
            size_t next = start + counts[d];
            counts[d] = start;
            start = next;
        }
        for (size_t i = 0; i < n; i++) {
            size_t to = counts[((*keys)[i] >> shift) & (DIGITS - 1)]++;
            (*spare_keys)[to] = (*keys)[i];
            if (*rows != NULL)
                (*spare_rows)[to] = (*rows)[i];
        }
        uint64_t *swap = *keys;
        *keys = *spare_keys;
        *spare_keys = swap;
        swap = *rows;
        *rows = *spare_rows;
        *spare_rows = swap;
    }
}

/* One stratum after the other, each in a small table that is cleared behind it. */
static void add_strata(const coded_data *data, const uint64_t *cells, const uint64_t *rows, size_t n,
                       size_t cells_of_stratum, int64_t *stratum, table_sums *sums)
{
    for (size_t i = 0; i < n;) {
        uint64_t at = cells[i] / cells_of_stratum;
        size_t end = i;
        for (; end < n && cells[end] / cells_of_stratum == at; end++)
            stratum[cells[end] - at * cells_of_stratum] +=
                rows == NULL ? 1 : data->weights[rows[end]];
        statistics_add(sums, stratum);
        for (; i < end; i++)
            stratum[cells[i] - at * cells_of_stratum] = 0;
    }
}

int sparse_statistics(const coded_data *data, const int32_t *set, size_t size,
                      size_t most_cells, table_statistics *out)
{
    uint64_t all_cells = 1, all_levels = 0;
    for (size_t k = 0; k < size; k++) {
        uint32_t n_levels = data->columns[set[k]].n_levels;
        if (all_cells > (UINT64_C(1) << 63) / n_levels)
            return -1;
        all_cells *= n_levels;
        all_levels += n_levels;
    }
    const size_t x_levels = data->columns[set[size - 2]].n_levels;
    const size_t y_levels = data->columns[set[size - 1]].n_levels;
    if (x_levels * y_levels > most_cells)
        return -1;
    const size_t n = data->n_rows, lists = data->weights == NULL ? 2 : 4;
    uint64_t *room = malloc((lists * n + 1) * sizeof *room);
    unsigned char *seen = calloc(all_levels, 1);
    int64_t *stratum = calloc(x_levels * y_levels, sizeof *stratum);
    table_sums sums;
    int done = room != NULL && seen != NULL && stratum != NULL &&
               statistics_begin(&sums, x_levels, y_levels);
    if (done) {
        uint64_t *cells = room, *spare = room + n;
        uint64_t *rows = data->weights == NULL ? NULL : room + 2 * n;
        uint64_t *spare_rows = data->weights == NULL ? NULL : room + 3 * n;
        size_t kept = cells_of_rows(data, set, size, cells, rows, seen);
        radix_sort(&cells, &rows, &spare, &spare_rows, kept, all_cells - 1);
        add_strata(data, cells, rows, kept, x_levels * y_levels, stratum, &sums);
        statistics_end(&sums, out);
        out->seen_z = 1;
        size_t base = 0;
        for (size_t k = 0; k + 2 < size; k++) {
            double levels = 0;
            for (uint32_t level = 0; level < data->columns[set[k]].n_levels; level++)
                levels += seen[base + level];
            out->seen_z *= levels;
            base += data->columns[set[k]].n_levels;
        }
    }
    free(room);
    free(seen);
    free(stratum);
    return done;
}
