#include "chain_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "exp_series.h"
#include "stop.h"

#define LANES 4
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef double loose_lanes __attribute__((vector_size(8 * LANES), aligned(8)));
typedef uint64_t lane_bits __attribute__((vector_size(8 * LANES)));

EXP_SERIES(exp_lanes, lanes, lane_bits)

/* Forward and backward numbers of a row differ between labels by the range of the transitions at most, but
   for the row's own scores. Within this range (of logarithms) what underflows is below e^-300 of what
   counts, whatever the scores; beyond it, sums are made of logarithms. */
#define PLAIN_RANGE 200.0
#define TIE 1e-12
/* Labels whose sums stay in registers. */
#define MOST_BLOCKS 6

/* What a pass over sequences needs; rows of `width` numbers, 0 beyond the labels. */
typedef struct {
    const chain_rows *rows;
    chain_weights weights;
    size_t n_labels, width;
    int in_logs;
    double largest;     /* transition */
    double *from, *to;  /* transitions by their first and by their second label: e^(v - largest) */
    double *scores;     /* of each row of a sequence; later e^(score - the row's largest) */
    double *alphas;     /* forward numbers, divided by their total */
    double *totals;
    double *beta, *flow;
    double *products;   /* of forward numbers and flows, summed over all rows */
    uint64_t steps;
} pass;

static double *numbers(size_t n)
{
    const size_t bytes = (n * sizeof(double) + 63) / 64 * 64 + 64;
    double *found = aligned_alloc(64, bytes);
    if (found)
        memset(found, 0, bytes);
    return found;
}

static void pass_free(pass *p)
{
    free(p->from);
    free(p->to);
    free(p->scores);
    free(p->alphas);
    free(p->totals);
    free(p->beta);
    free(p->flow);
    free(p->products);
}

static int pass_new(pass *p, const chain_rows *rows, const chain_weights *weights, size_t first, size_t last)
{
    const size_t n = rows->n_labels, width = rows->width;
    size_t longest = 0;
    double low = weights->transitions[0], high = low;
    memset(p, 0, sizeof *p);
    p->rows = rows;
    p->weights = *weights;
    p->n_labels = n;
    p->width = width;
    for (size_t s = first; s < last; s++) {
        const size_t length = (size_t)(rows->sequences[s + 1] - rows->sequences[s]);
        longest = length > longest ? length : longest;
    }
    for (size_t k = 1; k < n * n; k++) {
        low = weights->transitions[k] < low ? weights->transitions[k] : low;
        high = weights->transitions[k] > high ? weights->transitions[k] : high;
    }
    p->in_logs = !(high - low <= PLAIN_RANGE);
    p->largest = p->in_logs ? 0 : high;
    p->from = numbers(n * width);
    p->to = numbers(n * width);
    p->scores = numbers(longest * width);
    p->alphas = numbers(longest * width);
    p->totals = numbers(longest);
    p->beta = numbers(width);
    p->flow = numbers(width);
    p->products = numbers(n * width);
    if (!p->from || !p->to || !p->scores || !p->alphas || !p->totals || !p->beta || !p->flow || !p->products)
        return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double v = weights->transitions[i * n + j];
            p->from[i * width + j] = p->to[j * width + i] = p->in_logs ? v : exp(v - high);
        }
    return 1;
}

/* ------------------------------------------------------------------ rows of numbers */

LANE_INLINE lanes *lanes_of(double *row)
{
    return (lanes *)row;
}

LANE_INLINE const lanes *const_lanes(const double *row)
{
    return (const lanes *)row;
}

LANE_INLINE double sum_of(const double *row, size_t blocks)
{
    lanes sum = const_lanes(row)[0];
    for (size_t b = 1; b < blocks; b++)
        sum += const_lanes(row)[b];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* out = sum over i of x[i] times row i of a matrix. */
LANE_INLINE void add_rows(const double *x, size_t n, const double *matrix, size_t blocks, size_t taken,
                          lanes *out)
{
    lanes sum[MOST_BLOCKS];
    for (size_t b = 0; b < taken; b++)
        sum[b] = (lanes){0};
    for (size_t i = 0; i < n; i++) {
        const lanes *row = const_lanes(matrix) + i * blocks;
        for (size_t b = 0; b < taken; b++)
            sum[b] += x[i] * row[b];
    }
    for (size_t b = 0; b < taken; b++)
        out[b] = sum[b];
}

LANE_INLINE void multiply(const double *x, size_t n, const double *matrix, size_t blocks, double *out)
{
    if (blocks <= MOST_BLOCKS) {
        add_rows(x, n, matrix, blocks, blocks, lanes_of(out));
        return;
    }
    size_t b = 0;
    for (; b + LANES <= blocks; b += LANES)
        add_rows(x, n, matrix + b * LANES, blocks, LANES, lanes_of(out) + b);
    for (; b < blocks; b++)
        add_rows(x, n, matrix + b * LANES, blocks, 1, lanes_of(out) + b);
}

/* ------------------------------------------------------------------ attributes */

LANE_INLINE void add_scores(const chain_rows *rows, const double *weights, int64_t row, size_t blocks,
                            double *scores)
{
    const int64_t width = (int64_t)(blocks * LANES);
    for (size_t b = 0; b < blocks; b++)
        lanes_of(scores)[b] = (lanes){0};
    for (int64_t k = rows->rows[row]; k < rows->rows[row + 1]; k++) {
        const int32_t a = rows->attributes[k];
        const int64_t start = rows->cells[a], n = rows->cells[a + 1] - start;
        const double value = rows->values ? rows->values[k] : 1;
        if (n == width)
            for (size_t b = 0; b < blocks; b++)
                lanes_of(scores)[b] += value * ((const loose_lanes *)(weights + start))[b];
        else
            for (int64_t c = start; c < start + n; c++)
                scores[rows->labels[c]] += value * weights[c];
    }
}

LANE_INLINE void add_residual(const chain_rows *rows, int64_t row, const double *residual, size_t blocks,
                              double *out)
{
    const int64_t width = (int64_t)(blocks * LANES);
    for (int64_t k = rows->rows[row]; k < rows->rows[row + 1]; k++) {
        const int32_t a = rows->attributes[k];
        const int64_t start = rows->cells[a], n = rows->cells[a + 1] - start;
        const double value = rows->values ? rows->values[k] : 1;
        if (n == width)
            for (size_t b = 0; b < blocks; b++)
                ((loose_lanes *)(out + start))[b] += value * const_lanes(residual)[b];
        else
            for (int64_t c = start; c < start + n; c++)
                out[c] += value * residual[rows->labels[c]];
    }
}

/* ------------------------------------------------------------------ plain numbers */

/* Turn scores into e^(score - largest), 0 beyond the labels; returns the largest. */
LANE_INLINE double exponentials(double *scores, size_t n_labels, size_t blocks)
{
    double largest = scores[0];
    for (size_t j = 1; j < n_labels; j++)
        largest = scores[j] > largest ? scores[j] : largest;
    for (size_t b = 0; b < blocks; b++) {
        lanes x = lanes_of(scores)[b] - largest;
        const lane_bits kept = (lane_bits)(x >= -700);
        x = (lanes)((lane_bits)x & kept);
        lanes_of(scores)[b] = (lanes)((lane_bits)exp_lanes(x) & kept);
    }
    for (size_t j = n_labels; j < blocks * LANES; j++)
        scores[j] = 0;
    return largest;
}

/* Forward numbers of a sequence; returns -ln p(targets), or ln of the sum over all labels without them. */
LANE_INLINE double forward_plain(pass *p, int64_t first, int64_t last, const int32_t *targets, size_t blocks)
{
    const size_t n = p->n_labels, width = blocks * LANES;
    double value = 0;
    for (int64_t row = first; row < last; row++) {
        double *scores = p->scores + (size_t)(row - first) * width;
        double *alpha = p->alphas + (size_t)(row - first) * width;
        add_scores(p->rows, p->weights.cells, row, blocks, scores);
        const double own = targets ? scores[targets[row]] : 0;
        const double largest = exponentials(scores, n, blocks);
        value += largest - own;
        if (row == first)
            memcpy(alpha, scores, width * sizeof *alpha);
        else {
            multiply(alpha - width, n, p->from, blocks, alpha);
            for (size_t b = 0; b < blocks; b++)
                lanes_of(alpha)[b] *= const_lanes(scores)[b];
            value += p->largest;
            if (targets)
                value -= p->weights.transitions[(size_t)targets[row - 1] * n + (size_t)targets[row]];
        }
        const double total = sum_of(alpha, blocks), share = 1 / total;
        for (size_t b = 0; b < blocks; b++)
            lanes_of(alpha)[b] *= share;
        p->totals[row - first] = share;
        value += log(total);
        if (stop_after(&p->steps, 8 * width + n * width))
            return value;
    }
    return value;
}

/* Turn the backward numbers of a row into those of the row before. */
LANE_INLINE void step_back_plain(pass *p, size_t at, size_t blocks, int with_products)
{
    const size_t n = p->n_labels, width = blocks * LANES;
    const lanes *scores = const_lanes(p->scores + at * width);
    const double *before = p->alphas + (at - 1) * width;
    for (size_t b = 0; b < blocks; b++)
        lanes_of(p->flow)[b] = scores[b] * const_lanes(p->beta)[b] * p->totals[at];
    if (with_products)
        for (size_t i = 0; i < n; i++)
            for (size_t b = 0; b < blocks; b++)
                lanes_of(p->products)[i * blocks + b] += before[i] * const_lanes(p->flow)[b];
    multiply(p->flow, n, p->to, blocks, p->beta);
}

LANE_INLINE void start_back_plain(pass *p)
{
    for (size_t j = 0; j < p->n_labels; j++)
        p->beta[j] = 1;
}

/* ------------------------------------------------------------------ logarithms */

static double log_sum(const double *x, const double *y, size_t n)
{
    double largest = x[0] + y[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        largest = x[i] + y[i] > largest ? x[i] + y[i] : largest;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] + y[i] - largest);
    return largest + log(sum);
}

static double forward_logs(pass *p, int64_t first, int64_t last, const int32_t *targets)
{
    const size_t n = p->n_labels, width = p->width;
    double value = 0;
    for (int64_t row = first; row < last; row++) {
        double *scores = p->scores + (size_t)(row - first) * width;
        double *alpha = p->alphas + (size_t)(row - first) * width;
        add_scores(p->rows, p->weights.cells, row, width / LANES, scores);
        for (size_t j = 0; j < n; j++)
            p->flow[j] = row == first ? 0 : log_sum(alpha - width, p->to + j * width, n);
        const double total = log_sum(scores, p->flow, n);
        for (size_t j = 0; j < n; j++)
            alpha[j] = scores[j] + p->flow[j] - total;
        p->totals[row - first] = total;
        value += total;
        if (targets)
            value -= scores[targets[row]];
        if (targets && row > first)
            value -= p->weights.transitions[(size_t)targets[row - 1] * n + (size_t)targets[row]];
        if (stop_after(&p->steps, 20 * n * n))
            return value;
    }
    return value;
}

static void step_back_logs(pass *p, size_t at, int with_products)
{
    const size_t n = p->n_labels, width = p->width;
    const double *scores = p->scores + at * width, *before = p->alphas + (at - 1) * width;
    for (size_t j = 0; j < n; j++)
        p->flow[j] = scores[j] + p->beta[j] - p->totals[at];
    if (with_products)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                p->products[i * width + j] += exp(before[i] + p->from[i * width + j] + p->flow[j]);
    for (size_t i = 0; i < n; i++)
        p->beta[i] = log_sum(p->from + i * width, p->flow, n);
}

/* ------------------------------------------------------------------ the passes */

LANE_INLINE double forward(pass *p, int64_t first, int64_t last, const int32_t *targets, size_t blocks)
{
    return p->in_logs ? forward_logs(p, first, last, targets)
                      : forward_plain(p, first, last, targets, blocks);
}

LANE_INLINE void start_back(pass *p)
{
    memset(p->beta, 0, p->width * sizeof *p->beta);
    if (!p->in_logs)
        start_back_plain(p);
}

LANE_INLINE void step_back(pass *p, size_t at, size_t blocks, int with_products)
{
    if (p->in_logs)
        step_back_logs(p, at, with_products);
    else
        step_back_plain(p, at, blocks, with_products);
}

/* The probabilities of the labels of a row, whose backward numbers are at hand, into `out`. */
LANE_INLINE void marginal(const pass *p, size_t at, size_t blocks, double *out)
{
    const double *alpha = p->alphas + at * p->width;
    if (p->in_logs)
        for (size_t j = 0; j < p->n_labels; j++)
            out[j] = exp(alpha[j] + p->beta[j]);
    else
        for (size_t b = 0; b < blocks; b++)
            lanes_of(out)[b] = const_lanes(alpha)[b] * const_lanes(p->beta)[b];
}

LANE_INLINE double gradient_of(pass *p, const int32_t *targets, size_t first, size_t last, size_t blocks,
                               double *residual, double *out)
{
    const chain_rows *rows = p->rows;
    double value = 0;
    for (size_t s = first; s < last; s++) {
        const int64_t start = rows->sequences[s], end = rows->sequences[s + 1];
        value += forward(p, start, end, targets, blocks);
        start_back(p);
        for (int64_t row = end; row-- > start;) {
            marginal(p, (size_t)(row - start), blocks, residual);
            residual[targets[row]] -= 1;
            add_residual(rows, row, residual, blocks, out);
            if (row > start)
                step_back(p, (size_t)(row - start), blocks, 1);
            if (stop_after(&p->steps, p->n_labels * p->width))
                return value;
        }
        if (stop_after(&p->steps, 1))
            return value;
    }
    return value;
}

/* The number of blocks is a constant within each case, so that sums over them are in registers. */
#define BY_BLOCKS(call)                                                                           \
    switch (blocks) {                                                                             \
    case 1: { enum { BLOCKS = 1 }; call; break; }                                                 \
    case 2: { enum { BLOCKS = 2 }; call; break; }                                                 \
    case 3: { enum { BLOCKS = 3 }; call; break; }                                                 \
    case 4: { enum { BLOCKS = 4 }; call; break; }                                                 \
    case 5: { enum { BLOCKS = 5 }; call; break; }                                                 \
    case 6: { enum { BLOCKS = 6 }; call; break; }                                                 \
    default: { const size_t BLOCKS = blocks; call; break; }                                       \
    }

LANE_INLINE double gradient_pass_lanes(pass *p, const int32_t *targets, size_t first, size_t last,
                                       double *residual, double *out)
{
    const size_t blocks = p->width / LANES;
    double value = 0;
    BY_BLOCKS(value = gradient_of(p, targets, first, last, BLOCKS, residual, out))
    return value;
}
static BY_LEVEL(double, gradient_pass,
                (pass *p, const int32_t *targets, size_t first, size_t last, double *residual, double *out),
                (p, targets, first, last, residual, out))

int chain_gradient(const chain_rows *rows, const chain_weights *weights, const int32_t *targets,
                   size_t first, size_t last, double *out_cells, double *out_transitions, double *value)
{
    const size_t n = rows->n_labels, width = rows->width;
    pass p;
    double *residual = numbers(width);
    const int done = pass_new(&p, rows, weights, first, last) && residual;
    if (done) {
        *value = gradient_pass(&p, targets, first, last, residual, out_cells);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                out_transitions[i * n + j] +=
                    p.products[i * width + j] * (p.in_logs ? 1 : p.from[i * width + j]);
        for (size_t s = first; s < last; s++)
            for (int64_t row = rows->sequences[s] + 1; row < rows->sequences[s + 1]; row++)
                out_transitions[(size_t)targets[row - 1] * n + (size_t)targets[row]] -= 1;
    }
    free(residual);
    pass_free(&p);
    return done;
}

LANE_INLINE void marginals_of(pass *p, size_t first, size_t last, size_t blocks, double *shares, double *out)
{
    const chain_rows *rows = p->rows;
    const size_t n = p->n_labels;
    for (size_t s = first; s < last; s++) {
        const int64_t start = rows->sequences[s], end = rows->sequences[s + 1];
        forward(p, start, end, NULL, blocks);
        start_back(p);
        for (int64_t row = end; row-- > start;) {
            marginal(p, (size_t)(row - start), blocks, shares);
            const double total = sum_of(shares, blocks);
            for (size_t j = 0; j < n; j++)
                out[(size_t)row * n + j] = shares[j] / total;
            if (row > start)
                step_back(p, (size_t)(row - start), blocks, 0);
            if (stop_after(&p->steps, n * p->width))
                return;
        }
        if (stop_after(&p->steps, 1))
            return;
    }
}

LANE_INLINE void marginals_pass_lanes(pass *p, size_t first, size_t last, double *shares, double *out)
{
    const size_t blocks = p->width / LANES;
    BY_BLOCKS(marginals_of(p, first, last, BLOCKS, shares, out))
}
static BY_LEVEL(void, marginals_pass, (pass *p, size_t first, size_t last, double *shares, double *out),
                (p, first, last, shares, out))

int chain_marginals(const chain_rows *rows, const chain_weights *weights, size_t first, size_t last,
                    double *out)
{
    pass p;
    double *shares = numbers(rows->width);
    const int done = pass_new(&p, rows, weights, first, last) && shares;
    if (done)
        marginals_pass(&p, first, last, shares, out);
    free(shares);
    pass_free(&p);
    return done;
}

/* ------------------------------------------------------------------ the best labels */

static int beats(double score, double best)
{
    return score > best + TIE * (1 + fabs(best));
}

static void best_labels(const chain_rows *rows, const chain_weights *weights, int64_t start, int64_t end,
                        double *scores, double *reached, double *before, uint16_t *back, int32_t *out)
{
    const size_t n = rows->n_labels;
    uint64_t steps = 0;
    size_t best = 0;
    for (int64_t row = start; row < end; row++) {
        uint16_t *came = back + (size_t)(row - start) * n;
        add_scores(rows, weights->cells, row, rows->width / LANES, scores);
        for (size_t j = 0; j < n; j++) {
            size_t from = 0;
            double highest = 0;
            for (size_t i = 0; row > start && i < n; i++) {
                const double score = before[i] + weights->transitions[i * n + j];
                if (i == 0 || beats(score, highest)) {
                    highest = score;
                    from = i;
                }
            }
            came[j] = (uint16_t)from;
            reached[j] = highest + scores[j];
        }
        best = 0;
        for (size_t j = 1; j < n; j++)
            if (beats(reached[j], reached[best]))
                best = j;
        /* Differences are all that counts, and keep their digits when numbers stay small. */
        for (size_t j = 0; j < n; j++)
            before[j] = reached[j] - reached[best];
        if (stop_after(&steps, 2 * n * n))
            return;
    }
    for (int64_t row = end; row-- > start;) {
        out[row] = (int32_t)best;
        best = back[(size_t)(row - start) * n + best];
    }
}

int chain_viterbi(const chain_rows *rows, const chain_weights *weights, size_t first, size_t last,
                  int32_t *out)
{
    size_t longest = 1;
    for (size_t s = first; s < last; s++) {
        const size_t length = (size_t)(rows->sequences[s + 1] - rows->sequences[s]);
        longest = length > longest ? length : longest;
    }
    double *scores = numbers(rows->width), *reached = numbers(rows->width), *before = numbers(rows->width);
    uint16_t *back = malloc(longest * rows->n_labels * sizeof *back);
    const int done = scores && reached && before && back;
    for (size_t s = first; done && s < last && !stop_wanted(); s++)
        best_labels(rows, weights, rows->sequences[s], rows->sequences[s + 1], scores, reached, before, back,
                    out);
    free(scores);
    free(reached);
    free(before);
    free(back);
    return done;
}
