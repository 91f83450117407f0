#include "popcount.h"

#include <string.h>

#include "cpu.h"

#if GML_X86
#include <immintrin.h>
#endif

static int64_t popcount_and_portable(const uint64_t *a, const uint64_t *b, size_t words)
{
    int64_t total = 0;
    for (size_t w = 0; w < words; w++)
        total += __builtin_popcountll(a[w] & b[w]);
    return total;
}

#if GML_X86

__attribute__((target("avx512f,avx512bw,avx512vpopcntdq"))) static int64_t
popcount_and_avx512(const uint64_t *a, const uint64_t *b, size_t words)
{
    __m512i total = _mm512_setzero_si512();
    for (size_t w = 0; w < words; w += 8) {
        __m512i both = _mm512_and_si512(_mm512_loadu_si512(a + w), _mm512_loadu_si512(b + w));
        total = _mm512_add_epi64(total, _mm512_popcnt_epi64(both));
    }
    return _mm512_reduce_add_epi64(total);
}

/* Bits of each byte by two table look-ups (Mula, Kurz & Lemire 2018, section 3). */
__attribute__((target("avx2"))) static inline __m256i byte_counts(__m256i bits)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                           1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(bits, nibble));
    __m256i high =
        _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bits, 4), nibble));
    return _mm256_add_epi8(low, high);
}

__attribute__((target("avx2"))) static inline __m256i load_and(const uint64_t *a, const uint64_t *b)
{
    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)a),
                            _mm256_loadu_si256((const __m256i *)b));
}

/* Carry-save adder: three bits of equal weight to a sum and a carry. */
#define CARRY_SAVE(sum, carry, x, y, z)                                       \
    do {                                                                      \
        __m256i half_ = _mm256_xor_si256(x, y);                               \
        carry = _mm256_or_si256(_mm256_and_si256(x, y), _mm256_and_si256(half_, z)); \
        sum = _mm256_xor_si256(half_, z);                                     \
    } while (0)

/* Harley-Seal over groups of eight vectors (Mula, Kurz & Lemire 2018, section 4). */
__attribute__((target("avx2"))) static int64_t popcount_and_avx2(const uint64_t *a,
                                                                 const uint64_t *b, size_t words)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i ones = zero, twos = zero, fours = zero, total = zero;
    size_t w = 0;
    while (w + 32 <= words) {
        __m256i eights, twos_a, twos_b, fours_a, fours_b;
        CARRY_SAVE(ones, twos_a, ones, load_and(a + w, b + w), load_and(a + w + 4, b + w + 4));
        CARRY_SAVE(ones, twos_b, ones, load_and(a + w + 8, b + w + 8),
                   load_and(a + w + 12, b + w + 12));
        CARRY_SAVE(twos, fours_a, twos, twos_a, twos_b);
        CARRY_SAVE(ones, twos_a, ones, load_and(a + w + 16, b + w + 16),
                   load_and(a + w + 20, b + w + 20));
        CARRY_SAVE(ones, twos_b, ones, load_and(a + w + 24, b + w + 24),
                   load_and(a + w + 28, b + w + 28));
        CARRY_SAVE(twos, fours_b, twos, twos_a, twos_b);
        CARRY_SAVE(fours, eights, fours, fours_a, fours_b);
        total = _mm256_add_epi64(total, _mm256_sad_epu8(byte_counts(eights), zero));
        w += 32;
    }
    total = _mm256_slli_epi64(total, 3);
    total = _mm256_add_epi64(
        total, _mm256_slli_epi64(_mm256_sad_epu8(byte_counts(fours), zero), 2));
    total =
        _mm256_add_epi64(total, _mm256_slli_epi64(_mm256_sad_epu8(byte_counts(twos), zero), 1));
    __m256i last = byte_counts(ones);
    for (; w < words; w += 4)
        last = _mm256_add_epi8(last, byte_counts(load_and(a + w, b + w)));
    total = _mm256_add_epi64(total, _mm256_sad_epu8(last, zero));
    int64_t lanes[4];
    _mm256_storeu_si256((__m256i *)lanes, total);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

__attribute__((target("avx2"))) static void
build_masks8_avx2(const uint8_t *codes, size_t n, size_t n_levels, uint64_t *masks, size_t words)
{
    size_t whole = n / 64;
    for (size_t w = 0; w < whole; w++) {
        __m256i first = _mm256_loadu_si256((const __m256i *)(codes + 64 * w));
        __m256i second = _mm256_loadu_si256((const __m256i *)(codes + 64 * w + 32));
        for (size_t level = 0; level < n_levels; level++) {
            __m256i wanted = _mm256_set1_epi8((char)level);
            uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(first, wanted));
            uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(second, wanted));
            masks[level * words + w] = low | (uint64_t)high << 32;
        }
    }
    for (size_t i = 64 * whole; i < n; i++)
        if (codes[i] < n_levels)
            masks[codes[i] * words + i / 64] |= UINT64_C(1) << (i % 64);
}

#endif

int64_t popcount_and(const uint64_t *a, const uint64_t *b, size_t words)
{
#if GML_X86
    int level = cpu_level();
    if (level == CPU_AVX512)
        return popcount_and_avx512(a, b, words);
    if (level == CPU_AVX2)
        return popcount_and_avx2(a, b, words);
#endif
    return popcount_and_portable(a, b, words);
}

int mask_and(uint64_t *restrict out, const uint64_t *restrict a, const uint64_t *restrict b,
             size_t words)
{
    uint64_t any = 0;
    for (size_t w = 0; w < words; w++) {
        out[w] = a[w] & b[w];
        any |= out[w];
    }
    return any != 0;
}

static void fill_masks8(const uint8_t *codes, size_t n, size_t n_levels, uint64_t *masks,
                        size_t words)
{
    memset(masks, 0, n_levels * words * sizeof *masks);
#if GML_X86
    if (cpu_level() >= CPU_AVX2) {
        build_masks8_avx2(codes, n, n_levels, masks, words);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++)
        if (codes[i] < n_levels)
            masks[codes[i] * words + i / 64] |= UINT64_C(1) << (i % 64);
}

int build_masks8(const uint8_t *codes, size_t n, size_t n_levels, uint64_t *masks, size_t words,
                 int64_t *totals)
{
    int64_t all = 0;
    fill_masks8(codes, n, n_levels, masks, words);
    for (size_t level = 0; level < n_levels; level++) {
        const uint64_t *mask = masks + level * words;
        totals[level] = popcount_and(mask, mask, words);
        all += totals[level];
    }
    return all != (int64_t)n;
}
