#include "exact_gram.h"

#include <math.h>
#include <string.h>

#include "cpu.h"
#include "stop.h"

#define LIMB_BITS 18
#define HALF ((int64_t)1 << (LIMB_BITS - 1))
#define WORDS 4

/* By bits, as few machines convert lanes of 64-bit integers: below 2^51 in size. */
LANE_INLINE double as_double(int64_t value)
{
    const int64_t bits = value + 0x4338000000000000;
    double shifted;
    memcpy(&shifted, &bits, sizeof shifted);
    return shifted - 0x1.8p52;
}

LANE_INLINE void write_limbs_lanes(const int64_t *restrict values, size_t n, size_t n_limbs, size_t stride,
                                   double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        int64_t left = values[i];
        for (size_t k = 0; k + 1 < n_limbs; k++) {
            const int64_t limb = ((left + HALF) & (2 * HALF - 1)) - HALF;
            out[k * stride + i] = as_double(limb);
            left = (left - limb) >> LIMB_BITS;
        }
        out[(n_limbs - 1) * stride + i] = as_double(left);
    }
}

/* Loops of a known number of limbs are done by lanes. */
LANE_INLINE void write_few_limbs_lanes(const int64_t *restrict values, size_t n, size_t n_limbs, size_t stride,
                                       double *restrict out)
{
    if (n_limbs == 1)
        write_limbs_lanes(values, n, 1, stride, out);
    else if (n_limbs == 2)
        write_limbs_lanes(values, n, 2, stride, out);
    else if (n_limbs == 3)
        write_limbs_lanes(values, n, 3, stride, out);
    else
        write_limbs_lanes(values, n, n_limbs, stride, out);
}

static BY_LEVEL(void, write_few_limbs,
                (const int64_t *restrict values, size_t n, size_t n_limbs, size_t stride, double *restrict out),
                (values, n, n_limbs, stride, out))

void write_limbs(const int64_t *values, size_t n, size_t n_limbs, size_t stride, double *out)
{
    write_few_limbs(values, n, n_limbs, stride, out);
}

/* 256-bit two's complement, little end first. */
typedef struct {
    uint64_t word[WORDS];
} wide;

static void add(wide *sum, const wide *other)
{
    unsigned carry = 0;
    for (int k = 0; k < WORDS; k++) {
        const unsigned __int128 total = (unsigned __int128)sum->word[k] + other->word[k] + carry;
        sum->word[k] = (uint64_t)total;
        carry = (unsigned)(total >> 64);
    }
}

/* value * 2^shift */
static wide shifted(int64_t value, unsigned shift)
{
    const __int128 part = (__int128)value * ((__int128)1 << (shift % 64));
    wide found;
    for (unsigned k = 0; k < WORDS; k++) {
        const unsigned below = shift / 64;
        if (k < below)
            found.word[k] = 0;
        else
            found.word[k] = k - below < 2 ? (uint64_t)(part >> (64 * (k - below))) : value < 0 ? UINT64_MAX : 0;
    }
    return found;
}

static wide negative(const wide *value)
{
    const wide one = {{1}};
    wide found;
    for (int k = 0; k < WORDS; k++)
        found.word[k] = ~value->word[k];
    add(&found, &one);
    return found;
}

/* The product modulo 2^256, which is exact where it fits. */
static wide product(const wide *a, const wide *b)
{
    wide found = {{0}};
    for (int i = 0; i < WORDS; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < WORDS; j++) {
            const unsigned __int128 part =
                (unsigned __int128)a->word[i] * b->word[j] + found.word[i + j] + carry;
            found.word[i + j] = (uint64_t)part;
            carry = (uint64_t)(part >> 64);
        }
    }
    return found;
}

/* The nearest double, of two the even one. */
static double rounded(const wide *value)
{
    const int is_negative = value->word[WORDS - 1] >> 63;
    const wide size = is_negative ? negative(value) : *value;
    int top = WORDS - 1;
    while (top > 0 && size.word[top] == 0)
        top--;
    uint64_t leading = size.word[top];
    int power = 64 * top;
    if (top > 0) {
        const int empty = __builtin_clzll(leading);
        uint64_t rest = size.word[top - 1];
        if (empty) {
            leading = leading << empty | rest >> (64 - empty);
            rest <<= empty;
            power -= empty;
        }
        for (int k = 0; k < top - 1; k++)
            rest |= size.word[k];
        /* The last of 64 bits tells 53 of them which side of a tie they are on. */
        leading |= rest != 0;
    }
    const double found = ldexp((double)leading, power);
    return is_negative ? -found : found;
}

void centred_products(const int64_t *parts, size_t n_parts, size_t size, int64_t n, unsigned bits, double *out)
{
    const size_t width = size + 1;
    const wide rows = shifted(n, 0);
    uint64_t work = 0;
    for (size_t i = 0; i < size; i++) {
        wide own = {{0}};
        for (size_t s = 0; s < n_parts; s++) {
            const wide part = shifted(parts[(s * width + i) * width + size], bits * (unsigned)s);
            add(&own, &part);
        }
        own = negative(&own);
        for (size_t j = i; j < size; j++) {
            wide entry = {{0}}, other = {{0}};
            for (size_t s = 0; s < n_parts; s++) {
                const int64_t *of_part = parts + s * width * width;
                const wide part = shifted(of_part[i * width + j], bits * (unsigned)s);
                const wide sum = shifted(of_part[j * width + size], bits * (unsigned)s);
                add(&entry, &part);
                add(&other, &sum);
            }
            entry = product(&entry, &rows);
            other = product(&own, &other);
            add(&entry, &other);
            out[i * size + j] = out[j * size + i] = rounded(&entry);
        }
        if (stop_after(&work, 32 * size))
            return;
    }
}
