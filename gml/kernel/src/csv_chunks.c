#include "csv_chunks.h"

#include <stdlib.h>

#include "csv_cells.h"

static int has_codes(const csv_column *column)
{
    return column->kind == CSV_CODES8 || column->kind == CSV_CODES16;
}

static const unsigned char *label_of(const csv_column *column, uint32_t k, size_t *length)
{
    *length = column->ends[2 * k + 1] - column->ends[2 * k];
    return column->text + column->ends[2 * k];
}

static const csv_slot *look_up(const csv_column *column, const unsigned char *text, size_t length)
{
    uint64_t low, high;
    label_key(text, length, &low, &high);
    return find_label(column, text, length, low, high);
}

/* ---------------------------------------------------------------- before a chunk */

static void *copy_of(const void *data, size_t size, size_t capacity)
{
    void *copy = malloc(capacity ? capacity : 1);
    if (copy != NULL && size)
        memcpy(copy, data, size);
    return copy;
}

/* The labels of one column in place of those of another. */
static int copy_labels(csv_column *to, const csv_column *from)
{
    csv_slot *slots = copy_of(from->slots, from->n_slots * sizeof *slots,
                              from->n_slots * sizeof *slots);
    unsigned char *text = copy_of(from->text, from->text_size, from->text_capacity);
    size_t *ends = copy_of(from->ends, 2 * from->n_labels * sizeof *ends,
                           2 * from->ends_capacity * sizeof *ends);
    if (slots == NULL || text == NULL || ends == NULL) {
        free(slots);
        free(text);
        free(ends);
        return 0;
    }
    free(to->slots);
    free(to->text);
    free(to->ends);
    to->slots = slots;
    to->text = text;
    to->ends = ends;
    to->slot_shift = from->slot_shift;
    to->n_slots = from->n_slots;
    to->n_labels = from->n_labels;
    to->n_used = from->n_used;
    to->text_size = from->text_size;
    to->text_capacity = from->text_capacity;
    to->ends_capacity = from->ends_capacity;
    return 1;
}

static int catch_up_labels(csv_column *column, const csv_column *leader)
{
    if (column->n_labels > column->n_shared) {
        /* It found labels of its own, in an order of its own. */
        if (!copy_labels(column, leader))
            return 0;
    } else {
        for (uint32_t k = column->n_labels; k < leader->n_labels; k++) {
            size_t length;
            const unsigned char *text = label_of(leader, k, &length);
            /* A chunk may have taken it for a spelling of "missing" only if the leader did, too. */
            if (!csv_append_level(column, text, length))
                return 0;
        }
    }
    column->n_shared = column->n_labels;
    return 1;
}

int csv_catch_up(csv_reader *chunk, const csv_reader *leader)
{
    chunk->n_rows = 0;
    chunk->line = 0;
    chunk->skip_line_feed = 0;
    chunk->status = CSV_OK;
    for (size_t j = 0; j < chunk->n_columns; j++) {
        csv_column *column = &chunk->columns[j];
        const csv_column *led = &leader->columns[j];
        if (has_codes(led) && !catch_up_labels(column, led))
            return 0;
        if (column->kind == led->kind)
            continue;
        csv_set_kind(chunk, column, led->kind);
        free(column->cells);
        column->cells = NULL;
        size_t size = chunk->row_capacity * csv_cell_size(led->kind);
        if (size && (column->cells = malloc(size)) == NULL)
            return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------- after it */

static int code_kind(size_t n_labels)
{
    return n_labels <= 255 ? CSV_CODES8 : CSV_CODES16;
}

/* The kind of a column with the labels of a chunk on top; CSV_SKIP if they are too many. */
static int kind_with(const csv_column *leader, const csv_column *chunk)
{
    size_t n_labels = leader->n_labels;
    for (uint32_t k = chunk->n_shared; k < chunk->n_labels; k++) {
        size_t length;
        const unsigned char *text = label_of(chunk, k, &length);
        n_labels += look_up(leader, text, length) == NULL;
    }
    if (n_labels > leader->n_labels && (n_labels > leader->max_labels || n_labels > CSV_MISSING))
        return CSV_SKIP;
    return leader->kind == CSV_CODES16 ? CSV_CODES16 : code_kind(n_labels);
}

static int can_absorb(const csv_reader *leader, const csv_reader *chunk)
{
    size_t row_bytes = 0;
    if (chunk->status != CSV_OK)
        return 0;
    for (size_t j = 0; j < leader->n_columns; j++) {
        const csv_column *led = &leader->columns[j], *column = &chunk->columns[j];
        int kind = led->kind;
        if (has_codes(led) && has_codes(column)) {
            kind = kind_with(led, column);
            if (kind == CSV_SKIP)
                return 0;
        } else if (kind != column->kind || kind == CSV_CODES32) {
            return 0;
        }
        row_bytes += csv_cell_size(kind);
    }
    return (leader->n_rows + chunk->n_rows) * row_bytes <= leader->cells_limit;
}

/* The leader's code for each code of a chunk, new labels added. Returns -1 without memory, else
   whether any code changes. */
static int merge_labels(csv_reader *leader, csv_column *led, const csv_column *chunk,
                        uint16_t *codes)
{
    int changes = 0;
    for (uint32_t k = 0; k < chunk->n_shared; k++)
        codes[k] = (uint16_t)k;
    for (uint32_t k = chunk->n_shared; k < chunk->n_labels; k++) {
        size_t length;
        const unsigned char *text = label_of(chunk, k, &length);
        const csv_slot *slot = look_up(led, text, length);
        if (slot != NULL) {
            codes[k] = (uint16_t)slot->code;
        } else {
            if (csv_is_full(led) && !csv_widen(leader, led))
                return -1;
            if (!csv_append_level(led, text, length))
                return -1;
            codes[k] = (uint16_t)(led->n_labels - 1);
        }
        changes |= codes[k] != k;
    }
    return changes;
}

/* Append the codes of a chunk, which are no wider than those of the leader. */
static void append_codes(csv_column *led, size_t at, const csv_column *chunk, size_t n,
                         uint16_t *codes, int changes)
{
    if (n == 0)
        return;
    if (led->kind == CSV_CODES16 && chunk->kind == CSV_CODES16) {
        uint16_t *to = (uint16_t *)led->cells + at;
        const uint16_t *from = chunk->cells;
        codes[CSV_MISSING] = CSV_MISSING;
        if (!changes)
            memcpy(to, from, n * sizeof *to);
        else
            for (size_t i = 0; i < n; i++)
                to[i] = codes[from[i]];
    } else if (led->kind == CSV_CODES16) {
        uint16_t *to = (uint16_t *)led->cells + at;
        const uint8_t *from = chunk->cells;
        codes[0xFF] = CSV_MISSING;
        for (size_t i = 0; i < n; i++)
            to[i] = codes[from[i]];
    } else {
        uint8_t *to = (uint8_t *)led->cells + at, narrow[256];
        const uint8_t *from = chunk->cells;
        if (!changes) {
            memcpy(to, from, n);
            return;
        }
        for (uint32_t k = 0; k < chunk->n_labels; k++)
            narrow[k] = (uint8_t)codes[k];
        narrow[0xFF] = 0xFF;
        for (size_t i = 0; i < n; i++)
            to[i] = narrow[from[i]];
    }
}

static int absorb_column(csv_reader *leader, size_t j, const csv_reader *chunk, uint16_t *codes)
{
    csv_column *led = &leader->columns[j];
    const csv_column *column = &chunk->columns[j];
    size_t n_rows = chunk->n_rows;
    if (has_codes(led) && (column->n_labels > column->n_shared || led->kind != column->kind)) {
        int changes = merge_labels(leader, led, column, codes);
        if (changes < 0)
            return csv_fail(leader, CSV_NO_MEMORY, j, NULL, 0);
        append_codes(led, leader->n_rows, column, n_rows, codes, changes);
    } else if (led->kind != CSV_SKIP && led->kind != CSV_OVERFLOW && n_rows) {
        size_t size = csv_cell_size(led->kind);
        memcpy((char *)led->cells + leader->n_rows * size, column->cells, n_rows * size);
    }
    return 1;
}

int csv_absorb(csv_reader *leader, const csv_reader *chunk)
{
    if (!can_absorb(leader, chunk))
        return 0;
    size_t n_rows = leader->n_rows + chunk->n_rows;
    if (n_rows > leader->row_capacity &&
        !csv_reserve(leader, n_rows > 2 * leader->row_capacity ? n_rows : 2 * leader->row_capacity))
        return 0;
    uint16_t *codes = malloc((CSV_MISSING + 1) * sizeof *codes);
    if (codes == NULL)
        return csv_fail(leader, CSV_NO_MEMORY, 0, NULL, 0);
    int done = 1;
    for (size_t j = 0; done && j < leader->n_columns; j++)
        done = absorb_column(leader, j, chunk, codes);
    free(codes);
    if (!done)
        return 0;
    leader->n_rows = n_rows;
    leader->line += chunk->line;
    /* Chunks begin behind the whole of a line end. */
    leader->skip_line_feed = 0;
    return 1;
}
