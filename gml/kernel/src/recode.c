#include "recode.h"

#include <string.h>

#include "cpu.h"

#if GML_X86
#include <immintrin.h>

/* Up to 16 codes: a shuffle looks up 32 bytes at a time. */
__attribute__((target("avx2"))) static size_t recode8_avx2(uint8_t *codes, size_t n,
                                                           const uint8_t *lookup, size_t n_labels)
{
    uint8_t padded[16] = {0};
    memcpy(padded, lookup, n_labels);
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)padded));
    const __m256i missing = _mm256_set1_epi8((char)0xFF);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i old = _mm256_loadu_si256((const __m256i *)(codes + i));
        __m256i new = _mm256_shuffle_epi8(table, old);
        new = _mm256_or_si256(new, _mm256_cmpeq_epi8(old, missing));
        _mm256_storeu_si256((__m256i *)(codes + i), new);
    }
    return i;
}
#endif

void recode8(uint8_t *codes, size_t n, const uint8_t *lookup, size_t n_labels)
{
    size_t i = 0;
#if GML_X86
    if (n_labels <= 16 && cpu_level() >= CPU_AVX2)
        i = recode8_avx2(codes, n, lookup, n_labels);
#endif
    for (; i < n; i++)
        codes[i] = lookup[codes[i]];
}

void recode16(uint16_t *codes, size_t n, const uint16_t *lookup)
{
    for (size_t i = 0; i < n; i++)
        codes[i] = lookup[codes[i]];
}
