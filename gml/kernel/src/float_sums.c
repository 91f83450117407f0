#include "float_sums.h"

#include <string.h>

#include "cpu.h"
#include "stop.h"

#define LANES 8
/* Rows that are added up at a time: 2^9. */
#define BLOCK 512
#define BLOCK_BITS 9
/* Rows that stay in the cache while all sums go over them. */
#define ROWS_AT_A_TIME 4096
#define LOW 0xffffffffu
#define FRACTION (((uint64_t)1 << 52) - 1)
#define SPECIAL 0x7ff
/* Fields of exponents between which rounding at places nearby neither overflows nor loses bits. */
#define LEAST_FIELD 300
#define MOST_FIELD 2000
/* Counts below this times half of the bits of a double fit a double. */
#define SMALL_COUNT ((int64_t)1 << 26)
#define LOWER_HALF (((uint64_t)1 << 27) - 1)

static uint64_t image_of(double value)
{
    uint64_t image;
    memcpy(&image, &value, sizeof image);
    return image;
}

static double from_image(uint64_t image)
{
    double value;
    memcpy(&value, &image, sizeof value);
    return value;
}

/* ---------------------------------------------------------------- one by one, into limbs */

static void carry(int64_t *limb)
{
    for (size_t k = 0; k + 1 < FLOAT_LIMBS; k++) {
        limb[k + 1] += limb[k] >> 32;
        limb[k] &= LOW;
    }
}

static int64_t signed_as(uint64_t piece, uint64_t sign)
{
    return (int64_t)((piece ^ -sign) + sign);
}

static void add_bits(int64_t *limb, uint64_t bits, unsigned shift, uint64_t sign)
{
    const uint64_t low = (bits & LOW) << shift, high = (bits >> 32) << shift;
    limb[0] += signed_as(low & LOW, sign);
    limb[1] += signed_as((low >> 32) + (high & LOW), sign);
    limb[2] += signed_as(high >> 32, sign);
}

static void add_value(int64_t *words, double value, uint64_t count)
{
    const uint64_t image = image_of(value);
    const uint64_t sign = image >> 63, field = (image >> 52) & SPECIAL, fraction = image & FRACTION;
    if (field == SPECIAL) {
        words[FLOAT_LIMBS + (fraction ? 2 : sign)] += (int64_t)count;
        return;
    }
    const uint64_t is_normal = field != 0;
    const unsigned place = (unsigned)(field - is_normal);
    const unsigned __int128 whole = (unsigned __int128)(fraction | is_normal << 52) * count;
    add_bits(words + place / 32, (uint64_t)whole, place % 32, sign);
    if (whole >> 64)
        add_bits(words + place / 32 + 2, (uint64_t)(whole >> 64), place % 32, sign);
}

static void add_one_by_one(int64_t *words, const double *values, const int64_t *times, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_value(words, values[i], times == NULL ? 1 : (uint64_t)times[i]);
}

/* ---------------------------------------------------------------- by lanes, without rounding */

/* The largest exponent field. */
LANE_INLINE uint64_t largest_field_lanes(const double *values)
{
    int64_t largest[LANES] = {0}, found = 0;
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            int64_t image;
            memcpy(&image, values + i + k, sizeof image);
            image &= INT64_MAX;
            largest[k] = largest[k] > image ? largest[k] : image;
        }
    for (size_t k = 0; k < LANES; k++)
        found = found > largest[k] ? found : largest[k];
    return (uint64_t)found >> 52;
}

static BY_LEVEL(uint64_t, largest_field, (const double *values), (values))

/* Takes the bits of all values at and above those that `round` leaves, and returns their sum: a double, as it
   has no more bits. What remains is left in their place; `rest` says whether anything does. (Rump, Ogita & Oishi
   2008, SIAM J. Sci. Comput. 31:189, section 3: extraction of a vector.) */
LANE_INLINE double take_high_bits_lanes(double *values, double round, int *rest)
{
    double sums[LANES] = {0}, found = 0;
    uint64_t left[LANES] = {0}, any = 0;
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const double high = (values[i + k] + round) - round, low = values[i + k] - high;
            uint64_t image;
            sums[k] += high;
            values[i + k] = low;
            memcpy(&image, &low, sizeof image);
            left[k] |= image;
        }
    for (size_t k = 0; k < LANES; k++) {
        found += sums[k];
        any |= left[k];
    }
    *rest = any << 1 != 0;
    return found;
}

static BY_LEVEL(double, take_high_bits, (double *values, double round, int *rest), (values, round, rest))

/* Adds a whole block, which is used up. */
static void add_block(int64_t *words, double *values)
{
    uint64_t field = largest_field(values);
    int rest = 1;
    while (rest && field > LEAST_FIELD && field < MOST_FIELD) {
        /* A sum of so many values has at most BLOCK_BITS more than the largest of them, whose last bits go. */
        const double round = from_image((field + BLOCK_BITS) << 52 | (uint64_t)1 << 51);
        add_value(words, take_high_bits(values, round, &rest), 1);
        /* What is left is at most half of the last bit of `round`. */
        field = field + BLOCK_BITS - 53;
    }
    if (rest)
        add_one_by_one(words, values, NULL, BLOCK);
}

static void add_times(int64_t *words, const double *values, const int64_t *times)
{
    double upper[BLOCK], lower[BLOCK];
    int64_t most = 0;
    for (size_t i = 0; i < BLOCK; i++)
        most |= times[i];
    if (most >= SMALL_COUNT || largest_field(values) >= MOST_FIELD) {
        add_one_by_one(words, values, times, BLOCK);
        return;
    }
    for (size_t i = 0; i < BLOCK; i++) {
        const double high = from_image(image_of(values[i]) & ~LOWER_HALF);
        upper[i] = high * (double)times[i];
        lower[i] = (values[i] - high) * (double)times[i];
    }
    add_block(words, upper);
    add_block(words, lower);
}

static void add_rows(int64_t *words, const double *x, const double *y, const int64_t *times, size_t n)
{
    double values[BLOCK];
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t size = n - from < BLOCK ? n - from : BLOCK;
        for (size_t i = 0; i < size; i++)
            values[i] = y == NULL ? x[from + i] : x[from + i] * y[from + i];
        if (size < BLOCK)
            add_one_by_one(words, values, times == NULL ? NULL : times + from, size);
        else if (times != NULL)
            add_times(words, values, times + from);
        else
            add_block(words, values);
    }
    carry(words);
}

void float_sums(const double *const *columns, const int32_t *first, const int32_t *second, size_t n_sums,
                const int64_t *times, size_t n, int64_t *out)
{
    uint64_t steps = 0;
    memset(out, 0, n_sums * FLOAT_SUM_WORDS * sizeof *out);
    for (size_t from = 0; from < n; from += ROWS_AT_A_TIME) {
        const size_t size = n - from < ROWS_AT_A_TIME ? n - from : ROWS_AT_A_TIME;
        for (size_t k = 0; k < n_sums; k++) {
            if (stop_after(&steps, size))
                return;
            add_rows(out + k * FLOAT_SUM_WORDS, columns[first[k]] + from,
                     second[k] < 0 ? NULL : columns[second[k]] + from, times == NULL ? NULL : times + from, size);
        }
    }
}
