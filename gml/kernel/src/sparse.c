#include "sparse.h"

#include <stdlib.h>
#include <string.h>

#include "stop.h"

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
        if (stop_at_step(i))
            break;
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
        if (n >= STOP_STEPS && stop_wanted())
            return;
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

void visit_strata(const coded_data *data, const sorted_rows *sorted, size_t cells_of_stratum,
                  int64_t *stratum, stratum_visitor visit, void *context)
{
    const uint64_t *cells = sorted->cells;
    for (size_t i = 0; i < sorted->n;) {
        uint64_t at = cells[i] / cells_of_stratum;
        size_t end = i;
        for (; end < sorted->n && cells[end] / cells_of_stratum == at; end++)
            stratum[cells[end] - at * cells_of_stratum] +=
                sorted->rows == NULL ? 1 : data->weights[sorted->rows[end]];
        visit(context, stratum);
        for (; i < end; i++)
            stratum[cells[i] - at * cells_of_stratum] = 0;
    }
}

size_t distinct_strata(const sorted_rows *sorted, size_t cells_of_stratum)
{
    size_t strata = 0;
    for (size_t i = 0; i < sorted->n; i++)
        strata += i == 0 || sorted->cells[i] / cells_of_stratum !=
                                sorted->cells[i - 1] / cells_of_stratum;
    return strata;
}

int sort_rows(const coded_data *data, const int32_t *set, size_t size, sorted_rows *sorted)
{
    uint64_t all_cells = 1, all_levels = 0;
    memset(sorted, 0, sizeof *sorted);
    for (size_t k = 0; k < size; k++) {
        uint32_t n_levels = data->columns[set[k]].n_levels;
        if (all_cells > (UINT64_C(1) << 63) / n_levels)
            return -1;
        all_cells *= n_levels;
        all_levels += n_levels;
    }
    const size_t n = data->n_rows, lists = data->weights == NULL ? 2 : 4;
    sorted->room = malloc((lists * n + 1) * sizeof *sorted->room);
    sorted->seen = calloc(all_levels, 1);
    if (sorted->room == NULL || sorted->seen == NULL) {
        free_sorted_rows(sorted);
        return 0;
    }
    uint64_t *spare = sorted->room + n;
    uint64_t *spare_rows = data->weights == NULL ? NULL : sorted->room + 3 * n;
    sorted->cells = sorted->room;
    sorted->rows = data->weights == NULL ? NULL : sorted->room + 2 * n;
    sorted->n = cells_of_rows(data, set, size, sorted->cells, sorted->rows, sorted->seen);
    radix_sort(&sorted->cells, &sorted->rows, &spare, &spare_rows, sorted->n, all_cells - 1);
    return 1;
}

void free_sorted_rows(sorted_rows *sorted)
{
    free(sorted->room);
    free(sorted->seen);
    memset(sorted, 0, sizeof *sorted);
}

static void add_to_statistics(void *sums, const int64_t *stratum)
{
    statistics_add(sums, stratum);
}

int sparse_statistics(const coded_data *data, const int32_t *set, size_t size,
                      size_t most_cells, table_statistics *out)
{
    const size_t x_levels = data->columns[set[size - 2]].n_levels;
    const size_t y_levels = data->columns[set[size - 1]].n_levels;
    if (x_levels * y_levels > most_cells)
        return -1;
    sorted_rows sorted;
    int done = sort_rows(data, set, size, &sorted);
    if (done != 1)
        return done;
    int64_t *stratum = calloc(x_levels * y_levels, sizeof *stratum);
    table_sums sums;
    done = stratum != NULL && statistics_begin(&sums, x_levels, y_levels);
    if (done) {
        sums.at_once = 1;
        visit_strata(data, &sorted, x_levels * y_levels, stratum, add_to_statistics, &sums);
        statistics_end(&sums, out);
        out->seen_z = 1;
        size_t base = 0;
        for (size_t k = 0; k + 2 < size; k++) {
            double levels = 0;
            for (uint32_t level = 0; level < data->columns[set[k]].n_levels; level++)
                levels += sorted.seen[base + level];
            out->seen_z *= levels;
            base += data->columns[set[k]].n_levels;
        }
    }
    free_sorted_rows(&sorted);
    free(stratum);
    return done;
}
