#include "expectation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family_states.h"
#include "stop.h"

#define LOG_2 0.693147180559945309417232121458176568

/* The shape at hand: where each state of its missing nodes is, from the first cell of each family. */
typedef struct {
    const family_layout *layout;
    const missing_questions *questions;
    int64_t shape, question_end;
    size_t n_families, n_states;
    int32_t *offsets; /* families x states */
    double *shares;   /* P(state), and room for exponents */
    int *exponents;
    size_t offset_room, state_room;
} shape_state;

static int64_t shape_of(const missing_questions *q, int64_t question)
{
    int64_t low = 0, high = (int64_t)q->n_shapes - 1;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (q->question_starts[middle] <= question)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Room for a shape; 0 without memory. */
static int make_room(shape_state *at)
{
    const size_t offsets = at->n_families * at->n_states;
    if (offsets > at->offset_room) {
        free(at->offsets);
        at->offset_room = 2 * offsets;
        at->offsets = malloc(at->offset_room * sizeof *at->offsets);
    }
    if (at->n_states > at->state_room) {
        free(at->shares);
        free(at->exponents);
        at->state_room = 2 * at->n_states;
        at->shares = malloc(at->state_room * sizeof *at->shares);
        at->exponents = malloc(at->state_room * sizeof *at->exponents);
    }
    return at->offsets != NULL && at->shares != NULL && at->exponents != NULL;
}

static int enter_shape(shape_state *at, int64_t shape)
{
    const missing_questions *q = at->questions;
    const int32_t *nodes = q->nodes + q->node_starts[shape];
    const size_t n_nodes = (size_t)(q->node_starts[shape + 1] - q->node_starts[shape]);
    at->shape = shape;
    at->question_end = q->question_starts[shape + 1];
    at->n_families = (size_t)(q->family_starts[shape + 1] - q->family_starts[shape]);
    at->n_states = 1;
    for (size_t k = 0; k < n_nodes; k++)
        at->n_states *= (size_t)at->layout->sizes[nodes[k]];
    if (!make_room(at))
        return 0;
    for (size_t f = 0; f < at->n_families; f++) {
        const int32_t family = q->families[q->family_starts[shape] + (int64_t)f];
        state_offsets(at->layout, nodes, n_nodes, family, at->offsets + f * at->n_states);
    }
    return 1;
}

/* Products of numbers too small for doubles; what is lost is nothing beside the largest. */
static double product_far_below(shape_state *at, const double *tables, const int32_t *bases)
{
    int highest;
    double sum = 0;
    for (size_t s = 0; s < at->n_states; s++) {
        at->shares[s] = 1;
        at->exponents[s] = 0;
        for (size_t f = 0; f < at->n_families; f++)
            multiply_apart(&at->shares[s], &at->exponents[s],
                           tables[bases[f] + at->offsets[f * at->n_states + s]]);
    }
    if (!bring_together(at->shares, at->exponents, at->n_states, &highest))
        return -INFINITY;
    for (size_t s = 0; s < at->n_states; s++)
        sum += at->shares[s];
    for (size_t s = 0; s < at->n_states; s++)
        at->shares[s] /= sum;
    return log(sum) + highest * LOG_2;
}

/* Fill in P(state | question); returns the logarithm of the probability of what the question observes. */
static double answer(shape_state *at, const double *tables, const int32_t *bases)
{
    const size_t n = at->n_states;
    double *shares = at->shares;
    double largest = 0, sum = 0;
    const double *table = tables + bases[0];
    for (size_t s = 0; s < n; s++)
        shares[s] = table[at->offsets[s]];
    for (size_t f = 1; f < at->n_families; f++) {
        const int32_t *offsets = at->offsets + f * n;
        table = tables + bases[f];
        for (size_t s = 0; s < n; s++)
            shares[s] *= table[offsets[s]];
    }
    for (size_t s = 0; s < n; s++) {
        sum += shares[s];
        if (shares[s] > largest)
            largest = shares[s];
    }
    if (largest < LEAST_PRODUCT)
        return product_far_below(at, tables, bases);
    for (size_t s = 0; s < n; s++)
        shares[s] /= sum;
    return log(sum);
}

static void leave(shape_state *at)
{
    free(at->offsets);
    free(at->shares);
    free(at->exponents);
}

/* Go to a question, into its shape if that is the next; NULL without memory. */
static const int32_t *enter(shape_state *at, int64_t question)
{
    const missing_questions *q = at->questions;
    if (at->offsets == NULL && !enter_shape(at, shape_of(q, question)))
        return NULL;
    if (question >= at->question_end && !enter_shape(at, at->shape + 1))
        return NULL;
    return q->bases + q->base_starts[at->shape] +
           (question - q->question_starts[at->shape]) * (int64_t)at->n_families;
}

int64_t expected_counts(const family_layout *layout, const missing_questions *questions, int64_t first,
                        int64_t last, const double *tables, double *counts, double *log_likelihood)
{
    shape_state at = {.layout = layout, .questions = questions};
    uint64_t steps = 0;
    int64_t problem = -1;
    for (int64_t question = first; question < last && problem == -1; question++) {
        const int32_t *bases = enter(&at, question);
        if (bases == NULL) {
            problem = -2;
            break;
        }
        if (stop_after(&steps, 4 * at.n_families * at.n_states))
            break;
        const double weight = (double)questions->weights[question];
        const double log_p = answer(&at, tables, bases);
        if (log_p == -INFINITY) {
            problem = question;
            break;
        }
        *log_likelihood += weight * log_p;
        for (size_t s = 0; s < at.n_states; s++)
            at.shares[s] *= weight;
        for (size_t f = 0; f < at.n_families; f++) {
            const int32_t *offsets = at.offsets + f * at.n_states;
            double *to = counts + bases[f];
            for (size_t s = 0; s < at.n_states; s++)
                to[offsets[s]] += at.shares[s];
        }
    }
    leave(&at);
    return problem;
}

/* Cells that a question speaks of, each once, with their probabilities. */
typedef struct {
    double *probability; /* by place */
    int32_t *touched;
    size_t n;
} spoken_of;

static void find_spoken_of(const shape_state *at, const int32_t *bases, const int32_t *places,
                           spoken_of *cells)
{
    cells->n = 0;
    for (size_t f = 0; f < at->n_families; f++)
        for (size_t s = 0; s < at->n_states; s++) {
            const int32_t place = places[bases[f] + at->offsets[f * at->n_states + s]];
            if (place < 0 || at->shares[s] == 0)
                continue;
            if (cells->probability[place] == 0)
                cells->touched[cells->n++] = place;
            cells->probability[place] += at->shares[s];
        }
}

static void add_products(const shape_state *at, const int32_t *bases, const int32_t *places,
                         double weight, size_t n, double *matrix)
{
    for (size_t f = 0; f < at->n_families; f++)
        for (size_t g = 0; g < at->n_families; g++) {
            const int32_t *here = at->offsets + f * at->n_states;
            const int32_t *there = at->offsets + g * at->n_states;
            for (size_t s = 0; s < at->n_states; s++) {
                const int32_t a = places[bases[f] + here[s]], b = places[bases[g] + there[s]];
                if (a >= 0 && b >= 0)
                    matrix[(size_t)a * n + (size_t)b] += weight * at->shares[s];
            }
        }
}

int64_t count_covariances(const family_layout *layout, const missing_questions *questions,
                          int64_t first, int64_t last, const double *tables, const int32_t *places,
                          size_t n, double *matrix)
{
    shape_state at = {.layout = layout, .questions = questions};
    spoken_of cells = {calloc(n + 1, sizeof(double)), malloc((n + 1) * sizeof(int32_t)), 0};
    uint64_t steps = 0;
    int64_t problem = cells.probability == NULL || cells.touched == NULL ? -2 : -1;
    for (int64_t question = first; question < last && problem == -1; question++) {
        const int32_t *bases = enter(&at, question);
        if (bases == NULL) {
            problem = -2;
            break;
        }
        if (stop_after(&steps, 4 * at.n_families * at.n_families * at.n_states))
            break;
        const double weight = (double)questions->weights[question];
        if (answer(&at, tables, bases) == -INFINITY) {
            problem = question;
            break;
        }
        find_spoken_of(&at, bases, places, &cells);
        add_products(&at, bases, places, weight, n, matrix);
        for (size_t i = 0; i < cells.n; i++) {
            double *row = matrix + (size_t)cells.touched[i] * n;
            const double share = weight * cells.probability[cells.touched[i]];
            for (size_t j = 0; j < cells.n; j++)
                row[cells.touched[j]] -= share * cells.probability[cells.touched[j]];
        }
        for (size_t i = 0; i < cells.n; i++)
            cells.probability[cells.touched[i]] = 0;
    }
    leave(&at);
    free(cells.probability);
    free(cells.touched);
    return problem;
}
