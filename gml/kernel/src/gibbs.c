#include "gibbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "exp_series.h"
#include "gibbs_bytes.h"
#include "stop.h"

/* Chains that go through all sweeps before the next: their states stay in the cache. */
#define BLOCK_CHAINS 1024
/* Numbers of the logarithms of a tile. */
#define TILE_NUMBERS 16384
#define TILE_CHAINS 256

typedef struct {
    double largest[TILE_CHAINS], totals[TILE_CHAINS];
    uint64_t places[TILE_CHAINS];
    uint64_t bits[BLOCK_CHAINS];
    uint32_t configurations[BLOCK_CHAINS];
    double *logs;         /* levels x tile */
    uint64_t *thresholds; /* levels x tile */
    size_t tile_numbers;
} scratch;

/* ------------------------------------------------------------------ random bits */

INLINE void draw_bits(const gibbs_keys *keys, uint32_t first, size_t n, uint64_t *bits)
{
    for (size_t i = 0; i < n; i++)
        bits[i] = bits_of(keys, first + (uint32_t)i);
}

/* ------------------------------------------------------------------ thresholds */

EXP_SERIES(exp_series, double, uint64_t)

/* exp(x) for x <= 0; 0 below -700. */
INLINE double exp_below(double x)
{
    double found = exp_series(x < -700 ? -700 : x);
    return x < -700 ? 0 : found;
}

/* Where the codes of the blanket come from: chains, or all configurations in turn. */
typedef struct {
    const void *states; /* NULL: configurations, from number `first` on */
    int width;
    size_t n_chains, first;
} code_source;

INLINE void add_places(const gibbs_step *step, size_t member, uint64_t stride, code_source from, size_t n,
                       uint64_t *restrict places)
{
    if (from.states == NULL) {
        unsigned shift = 0;
        for (size_t m = member + 1; m < step->n_blanket; m++)
            shift += step->bits[m];
        uint32_t mask = (UINT32_C(1) << step->bits[member]) - 1;
        for (size_t i = 0; i < n; i++) {
            uint32_t code = (uint32_t)(from.first + i) >> shift & mask;
            /* Bits that no code has stand for the first level, and are never looked at. */
            places[i] += (code < step->sizes[member] ? code : 0) * stride;
        }
    } else if (from.width == 1) {
        const uint8_t *codes = (const uint8_t *)from.states + step->blanket[member] * from.n_chains + from.first;
        for (size_t i = 0; i < n; i++)
            places[i] += codes[i] * stride;
    } else {
        const uint16_t *codes =
            (const uint16_t *)from.states + step->blanket[member] * from.n_chains + from.first;
        for (size_t i = 0; i < n; i++)
            places[i] += codes[i] * stride;
    }
}

/* One neighbour of two levels chooses between two numbers, without a place to find. */
INLINE void add_pair(const gibbs_step *step, const gibbs_factor *factor, const double *numbers,
                     code_source from, size_t n, double *restrict logs)
{
    const uint8_t *codes =
        (const uint8_t *)from.states + step->blanket[factor->members[0]] * from.n_chains + from.first;
    for (size_t level = 0; level < step->n_levels; level++) {
        const double *row = numbers + factor->start + level * factor->stride;
        double first = row[0], second = row[factor->strides[0]];
        for (size_t i = 0; i < n; i++)
            logs[level * n + i] += codes[i] ? second : first;
    }
}

/* Thresholds of n places, at most a tile: a row of n for each level but the last. */
INLINE void find_thresholds(const gibbs_step *step, const double *numbers, code_source from, size_t n,
                            scratch *room)
{
    size_t n_levels = step->n_levels;
    double *restrict logs = room->logs;
    memset(logs, 0, n_levels * n * sizeof *logs);
    for (size_t f = 0; f < step->n_factors; f++) {
        const gibbs_factor *factor = &step->factors[f];
        if (from.states != NULL && from.width == 1 && factor->n_members == 1 &&
            step->sizes[factor->members[0]] == 2) {
            add_pair(step, factor, numbers, from, n, logs);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            room->places[i] = factor->start;
        for (size_t m = 0; m < factor->n_members; m++)
            add_places(step, factor->members[m], factor->strides[m], from, n, room->places);
        for (size_t level = 0; level < n_levels; level++)
            for (size_t i = 0; i < n; i++)
                logs[level * n + i] += numbers[room->places[i] + level * factor->stride];
    }
    memcpy(room->largest, logs, n * sizeof *logs);
    for (size_t level = 1; level < n_levels; level++)
        for (size_t i = 0; i < n; i++)
            room->largest[i] = logs[level * n + i] > room->largest[i] ? logs[level * n + i] : room->largest[i];
    memset(room->totals, 0, n * sizeof *room->totals);
    for (size_t level = 0; level < n_levels; level++)
        for (size_t i = 0; i < n; i++) {
            room->totals[i] += exp_below(logs[level * n + i] - room->largest[i]);
            logs[level * n + i] = room->totals[i];
        }
    for (size_t level = 0; level + 1 < n_levels; level++)
        for (size_t i = 0; i < n; i++)
            room->thresholds[level * n + i] =
                (uint64_t)(int64_t)nearbyint(logs[level * n + i] / room->totals[i] * 0x1p40);
}

int gibbs_has_bytes(const gibbs_step *step)
{
    return step->n_levels <= GIBBS_BYTE_LEVELS && step->n_bits <= GIBBS_BYTE_BITS;
}

static size_t tile_of(const gibbs_step *step, const scratch *room)
{
    size_t most = room->tile_numbers / step->n_levels;
    return most < TILE_CHAINS ? most : TILE_CHAINS;
}

static void free_scratch(scratch *room)
{
    if (room == NULL)
        return;
    free(room->logs);
    free(room->thresholds);
    free(room);
}

static scratch *new_scratch(const gibbs_step *steps, size_t n_steps)
{
    scratch *room = malloc(sizeof *room);
    if (room == NULL)
        return NULL;
    size_t numbers = TILE_NUMBERS;
    for (size_t k = 0; k < n_steps; k++)
        numbers = steps[k].n_levels > numbers ? steps[k].n_levels : numbers;
    room->tile_numbers = numbers;
    room->logs = malloc(numbers * sizeof *room->logs);
    room->thresholds = malloc(numbers * sizeof *room->thresholds);
    if (room->logs != NULL && room->thresholds != NULL)
        return room;
    free_scratch(room);
    return NULL;
}

INLINE void prepare_step(gibbs_step *step, const double *numbers, scratch *room)
{
    size_t tile = tile_of(step, room), size = (size_t)1 << step->n_bits, n_ends = step->n_levels - 1;
    size_t n_bytes = gibbs_pages(step) * GIBBS_PAGE;
    for (size_t first = 0; first < size; first += tile) {
        size_t n = size - first < tile ? size - first : tile;
        find_thresholds(step, numbers, (code_source){NULL, 0, 0, first}, n, room);
        for (size_t end = 0; end < n_ends; end++)
            for (size_t i = 0; i < n; i++) {
                uint64_t threshold = room->thresholds[end * n + i];
                step->thresholds[(first + i) * n_ends + end] = threshold;
                if (step->bytes != NULL)
                    step->bytes[end * n_bytes + first + i] =
                        threshold >> 32 > 255 ? 255 : (uint8_t)(threshold >> 32);
            }
    }
}

/* ------------------------------------------------------------------ draws */

INLINE void set_code(void *states, int width, size_t at, size_t code)
{
    if (width == 1)
        ((uint8_t *)states)[at] = (uint8_t)code;
    else
        ((uint16_t *)states)[at] = (uint16_t)code;
}

INLINE void find_configurations(const gibbs_step *step, const void *states, int width, size_t n_chains,
                                size_t first, size_t n, uint32_t *restrict to)
{
    memset(to, 0, n * sizeof *to);
    for (size_t m = 0; m < step->n_blanket; m++) {
        unsigned bits = step->bits[m];
        size_t at = step->blanket[m] * n_chains + first;
        if (width == 1)
            for (size_t i = 0; i < n; i++)
                to[i] = to[i] << bits | ((const uint8_t *)states)[at + i];
        else
            for (size_t i = 0; i < n; i++)
                to[i] = to[i] << bits | ((const uint16_t *)states)[at + i];
    }
}

INLINE void draw_by_table(const gibbs_step *step, const gibbs_keys *keys, void *states, int width,
                          size_t n_chains, size_t first, size_t n, scratch *room)
{
    size_t n_ends = step->n_levels - 1, at = step->target * n_chains + first;
    draw_bits(keys, (uint32_t)first, n, room->bits);
    find_configurations(step, states, width, n_chains, first, n, room->configurations);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = step->thresholds + room->configurations[i] * n_ends;
        size_t code = 0;
        for (size_t end = 0; end < n_ends; end++)
            code += room->bits[i] >= row[end];
        set_code(states, width, at + i, code);
    }
}

INLINE void draw_by_sums(const gibbs_step *step, const gibbs_keys *keys, const double *numbers, void *states,
                         int width, size_t n_chains, size_t first, size_t n, scratch *room)
{
    size_t tile = tile_of(step, room), n_ends = step->n_levels - 1;
    draw_bits(keys, (uint32_t)first, n, room->bits);
    for (size_t start = 0; start < n; start += tile) {
        size_t m = n - start < tile ? n - start : tile, at = step->target * n_chains + first + start;
        find_thresholds(step, numbers, (code_source){states, width, n_chains, first + start}, m, room);
        for (size_t i = 0; i < m; i++) {
            size_t code = 0;
            for (size_t end = 0; end < n_ends; end++)
                code += room->bits[start + i] >= room->thresholds[end * m + i];
            set_code(states, width, at + i, code);
        }
    }
}

INLINE void draw_step(const gibbs_step *step, const double *numbers, void *states, int width, size_t n_chains,
                      size_t first, size_t n, uint64_t sweep, gibbs_byte_drawer draw_by_bytes, scratch *room)
{
    gibbs_keys keys = keys_of(step->key, sweep);
    if (step->bytes != NULL && width == 1 && draw_by_bytes != NULL)
        draw_by_bytes(step, &keys, states, n_chains, first, n);
    else if (step->thresholds != NULL)
        draw_by_table(step, &keys, states, width, n_chains, first, n, room);
    else
        draw_by_sums(step, &keys, numbers, states, width, n_chains, first, n, room);
}

/* ------------------------------------------------------------------ sweeps */

INLINE int sweep_chains(const gibbs_step *steps, size_t n_steps, const double *numbers, void *states,
                        int width, size_t n_chains, size_t first, size_t last, uint64_t first_sweep,
                        uint64_t n_sweeps, gibbs_byte_drawer draw_by_bytes)
{
    scratch *room = new_scratch(steps, n_steps);
    if (room == NULL)
        return 0;
    uint64_t work = 0;
    for (size_t start = first; start < last; start += BLOCK_CHAINS) {
        size_t n = last - start < BLOCK_CHAINS ? last - start : BLOCK_CHAINS;
        for (uint64_t sweep = first_sweep; sweep < first_sweep + n_sweeps; sweep++)
            for (size_t k = 0; k < n_steps; k++) {
                uint64_t more = steps[k].thresholds != NULL ? n : n * steps[k].n_levels * steps[k].n_blanket;
                if (stop_after(&work, more))
                    goto end;
                draw_step(&steps[k], numbers, states, width, n_chains, start, n, sweep, draw_by_bytes, room);
            }
    }
end:
    free_scratch(room);
    return 1;
}

INLINE int prepare_steps(gibbs_step *steps, size_t n_steps, const double *numbers)
{
    scratch *room = new_scratch(steps, n_steps);
    if (room == NULL)
        return 0;
    uint64_t work = 0;
    for (size_t k = 0; k < n_steps && !stop_after(&work, UINT64_C(64) << steps[k].n_bits); k++)
        if (steps[k].thresholds != NULL)
            prepare_step(&steps[k], numbers, room);
    free_scratch(room);
    return 1;
}

#if GML_X86
#define AVX2 __attribute__((target("avx2")))

AVX2 static int prepare_avx2(gibbs_step *steps, size_t n_steps, const double *numbers)
{
    return prepare_steps(steps, n_steps, numbers);
}

AVX2 static int sweep_avx2(const gibbs_step *steps, size_t n_steps, const double *numbers, void *states,
                           int width, size_t n_chains, size_t first, size_t last, uint64_t first_sweep,
                           uint64_t n_sweeps)
{
    return sweep_chains(steps, n_steps, numbers, states, width, n_chains, first, last, first_sweep, n_sweeps,
                        gibbs_best_drawer());
}
#endif

int gibbs_prepare(gibbs_step *steps, size_t n_steps, const double *numbers)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX2)
        return prepare_avx2(steps, n_steps, numbers);
#endif
    return prepare_steps(steps, n_steps, numbers);
}

int gibbs_sweep(const gibbs_step *steps, size_t n_steps, const double *numbers, void *states, int width,
                size_t n_chains, size_t first, size_t last, uint64_t first_sweep, uint64_t n_sweeps)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX2)
        return sweep_avx2(steps, n_steps, numbers, states, width, n_chains, first, last, first_sweep,
                          n_sweeps);
#endif
    return sweep_chains(steps, n_steps, numbers, states, width, n_chains, first, last, first_sweep, n_sweeps,
                        NULL);
}

/* ------------------------------------------------------------------ cells of tables */

/* Tables of few cells are counted a cell at a time, which vectors of bytes are good at. */
#define MOST_BYTE_CELLS 256
#define MOST_COMPARED_CELLS 16

typedef struct {
    uint64_t cells[BLOCK_CHAINS];
    uint8_t narrow[BLOCK_CHAINS];
} cell_room;

INLINE int is_narrow(const gibbs_scopes *scopes, size_t scope, int width)
{
    return width == 1 && scopes->tables[scope + 1] - scopes->tables[scope] <= MOST_BYTE_CELLS;
}

INLINE void find_narrow_cells(const gibbs_scopes *scopes, size_t scope, const uint8_t *states,
                              size_t n_chains, size_t n, uint8_t *restrict cells)
{
    memset(cells, 0, n);
    for (uint64_t m = scopes->starts[scope]; m < scopes->starts[scope + 1]; m++) {
        uint8_t stride = (uint8_t)scopes->strides[m];
        const uint8_t *codes = states + scopes->members[m] * n_chains;
        for (size_t i = 0; i < n; i++)
            cells[i] = (uint8_t)(cells[i] + codes[i] * stride);
    }
}

INLINE void find_cells(const gibbs_scopes *scopes, size_t scope, const void *states, int width,
                       size_t n_chains, size_t n, uint64_t *restrict cells)
{
    memset(cells, 0, n * sizeof *cells);
    for (uint64_t m = scopes->starts[scope]; m < scopes->starts[scope + 1]; m++) {
        uint64_t stride = scopes->strides[m];
        size_t at = scopes->members[m] * n_chains;
        if (width == 1)
            for (size_t i = 0; i < n; i++)
                cells[i] += ((const uint8_t *)states)[at + i] * stride;
        else
            for (size_t i = 0; i < n; i++)
                cells[i] += ((const uint16_t *)states)[at + i] * stride;
    }
}

INLINE void count_narrow(const uint8_t *cells, size_t n, size_t n_cells, int64_t *counts)
{
    if (n_cells > MOST_COMPARED_CELLS) {
        for (size_t i = 0; i < n; i++)
            counts[cells[i]]++;
        return;
    }
    int64_t left = (int64_t)n;
    for (size_t cell = 0; cell + 1 < n_cells; cell++) {
        uint32_t here = 0;
        for (size_t i = 0; i < n; i++)
            here += cells[i] == cell;
        counts[cell] += here;
        left -= here;
    }
    counts[n_cells - 1] += left;
}

/* Counts of chains, or if `sums` is given the sums of numbers. */
INLINE void visit_cells(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains, size_t n,
                        int64_t *counts, const double *numbers, double *sums)
{
    cell_room room;
    uint64_t work = 0;
    for (size_t first = 0; first < n; first += BLOCK_CHAINS) {
        size_t some = n - first < BLOCK_CHAINS ? n - first : BLOCK_CHAINS;
        const void *here = (const char *)states + first * (size_t)width;
        for (size_t scope = 0; scope < scopes->n_scopes && !stop_after(&work, some); scope++) {
            uint64_t table = scopes->tables[scope];
            int narrow = is_narrow(scopes, scope, width);
            if (narrow)
                find_narrow_cells(scopes, scope, here, n_chains, some, room.narrow);
            else
                find_cells(scopes, scope, here, width, n_chains, some, room.cells);
            if (sums != NULL) {
                for (size_t i = 0; i < some; i++)
                    sums[first + i] += numbers[table + (narrow ? room.narrow[i] : room.cells[i])];
            } else if (narrow) {
                count_narrow(room.narrow, some, scopes->tables[scope + 1] - table, counts + table);
            } else {
                for (size_t i = 0; i < some; i++)
                    counts[table + room.cells[i]]++;
            }
        }
    }
}

#if GML_X86
AVX2 static void visit_cells_avx2(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains,
                                  size_t n, int64_t *counts, const double *numbers, double *sums)
{
    visit_cells(scopes, states, width, n_chains, n, counts, numbers, sums);
}
#endif

static void visit_cells_best(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains,
                             size_t n, int64_t *counts, const double *numbers, double *sums)
{
#if GML_X86
    if (cpu_level() >= CPU_AVX2) {
        visit_cells_avx2(scopes, states, width, n_chains, n, counts, numbers, sums);
        return;
    }
#endif
    visit_cells(scopes, states, width, n_chains, n, counts, numbers, sums);
}

void gibbs_count(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains, size_t n,
                 int64_t *counts)
{
    visit_cells_best(scopes, states, width, n_chains, n, counts, NULL, NULL);
}

void gibbs_sum(const gibbs_scopes *scopes, const void *states, int width, size_t n_chains, size_t n,
               const double *numbers, double *sums)
{
    visit_cells_best(scopes, states, width, n_chains, n, NULL, numbers, sums);
}
