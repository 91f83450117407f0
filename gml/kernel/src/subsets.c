#include "subsets.h"

#include <stdlib.h>

#include "stop.h"

/* ------------------------------------------------------------------ growing sets */

typedef struct {
    const uint64_t *sets;
    uint32_t *places; /* of each slot: a place in sets, 1 added; 0 where it is free */
    uint64_t mask;
} set_index;

static inline uint64_t slot_of(uint64_t set)
{
    set *= UINT64_C(0x9E3779B97F4A7C15);
    return set ^ set >> 29;
}

static int64_t place_of(const set_index *index, uint64_t set)
{
    for (uint64_t slot = slot_of(set);; slot++) {
        uint32_t place = index->places[slot & index->mask];
        if (place == 0)
            return -1;
        if (index->sets[place - 1] == set)
            return place - 1;
    }
}

static int index_sets(set_index *index, const uint64_t *sets, size_t n)
{
    uint64_t slots = 16;
    while (slots < 2 * n)
        slots *= 2;
    index->sets = sets;
    index->mask = slots - 1;
    index->places = calloc(slots, sizeof *index->places);
    if (index->places == NULL)
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t slot = slot_of(sets[i]);
        while (index->places[slot & index->mask] != 0)
            slot++;
        index->places[slot & index->mask] = (uint32_t)i + 1;
    }
    return 1;
}

int64_t grow_sets(const uint64_t *sets, const int64_t *best, size_t n, uint64_t candidates,
                  uint64_t *grown, int64_t *values)
{
    set_index index;
    int64_t found = 0;
    if (!index_sets(&index, sets, n))
        return -1;
    uint64_t steps = 0;
    for (size_t i = 0; i < n && !stop_after(&steps, 64); i++) {
        const uint64_t set = sets[i];
        const uint64_t below =
            set == 0 ? 0 : UINT64_MAX >> __builtin_clzll(set);
        for (uint64_t more = candidates & ~below; more != 0; more &= more - 1) {
            const uint64_t larger = set | (more & -more);
            int64_t value = best[i];
            uint64_t left = set;
            for (; left != 0; left &= left - 1) {
                int64_t place = place_of(&index, larger ^ (left & -left));
                if (place < 0)
                    break;
                if (best[place] > value)
                    value = best[place];
            }
            if (left != 0)
                continue;
            grown[found] = larger;
            values[found++] = value;
        }
    }
    free(index.places);
    return found;
}

/* ------------------------------------------------------------------ the best order */

void best_within(const uint64_t *masks, const int64_t *units, size_t n, int low, uint64_t hi,
                 int64_t *best_parents)
{
    const uint64_t size = UINT64_C(1) << low;
    for (uint64_t lo = 0; lo < size; lo++)
        best_parents[lo] = NEVER;
    for (size_t i = 0; i < n; i++)
        if ((masks[i] >> low & ~hi) == 0 && units[i] > best_parents[masks[i] & (size - 1)])
            best_parents[masks[i] & (size - 1)] = units[i];
    for (uint64_t bit = 1; bit < size; bit *= 2)
        for (uint64_t block = 0; block < size; block += 2 * bit)
            for (uint64_t lo = block; lo < block + bit; lo++)
                if (best_parents[lo] > best_parents[lo + bit])
                    best_parents[lo + bit] = best_parents[lo];
}

int best_sinks(const uint64_t *masks, const int64_t *units, const int64_t *starts, int m, int low,
               uint64_t first, uint64_t last, int64_t *best, uint8_t *sinks)
{
    const uint64_t size = UINT64_C(1) << low;
    int64_t *best_parents = malloc((size_t)m * size * sizeof *best_parents);
    if (best_parents == NULL)
        return 0;
    for (uint64_t hi = first; hi < last; hi++) {
        const uint64_t slice = hi << low;
        for (int x = 0; x < m && !stop_wanted(); x++)
            if ((slice >> x & 1) == 0)
                best_within(masks + starts[x], units + starts[x],
                            (size_t)(starts[x + 1] - starts[x]), low, hi,
                            best_parents + (uint64_t)x * size);
        if (stop_wanted())
            break;
        for (uint64_t lo = 0; lo < size; lo++) {
            const uint64_t set = slice | lo;
            const int64_t so_far = best[set];
            if (so_far == NEVER)
                continue;
            for (uint64_t more = ~set & ((UINT64_C(1) << m) - 1); more != 0; more &= more - 1) {
                const int x = __builtin_ctzll(more);
                const int64_t units_of_x = best_parents[(uint64_t)x * size + lo];
                const uint64_t larger = set | UINT64_C(1) << x;
                /* The first of several sinks comes last: it leaves the largest set behind. */
                if (units_of_x != NEVER && so_far + units_of_x >= best[larger]) {
                    best[larger] = so_far + units_of_x;
                    sinks[larger] = (uint8_t)x;
                }
            }
        }
    }
    free(best_parents);
    return 1;
}
