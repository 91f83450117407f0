/* CSV bytes to narrow codes, block by block.

   The grammar is the one of Python's csv module with its default dialect: a quote opens a quoted
   field only at the start of the field, a doubled quote stands for itself, text after a closing
   quote is kept, CR, LF and CRLF end a record, records without any character are skipped. Stricter
   in one point: a quote that is never closed is an error. */
#ifndef GML_CSV_READER_H
#define GML_CSV_READER_H

#include <stddef.h>
#include <stdint.h>

enum csv_kind {
    CSV_SKIP = 0,     /* the column is not used */
    CSV_CODES8 = 1,   /* one byte per cell, 255 = missing */
    CSV_CODES16 = 2,  /* two bytes per cell, 65535 = missing */
    CSV_NUMBERS = 3,  /* float64, NaN = missing */
    CSV_OVERFLOW = 4, /* more distinct labels than allowed; cells were given up */
    CSV_CODES32 = 5,  /* four bytes per cell, all ones = missing */
};

enum csv_status {
    CSV_OK = 0,
    CSV_RAGGED = 1,
    CSV_BAD_UTF8 = 2,
    CSV_UNTERMINATED = 3,
    CSV_FIELD_TOO_LONG = 4,
    CSV_RECORD_TOO_LONG = 5,
    CSV_UNDECLARED = 6,
    CSV_NOT_A_NUMBER = 7,
    CSV_NO_MEMORY = 8,
    CSV_NOT_A_COUNT = 9,
    CSV_TOO_MANY_ROWS = 10, /* the cells take more than the limit */
};

/* Bytes that a caller must leave readable behind the end of each block. */
#define CSV_SLACK 64

#define CSV_MISSING 0xFFFFu

typedef struct {
    uint64_t low, high; /* labels up to 16 bytes: the bytes themselves; longer: low = hash */
    uint32_t length;
    uint32_t code;
    size_t offset; /* into the column's text */
} csv_slot;

typedef struct {
    /* what every field needs, within one cache line */
    int kind;
    int slot_shift;
    uint32_t n_slots;
    uint32_t n_labels;
    csv_slot *slots;
    void *cells;
    unsigned char *text; /* all labels, one after the other */
    /* what only new labels and numbers need */
    int closed;              /* only declared labels are allowed */
    int numbers_on_overflow; /* turn into CSV_NUMBERS when there are too many numeric labels */
    int plain_numbers;       /* 01 is a label then, not a number */
    int counts;              /* numbers are non-negative integers below 2^53, none is missing */
    uint32_t max_labels;
    uint32_t n_used;
    uint32_t n_shared; /* of a chunk: labels that it did not find itself (csv_chunks.h) */
    size_t text_size, text_capacity;
    size_t *ends; /* start and end of each label in the text */
    size_t ends_capacity;
} csv_column;

typedef struct {
    unsigned char delimiter, decimal;
    size_t n_columns;
    csv_column *columns;
    size_t n_rows, row_capacity;
    size_t row_bytes, cells_limit; /* of the cells of a row, and of all cells */
    uint64_t line; /* physical line on which the next record starts */
    int skip_line_feed;
    unsigned char *na_text;
    size_t *na_ends;
    size_t n_na;
    int na_has_number;
    int strip; /* blanks around a field are not part of it */
    size_t field_limit, record_limit;
    unsigned char *scratch;
    size_t scratch_size, scratch_capacity;
    /* what went wrong */
    int status;
    uint64_t error_line;
    size_t error_column, error_fields;
    unsigned char error_value[64];
    size_t error_value_size;
} csv_reader;

csv_reader *csv_new(size_t n_columns, unsigned char delimiter, unsigned char decimal,
                    uint64_t first_line, size_t field_limit, size_t record_limit);
void csv_free(csv_reader *reader);
int csv_add_na(csv_reader *reader, const unsigned char *token, size_t length);
int csv_set_column(csv_reader *reader, size_t column, int kind, uint32_t max_labels, int closed,
                   int numbers_on_overflow, int plain_numbers, int counts);
int csv_declare(csv_reader *reader, size_t column, const unsigned char *label, size_t length);

/* Read the complete records of a block; CSV_SLACK bytes behind `size` must be readable. Returns the
   number of bytes consumed; the caller presents the rest again in front of the next block. `final`
   says that no more bytes follow. On an error, reader->status is set. */
size_t csv_feed(csv_reader *reader, const unsigned char *block, size_t size, int final);

/* Make room for about this many rows at once; memory that is never touched costs nothing. */
int csv_reserve(csv_reader *reader, size_t n_rows);

/* Give up unused capacity. */
int csv_finish(csv_reader *reader);

/* Forget the rows, whose cells the caller has taken out of the columns; labels stay. */
void csv_forget_rows(csv_reader *reader);

#endif
