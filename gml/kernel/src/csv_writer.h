/* Coded columns as CSV text. */
#ifndef GML_CSV_WRITER_H
#define GML_CSV_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are stored at once, and so the room needed behind the text. */
#define CSV_FIELD_STORE 16

/* What a code is written as, with the delimiter or the line end behind it. */
typedef struct {
    unsigned char start[CSV_FIELD_STORE]; /* the whole field if it is not longer */
    const unsigned char *text;
    size_t size;
} csv_field;

typedef struct {
    const void *codes; /* uint8_t if width is 1, uint16_t if 2 */
    int width;
    uint32_t n_levels;
    const csv_field *fields; /* one per level, and one for any other code: missing */
} csv_coded_column;

/* Set a field to `size` bytes of text, which must stay where they are. */
void csv_set_field(csv_field *field, const unsigned char *text, size_t size);

/* Write the rows to `out` and return the number of bytes. `out` has room for the longest fields of
   every row and CSV_FIELD_STORE bytes more. */
size_t csv_write_rows(const csv_coded_column *columns, size_t n_columns, size_t n_rows,
                      unsigned char *out);

#endif
