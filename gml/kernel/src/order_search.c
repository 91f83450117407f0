#include "order_search.h"

#include <stdlib.h>
#include <string.h>

#include "stop.h"
#include "subsets.h"

/* As stop_after counts them. */
#define STEPS_TO_EXPAND 256

static inline uint64_t all_of(int m)
{
    return m == 64 ? UINT64_MAX : (UINT64_C(1) << m) - 1;
}

/* Differences of units may not fit into 63 bits. */
static inline uint64_t shortfall(int64_t best, int64_t units)
{
    return (uint64_t)best - (uint64_t)units;
}

/* ------------------------------------------------------------------ what a group loses at least */

int losses_to_go(const parent_lists *lists, int low, uint64_t *to_go)
{
    const int m = lists->m;
    const uint64_t size = UINT64_C(1) << low, all = all_of(m);
    int64_t *best_parents = malloc((size_t)m * size * sizeof *best_parents);
    if (best_parents == NULL)
        return 0;
    to_go[0] = 0;
    for (uint64_t hi = UINT64_C(1) << (m - low); hi-- > 0;) {
        const uint64_t slice = hi << low;
        for (int x = 0; x < m && !stop_wanted(); x++)
            if ((slice >> x & 1) == 0)
                best_within(lists->masks + lists->starts[x], lists->units + lists->starts[x],
                            (size_t)(lists->starts[x + 1] - lists->starts[x]), low, hi,
                            best_parents + (uint64_t)x * size);
        if (stop_wanted())
            break;
        for (uint64_t lo = size; lo-- > 0;) {
            const uint64_t left = ~(slice | lo) & all;
            if (left == 0)
                continue;
            uint64_t least = SEARCH_NO_BOUND;
            for (uint64_t more = left; more != 0; more &= more - 1) {
                const int x = __builtin_ctzll(more);
                const int64_t units = best_parents[(uint64_t)x * size + lo];
                const uint64_t rest = to_go[left ^ (more & -more)];
                if (units == NEVER || rest == SEARCH_NO_BOUND)
                    continue;
                const uint64_t sum = shortfall(lists->units[lists->starts[x]], units) + rest;
                if (sum < least)
                    least = sum;
            }
            to_go[left] = least;
        }
    }
    free(best_parents);
    return 1;
}

/* ------------------------------------------------------------------ an order to begin with */

static uint64_t loss_within(const parent_lists *lists, int x, uint64_t before)
{
    const int64_t first = lists->starts[x], end = lists->starts[x + 1];
    for (int64_t i = first; i < end; i++)
        if ((lists->masks[i] & ~before) == 0)
            return shortfall(lists->units[first], lists->units[i]);
    return SEARCH_FAR;
}

/* Move the variable at a place to where it gains most; returns the gain. */
static uint64_t move_one(const parent_lists *lists, int32_t *order, int place)
{
    const int x = order[place];
    uint64_t before = 0;
    for (int i = 0; i < place; i++)
        before |= UINT64_C(1) << order[i];
    const uint64_t own = loss_within(lists, x, before);
    int64_t others = 0, gained = 0;
    int best = place;
    uint64_t within = before;
    for (int i = place - 1; i >= 0; i--) {
        const int y = order[i];
        within &= ~(UINT64_C(1) << y);
        others += (int64_t)(loss_within(lists, y, within) -
                            loss_within(lists, y, within | UINT64_C(1) << x));
        const int64_t gain = others + (int64_t)(own - loss_within(lists, x, within));
        if (gain > gained) {
            gained = gain;
            best = i;
        }
    }
    others = 0;
    within = before;
    for (int i = place + 1; i < lists->m; i++) {
        const int y = order[i];
        others += (int64_t)(loss_within(lists, y, within | UINT64_C(1) << x) -
                            loss_within(lists, y, within));
        within |= UINT64_C(1) << y;
        const int64_t gain = others + (int64_t)(own - loss_within(lists, x, within));
        if (gain > gained) {
            gained = gain;
            best = i;
        }
    }
    if (best < place)
        memmove(order + best + 1, order + best, (size_t)(place - best) * sizeof *order);
    else
        memmove(order + place, order + place + 1, (size_t)(best - place) * sizeof *order);
    order[best] = x;
    return (uint64_t)gained;
}

uint64_t improve_order(const parent_lists *lists, int32_t *order)
{
    int idle = 0;
    for (int x = 0; idle < lists->m && !stop_wanted(); x = (x + 1) % lists->m) {
        int place = 0;
        while (order[place] != x)
            place++;
        idle = move_one(lists, order, place) > 0 ? 0 : idle + 1;
    }
    uint64_t sum = 0, before = 0;
    for (int i = 0; i < lists->m; i++) {
        sum += loss_within(lists, order[i], before);
        before |= UINT64_C(1) << order[i];
    }
    return sum;
}

/* ------------------------------------------------------------------ states */

static inline search_state *state_at(const order_search *search, uint64_t i)
{
    return &search->blocks[i / SEARCH_BLOCK]->states[i % SEARCH_BLOCK];
}

static inline uint32_t *heap_at(const order_search *search, uint64_t place)
{
    return &search->blocks[place / SEARCH_BLOCK]->heap[place % SEARCH_BLOCK];
}

static inline uint64_t slot_of(const order_search *search, uint64_t set)
{
    set *= UINT64_C(0x9E3779B97F4A7C15);
    set = (set ^ set >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint64_t)((unsigned __int128)set * search->n_slots >> 64);
}

/* The slot that has the set, or would have it. */
static uint32_t *slot_with(const order_search *search, uint64_t set)
{
    uint64_t slot = slot_of(search, set);
    while (search->slots[slot] != 0 && state_at(search, search->slots[slot] - 1)->set != set)
        if (++slot == search->n_slots)
            slot = 0;
    return &search->slots[slot];
}

/* The old slots are given back first: the states know all that the new ones need. */
static int grow_slots(order_search *search)
{
    const uint64_t most = search->most + search->most / 2;
    const uint64_t wanted = search->n_slots == 0 ? 2 * SEARCH_BLOCK : 2 * search->n_slots;
    search->n_slots = wanted < most ? wanted : most;
    free(search->slots);
    search->slots = calloc(search->n_slots, sizeof *search->slots);
    if (search->slots == NULL)
        return 0;
    for (uint64_t i = 0; i < search->n_states; i++) {
        if (stop_at_step(i))
            return 0;
        *slot_with(search, state_at(search, i)->set) = (uint32_t)i + 1;
    }
    return 1;
}

/* The deeper of two states with the same f comes first, then the smaller set. */
static inline int comes_before(const search_state *a, const search_state *b)
{
    if (a->f != b->f)
        return a->f < b->f;
    const int of_a = __builtin_popcountll(a->set), of_b = __builtin_popcountll(b->set);
    return of_a != of_b ? of_a > of_b : a->set < b->set;
}

static void put(order_search *search, uint32_t i, uint64_t place)
{
    *heap_at(search, place) = i;
    state_at(search, i)->place = (uint32_t)place + 1;
}

static void rise(order_search *search, uint32_t i, uint64_t place)
{
    const search_state *state = state_at(search, i);
    while (place > 0) {
        const uint32_t above = *heap_at(search, (place - 1) / 2);
        if (!comes_before(state, state_at(search, above)))
            break;
        put(search, above, place);
        place = (place - 1) / 2;
    }
    put(search, i, place);
}

static void sink(order_search *search, uint32_t i)
{
    const search_state *state = state_at(search, i);
    uint64_t place = 0;
    for (;;) {
        uint64_t child = 2 * place + 1;
        if (child >= search->n_open)
            break;
        uint32_t below = *heap_at(search, child);
        if (child + 1 < search->n_open) {
            const uint32_t other = *heap_at(search, child + 1);
            if (comes_before(state_at(search, other), state_at(search, below))) {
                below = other;
                child++;
            }
        }
        if (!comes_before(state_at(search, below), state))
            break;
        put(search, below, place);
        place = child;
    }
    put(search, i, place);
}

static uint32_t take_first(order_search *search)
{
    const uint32_t first = *heap_at(search, 0);
    const uint32_t last = *heap_at(search, --search->n_open);
    if (search->n_open > 0)
        sink(search, last);
    state_at(search, first)->place = 0;
    return first;
}

static int reach(order_search *search, uint64_t set, uint64_t f, uint32_t before)
{
    uint32_t *slot = slot_with(search, set);
    if (*slot != 0) {
        search_state *state = state_at(search, *slot - 1);
        /* An expanded state cannot be reached for less, as no step makes f smaller. */
        if (state->place != 0 && f < state->f) {
            state->f = f;
            state->before = before;
            rise(search, *slot - 1, state->place - 1);
        }
        return SEARCH_MORE;
    }
    if (search->n_states == search->most)
        return SEARCH_FULL;
    if (search->n_states % SEARCH_BLOCK == 0) {
        search_block *block = malloc(sizeof *block);
        search->blocks[search->n_states / SEARCH_BLOCK] = block;
        if (block == NULL)
            return SEARCH_NO_MEMORY;
    }
    const uint32_t i = (uint32_t)search->n_states++;
    search_state *state = state_at(search, i);
    state->set = set;
    state->f = f;
    state->before = before;
    *slot = i + 1;
    rise(search, i, search->n_open++);
    if (3 * search->n_states > 2 * search->n_slots && !grow_slots(search))
        return SEARCH_NO_MEMORY;
    return SEARCH_MORE;
}

/* ------------------------------------------------------------------ the search */

static uint64_t at_least(const order_search *search, uint64_t rest)
{
    const uint64_t *to_go = search->to_go;
    uint64_t sum = 0;
    for (int k = 0; k < search->n_groups; k++) {
        const int size = search->sizes[k];
        const uint64_t of_group = to_go[rest & all_of(size)];
        if (of_group == SEARCH_NO_BOUND)
            return SEARCH_NO_BOUND;
        sum += of_group;
        rest >>= size;
        to_go += UINT64_C(1) << size;
    }
    return sum;
}

/* Variables whose best set is available may as well come next: they lose nothing. */
static uint64_t with_free_ones(const parent_lists *lists, uint64_t set)
{
    uint64_t rest = ~set & all_of(lists->m), tried;
    do {
        tried = rest;
        for (uint64_t more = rest; more != 0; more &= more - 1) {
            const int x = __builtin_ctzll(more);
            if ((lists->masks[lists->starts[x]] & ~set) == 0)
                set |= UINT64_C(1) << x;
        }
        rest &= ~set;
    } while (rest != 0 && rest != tried);
    return set;
}

static uint64_t ancestors(const uint64_t *wanted, int x)
{
    uint64_t reached = UINT64_C(1) << x, new = reached;
    while (new != 0) {
        uint64_t more = 0;
        for (; new != 0; new &= new - 1)
            more |= wanted[__builtin_ctzll(new)];
        new = more & ~reached;
        reached |= new;
    }
    return reached;
}

/* A strongly connected component of the remaining ones that wants nothing from the others. */
static uint64_t source_component(const uint64_t *wanted, uint64_t rest)
{
    int x = __builtin_ctzll(rest);
    uint64_t component = ancestors(wanted, x), others = component & ~(UINT64_C(1) << x);
    while (others != 0) {
        const int y = __builtin_ctzll(others);
        const uint64_t above = ancestors(wanted, y);
        others &= others - 1;
        if ((above >> x & 1) == 0) {
            x = y;
            component = above;
            others = above & ~(UINT64_C(1) << y);
        }
    }
    return component;
}

static int expand(order_search *search, uint32_t i)
{
    const parent_lists *lists = &search->lists;
    const uint64_t all = all_of(lists->m), set = state_at(search, i)->set, rest = all & ~set;
    const uint64_t so_far = state_at(search, i)->f - at_least(search, rest);
    uint64_t wanted[64], losses[64];
    for (uint64_t more = rest; more != 0; more &= more - 1) {
        const int x = __builtin_ctzll(more);
        const uint64_t others = so_far + at_least(search, rest ^ (more & -more));
        if (others >= search->bound)
            return SEARCH_MORE;
        /* Sets that lose more than this are useless, now and later. */
        const uint64_t limit = search->bound - others;
        const int64_t first = lists->starts[x], end = lists->starts[x + 1];
        wanted[x] = 0;
        losses[x] = SEARCH_NO_BOUND;
        for (int64_t row = first; row < end; row++) {
            const uint64_t loss = shortfall(lists->units[first], lists->units[row]);
            if (loss >= limit)
                break;
            const uint64_t missing = lists->masks[row] & ~set;
            if (missing == 0) {
                losses[x] = loss;
                break;
            }
            wanted[x] |= missing;
        }
    }
    for (uint64_t more = source_component(wanted, rest); more != 0; more &= more - 1) {
        const int x = __builtin_ctzll(more);
        if (losses[x] == SEARCH_NO_BOUND)
            continue;
        const uint64_t larger = with_free_ones(lists, set | (more & -more));
        const uint64_t others = at_least(search, all & ~larger);
        if (others == SEARCH_NO_BOUND || so_far + losses[x] + others >= search->bound)
            continue;
        const uint64_t f = so_far + losses[x] + others;
        if (larger == all) {
            search->bound = f;
            search->last = i;
            search->found = 1;
            continue;
        }
        const int code = reach(search, larger, f, i);
        if (code != SEARCH_MORE)
            return code;
    }
    return SEARCH_MORE;
}

int search_begin(order_search *search)
{
    search->n_states = search->n_open = search->n_expanded = search->n_slots = 0;
    search->reached = 0;
    search->last = 0;
    search->found = 0;
    search->slots = NULL;
    search->blocks = calloc(search->most / SEARCH_BLOCK + 1, sizeof *search->blocks);
    if (search->blocks == NULL || !grow_slots(search))
        return 0;
    const uint64_t all = all_of(search->lists.m);
    const uint64_t set = with_free_ones(&search->lists, 0);
    const uint64_t f = at_least(search, all & ~set);
    if (f >= search->bound)
        return 1;
    if (reach(search, set, f, 0) != SEARCH_MORE)
        return 0;
    if (set == all) {
        search->bound = 0;
        search->found = 1;
    }
    return 1;
}

int search_run(order_search *search, uint64_t expansions)
{
    uint64_t steps = 0;
    for (uint64_t k = 0; k < expansions && !stop_after(&steps, STEPS_TO_EXPAND); k++) {
        if (search->n_open == 0)
            return SEARCH_DONE;
        const uint64_t f = state_at(search, *heap_at(search, 0))->f;
        if (f >= search->bound)
            return SEARCH_DONE;
        search->reached = f;
        search->n_expanded++;
        const int code = expand(search, take_first(search));
        if (code != SEARCH_MORE)
            return code;
    }
    return SEARCH_MORE;
}

int search_path(const order_search *search, uint64_t *sets)
{
    int n = 0;
    uint32_t i = search->last;
    for (;; i = state_at(search, i)->before) {
        sets[n++] = state_at(search, i)->set;
        if (i == 0)
            return n;
    }
}

void search_end(order_search *search)
{
    if (search->blocks != NULL)
        for (uint64_t k = 0; k * SEARCH_BLOCK < search->n_states; k++)
            free(search->blocks[k]);
    free(search->blocks);
    free(search->slots);
    search->blocks = NULL;
    search->slots = NULL;
}
