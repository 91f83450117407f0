#include "csv_reader.h"

#include <stdlib.h>
#include <string.h>

#include "csv_cells.h"
#include "csv_special.h"

static int scratch_append(csv_reader *reader, const unsigned char *text, size_t length)
{
    if (reader->scratch_size + length + CSV_SLACK > reader->scratch_capacity) {
        size_t capacity = 2 * reader->scratch_capacity + length + 4 * CSV_SLACK;
        unsigned char *grown = realloc(reader->scratch, capacity);
        if (grown == NULL)
            return 0;
        reader->scratch = grown;
        reader->scratch_capacity = capacity;
    }
    if (length)
        memcpy(reader->scratch + reader->scratch_size, text, length);
    reader->scratch_size += length;
    return 1;
}

static uint64_t count_lines(const unsigned char *text, const unsigned char *end)
{
    uint64_t lines = 0;
    for (; text < end; text++)
        if (*text == '\n' || (*text == '\r' && !(text + 1 < end && text[1] == '\n')))
            lines++;
    return lines;
}

enum { QUOTED_DONE, QUOTED_INCOMPLETE, QUOTED_FAILED };

/* A quoted field whose opening quote is at `open`. Finds where the field ends (at a delimiter, a
   line end or the end of all data) and its text, in place or unescaped in the scratch buffer. */
static int read_quoted(csv_reader *reader, const unsigned char *open, const unsigned char *end,
                       int final, size_t j, const unsigned char **stop, const unsigned char **text,
                       size_t *length)
{
    const unsigned char *from = open + 1, *close;
    int in_scratch = 0;
    reader->scratch_size = 0;
    for (;;) {
        close = from < end ? memchr(from, '"', (size_t)(end - from)) : NULL;
        if (close == NULL) {
            /* Every doubled quote halves: past twice the limit the text is over it for sure. */
            if ((size_t)(end - open) > 2 * reader->field_limit + 2)
                return csv_fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0), QUOTED_FAILED;
            if (!final)
                return QUOTED_INCOMPLETE;
            if (reader->scratch_size + (size_t)(end - from) > reader->field_limit)
                return csv_fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0), QUOTED_FAILED;
            return csv_fail(reader, CSV_UNTERMINATED, j, NULL, 0), QUOTED_FAILED;
        }
        if (close + 1 == end && !final)
            return QUOTED_INCOMPLETE;
        if (close + 1 < end && close[1] == '"') {
            in_scratch = 1;
            if (!scratch_append(reader, from, (size_t)(close + 1 - from)))
                return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0), QUOTED_FAILED;
            from = close + 2;
            continue;
        }
        break;
    }
    const unsigned char *tail = close + 1;
    while (tail < end && *tail != reader->delimiter && *tail != '\n' && *tail != '\r')
        tail++;
    if (tail == end && !final) {
        if ((size_t)(end - open) > 2 * reader->field_limit + 2)
            return csv_fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0), QUOTED_FAILED;
        return QUOTED_INCOMPLETE;
    }
    if (in_scratch || tail > close + 1) {
        if (!scratch_append(reader, from, (size_t)(close - from)) ||
            !scratch_append(reader, close + 1, (size_t)(tail - close - 1)))
            return csv_fail(reader, CSV_NO_MEMORY, j, NULL, 0), QUOTED_FAILED;
        *text = reader->scratch;
        *length = reader->scratch_size;
    } else {
        *text = from;
        *length = (size_t)(close - from);
    }
    *stop = tail;
    return QUOTED_DONE;
}

static inline int ends_field(const csv_reader *reader, unsigned char c)
{
    return c == reader->delimiter || c == '\n' || c == '\r';
}

/* Room for the row that a first field opens. */
static inline int begin_field(csv_reader *reader, size_t j)
{
    return j || reader->n_rows < reader->row_capacity || csv_grow_rows(reader);
}

static inline __attribute__((always_inline)) size_t
feed(csv_reader *reader, const unsigned char *block, size_t size, int final, find_special special)
{
    const unsigned char *const end = block + size;
    const unsigned char *record = block; /* where the current record starts */
    const unsigned char *field = block;
    const unsigned char *window = block;
    const unsigned char delimiter = reader->delimiter;
    const size_t n_columns = reader->n_columns;
    const unsigned char *open = NULL; /* the quote that opened the current field */
    int line_in_quotes = 0;
    size_t j = 0;             /* column of the current field */
    uint64_t inner_lines = 0; /* line ends within quotes of this record */

    if (reader->skip_line_feed && size) {
        if (*block == '\n')
            record = field = window = block + 1;
        reader->skip_line_feed = 0;
    }
    while (window < end) {
        special_bytes found = special(window, delimiter);
        uint64_t mask = found.delimiters | found.line_ends;
        const unsigned char *base = window;
        window += 64;
        const unsigned char *open_after = NULL;
        if (found.quotes || open != NULL) {
            /* Whether every quote opens a field at its start or closes it at its end, as nearly all
               do: then only what lies outside of quotes matters. */
            uint64_t inside = running_parity(found.quotes) ^ (open != NULL ? UINT64_MAX : 0);
            uint64_t outside = mask & ~inside;
            uint64_t starts = outside << 1 | (field == base);
            uint64_t ends = end - base > 64 ? mask >> 1 | (uint64_t)ends_field(reader, base[64]) << 63 : 0;
            int plain = end - base > 64 && !(found.quotes & inside & ~starts) &&
                        !(found.quotes & ~inside & ~ends) && !(found.line_ends & inside) &&
                        !line_in_quotes;
            if (plain) {
                mask = outside;
                if (inside >> 63)
                    open_after = found.quotes ? base + 63 - __builtin_clzll(found.quotes) : open;
                open = NULL;
            } else {
                mask |= found.quotes;
            }
        }
        if (end - base < 64)
            mask &= (UINT64_C(1) << (end - base)) - 1;
        while (mask) {
            const unsigned char *at = base + __builtin_ctzll(mask);
            mask &= mask - 1;
            const unsigned char *text = field;
            size_t length = (size_t)(at - field);
            int quoted = 0;
            if (*at == '"') {
                if (open == NULL) {
                    if (at == field)
                        open = at;
                    continue;
                }
                unsigned char next = at[1];
                if (at + 1 < end && (next == delimiter || next == '\n' || next == '\r')) {
                    text = open + 1;
                    length = (size_t)(at - text);
                    if (line_in_quotes)
                        inner_lines += count_lines(open, at);
                    at++;
                    if (at < base + 64)
                        mask &= mask - 1;
                    else
                        window = at + 1;
                } else {
                    const unsigned char *stop;
                    int outcome = read_quoted(reader, open, end, final, j, &stop, &text, &length);
                    if (outcome == QUOTED_FAILED)
                        return 0;
                    if (outcome == QUOTED_INCOMPLETE)
                        goto incomplete;
                    inner_lines += count_lines(open, stop);
                    mask = 0;
                    at = stop;
                    window = stop + 1; /* one past the delimiter or line end */
                    base = window - 64;
                }
                open = NULL;
                line_in_quotes = 0;
                quoted = 1;
                if (at == end) {
                    field = end;
                    if (!begin_field(reader, j) || !csv_store(reader, j, text, length))
                        return 0;
                    j++;
                    goto last_record;
                }
            } else if (open != NULL) {
                line_in_quotes |= *at != delimiter;
                continue;
            } else if (length && *field == '"') {
                text++;
                length -= 2;
                quoted = 1;
            }
            if (*at == delimiter) {
                if (!begin_field(reader, j) || !csv_store(reader, j, text, length))
                    return 0;
                j++;
                field = at + 1;
                continue;
            }
            /* end of line */
            if (j || length || quoted) {
                if (!begin_field(reader, j) || !csv_store(reader, j, text, length))
                    return 0;
                if (j + 1 != n_columns) {
                    reader->error_fields = j + 1;
                    csv_fail(reader, CSV_RAGGED, 0, NULL, 0);
                    return 0;
                }
                reader->n_rows++;
            }
            reader->line += 1 + inner_lines;
            inner_lines = 0;
            j = 0;
            field = at + 1;
            if (*at == '\r') {
                if (field == end) {
                    reader->skip_line_feed = !final;
                } else if (*field == '\n') {
                    if (field < base + 64)
                        mask &= mask - 1; /* the line feed is done with */
                    else
                        window = field + 1;
                    field++;
                }
            }
            record = field;
        }
        if (open_after != NULL)
            open = open_after;
    }
    if (open != NULL) {
        const unsigned char *stop, *text;
        size_t length;
        if (read_quoted(reader, open, end, final, j, &stop, &text, &length) == QUOTED_FAILED)
            return 0;
        goto incomplete;
    }
    if (!final) {
    incomplete:
        if ((size_t)(end - field) > 2 * reader->field_limit + 2) {
            csv_fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0);
            return 0;
        }
        if ((size_t)(end - record) > reader->record_limit)
            csv_fail(reader, CSV_RECORD_TOO_LONG, 0, NULL, 0);
        return (size_t)(record - block);
    }
    if (field == end && j == 0)
        return size;
    if (!begin_field(reader, j) || !csv_store(reader, j, field, (size_t)(end - field)))
        return 0;
    j++;
last_record:
    if (j != n_columns) {
        reader->error_fields = j;
        csv_fail(reader, CSV_RAGGED, 0, NULL, 0);
        return 0;
    }
    reader->n_rows++;
    reader->line += 1 + inner_lines;
    return size;
}

#if GML_X86
__attribute__((target("avx2"))) static size_t feed_avx2(csv_reader *reader,
                                                        const unsigned char *block, size_t size,
                                                        int final)
{
    return feed(reader, block, size, final, special_avx2);
}
#endif

size_t csv_feed(csv_reader *reader, const unsigned char *block, size_t size, int final)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX2)
        return feed_avx2(reader, block, size, final);
#endif
    return feed(reader, block, size, final, special_portable);
}
