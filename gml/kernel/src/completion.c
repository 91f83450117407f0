#include "completion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family_states.h"
#include "random.h"
#include "stop.h"

/* States less probable than this are left out. */
#define NEGLIGIBLE 1e-9

/* The states of one part that count: their numbers, the last node fastest, and their probabilities. */
typedef struct {
    int32_t root;
    size_t first_node, n_nodes, first_state, n_states;
} part_states;

typedef struct {
    const family_layout *layout;
    const completion_plan *plan;
    /* The part at hand. */
    int32_t *families, *bases, *offsets;
    double *shares;
    int *exponents;
    /* All parts of the row: nodes, and states that count. */
    part_states *parts;
    size_t n_parts;
    int32_t *nodes;
    size_t n_nodes;
    int32_t *states;
    double *state_shares;
    size_t n_states, state_room;
    uint32_t *chosen;
    uint64_t steps;
} row_state;

/* Products of numbers too small for doubles, beside the largest of them; 0 if all are 0. */
static int products_far_below(row_state *at, const int32_t *nodes, size_t n_nodes, size_t n_families,
                              size_t n_states)
{
    int highest;
    for (size_t s = 0; s < n_states; s++) {
        at->shares[s] = 1;
        at->exponents[s] = 0;
    }
    for (size_t f = 0; f < n_families; f++) {
        const double *table = at->plan->tables + at->bases[f];
        state_offsets(at->layout, nodes, n_nodes, at->families[f], at->offsets);
        for (size_t s = 0; s < n_states; s++)
            multiply_apart(&at->shares[s], &at->exponents[s], table[at->offsets[s]]);
    }
    return bring_together(at->shares, at->exponents, n_states, &highest);
}

/* Unnormalised probabilities of all states of a part; 0 if it is impossible. */
static int find_shares(row_state *at, const int32_t *nodes, size_t n_nodes, size_t n_families,
                       size_t n_states)
{
    double largest = 0;
    for (size_t s = 0; s < n_states; s++)
        at->shares[s] = 1;
    for (size_t f = 0; f < n_families; f++) {
        const double *table = at->plan->tables + at->bases[f];
        state_offsets(at->layout, nodes, n_nodes, at->families[f], at->offsets);
        for (size_t s = 0; s < n_states; s++)
            at->shares[s] *= table[at->offsets[s]];
    }
    for (size_t s = 0; s < n_states; s++)
        if (at->shares[s] > largest)
            largest = at->shares[s];
    return largest >= LEAST_PRODUCT || products_far_below(at, nodes, n_nodes, n_families, n_states);
}

static double sum_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += values[k];
    return sum;
}

/* Room for the states of another part; 0 without memory. */
static int make_room(row_state *at, size_t n_states)
{
    const size_t wanted = at->n_states + n_states;
    if (wanted <= at->state_room)
        return 1;
    int32_t *states = realloc(at->states, 2 * wanted * sizeof *states);
    if (states != NULL)
        at->states = states;
    double *shares = realloc(at->state_shares, 2 * wanted * sizeof *shares);
    if (shares != NULL)
        at->state_shares = shares;
    if (states == NULL || shares == NULL)
        return 0;
    at->state_room = 2 * wanted;
    return 1;
}

/* Keep the states of a part that are not negligible; their shares add up to 1. */
static void keep_states(row_state *at, part_states *part, size_t n_states)
{
    const double sum = sum_of(at->shares, n_states);
    part->first_state = at->n_states;
    for (size_t s = 0; s < n_states; s++) {
        const double share = at->shares[s] / sum;
        if (share >= NEGLIGIBLE) {
            at->states[at->n_states] = (int32_t)s;
            at->state_shares[at->n_states++] = share;
        }
    }
    part->n_states = at->n_states - part->first_state;
    double *shares = at->state_shares + part->first_state;
    const double kept = sum_of(shares, part->n_states);
    for (size_t s = 0; s < part->n_states; s++)
        shares[s] /= kept;
}

/* Find the parts of a row and their states; what became of it, or -1 without memory. */
static int find_parts(row_state *at, parts_collector *rows)
{
    at->n_parts = at->n_nodes = at->n_states = 0;
    for (size_t root = 0; root < at->layout->n_nodes; root++) {
        part_states *part = at->parts + at->n_parts;
        int32_t *nodes = at->nodes + at->n_nodes;
        size_t n_families, n_states = 1;
        part->n_nodes =
            parts_of_root(rows, (int32_t)root, nodes, at->families, at->bases, &n_families);
        if (part->n_nodes == 0)
            continue;
        for (size_t k = 0; k < part->n_nodes; k++) {
            n_states *= (size_t)at->layout->sizes[nodes[k]];
            if (n_states > at->plan->most_states)
                return ROW_TOO_LARGE;
        }
        at->steps += 4 * n_families * n_states;
        if (!make_room(at, n_states))
            return -1;
        if (!find_shares(at, nodes, part->n_nodes, n_families, n_states))
            return ROW_IMPOSSIBLE;
        part->root = (int32_t)root;
        part->first_node = at->n_nodes;
        at->n_nodes += part->n_nodes;
        keep_states(at, part, n_states);
        at->n_parts++;
    }
    size_t crossed = 1;
    for (size_t p = 0; p < at->n_parts; p++) {
        if (at->parts[p].n_states > at->plan->most_points / crossed)
            return ROW_DRAWN;
        crossed *= at->parts[p].n_states;
    }
    return ROW_CROSSED;
}

/* Write the levels of a state of a part into a point. */
static void write_state(const row_state *at, const part_states *part, size_t state, int32_t *point)
{
    const int32_t *nodes = at->nodes + part->first_node;
    size_t left = (size_t)at->states[part->first_state + state];
    for (size_t k = part->n_nodes; k-- > 0;) {
        const size_t size = (size_t)at->layout->sizes[nodes[k]];
        point[nodes[k]] = (int32_t)(left % size);
        left /= size;
    }
}

/* All combinations of the states of the parts, the last part fastest. */
static size_t cross(const row_state *at, int32_t *points, double *weights)
{
    size_t n = 1;
    for (size_t p = 0; p < at->n_parts; p++)
        n *= at->parts[p].n_states;
    for (size_t k = 0; k < n; k++) {
        size_t rest = n, left = k;
        weights[k] = 1;
        for (size_t p = 0; p < at->n_parts; p++) {
            const part_states *part = at->parts + p;
            rest /= part->n_states;
            write_state(at, part, left / rest, points + k * at->layout->n_nodes);
            weights[k] *= at->state_shares[part->first_state + left / rest];
            left %= rest;
        }
    }
    return n;
}

/* Systematic draws from each part, put together at random. */
static size_t draw(const row_state *at, size_t row, int32_t *points, double *weights)
{
    const size_t n = at->plan->most_points;
    const uint64_t *key = at->plan->key;
    for (size_t p = 0; p < at->n_parts; p++) {
        const part_states *part = at->parts + p;
        const double *shares = at->state_shares + part->first_state;
        const uint64_t counter =
            ((uint64_t)row * at->layout->n_nodes + (uint64_t)part->root) * (n + 1);
        const double shift = random_uniform(key, counter);
        double end = shares[0];
        size_t state = 0;
        for (size_t k = 0; k < n; k++) {
            const double place = ((double)k + shift) / (double)n;
            while (state + 1 < part->n_states && end < place)
                end += shares[++state];
            at->chosen[k] = (uint32_t)state;
        }
        for (size_t k = n - 1; k > 0; k--) {
            const size_t other = random_bits(key, counter + k) % (k + 1);
            const uint32_t moved = at->chosen[k];
            at->chosen[k] = at->chosen[other];
            at->chosen[other] = moved;
        }
        for (size_t k = 0; k < n; k++)
            write_state(at, part, at->chosen[k], points + k * at->layout->n_nodes);
    }
    for (size_t k = 0; k < n; k++)
        weights[k] = 1 / (double)n;
    return n;
}

static int begin(row_state *at)
{
    const size_t n = at->layout->n_nodes + 1, most = at->plan->most_states + 1;
    at->families = malloc(n * sizeof *at->families);
    at->bases = malloc(n * sizeof *at->bases);
    at->nodes = malloc(n * sizeof *at->nodes);
    at->parts = malloc(n * sizeof *at->parts);
    at->offsets = malloc(most * sizeof *at->offsets);
    at->shares = malloc(most * sizeof *at->shares);
    at->exponents = malloc(most * sizeof *at->exponents);
    at->chosen = malloc((at->plan->most_points + 1) * sizeof *at->chosen);
    return at->families != NULL && at->bases != NULL && at->nodes != NULL && at->parts != NULL &&
           at->offsets != NULL && at->shares != NULL && at->exponents != NULL && at->chosen != NULL;
}

static void leave(row_state *at)
{
    free(at->families);
    free(at->bases);
    free(at->nodes);
    free(at->parts);
    free(at->offsets);
    free(at->shares);
    free(at->exponents);
    free(at->chosen);
    free(at->states);
    free(at->state_shares);
}

int complete_rows(parts_collector *rows, const family_layout *layout, const completion_plan *plan,
                  size_t first, size_t last, int32_t *points, double *weights, int64_t *n_points,
                  uint8_t *became)
{
    row_state at = {.layout = layout, .plan = plan};
    int in_order = begin(&at);
    for (size_t row = first; row < last && in_order; row++) {
        const size_t place = (row - first) * plan->most_points;
        int32_t *own = points + place * layout->n_nodes;
        if (stop_after(&at.steps, 8 * layout->n_nodes))
            break;
        const int32_t *codes = parts_split_row(rows, row);
        const int found = find_parts(&at, rows);
        in_order = found >= 0;
        n_points[row - first] = 0;
        became[row - first] = (uint8_t)found;
        if (found != ROW_CROSSED && found != ROW_DRAWN)
            continue;
        const size_t most = plan->most_points;
        for (size_t k = 0; k < most; k++)
            memcpy(own + k * layout->n_nodes, codes, layout->n_nodes * sizeof *codes);
        n_points[row - first] = (int64_t)(found == ROW_CROSSED ? cross(&at, own, weights + place)
                                                               : draw(&at, row, own, weights + place));
    }
    leave(&at);
    return in_order;
}
