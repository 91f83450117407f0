#include "gibbs_bytes.h"

#include "cpu.h"

typedef struct {
    const uint8_t *codes[GIBBS_BYTE_BITS];
    unsigned bits[GIBBS_BYTE_BITS];
    uint8_t *target;
    size_t n_pages, n_ends;
} blanket_codes;

#if GML_X86
#include <immintrin.h>

#define PIECE_CHAINS 1024

/* The highest byte of a chain's random bits decides alone unless a threshold has the same one. Such ties are
   kept as bits, a word per vector, and drawn with all bits in the end: a branch per vector would often be
   guessed wrong. */
typedef struct {
    uint8_t configurations[PIECE_CHAINS];
    uint64_t tied[PIECE_CHAINS / 32];
    uint64_t words; /* which words are not 0 */
} tie_list;

INLINE blanket_codes codes_of(const gibbs_step *step, uint8_t *states, size_t n_chains)
{
    blanket_codes found = {.target = states + step->target * n_chains,
                           .n_pages = gibbs_pages(step),
                           .n_ends = step->n_levels - 1};
    for (size_t m = 0; m < step->n_blanket && m < GIBBS_BYTE_BITS; m++) {
        found.codes[m] = states + step->blanket[m] * n_chains;
        found.bits[m] = step->bits[m];
    }
    return found;
}

static void draw_ties(const gibbs_step *step, const gibbs_keys *keys, const tie_list *ties, size_t first,
                      size_t vector, uint8_t *target)
{
    size_t n_ends = step->n_levels - 1;
    for (uint64_t words = ties->words; words != 0; words &= words - 1) {
        size_t word = (size_t)__builtin_ctzll(words);
        for (uint64_t tied = ties->tied[word]; tied != 0; tied &= tied - 1) {
            size_t i = word * vector + (size_t)__builtin_ctzll(tied), code = 0;
            const uint64_t *row = step->thresholds + ties->configurations[i] * n_ends;
            uint64_t bits = bits_of(keys, (uint32_t)(first + i));
            for (size_t end = 0; end < n_ends; end++)
                code += bits >= row[end];
            target[first + i] = (uint8_t)code;
        }
    }
}

/* Two levels given neighbours of two levels are compiled for their number; 0 stands for others. */
#define DRAW_WITH(draw)                                        \
    switch (step->is_binary ? step->n_blanket : 0) {           \
    case 1:                                                    \
        draw(&from, keys, step->bytes, first, n, 1, &ties);    \
        break;                                                 \
    case 2:                                                    \
        draw(&from, keys, step->bytes, first, n, 2, &ties);    \
        break;                                                 \
    case 3:                                                    \
        draw(&from, keys, step->bytes, first, n, 3, &ties);    \
        break;                                                 \
    case 4:                                                    \
        draw(&from, keys, step->bytes, first, n, 4, &ties);    \
        break;                                                 \
    case 5:                                                    \
        draw(&from, keys, step->bytes, first, n, 5, &ties);    \
        break;                                                 \
    case 6:                                                    \
        draw(&from, keys, step->bytes, first, n, 6, &ties);    \
        break;                                                 \
    case 7:                                                    \
        draw(&from, keys, step->bytes, first, n, 7, &ties);    \
        break;                                                 \
    case 8:                                                    \
        draw(&from, keys, step->bytes, first, n, 8, &ties);    \
        break;                                                 \
    default:                                                   \
        draw_any(&from, keys, step, first, n, &ties);          \
    }

/* ------------------------------------------------------------------ 32 chains at once */

#define AVX2 __attribute__((target("avx2")))

/* hash32 of counters that have been multiplied, and the first key added to. */
AVX2 INLINE __m256i hash_avx2(__m256i x, __m256i key1)
{
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 17));
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)0xED5AD4BB));
    x = _mm256_add_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 11)), key1);
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)0xAC4C1B51));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 15));
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)0x31848BAB));
    return _mm256_xor_si256(x, _mm256_srli_epi32(x, 14));
}

AVX2 INLINE __m256i page_avx2(const uint8_t *bytes)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
}

AVX2 INLINE __m256i look_up_avx2(const uint8_t *bytes, size_t n_pages, __m256i at)
{
    if (n_pages == 1)
        return _mm256_shuffle_epi8(page_avx2(bytes), at);
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i low = _mm256_and_si256(at, nibble);
    __m256i number = _mm256_and_si256(_mm256_srli_epi16(at, 4), nibble);
    __m256i found = _mm256_setzero_si256();
    for (size_t p = 0; p < n_pages; p++) {
        __m256i here = _mm256_cmpeq_epi8(number, _mm256_set1_epi8((char)p));
        __m256i of_page = _mm256_shuffle_epi8(page_avx2(bytes + p * GIBBS_PAGE), low);
        found = _mm256_or_si256(found, _mm256_and_si256(here, of_page));
    }
    return found;
}

AVX2 INLINE void draw_avx2(const blanket_codes *from, const gibbs_keys *keys, const uint8_t *bytes,
                           size_t first, size_t n, size_t n_blanket, int uniform, tie_list *ties)
{
    size_t n_pages = uniform ? (((size_t)1 << n_blanket) + GIBBS_PAGE - 1) / GIBBS_PAGE : from->n_pages;
    size_t n_ends = uniform ? 1 : from->n_ends;
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i key1 = _mm256_set1_epi32((int)keys->high[1]);
    const __m256i factor = _mm256_set1_epi32((int)HASH32_STEP);
    const __m256i more = _mm256_set1_epi32((int)(8 * HASH32_STEP));
    __m256i counters = _mm256_add_epi32(lanes, _mm256_set1_epi32((int)(first / 4)));
    counters = _mm256_add_epi32(_mm256_mullo_epi32(counters, factor), _mm256_set1_epi32((int)keys->high[0]));
    for (size_t chain = first; chain < first + n; chain += 32) {
        __m256i at = _mm256_setzero_si256();
        for (size_t m = 0; m < n_blanket; m++) {
            for (unsigned bit = 0; bit < (uniform ? 1 : from->bits[m]); bit++)
                at = _mm256_add_epi8(at, at);
            at = _mm256_or_si256(at, _mm256_loadu_si256((const __m256i *)(from->codes[m] + chain)));
        }
        __m256i random = hash_avx2(counters, key1);
        counters = _mm256_add_epi32(counters, more);
        __m256i code = _mm256_setzero_si256(), tied = _mm256_setzero_si256();
        for (size_t end = 0; end < n_ends; end++) {
            __m256i ends = look_up_avx2(bytes + end * n_pages * GIBBS_PAGE, n_pages, at);
            code = _mm256_sub_epi8(code, _mm256_cmpeq_epi8(_mm256_max_epu8(random, ends), random));
            tied = _mm256_or_si256(tied, _mm256_cmpeq_epi8(random, ends));
        }
        _mm256_storeu_si256((__m256i *)(from->target + chain), code);
        _mm256_storeu_si256((__m256i *)(ties->configurations + (chain - first)), at);
        uint32_t which = (uint32_t)_mm256_movemask_epi8(tied);
        ties->tied[(chain - first) / 32] = which;
        ties->words |= (uint64_t)(which != 0) << (chain - first) / 32;
    }
}

AVX2 static void draw_bytes_avx2(const gibbs_step *step, const gibbs_keys *keys, uint8_t *states,
                                 size_t n_chains, size_t start, size_t total)
{
    blanket_codes from = codes_of(step, states, n_chains);
    for (size_t first = start; first < start + total; first += PIECE_CHAINS) {
        size_t n = start + total - first < PIECE_CHAINS ? start + total - first : PIECE_CHAINS;
        tie_list ties;
        ties.words = 0;
#define draw(from, keys, bytes, first, n, size, ties) draw_avx2(from, keys, bytes, first, n, size, 1, ties)
#define draw_any(from, keys, step, first, n, ties) \
    draw_avx2(from, keys, (step)->bytes, first, n, (step)->n_blanket, 0, ties)
        DRAW_WITH(draw)
#undef draw
#undef draw_any
        draw_ties(step, keys, &ties, first, 32, from.target);
    }
}

/* ------------------------------------------------------------------ 64 chains at once */

/* With the bytes of four pages in a register. */
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

AVX512 INLINE __m512i hash_avx512(__m512i x, __m512i key1)
{
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 17));
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0xED5AD4BB));
    x = _mm512_add_epi32(_mm512_xor_si512(x, _mm512_srli_epi32(x, 11)), key1);
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0xAC4C1B51));
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0x31848BAB));
    return _mm512_xor_si512(x, _mm512_srli_epi32(x, 14));
}

AVX512 INLINE __m512i look_up_avx512(const uint8_t *bytes, size_t n_pages, __m512i at)
{
    /* What lies beyond the last page is read, and never looked up. */
    __m512i first = _mm512_loadu_si512(bytes);
    if (n_pages <= 4)
        return _mm512_permutexvar_epi8(at, first);
    __m512i found = _mm512_permutex2var_epi8(first, at, _mm512_loadu_si512(bytes + 64));
    if (n_pages <= 8)
        return found;
    __m512i other = _mm512_permutex2var_epi8(_mm512_loadu_si512(bytes + 128), at,
                                             _mm512_loadu_si512(bytes + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), found, other);
}

AVX512 INLINE void draw_avx512(const blanket_codes *from, const gibbs_keys *keys, const uint8_t *bytes,
                               size_t first, size_t n, size_t n_blanket, int uniform, tie_list *ties)
{
    size_t n_pages = uniform ? (((size_t)1 << n_blanket) + GIBBS_PAGE - 1) / GIBBS_PAGE : from->n_pages;
    size_t n_ends = uniform ? 1 : from->n_ends;
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i key1 = _mm512_set1_epi32((int)keys->high[1]), one = _mm512_set1_epi8(1);
    const __m512i factor = _mm512_set1_epi32((int)HASH32_STEP);
    const __m512i more = _mm512_set1_epi32((int)(16 * HASH32_STEP));
    __m512i counters = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)(first / 4)));
    counters = _mm512_add_epi32(_mm512_mullo_epi32(counters, factor), _mm512_set1_epi32((int)keys->high[0]));
    for (size_t chain = first; chain < first + n; chain += 64) {
        __m512i at = _mm512_setzero_si512();
        for (size_t m = 0; m < n_blanket; m++) {
            for (unsigned bit = 0; bit < (uniform ? 1 : from->bits[m]); bit++)
                at = _mm512_add_epi8(at, at);
            at = _mm512_or_si512(at, _mm512_loadu_si512(from->codes[m] + chain));
        }
        __m512i random = hash_avx512(counters, key1), code = _mm512_setzero_si512();
        counters = _mm512_add_epi32(counters, more);
        __mmask64 tied = 0;
        for (size_t end = 0; end < n_ends; end++) {
            __m512i ends = look_up_avx512(bytes + end * n_pages * GIBBS_PAGE, n_pages, at);
            code = _mm512_mask_add_epi8(code, _mm512_cmpge_epu8_mask(random, ends), code, one);
            tied |= _mm512_cmpeq_epi8_mask(random, ends);
        }
        _mm512_storeu_si512(from->target + chain, code);
        _mm512_storeu_si512(ties->configurations + (chain - first), at);
        ties->tied[(chain - first) / 64] = tied;
        ties->words |= (uint64_t)(tied != 0) << (chain - first) / 64;
    }
}

AVX512 static void draw_bytes_avx512(const gibbs_step *step, const gibbs_keys *keys, uint8_t *states,
                                     size_t n_chains, size_t start, size_t total)
{
    blanket_codes from = codes_of(step, states, n_chains);
    for (size_t first = start; first < start + total; first += PIECE_CHAINS) {
        size_t n = start + total - first < PIECE_CHAINS ? start + total - first : PIECE_CHAINS;
        tie_list ties;
        ties.words = 0;
#define draw(from, keys, bytes, first, n, size, ties) draw_avx512(from, keys, bytes, first, n, size, 1, ties)
#define draw_any(from, keys, step, first, n, ties) \
    draw_avx512(from, keys, (step)->bytes, first, n, (step)->n_blanket, 0, ties)
        DRAW_WITH(draw)
#undef draw
#undef draw_any
        draw_ties(step, keys, &ties, first, 64, from.target);
    }
}
#endif

gibbs_byte_drawer gibbs_best_drawer(void)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX512 && __builtin_cpu_supports("avx512vbmi"))
        return draw_bytes_avx512;
    if (cpu_level() >= CPU_AVX2)
        return draw_bytes_avx2;
#endif
    return NULL;
}
