#include "csv_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "byte_hash.h"
#include "cpu.h"
#include "number.h"

#if GML_X86
#include <immintrin.h>
#endif

#define EMPTY_SLOT UINT32_MAX
/* Spellings of "missing" that differ in outer spaces only are unlimited: remember a few. */
#define MAX_NA_SPELLINGS 64
#define MISSING_CODE UINT32_MAX

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

/* ------------------------------------------------------------------ construction */

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

static size_t cell_size(int kind)
{
    switch (kind) {
    case CSV_CODES8:
        return 1;
    case CSV_CODES16:
        return 2;
    case CSV_NUMBERS:
        return sizeof(double);
    default:
        return 0;
    }
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
                   int numbers_on_overflow, int counts)
{
    csv_column *column = &reader->columns[j];
    column->kind = kind;
    column->max_labels = max_labels;
    column->closed = closed;
    column->numbers_on_overflow = numbers_on_overflow;
    column->counts = counts;
    if (kind == CSV_CODES8 || kind == CSV_CODES16)
        return allocate_slots(column, 5);
    return 1;
}

/* ------------------------------------------------------------------ labels */

static inline uint64_t load64(const unsigned char *text)
{
    uint64_t word;
    memcpy(&word, text, 8);
    return word;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the label loads assume a little-endian machine"
#endif

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
    if (column->text_size + length > column->text_capacity) {
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

static int append_level(csv_column *column, const unsigned char *text, size_t length)
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

/* Exactly the byte strings that Python's strict UTF-8 decoder accepts. */
static int is_utf8(const unsigned char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        unsigned char c = text[i];
        if (c < 0x80) {
            i++;
            continue;
        }
        size_t more;
        unsigned char low = 0x80, high = 0xBF;
        if (c >= 0xC2 && c <= 0xDF)
            more = 1;
        else if (c >= 0xE0 && c <= 0xEF) {
            more = 2;
            if (c == 0xE0)
                low = 0xA0;
            if (c == 0xED)
                high = 0x9F;
        } else if (c >= 0xF0 && c <= 0xF4) {
            more = 3;
            if (c == 0xF0)
                low = 0x90;
            if (c == 0xF4)
                high = 0x8F;
        } else
            return 0;
        if (length - i <= more)
            return 0;
        if (text[i + 1] < low || text[i + 1] > high)
            return 0;
        for (size_t k = 2; k <= more; k++)
            if ((text[i + k] & 0xC0) != 0x80)
                return 0;
        i += more + 1;
    }
    return 1;
}

/* ------------------------------------------------------------------ cells */

static int fail(csv_reader *reader, int status, size_t column, const unsigned char *value,
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

static int grow_rows(csv_reader *reader)
{
    /* realloc of large blocks remaps pages instead of copying them, and untouched pages cost
       nothing: the peak stays at the size of the data. */
    size_t capacity = reader->row_capacity ? 2 * reader->row_capacity : 1024;
    for (size_t j = 0; j < reader->n_columns; j++) {
        csv_column *column = &reader->columns[j];
        size_t size = cell_size(column->kind);
        if (size == 0)
            continue;
        void *grown = realloc(column->cells, capacity * size);
        if (grown == NULL)
            return fail(reader, CSV_NO_MEMORY, j, NULL, 0);
        column->cells = grown;
    }
    reader->row_capacity = capacity;
    return 1;
}

static int widen(csv_reader *reader, csv_column *column)
{
    uint16_t *wide = malloc((reader->row_capacity ? reader->row_capacity : 1) * sizeof *wide);
    if (wide == NULL)
        return 0;
    const uint8_t *narrow = column->cells;
    for (size_t i = 0; i < reader->n_rows; i++)
        wide[i] = narrow[i] == 0xFF ? CSV_MISSING : narrow[i];
    free(column->cells);
    column->cells = wide;
    column->kind = CSV_CODES16;
    return 1;
}

static int turn_into_numbers(csv_reader *reader, csv_column *column)
{
    double *values = malloc((column->n_labels ? column->n_labels : 1) * sizeof *values);
    if (values == NULL)
        return -1;
    for (uint32_t k = 0; k < column->n_labels; k++) {
        size_t start = column->ends[2 * k], end = column->ends[2 * k + 1];
        if (!number_parse(column->text + start, end - start, reader->decimal, &values[k])) {
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
        uint32_t code;
        if (column->kind == CSV_CODES8) {
            code = ((uint8_t *)column->cells)[i];
            if (code == 0xFF)
                code = CSV_MISSING;
        } else {
            code = ((uint16_t *)column->cells)[i];
        }
        cells[i] = code == CSV_MISSING ? NAN : values[code];
    }
    free(values);
    free(column->cells);
    column->cells = cells;
    column->kind = CSV_NUMBERS;
    return 1;
}

static void give_up_column(csv_column *column)
{
    free(column->cells);
    column->cells = NULL;
    column->kind = CSV_OVERFLOW;
}

static int store_number(csv_reader *reader, size_t j, const unsigned char *text, size_t length)
{
    double value;
    double *cell = (double *)reader->columns[j].cells + reader->n_rows;
    if (reader->na_has_number && is_missing(reader, text, length))
        *cell = NAN;
    else if (number_parse(text, length, reader->decimal, &value))
        *cell = value;
    else if (is_missing(reader, text, length))
        *cell = NAN;
    else if (!is_utf8(text, length))
        return fail(reader, CSV_BAD_UTF8, j, text, length);
    else
        return fail(reader, CSV_NOT_A_NUMBER, j, text, length);
    if (reader->columns[j].counts && !(*cell >= 0 && *cell < 0x1p53 && *cell == floor(*cell)))
        return fail(reader, CSV_NOT_A_COUNT, j, text, length);
    return 1;
}

static inline void store_code(csv_reader *reader, csv_column *column, uint32_t code)
{
    if (column->kind == CSV_CODES8)
        ((uint8_t *)column->cells)[reader->n_rows] = (uint8_t)code;
    else
        ((uint16_t *)column->cells)[reader->n_rows] = (uint16_t)code;
}

/* A label that the column has not seen yet. */
static int store_new_label(csv_reader *reader, size_t j, const unsigned char *text, size_t length)
{
    csv_column *column = &reader->columns[j];
    if (is_missing(reader, text, length)) {
        if (column->n_used - column->n_labels < MAX_NA_SPELLINGS &&
            !insert_label(column, text, length, MISSING_CODE))
            return fail(reader, CSV_NO_MEMORY, j, NULL, 0);
        store_code(reader, column, MISSING_CODE);
        return 1;
    }
    if (!is_utf8(text, length))
        return fail(reader, CSV_BAD_UTF8, j, text, length);
    if (column->closed)
        return fail(reader, CSV_UNDECLARED, j, text, length);
    if (column->n_labels >= column->max_labels) {
        double ignored;
        int turned = 0;
        if (column->numbers_on_overflow &&
            number_parse(text, length, reader->decimal, &ignored))
            turned = turn_into_numbers(reader, column);
        if (turned < 0)
            return fail(reader, CSV_NO_MEMORY, j, NULL, 0);
        if (turned)
            return store_number(reader, j, text, length);
        give_up_column(column);
        return 1;
    }
    if (column->kind == CSV_CODES8 && column->n_labels == 255 && !widen(reader, column))
        return fail(reader, CSV_NO_MEMORY, j, NULL, 0);
    if (!append_level(column, text, length))
        return fail(reader, CSV_NO_MEMORY, j, NULL, 0);
    store_code(reader, column, column->n_labels - 1);
    return 1;
}

int csv_declare(csv_reader *reader, size_t j, const unsigned char *label, size_t length)
{
    csv_column *column = &reader->columns[j];
    if (column->n_labels == 255)
        column->kind = CSV_CODES16;
    /* label_key reads up to 16 bytes: copy into slack. */
    unsigned char *padded = calloc(1, length + 16);
    if (padded == NULL)
        return 0;
    if (length)
        memcpy(padded, label, length);
    int done = append_level(column, padded, length);
    free(padded);
    return done;
}

static inline int store(csv_reader *reader, size_t j, const unsigned char *text, size_t length)
{
    if (length > reader->field_limit)
        return fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0);
    if (j >= reader->n_columns)
        return 1;
    csv_column *column = &reader->columns[j];
    if (column->kind == CSV_CODES8 || column->kind == CSV_CODES16) {
        uint64_t low, high;
        label_key(text, length, &low, &high);
        const csv_slot *slot = find_label(column, text, length, low, high);
        if (slot == NULL)
            return store_new_label(reader, j, text, length);
        store_code(reader, column, slot->code);
        return 1;
    }
    if (column->kind == CSV_NUMBERS)
        return store_number(reader, j, text, length);
    return 1;
}

/* ------------------------------------------------------------------ special characters */

/* Where in 64 bytes the characters are that mean something, one bit a byte. */
typedef struct {
    uint64_t delimiters, line_ends, quotes;
} special_bytes;

typedef special_bytes (*find_special)(const unsigned char *window, unsigned char delimiter);

#if GML_X86
__attribute__((target("avx2"))) static inline special_bytes
special_avx2(const unsigned char *window, unsigned char delimiter)
{
    const __m256i delimiters = _mm256_set1_epi8((char)delimiter);
    const __m256i feeds = _mm256_set1_epi8('\n');
    const __m256i returns = _mm256_set1_epi8('\r');
    const __m256i quotes = _mm256_set1_epi8('"');
    special_bytes found = {0, 0, 0};
    for (int half = 0; half < 2; half++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(window + 32 * half));
        __m256i ends =
            _mm256_or_si256(_mm256_cmpeq_epi8(bytes, feeds), _mm256_cmpeq_epi8(bytes, returns));
        found.delimiters |=
            (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, delimiters))
            << (32 * half);
        found.line_ends |= (uint64_t)(uint32_t)_mm256_movemask_epi8(ends) << (32 * half);
        found.quotes |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, quotes))
                        << (32 * half);
    }
    return found;
}
#endif

static inline special_bytes special_portable(const unsigned char *window, unsigned char delimiter)
{
    special_bytes found = {0, 0, 0};
#if GML_X86
    const __m128i delimiters = _mm_set1_epi8((char)delimiter);
    const __m128i feeds = _mm_set1_epi8('\n');
    const __m128i returns = _mm_set1_epi8('\r');
    const __m128i quotes = _mm_set1_epi8('"');
    for (int part = 0; part < 4; part++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(window + 16 * part));
        __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, feeds), _mm_cmpeq_epi8(bytes, returns));
        found.delimiters |=
            (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, delimiters)) << (16 * part);
        found.line_ends |= (uint64_t)(uint32_t)_mm_movemask_epi8(ends) << (16 * part);
        found.quotes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quotes))
                        << (16 * part);
    }
#else
    for (int k = 0; k < 64; k++) {
        unsigned char c = window[k];
        found.delimiters |= (uint64_t)(c == delimiter) << k;
        found.line_ends |= (uint64_t)(c == '\n' || c == '\r') << k;
        found.quotes |= (uint64_t)(c == '"') << k;
    }
#endif
    return found;
}

/* Bit k = parity of bits 0 .. k. */
static inline uint64_t running_parity(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* ------------------------------------------------------------------ records */

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
                return fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0), QUOTED_FAILED;
            if (!final)
                return QUOTED_INCOMPLETE;
            if (reader->scratch_size + (size_t)(end - from) > reader->field_limit)
                return fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0), QUOTED_FAILED;
            return fail(reader, CSV_UNTERMINATED, j, NULL, 0), QUOTED_FAILED;
        }
        if (close + 1 == end && !final)
            return QUOTED_INCOMPLETE;
        if (close + 1 < end && close[1] == '"') {
            in_scratch = 1;
            if (!scratch_append(reader, from, (size_t)(close + 1 - from)))
                return fail(reader, CSV_NO_MEMORY, j, NULL, 0), QUOTED_FAILED;
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
            return fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0), QUOTED_FAILED;
        return QUOTED_INCOMPLETE;
    }
    if (in_scratch || tail > close + 1) {
        if (!scratch_append(reader, from, (size_t)(close - from)) ||
            !scratch_append(reader, close + 1, (size_t)(tail - close - 1)))
            return fail(reader, CSV_NO_MEMORY, j, NULL, 0), QUOTED_FAILED;
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
    return j || reader->n_rows < reader->row_capacity || grow_rows(reader);
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
                    if (!begin_field(reader, j) || !store(reader, j, text, length))
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
                if (!begin_field(reader, j) || !store(reader, j, text, length))
                    return 0;
                j++;
                field = at + 1;
                continue;
            }
            /* end of line */
            if (j || length || quoted) {
                if (!begin_field(reader, j) || !store(reader, j, text, length))
                    return 0;
                if (j + 1 != n_columns) {
                    reader->error_fields = j + 1;
                    fail(reader, CSV_RAGGED, 0, NULL, 0);
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
            fail(reader, CSV_FIELD_TOO_LONG, j, NULL, 0);
            return 0;
        }
        if ((size_t)(end - record) > reader->record_limit)
            fail(reader, CSV_RECORD_TOO_LONG, 0, NULL, 0);
        return (size_t)(record - block);
    }
    if (field == end && j == 0)
        return size;
    if (!begin_field(reader, j) || !store(reader, j, field, (size_t)(end - field)))
        return 0;
    j++;
last_record:
    if (j != n_columns) {
        reader->error_fields = j;
        fail(reader, CSV_RAGGED, 0, NULL, 0);
        return 0;
    }
    reader->n_rows++;
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

int csv_finish(csv_reader *reader)
{
    for (size_t j = 0; j < reader->n_columns; j++) {
        csv_column *column = &reader->columns[j];
        size_t size = cell_size(column->kind);
        if (size == 0 || reader->n_rows == reader->row_capacity)
            continue;
        void *fitted = realloc(column->cells, (reader->n_rows ? reader->n_rows : 1) * size);
        if (fitted != NULL)
            column->cells = fitted;
    }
    reader->row_capacity = reader->n_rows;
    return 1;
}
