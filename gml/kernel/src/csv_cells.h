/* From the text of a field to a cell: labels to codes, numbers to doubles. */
#ifndef GML_CSV_CELLS_H
#define GML_CSV_CELLS_H

#include <string.h>

#include "byte_hash.h"
#include "csv_reader.h"

#define EMPTY_SLOT UINT32_MAX
#define MISSING_CODE UINT32_MAX

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the label loads assume a little-endian machine"
#endif

/* Note what is wrong with the current record; returns 0. */
int csv_fail(csv_reader *reader, int status, size_t column, const unsigned char *value,
             size_t length);

/* Room for more rows; 0 without memory. */
int csv_grow_rows(csv_reader *reader);

/* Bytes of a cell. */
size_t csv_cell_size(int kind);

void csv_set_kind(csv_reader *reader, csv_column *column, int kind);

/* Whether the cells of a column are too narrow for the code of one more label. */
int csv_is_full(const csv_column *column);

/* Give the codes of a column the next larger kind of cell; 0 without memory. */
int csv_widen(csv_reader *reader, csv_column *column);

/* Add a label, 16 bytes behind whose end must be readable; 0 without memory. */
int csv_append_level(csv_column *column, const unsigned char *text, size_t length);

/* A label that the column has not seen yet. */
int csv_store_new_label(csv_reader *reader, size_t j, const unsigned char *text, size_t length);

int csv_store_number(csv_reader *reader, size_t j, const unsigned char *text, size_t length);

static const uint64_t LOW_BYTES[9] = {
    0,
    UINT64_C(0xFF),
    UINT64_C(0xFFFF),
    UINT64_C(0xFFFFFF),
    UINT64_C(0xFFFFFFFF),
    UINT64_C(0xFFFFFFFFFF),
    UINT64_C(0xFFFFFFFFFFFF),
    UINT64_C(0xFFFFFFFFFFFFFF),
    UINT64_C(0xFFFFFFFFFFFFFFFF),
};

static inline uint64_t load64(const unsigned char *text)
{
    uint64_t word;
    memcpy(&word, text, 8);
    return word;
}

static inline void label_key(const unsigned char *text, size_t length, uint64_t *low,
                             uint64_t *high)
{
    if (length <= 8) {
        *low = load64(text) & LOW_BYTES[length];
        *high = 0;
    } else if (length <= 16) {
        *low = load64(text);
        *high = load64(text + 8) & LOW_BYTES[length - 8];
    } else {
        *low = hash_bytes(text, length);
        *high = 0;
    }
}

static inline uint32_t first_slot(const csv_column *column, uint64_t low, uint64_t high,
                                  size_t length)
{
    uint64_t mixed = (low ^ (high * UINT64_C(0xC2B2AE3D27D4EB4F)) ^ length);
    mixed ^= mixed >> 29;
    return (uint32_t)((mixed * UINT64_C(0x9E3779B97F4A7C15)) >> column->slot_shift);
}

static inline const csv_slot *find_label(const csv_column *column, const unsigned char *text,
                                         size_t length, uint64_t low, uint64_t high)
{
    uint32_t mask = column->n_slots - 1;
    for (uint32_t k = first_slot(column, low, high, length);; k = (k + 1) & mask) {
        const csv_slot *slot = &column->slots[k];
        if (slot->length == EMPTY_SLOT)
            return NULL;
        if (slot->low == low && slot->high == high && slot->length == length &&
            (length <= 16 || memcmp(column->text + slot->offset, text, length) == 0))
            return slot;
    }
}

static inline void csv_store_code(csv_reader *reader, csv_column *column, uint32_t code)
{
    if (column->kind == CSV_CODES8)
        ((uint8_t *)column->cells)[reader->n_rows] = (uint8_t)code;
    else if (column->kind == CSV_CODES16)
        ((uint16_t *)column->cells)[reader->n_rows] = (uint16_t)code;
    else
        ((uint32_t *)column->cells)[reader->n_rows] = code;
}

/* Store a field; 16 bytes behind its end must be readable. Returns 0 on an error. */
static inline int csv_store(csv_reader *reader, size_t j, const unsigned char *text, size_t length)
{
    if (length > reader->field_limit)
        return csv_fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0);
    if (j >= reader->n_columns)
        return 1;
    if (reader->strip) {
        for (; length && *text == ' '; length--)
            text++;
        while (length && text[length - 1] == ' ')
            length--;
    }
    csv_column *column = &reader->columns[j];
    if (column->kind == CSV_CODES8 || column->kind == CSV_CODES16 || column->kind == CSV_CODES32) {
        uint64_t low, high;
        label_key(text, length, &low, &high);
        const csv_slot *slot = find_label(column, text, length, low, high);
        if (slot == NULL)
            return csv_store_new_label(reader, j, text, length);
        csv_store_code(reader, column, slot->code);
        return 1;
    }
    if (column->kind == CSV_NUMBERS)
        return csv_store_number(reader, j, text, length);
    return 1;
}

#endif
