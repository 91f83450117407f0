#include "csv_reader.h"

#include <stdlib.h>
#include <string.h>

#include "csv_cells.h"
#include "csv_special.h"

/* The functions that look at characters are compiled as one loop, once for each kind of vector
   instructions: what they share stays in registers. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
/* Keeps quotes off the straight path: without this, fields without quotes take a tenth longer. */
#define RARELY(condition) __builtin_expect(condition, 0)

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
            /* Every doubled quote halves: past twice the limit, the text is certainly over it. */
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

/* A block, and how far it has been read. */
typedef struct {
    const unsigned char *end;
    int final; /* whether no data follow the block */
    unsigned char delimiter;
    const unsigned char *record; /* where the current record starts */
    const unsigned char *field;  /* where the current field starts */
    const unsigned char *open;   /* the quote that opened the current field, or NULL */
    const unsigned char *window; /* behind the 64 bytes that are being looked at */
    uint64_t marks;              /* characters of these 64 still to be looked at, one bit each */
    size_t j;                    /* column of the current field */
    uint64_t inner_lines;        /* line ends within quotes of this record */
    int line_in_quotes;          /* whether there is one in the current field */
} scan;

static inline int ends_field(const scan *s, unsigned char c)
{
    return c == s->delimiter || c == '\n' || c == '\r';
}

typedef struct {
    const unsigned char *text;
    size_t length;
    int quoted;
} csv_field;

enum step { STEP_DONE, STEP_END_OF_DATA, STEP_INCOMPLETE, STEP_FAILED };

/* Pass over the character at `at`, which is the next mark of the window or lies behind it. */
static ALWAYS_INLINE void pass_over(scan *s, const unsigned char *at)
{
    if (at < s->window)
        s->marks &= s->marks - 1;
    else
        s->window = at + 1;
}

/* Find the marks of the next 64 bytes. Returns the quote that is open behind them if the marks do
   not tell, because what the quotes enclose was left out. */
static ALWAYS_INLINE const unsigned char *next_window(scan *s, find_special special)
{
    const unsigned char *base = s->window, *open_after = NULL;
    special_bytes found = special(base, s->delimiter);
    uint64_t marks = found.delimiters | found.line_ends;
    s->window = base + 64;
    if (found.quotes || s->open != NULL) {
        /* Whether every quote opens a field at its start or closes it at its end, as nearly all
           do: then only what lies outside of quotes matters. */
        uint64_t inside = running_parity(found.quotes) ^ (s->open != NULL ? UINT64_MAX : 0);
        uint64_t outside = marks & ~inside;
        uint64_t starts = outside << 1 | (s->field == base);
        uint64_t ends =
            s->end - base > 64 ? marks >> 1 | (uint64_t)ends_field(s, base[64]) << 63 : 0;
        int plain = s->end - base > 64 && !(found.quotes & inside & ~starts) &&
                    !(found.quotes & ~inside & ~ends) && !(found.line_ends & inside) &&
                    !s->line_in_quotes;
        if (plain) {
            marks = outside;
            if (inside >> 63)
                open_after = found.quotes ? base + 63 - __builtin_clzll(found.quotes) : s->open;
            s->open = NULL;
        } else {
            marks |= found.quotes;
        }
    }
    if (s->end - base < 64)
        marks &= (UINT64_C(1) << (s->end - base)) - 1;
    s->marks = marks;
    return open_after;
}

/* The quote at `*at` closes the current field, or is doubled, or has text behind it. Moves `*at` to
   the end of the field. */
static ALWAYS_INLINE enum step close_quoted(csv_reader *reader, scan *s,
                                            const unsigned char **at, csv_field *field)
{
    const unsigned char *open = s->open, *close = *at;
    if (close + 1 < s->end && ends_field(s, close[1])) {
        field->text = open + 1;
        field->length = (size_t)(close - field->text);
        if (s->line_in_quotes)
            s->inner_lines += count_lines(open, close);
        *at = close + 1;
    } else {
        const unsigned char *stop, *text;
        size_t length;
        int outcome = read_quoted(reader, open, s->end, s->final, s->j, &stop, &text, &length);
        if (outcome != QUOTED_DONE)
            return outcome == QUOTED_FAILED ? STEP_FAILED : STEP_INCOMPLETE;
        field->text = text;
        field->length = length;
        s->inner_lines += count_lines(open, stop);
        s->marks = 0;
        s->window = stop;
        *at = stop;
    }
    pass_over(s, *at);
    s->open = NULL;
    s->line_in_quotes = 0;
    field->quoted = 1;
    return STEP_DONE;
}

/* Store a field, with room for the row that a first field opens. */
static ALWAYS_INLINE int store_field(csv_reader *reader, size_t j, const csv_field *field)
{
    if (j == 0 && reader->n_rows == reader->row_capacity && !csv_grow_rows(reader))
        return 0;
    return csv_store(reader, j, field->text, field->length);
}

static ALWAYS_INLINE int end_row(csv_reader *reader, size_t n_fields)
{
    if (n_fields != reader->n_columns) {
        reader->error_fields = n_fields;
        return csv_fail(reader, CSV_RAGGED, 0, NULL, 0);
    }
    reader->n_rows++;
    if (RARELY(reader->n_rows * reader->row_bytes > reader->cells_limit)) {
        reader->error_fields = reader->n_rows;
        return csv_fail(reader, CSV_TOO_MANY_ROWS, 0, NULL, 0);
    }
    return 1;
}

/* Nothing is said of what lies beyond the limit of a record but that it is too long, so that it does
   not matter where blocks end. Returns 0 if the current field starts there. */
static ALWAYS_INLINE int within_record(csv_reader *reader, const scan *s)
{
    if (RARELY((size_t)(s->field - s->record) > reader->record_limit))
        return csv_fail(reader, CSV_RECORD_TOO_LONG, 0, NULL, 0);
    return 1;
}

/* Something is wrong with the current field; no bytes count as consumed. */
static ALWAYS_INLINE size_t failed(csv_reader *reader, const scan *s)
{
    within_record(reader, s);
    return 0;
}

/* The line that ends at `at`. */
static ALWAYS_INLINE int end_line(csv_reader *reader, scan *s, const unsigned char *at,
                                  const csv_field *field)
{
    int empty = s->j == 0 && field->length == 0 && !field->quoted;
    if (!empty && !(store_field(reader, s->j, field) && within_record(reader, s) &&
                    end_row(reader, s->j + 1)))
        return 0;
    reader->line += 1 + s->inner_lines;
    s->inner_lines = 0;
    s->j = 0;
    s->field = at + 1;
    if (*at == '\r') {
        if (s->field == s->end)
            reader->skip_line_feed = !s->final;
        else if (*s->field == '\n')
            pass_over(s, s->field++);
    }
    s->record = s->field;
    return 1;
}

/* Take the next mark: a quote that opens or closes a field, or the end of a field or line. */
static ALWAYS_INLINE enum step take_mark(csv_reader *reader, scan *s)
{
    const unsigned char *at = s->window - 64 + __builtin_ctzll(s->marks);
    s->marks &= s->marks - 1;
    csv_field field = {s->field, (size_t)(at - s->field), 0};
    if (RARELY(*at == '"')) {
        if (s->open == NULL) {
            if (at == s->field)
                s->open = at;
            return STEP_DONE;
        }
        enum step step = close_quoted(reader, s, &at, &field);
        if (step != STEP_DONE)
            return step;
        if (at == s->end)
            return store_field(reader, s->j++, &field) ? STEP_END_OF_DATA : STEP_FAILED;
    } else if (RARELY(s->open != NULL)) {
        s->line_in_quotes |= *at != s->delimiter;
        return STEP_DONE;
    } else if (field.length && *field.text == '"') {
        /* Its quotes were not marks, as they are its first and last characters. */
        field.text++;
        field.length -= 2;
        field.quoted = 1;
    }
    if (*at == s->delimiter) {
        if (!store_field(reader, s->j, &field))
            return STEP_FAILED;
        s->j++;
        s->field = at + 1;
        return STEP_DONE;
    }
    return end_line(reader, s, at, &field) ? STEP_DONE : STEP_FAILED;
}

/* The block ends within a record, which is left for the next one unless it is too long already. */
static ALWAYS_INLINE size_t keep_record(csv_reader *reader, const unsigned char *block, scan s)
{
    if (within_record(reader, &s) && (size_t)(s.end - s.field) > 2 * reader->field_limit + 2)
        csv_fail(reader, CSV_FIELD_TOO_LONG, s.j, NULL, 0);
    return (size_t)(s.record - block);
}

/* The end of all data, behind the last field of a record without a line end. */
static ALWAYS_INLINE size_t end_data(csv_reader *reader, const unsigned char *block, scan s)
{
    if (!within_record(reader, &s) || !end_row(reader, s.j))
        return 0;
    reader->line += 1 + s.inner_lines;
    return (size_t)(s.end - block);
}

/* What is left when a block has no more marks. */
static ALWAYS_INLINE size_t end_block(csv_reader *reader, const unsigned char *block, scan s)
{
    if (s.open != NULL) {
        const unsigned char *stop, *text;
        size_t length;
        if (read_quoted(reader, s.open, s.end, s.final, s.j, &stop, &text, &length) ==
            QUOTED_FAILED)
            return failed(reader, &s);
        return keep_record(reader, block, s);
    }
    if (!s.final)
        return keep_record(reader, block, s);
    if (s.field == s.end && s.j == 0)
        return (size_t)(s.end - block);
    csv_field field = {s.field, (size_t)(s.end - s.field), 0};
    if (!store_field(reader, s.j, &field))
        return failed(reader, &s);
    s.j++;
    return end_data(reader, block, s);
}

static ALWAYS_INLINE size_t feed(csv_reader *reader, const unsigned char *block, size_t size,
                                 int final, find_special special)
{
    scan s = {.end = block + size, .final = final, .delimiter = reader->delimiter};
    s.record = s.field = s.window = block;
    if (reader->skip_line_feed && size) {
        if (*block == '\n')
            s.record = s.field = s.window = block + 1;
        reader->skip_line_feed = 0;
    }
    while (s.window < s.end) {
        const unsigned char *open_after = next_window(&s, special);
        while (s.marks) {
            enum step step = take_mark(reader, &s);
            if (step == STEP_DONE)
                continue;
            if (step == STEP_FAILED)
                return failed(reader, &s);
            return step == STEP_INCOMPLETE ? keep_record(reader, block, s)
                                           : end_data(reader, block, s);
        }
        if (open_after != NULL)
            s.open = open_after;
    }
    return end_block(reader, block, s);
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
