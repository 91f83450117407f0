#include "csv_cells.h"

#include <math.h>
#include <stdlib.h>

#include "number.h"
#include "utf8.h"

/* Spellings of "missing" that differ only in outer spaces are unlimited: remember a few. */
#define MAX_NA_SPELLINGS 64

csv_reader *csv_new(size_t n_columns, unsigned char delimiter, unsigned char decimal,
                    uint64_t first_line, size_t field_limit, size_t record_limit)
{
    csv_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return NULL;
    reader->columns = calloc(n_columns ? n_columns : 1, sizeof *reader->columns);
    if (reader->columns == NULL) {
        free(reader);
        return NULL;
    }
    reader->n_columns = n_columns;
    reader->delimiter = delimiter;
    reader->decimal = decimal;
    reader->line = first_line;
    reader->field_limit = field_limit;
    reader->record_limit = record_limit;
    reader->cells_limit = SIZE_MAX;
    return reader;
}

void csv_free(csv_reader *reader)
{
    if (reader == NULL)
        return;
    for (size_t j = 0; j < reader->n_columns; j++) {
        csv_column *column = &reader->columns[j];
        free(column->slots);
        free(column->text);
        free(column->ends);
        free(column->cells);
    }
    free(reader->columns);
    free(reader->na_text);
    free(reader->na_ends);
    free(reader->scratch);
    free(reader);
}

static void trim(const unsigned char **text, size_t *length)
{
    while (*length && (*text)[0] == ' ')
        (*text)++, (*length)--;
    while (*length && (*text)[*length - 1] == ' ')
        (*length)--;
}

int csv_add_na(csv_reader *reader, const unsigned char *token, size_t length)
{
    trim(&token, &length);
    size_t size = reader->n_na ? reader->na_ends[reader->n_na - 1] : 0;
    unsigned char *text = realloc(reader->na_text, size + length + 1);
    if (text == NULL)
        return 0;
    reader->na_text = text;
    size_t *ends = realloc(reader->na_ends, (reader->n_na + 1) * sizeof *ends);
    if (ends == NULL)
        return 0;
    reader->na_ends = ends;
    memcpy(text + size, token, length);
    ends[reader->n_na++] = size + length;
    double ignored;
    if (number_parse(token, length, reader->decimal, &ignored))
        reader->na_has_number = 1;
    return 1;
}

static int is_missing(const csv_reader *reader, const unsigned char *text, size_t length)
{
    trim(&text, &length);
    size_t start = 0;
    for (size_t k = 0; k < reader->n_na; k++) {
        size_t end = reader->na_ends[k];
        if (end - start == length && memcmp(reader->na_text + start, text, length) == 0)
            return 1;
        start = end;
    }
    return 0;
}

size_t csv_cell_size(int kind)
{
    switch (kind) {
    case CSV_CODES8:
        return 1;
    case CSV_CODES16:
        return 2;
    case CSV_CODES32:
        return 4;
    case CSV_NUMBERS:
        return sizeof(double);
    default:
        return 0;
    }
}

void csv_set_kind(csv_reader *reader, csv_column *column, int kind)
{
    reader->row_bytes += csv_cell_size(kind);
    reader->row_bytes -= csv_cell_size(column->kind);
    column->kind = kind;
}

/* Empty slots in place of those the column has, which stay the caller's to place and free. */
static int allocate_slots(csv_column *column, int bits)
{
    uint32_t n = UINT32_C(1) << bits;
    csv_slot *slots = malloc(n * sizeof *slots);
    if (slots == NULL)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        slots[k].length = EMPTY_SLOT;
    column->slots = slots;
    column->n_slots = n;
    column->slot_shift = 64 - bits;
    return 1;
}

int csv_set_column(csv_reader *reader, size_t j, int kind, uint32_t max_labels, int closed,
                   int numbers_on_overflow, int plain_numbers, int counts)
{
    csv_column *column = &reader->columns[j];
    csv_set_kind(reader, column, kind);
    column->max_labels = max_labels;
    column->closed = closed;
    column->numbers_on_overflow = numbers_on_overflow;
    column->plain_numbers = plain_numbers;
    column->counts = counts;
    if (kind == CSV_CODES8 || kind == CSV_CODES16)
        return allocate_slots(column, 5);
    return 1;
}

static void place_slot(csv_column *column, const csv_slot *slot)
{
    uint32_t mask = column->n_slots - 1;
    uint32_t k = first_slot(column, slot->low, slot->high, slot->length);
    while (column->slots[k].length != EMPTY_SLOT)
        k = (k + 1) & mask;
    column->slots[k] = *slot;
}

static int rehash(csv_column *column)
{
    csv_slot *old = column->slots;
    uint32_t n_old = column->n_slots;
    if (!allocate_slots(column, 64 - column->slot_shift + 1))
        return 0;
    for (uint32_t k = 0; k < n_old; k++)
        if (old[k].length != EMPTY_SLOT)
            place_slot(column, &old[k]);
    free(old);
    return 1;
}

/* Remember a label with its code; code MISSING_CODE marks a spelling of "missing". */
static int insert_label(csv_column *column, const unsigned char *text, size_t length,
                        uint32_t code)
{
    if (2 * (column->n_used + 1) > column->n_slots && !rehash(column))
        return 0;
    /* Keys are made of 16 bytes, wherever a label ends. */
    if (column->text_size + length + 16 > column->text_capacity) {
        size_t capacity = 2 * column->text_capacity + length + 64;
        unsigned char *grown = realloc(column->text, capacity);
        if (grown == NULL)
            return 0;
        column->text = grown;
        column->text_capacity = capacity;
    }
    csv_slot slot = {.length = (uint32_t)length, .code = code, .offset = column->text_size};
    label_key(text, length, &slot.low, &slot.high);
    if (length)
        memcpy(column->text + column->text_size, text, length);
    column->text_size += length;
    place_slot(column, &slot);
    column->n_used++;
    return 1;
}

int csv_append_level(csv_column *column, const unsigned char *text, size_t length)
{
    if (column->n_labels == column->ends_capacity) {
        size_t capacity = 2 * column->ends_capacity + 16;
        size_t *grown = realloc(column->ends, 2 * capacity * sizeof *grown);
        if (grown == NULL)
            return 0;
        column->ends = grown;
        column->ends_capacity = capacity;
    }
    /* ends holds (start, end) pairs: spellings of "missing" lie between the levels. */
    size_t start = column->text_size;
    if (!insert_label(column, text, length, column->n_labels))
        return 0;
    column->ends[2 * column->n_labels] = start;
    column->ends[2 * column->n_labels + 1] = start + length;
    column->n_labels++;
    return 1;
}

int csv_fail(csv_reader *reader, int status, size_t column, const unsigned char *value,
                size_t length)
{
    reader->status = status;
    reader->error_line = reader->line;
    reader->error_column = column;
    reader->error_value_size =
        length < sizeof reader->error_value ? length : sizeof reader->error_value;
    if (length)
        memcpy(reader->error_value, value, reader->error_value_size);
    return 0;
}

int csv_reserve(csv_reader *reader, size_t capacity)
{
    /* realloc of large blocks remaps pages instead of copying them, and untouched pages cost
       nothing: the peak stays at the size of the data. */
    for (size_t j = 0; j < reader->n_columns; j++) {
        csv_column *column = &reader->columns[j];
        size_t size = csv_cell_size(column->kind);
        if (size == 0)
            continue;
        void *grown = realloc(column->cells, capacity * size);
        if (grown == NULL)
            return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0);
        column->cells = grown;
    }
    reader->row_capacity = capacity;
    return 1;
}

int csv_grow_rows(csv_reader *reader)
{
    return csv_reserve(reader, reader->row_capacity ? 2 * reader->row_capacity : 1024);
}

/* The code of a cell, MISSING_CODE if there is none. */
static uint32_t code_at(const csv_column *column, size_t i)
{
    if (column->kind == CSV_CODES8) {
        uint8_t code = ((uint8_t *)column->cells)[i];
        return code == 0xFF ? MISSING_CODE : code;
    }
    if (column->kind == CSV_CODES16) {
        uint16_t code = ((uint16_t *)column->cells)[i];
        return code == CSV_MISSING ? MISSING_CODE : code;
    }
    return ((uint32_t *)column->cells)[i];
}

int csv_widen(csv_reader *reader, csv_column *column)
{
    int kind = column->kind == CSV_CODES8 ? CSV_CODES16 : CSV_CODES32;
    void *wide = malloc((reader->row_capacity ? reader->row_capacity : 1) * csv_cell_size(kind));
    if (wide == NULL)
        return 0;
    for (size_t i = 0; i < reader->n_rows; i++)
        if (kind == CSV_CODES16)
            ((uint16_t *)wide)[i] = (uint16_t)code_at(column, i);
        else
            ((uint32_t *)wide)[i] = code_at(column, i);
    free(column->cells);
    column->cells = wide;
    csv_set_kind(reader, column, kind);
    return 1;
}

int csv_is_full(const csv_column *column)
{
    return (column->kind == CSV_CODES8 && column->n_labels == 255) ||
           (column->kind == CSV_CODES16 && column->n_labels == CSV_MISSING);
}

/* Whether a field is a number where the column takes it for one. */
static int parse_number(const csv_reader *reader, const csv_column *column,
                        const unsigned char *text, size_t length, double *value)
{
    return number_parse(text, length, reader->decimal, value) &&
           !(column->plain_numbers && number_is_padded(text, length));
}

static int turn_into_numbers(csv_reader *reader, csv_column *column)
{
    double *values = malloc((column->n_labels ? column->n_labels : 1) * sizeof *values);
    if (values == NULL)
        return -1;
    for (uint32_t k = 0; k < column->n_labels; k++) {
        size_t start = column->ends[2 * k], end = column->ends[2 * k + 1];
        if (!parse_number(reader, column, column->text + start, end - start, &values[k])) {
            free(values);
            return 0;
        }
    }
    double *cells = malloc((reader->row_capacity ? reader->row_capacity : 1) * sizeof *cells);
    if (cells == NULL) {
        free(values);
        return -1;
    }
    for (size_t i = 0; i < reader->n_rows; i++) {
        uint32_t code = code_at(column, i);
        cells[i] = code == MISSING_CODE ? NAN : values[code];
    }
    free(values);
    free(column->cells);
    column->cells = cells;
    csv_set_kind(reader, column, CSV_NUMBERS);
    return 1;
}

static void give_up_column(csv_reader *reader, csv_column *column)
{
    free(column->cells);
    column->cells = NULL;
    csv_set_kind(reader, column, CSV_OVERFLOW);
}

int csv_store_number(csv_reader *reader, size_t j, const unsigned char *text, size_t length)
{
    double value;
    const csv_column *column = &reader->columns[j];
    double *cell = (double *)column->cells + reader->n_rows;
    if (reader->na_has_number && is_missing(reader, text, length))
        *cell = NAN;
    else if (parse_number(reader, column, text, length, &value))
        *cell = value;
    else if (is_missing(reader, text, length))
        *cell = NAN;
    else if (!is_utf8(text, length))
        return csv_fail(reader, CSV_BAD_UTF8, j, text, length);
    else
        return csv_fail(reader, CSV_NOT_A_NUMBER, j, text, length);
    if (column->counts && !(*cell >= 0 && *cell < 0x1p53 && *cell == floor(*cell)))
        return csv_fail(reader, CSV_NOT_A_COUNT, j, text, length);
    return 1;
}

int csv_store_new_label(csv_reader *reader, size_t j, const unsigned char *text, size_t length)
{
    csv_column *column = &reader->columns[j];
    if (is_missing(reader, text, length)) {
        if (column->n_used - column->n_labels < MAX_NA_SPELLINGS &&
            !insert_label(column, text, length, MISSING_CODE))
            return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0);
        csv_store_code(reader, column, MISSING_CODE);
        return 1;
    }
    if (!is_utf8(text, length))
        return csv_fail(reader, CSV_BAD_UTF8, j, text, length);
    if (column->closed)
        return csv_fail(reader, CSV_UNDECLARED, j, text, length);
    if (column->n_labels >= column->max_labels) {
        double ignored;
        int turned = 0;
        if (column->numbers_on_overflow &&
            parse_number(reader, column, text, length, &ignored))
            turned = turn_into_numbers(reader, column);
        if (turned < 0)
            return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0);
        if (turned)
            return csv_store_number(reader, j, text, length);
        give_up_column(reader, column);
        return 1;
    }
    if (csv_is_full(column) && !csv_widen(reader, column))
        return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0);
    if (!csv_append_level(column, text, length))
        return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0);
    csv_store_code(reader, column, column->n_labels - 1);
    return 1;
}

int csv_declare(csv_reader *reader, size_t j, const unsigned char *label, size_t length)
{
    csv_column *column = &reader->columns[j];
    if (csv_is_full(column))
        csv_set_kind(reader, column, column->kind == CSV_CODES8 ? CSV_CODES16 : CSV_CODES32);
    /* label_key reads up to 16 bytes: copy into slack. */
    unsigned char *padded = calloc(1, length + 16);
    if (padded == NULL)
        return 0;
    if (length)
        memcpy(padded, label, length);
    int done = csv_append_level(column, padded, length);
    free(padded);
    return done;
}

int csv_finish(csv_reader *reader)
{
    for (size_t j = 0; j < reader->n_columns; j++) {
        csv_column *column = &reader->columns[j];
        size_t size = csv_cell_size(column->kind);
        if (size == 0 || reader->n_rows == reader->row_capacity)
            continue;
        void *fitted = realloc(column->cells, (reader->n_rows ? reader->n_rows : 1) * size);
        if (fitted != NULL)
            column->cells = fitted;
    }
    reader->row_capacity = reader->n_rows;
    return 1;
}

void csv_forget_rows(csv_reader *reader)
{
    reader->n_rows = reader->row_capacity = 0;
}
