#include "sampling.h"

#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "random.h"
#include "stop.h"

/* Rows drawn before the next column's turn: bits and configurations stay in the first-level cache. */
#define BLOCK_ROWS 1024

typedef struct {
    uint64_t bits[BLOCK_ROWS];
    uint64_t configurations[BLOCK_ROWS]; /* then offsets of rows of thresholds */
} scratch;

#define INLINE static inline __attribute__((always_inline))

INLINE void draw_bits(const uint64_t key[2], uint64_t first_row, size_t n, uint64_t *bits)
{
    for (size_t i = 0; i < n; i++)
        bits[i] = random_bits(key, first_row + i) >> 1;
}

INLINE void add_parent(const sampled_column *parent, size_t start, size_t n, uint64_t *restrict to)
{
    uint64_t levels = parent->n_levels;
    if (parent->width == 1) {
        const uint8_t *codes = (const uint8_t *)parent->codes + start;
        for (size_t i = 0; i < n; i++)
            to[i] = to[i] * levels + codes[i];
    } else {
        const uint16_t *codes = (const uint16_t *)parent->codes + start;
        for (size_t i = 0; i < n; i++)
            to[i] = to[i] * levels + codes[i];
    }
}

INLINE void find_configurations(const sampling_step *step, const sampled_column *columns,
                                size_t start, size_t n, uint64_t *to)
{
    memset(to, 0, n * sizeof *to);
    for (size_t p = 0; p < step->n_parents; p++)
        add_parent(&columns[step->parents[p]], start, n, to);
}

/* Few thresholds: all are compared, and nothing branches. */
INLINE void choose_among_few(const scratch *s, const uint64_t *thresholds, size_t n_thresholds,
                             size_t n, uint8_t *restrict codes)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = thresholds + s->configurations[i] * n_thresholds;
        unsigned code = 0;
        for (size_t k = 0; k < n_thresholds; k++)
            code += s->bits[i] >= row[k];
        codes[i] = (uint8_t)code;
    }
}

/* Thresholds that the bits reach, by bisection. */
static inline size_t count_reached(const uint64_t *row, size_t n_thresholds, uint64_t bits)
{
    size_t low = 0, size = n_thresholds;
    while (size > 0) {
        size_t half = size / 2;
        int reached = bits >= row[low + half];
        low = reached ? low + half + 1 : low;
        size = reached ? size - half - 1 : half;
    }
    return low;
}

static void choose_among_many(const scratch *s, const uint64_t *thresholds, size_t n_thresholds,
                              size_t n, const sampled_column *target, size_t start)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = thresholds + s->configurations[i] * n_thresholds;
        size_t code = count_reached(row, n_thresholds, s->bits[i]);
        if (target->width == 1)
            ((uint8_t *)target->codes)[start + i] = (uint8_t)code;
        else
            ((uint16_t *)target->codes)[start + i] = (uint16_t)code;
    }
}

INLINE void draw_block(const sampling_step *step, const sampled_column *columns,
                       uint64_t first_row, size_t start, size_t n, scratch *s)
{
    const sampled_column *target = &columns[step->target];
    uint8_t *codes = (uint8_t *)target->codes + start;
    draw_bits(step->key, first_row + start, n, s->bits);
    find_configurations(step, columns, start, n, s->configurations);
    switch (target->n_levels) {
    case 1:
        memset(codes, 0, n);
        break;
    case 2:
        choose_among_few(s, step->thresholds, 1, n, codes);
        break;
    case 3:
        choose_among_few(s, step->thresholds, 2, n, codes);
        break;
    case 4:
        choose_among_few(s, step->thresholds, 3, n, codes);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        choose_among_few(s, step->thresholds, target->n_levels - 1, n, codes);
        break;
    default:
        choose_among_many(s, step->thresholds, target->n_levels - 1, n, target, start);
    }
}

typedef void (*block_drawer)(const sampling_step *, const sampled_column *, uint64_t, size_t,
                             size_t, scratch *);

static void draw_block_portable(const sampling_step *step, const sampled_column *columns,
                                uint64_t first_row, size_t start, size_t n, scratch *s)
{
    draw_block(step, columns, first_row, start, n, s);
}

#if GML_X86
__attribute__((target("avx2"))) static void draw_block_avx2(const sampling_step *step,
                                                            const sampled_column *columns,
                                                            uint64_t first_row, size_t start,
                                                            size_t n, scratch *s)
{
    draw_block(step, columns, first_row, start, n, s);
}
#endif

static block_drawer best_drawer(void)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX2)
        return draw_block_avx2;
#endif
    return draw_block_portable;
}

int sample_rows(const sampling_step *steps, size_t n_steps, const sampled_column *columns,
                uint64_t first_row, size_t n_rows)
{
    block_drawer draw = best_drawer();
    scratch *s = malloc(sizeof *s);
    if (s == NULL)
        return 0;
    for (size_t start = 0; start < n_rows && !stop_wanted(); start += BLOCK_ROWS) {
        size_t n = n_rows - start < BLOCK_ROWS ? n_rows - start : BLOCK_ROWS;
        for (size_t k = 0; k < n_steps; k++)
            draw(&steps[k], columns, first_row, start, n, s);
    }
    free(s);
    return 1;
}

void blank_cells(const sampled_column *column, const uint64_t key[2], uint64_t threshold,
                 uint64_t first_row, size_t n_rows)
{
    uint8_t *narrow = column->codes;
    uint16_t *wide = column->codes;
    for (size_t i = 0; i < n_rows; i++) {
        if (random_bits(key, first_row + i) >> 1 >= threshold)
            continue;
        if (column->width == 1)
            narrow[i] = UINT8_MAX;
        else
            wide[i] = UINT16_MAX;
    }
}
