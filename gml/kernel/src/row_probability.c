#include "row_probability.h"

#include <math.h>

#include "cpu.h"
#include "stop.h"

/* Rows that stay in the first-level cache while all families pass over them. */
#define BLOCK 1024

static inline __attribute__((always_inline)) void add_codes(const void *codes, int width,
                                                            uint32_t size, size_t first, size_t n,
                                                            uint32_t *cell, uint32_t *unknown)
{
    if (width == 1) {
        const uint8_t *c = (const uint8_t *)codes + first;
        for (size_t i = 0; i < n; i++) {
            cell[i] = cell[i] * size + c[i];
            unknown[i] |= c[i] >= size;
        }
    } else {
        const uint16_t *c = (const uint16_t *)codes + first;
        for (size_t i = 0; i < n; i++) {
            cell[i] = cell[i] * size + c[i];
            unknown[i] |= c[i] >= size;
        }
    }
}

static inline __attribute__((always_inline)) void
sum_families(const row_family *families, size_t n_families, size_t first, size_t last, double *out)
{
    uint32_t cell[BLOCK], unknown[BLOCK];
    for (size_t start = first; start < last && !stop_wanted(); start += BLOCK, out += BLOCK) {
        size_t n = last - start < BLOCK ? last - start : BLOCK;
        uint32_t any_unknown = 0;
        for (size_t i = 0; i < n; i++) {
            out[i] = 0;
            unknown[i] = 0;
        }
        for (size_t f = 0; f < n_families; f++) {
            const row_family *family = &families[f];
            const double *table = family->table;
            for (size_t i = 0; i < n; i++)
                cell[i] = 0;
            for (size_t k = 0; k < family->n_members; k++)
                add_codes(family->codes[k], family->widths[k], family->sizes[k], start, n, cell,
                          unknown);
            for (size_t i = 0; i < n; i++)
                any_unknown |= unknown[i];
            if (any_unknown) {
                for (size_t i = 0; i < n; i++)
                    out[i] = unknown[i] ? NAN : out[i] + table[cell[i]];
            } else {
                for (size_t i = 0; i < n; i++)
                    out[i] += table[cell[i]];
            }
        }
    }
}

#if GML_X86
__attribute__((target("avx2"))) static void sum_families_avx2(const row_family *families,
                                                              size_t n_families, size_t first,
                                                              size_t last, double *out)
{
    sum_families(families, n_families, first, last, out);
}
#endif

void row_log_probabilities(const row_family *families, size_t n_families, size_t first, size_t last,
                           double *out)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX2) {
        sum_families_avx2(families, n_families, first, last, out);
        return;
    }
#endif
    sum_families(families, n_families, first, last, out);
}
