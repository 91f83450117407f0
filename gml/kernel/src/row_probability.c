#include "row_probability.h"

#include <math.h>

/* Rows that stay in the first-level cache while all families pass over them. */
#define BLOCK 1024

static void add_codes(const void *codes, int width, uint32_t size, size_t first, size_t n,
                      uint64_t *cell, uint8_t *unknown)
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

void row_log_probabilities(const row_family *families, size_t n_families, size_t first, size_t last,
                           double *out)
{
    uint64_t cell[BLOCK];
    uint8_t unknown[BLOCK];
    for (size_t start = first; start < last; start += BLOCK, out += BLOCK) {
        size_t n = last - start < BLOCK ? last - start : BLOCK;
        for (size_t i = 0; i < n; i++) {
            out[i] = 0;
            unknown[i] = 0;
        }
        for (size_t f = 0; f < n_families; f++) {
            const row_family *family = &families[f];
            for (size_t i = 0; i < n; i++)
                cell[i] = 0;
            for (size_t k = 0; k < family->n_members; k++)
                add_codes(family->codes[k], family->widths[k], family->sizes[k], start, n, cell,
                          unknown);
            for (size_t i = 0; i < n; i++)
                if (!unknown[i])
                    out[i] += family->table[cell[i]];
        }
        for (size_t i = 0; i < n; i++)
            if (unknown[i])
                out[i] = NAN;
    }
}
