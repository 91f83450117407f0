#include "csv_writer.h"

#include <string.h>

void csv_set_field(csv_field *field, const unsigned char *text, size_t size)
{
    memset(field->start, 0, sizeof field->start);
    memcpy(field->start, text, size < sizeof field->start ? size : sizeof field->start);
    field->text = text;
    field->size = size;
}

static inline const csv_field *field_of(const csv_coded_column *column, size_t row)
{
    uint32_t code = column->width == 1 ? ((const uint8_t *)column->codes)[row]
                                       : ((const uint16_t *)column->codes)[row];
    return &column->fields[code < column->n_levels ? code : column->n_levels];
}

size_t csv_write_rows(const csv_coded_column *columns, size_t n_columns, size_t n_rows,
                      unsigned char *out)
{
    unsigned char *at = out;
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++) {
            const csv_field *field = field_of(&columns[j], i);
            /* A copy of known size is one store; what it writes too much the next field covers. */
            memcpy(at, field->start, CSV_FIELD_STORE);
            if (__builtin_expect(field->size > CSV_FIELD_STORE, 0))
                memcpy(at, field->text, field->size);
            at += field->size;
        }
    return (size_t)(at - out);
}
