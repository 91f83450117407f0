/* Many chains are drawn at once, a byte each: the configuration of a chain's neighbours finds the highest bytes
   of its thresholds, which are compared with a random byte. The draws are written once, in
   gibbs_bytes_draw.h; what differs between instructions is here. */
#include "gibbs_bytes.h"

#include "cpu.h"

#if GML_X86
#include <immintrin.h>

#define PIECE_CHAINS 1024

typedef struct {
    const uint8_t *codes[GIBBS_BYTE_BITS];
    unsigned bits[GIBBS_BYTE_BITS];
    uint8_t *target;
    size_t n_pages, n_ends;
} blanket_codes;

/* The highest byte of a chain's random bits decides alone unless a threshold has the same one. Such ties are
   kept as bits, a word per vector, and drawn with all bits in the end: a branch per vector would often be
   guessed wrong. */
typedef struct {
    uint8_t configurations[PIECE_CHAINS];
    uint64_t tied[PIECE_CHAINS / 32];
    uint64_t words; /* which words are not 0 */
} tie_list;

/* Those of the widest vectors. */
static const uint32_t LANE_NUMBERS[16] __attribute__((aligned(64))) = {0, 1, 2,  3,  4,  5,  6,  7,
                                                                       8, 9, 10, 11, 12, 13, 14, 15};

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

/* ------------------------------------------------------------------ 32 chains at once */

#define AVX(name) name##_avx2
#define AVX_TARGET __attribute__((target("avx2")))
#define AVX_BYTES 32

typedef __m256i vector_avx2;
typedef __m256i ties_avx2;

AVX_TARGET INLINE __m256i page_avx2(const uint8_t *bytes)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
}

AVX_TARGET INLINE __m256i look_up_avx2(const uint8_t *bytes, size_t n_pages, __m256i at)
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

AVX_TARGET INLINE __m256i count_ends_avx2(__m256i code, __m256i random, __m256i ends)
{
    return _mm256_sub_epi8(code, _mm256_cmpeq_epi8(_mm256_max_epu8(random, ends), random));
}

AVX_TARGET INLINE __m256i add_ties_avx2(__m256i tied, __m256i random, __m256i ends)
{
    return _mm256_or_si256(tied, _mm256_cmpeq_epi8(random, ends));
}

AVX_TARGET INLINE uint64_t tied_bits_avx2(__m256i tied)
{
    return (uint32_t)_mm256_movemask_epi8(tied);
}

#include "gibbs_bytes_draw.h"

/* ------------------------------------------------------------------ 64 chains at once */

/* With the bytes of four pages in a register. */
#define AVX(name) name##_avx512
#define AVX_TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define AVX_BYTES 64

typedef __m512i vector_avx512;
typedef __mmask64 ties_avx512;

AVX_TARGET INLINE __m512i look_up_avx512(const uint8_t *bytes, size_t n_pages, __m512i at)
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

AVX_TARGET INLINE __m512i count_ends_avx512(__m512i code, __m512i random, __m512i ends)
{
    return _mm512_mask_add_epi8(code, _mm512_cmpge_epu8_mask(random, ends), code, _mm512_set1_epi8(1));
}

AVX_TARGET INLINE __mmask64 add_ties_avx512(__mmask64 tied, __m512i random, __m512i ends)
{
    return tied | _mm512_cmpeq_epi8_mask(random, ends);
}

AVX_TARGET INLINE uint64_t tied_bits_avx512(__mmask64 tied)
{
    return tied;
}

#include "gibbs_bytes_draw.h"
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
