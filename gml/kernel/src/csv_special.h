/* The characters of a CSV file that mean something, found 64 bytes at a time. */
#ifndef GML_CSV_SPECIAL_H
#define GML_CSV_SPECIAL_H

#include <stdint.h>

#include "cpu.h"

#if GML_X86
#include <immintrin.h>
#endif

/* Where in 64 bytes the characters are that mean something, one bit per byte. */
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

#endif
