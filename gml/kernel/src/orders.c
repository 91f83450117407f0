#include "orders.h"

#include <math.h>

#include "random.h"
#include "stop.h"

/* exp of anything less vanishes beside 1. */
#define NOTHING (-40.0)

static inline double log_add(double a, double b)
{
    const double high = a > b ? a : b, low = a > b ? b : a;
    return low - high > NOTHING ? high + log1p(exp(low - high)) : high;
}

void log_sum_sets(double *values, int m, int up)
{
    const uint64_t size = UINT64_C(1) << m;
    uint64_t steps = 0;
    for (uint64_t bit = 1; bit < size; bit *= 2)
        for (uint64_t block = 0; block < size; block += 2 * bit)
            for (uint64_t from = block; from < block + bit; from += STOP_STEPS) {
                const uint64_t n = bit < STOP_STEPS ? bit : STOP_STEPS;
                for (uint64_t at = from; at < from + n; at++) {
                    double *to = values + at + (up ? 0 : bit);
                    const double other = values[at + (up ? bit : 0)];
                    /* The difference of two infinities is undefined. */
                    if (other > -INFINITY)
                        *to = log_add(*to, other);
                }
                if (stop_after(&steps, n))
                    return;
            }
}

static inline uint64_t without(uint64_t set, int x)
{
    const uint64_t below = (UINT64_C(1) << x) - 1;
    return (set & below) | (set >> 1 & ~below);
}

void sum_orders(const double *parents, int m, int rest, double *sums)
{
    const uint64_t size = UINT64_C(1) << m, half = size / 2, all = size - 1;
    uint64_t steps = 0;
    sums[rest ? all : 0] = 0;
    for (uint64_t k = 1; k < size && !stop_after(&steps, 16); k++) {
        const uint64_t set = rest ? all - k : k;
        double terms[64], high = -INFINITY, sum = 0;
        int n = 0;
        for (uint64_t left = rest ? all & ~set : set; left != 0; left &= left - 1, n++) {
            const int x = __builtin_ctzll(left);
            const uint64_t before = set & ~(UINT64_C(1) << x), behind = set | UINT64_C(1) << x;
            terms[n] = parents[(uint64_t)x * half + without(before, x)] +
                       sums[rest ? behind : before];
            if (terms[n] > high)
                high = terms[n];
        }
        if (high > -INFINITY)
            for (int i = 0; i < n; i++)
                if (terms[i] - high > NOTHING)
                    sum += exp(terms[i] - high);
        sums[set] = high > -INFINITY ? high + log(sum) : -INFINITY;
    }
}

/* ------------------------------------------------------------------ chains of orders */

#define SWAP_ANY 0.4
#define SWAP_NEIGHBOURS 0.7

/* The candidates of x that come before it, as bits. */
static uint64_t before_of(const order_model *model, const order_state *state, int32_t x)
{
    const int64_t start = model->candidate_starts[x];
    const int64_t n = model->candidate_starts[x + 1] - start;
    uint64_t before = 0;
    for (int64_t k = 0; k < n; k++)
        before |= (uint64_t)(state->position[model->candidates[start + k]] < state->position[x])
                  << k;
    return before;
}

static double sum_within(const order_model *model, int32_t x, uint64_t before)
{
    const int64_t end = model->set_starts[x + 1];
    int64_t i = model->set_starts[x];
    while (i < end && (model->sets[i] & ~before) != 0)
        i++;
    if (i == end)
        return -INFINITY;
    const double high = model->logs[i];
    double sum = 0;
    for (; i < end && model->logs[i] - high > NOTHING; i++)
        if ((model->sets[i] & ~before) == 0)
            sum += exp(model->logs[i] - high);
    return high + log(sum);
}

void place_order(const order_model *model, order_state *state)
{
    for (int32_t i = 0; i < model->n; i++)
        state->position[state->order[i]] = i;
    for (int32_t x = 0; x < model->n; x++)
        state->sums[x] = sum_within(model, x, before_of(model, state, x));
}

static int32_t draw_below(const uint64_t key[2], uint64_t counter, int32_t n)
{
    return (int32_t)(random_uniform(key, counter) * n);
}

/* Make the move in the order; the places from *low to *high change. */
static void propose(int32_t *order, int32_t n, const uint64_t key[2], uint64_t counter,
                    int32_t *low, int32_t *high)
{
    const double kind = random_uniform(key, counter);
    int32_t i = draw_below(key, counter + 1, kind < SWAP_ANY || kind >= SWAP_NEIGHBOURS ? n : n - 1);
    int32_t j = i + 1;
    /* Both may be the same: a chain that always moved could go in circles. */
    if (kind < SWAP_ANY || kind >= SWAP_NEIGHBOURS)
        j = draw_below(key, counter + 2, n);
    *low = i < j ? i : j;
    *high = i < j ? j : i;
    const int32_t moved = order[i];
    if (kind < SWAP_NEIGHBOURS) {
        order[i] = order[j];
        order[j] = moved;
        return;
    }
    for (int32_t k = i; k != j; k += i < j ? 1 : -1)
        order[k] = order[k + (i < j ? 1 : -1)];
    order[j] = moved;
}

int64_t walk_orders(const order_model *model, order_state *state, const uint64_t key[2],
                    int64_t first, int64_t last, int32_t *saved, double *saved_sums)
{
    int64_t accepted = 0;
    uint64_t steps = 0;
    if (model->n < 2)
        return 0;
    for (int64_t step = first; step < last && !stop_after(&steps, 1024); step++) {
        const uint64_t counter = 4 * (uint64_t)step;
        int32_t low, high;
        for (int32_t i = 0; i < model->n; i++)
            saved[i] = state->order[i];
        propose(state->order, model->n, key, counter, &low, &high);
        for (int32_t i = low; i <= high; i++)
            state->position[state->order[i]] = i;
        double change = 0;
        for (int32_t i = low; i <= high; i++) {
            const int32_t x = state->order[i];
            saved_sums[i] = state->sums[x];
            state->sums[x] = sum_within(model, x, before_of(model, state, x));
            change += state->sums[x] - saved_sums[i];
        }
        if (random_uniform(key, counter + 3) < exp(change < 0 ? change : 0)) {
            accepted++;
            continue;
        }
        for (int32_t i = low; i <= high; i++)
            state->sums[state->order[i]] = saved_sums[i];
        for (int32_t i = low; i <= high; i++) {
            state->order[i] = saved[i];
            state->position[saved[i]] = i;
        }
    }
    return accepted;
}

void order_edges(const order_model *model, const order_state *state, double *edges)
{
    for (int64_t k = 0; k < (int64_t)model->n * model->n; k++)
        edges[k] = 0;
    for (int32_t x = 0; x < model->n; x++) {
        const uint64_t before = before_of(model, state, x);
        const int32_t *candidates = model->candidates + model->candidate_starts[x];
        for (int64_t i = model->set_starts[x]; i < model->set_starts[x + 1]; i++) {
            if ((model->sets[i] & ~before) != 0 || model->logs[i] - state->sums[x] <= NOTHING)
                continue;
            const double share = exp(model->logs[i] - state->sums[x]);
            for (uint64_t left = model->sets[i]; left != 0; left &= left - 1)
                edges[(int64_t)candidates[__builtin_ctzll(left)] * model->n + x] += share;
        }
    }
}
