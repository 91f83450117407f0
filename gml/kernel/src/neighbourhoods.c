/* Minimises, for one penalty after the other, beginning where the previous one ended,

       L(F) + penalty · sum over groups of weight · |B_g|,

   L the mean loss of a (multinomial) logistic regression. A Newton step replaces L by its quadratic
   model on the groups that may matter (Friedman, Hastie & Tibshirani 2010), which is minimised group
   by group, each exactly, by the eigenvalues of its Hessian; a line search makes it descend. Groups are left out by the sequential strong rule (Tibshirani
   et al. 2012, section 7) and come back where the conditions of a minimum fail.

   Columns are bits. All that rows are needed for are sums of numbers over the rows with a bit, which
   are made in eight lanes in one order, whatever the instructions. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "neighbourhoods.h"
#include "stop.h"

#if GML_X86 && defined(__linux__)
#define LANE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LANE_CLONES
#endif

/* Vectors are passed differently to functions for other instructions, so none takes them. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

enum { LANES = 8, MOST_STEPS = 200, MOST_SWEEPS = 1000, MOST_HALVINGS = 40,
       MOST_ROTATIONS = 30 };

/* The share of a parameter's cost that is not worth going on for. */
#define NEGLIGIBLE 0.01

typedef double lanes __attribute__((vector_size(64), aligned(64)));
typedef int64_t lane_bits __attribute__((vector_size(64), aligned(64)));

typedef struct {
    const path_problem *problem;
    size_t n_scores;            /* functions of a row that its probabilities come from */
    size_t blocks, padded;      /* groups of eight rows, and the rows in them */
    lane_bits *lane_masks;      /* of a byte: all ones in the lanes of its bits */
    double *weights, *held_out; /* of the rows, with zeros to fill the lanes */
    double *targets;            /* whether the class is the second of two */
    double *scores, *steps;     /* n_scores × padded: of the rows, and how they change */
    double *trial;
    double *probabilities;      /* of the classes, or of the second of two */
    double *residuals;          /* weight · (probability - whether it is the class) */
    double *curvature;          /* weights of the Hessian for one pair of scores */
    double *coefficients;       /* n_scores, then by group dimensions × n_scores */
    double *gradient;           /* in the same order */
    size_t *at;                 /* where the coefficients of a group begin */
    uint8_t *in_set;            /* whether a group is among those of the quadratic model */
    size_t *set, set_size;
    size_t *local;              /* where the coefficients of a group of the set begin in the model */
    size_t dimension;           /* of the model */
    double *hessian, *factor;
    size_t hessian_room;
    double *moved, *slope;
    double *values;             /* eigenvalues of the blocks on the diagonal of the Hessian */
    double *pull;
    uint8_t *is_decomposed;
    double *column_sums;        /* one per indicator column */
    double *scratch;
    int is_current;             /* whether the Hessian is that of the set */
    double loss, held_out_loss;
    uint64_t work;
} path;

static void *aligned(size_t n, size_t size)
{
    const size_t bytes = (n * size + 63) / 64 * 64;
    void *found = aligned_alloc(64, bytes ? bytes : 64);
    if (found)
        memset(found, 0, bytes ? bytes : 64);
    return found;
}

static void path_free(path *p)
{
    free(p->lane_masks);
    free(p->weights);
    free(p->held_out);
    free(p->targets);
    free(p->scores);
    free(p->steps);
    free(p->trial);
    free(p->probabilities);
    free(p->residuals);
    free(p->curvature);
    free(p->coefficients);
    free(p->gradient);
    free(p->at);
    free(p->in_set);
    free(p->set);
    free(p->local);
    free(p->hessian);
    free(p->factor);
    free(p->moved);
    free(p->slope);
    free(p->values);
    free(p->pull);
    free(p->is_decomposed);
    free(p->column_sums);
    free(p->scratch);
}

static size_t group_size(const path *p, size_t g)
{
    return (size_t)p->problem->ranks[g] * p->n_scores;
}

static int path_new(path *p, const path_problem *problem)
{
    const size_t groups = problem->n_groups, columns = (size_t)problem->starts[groups];
    memset(p, 0, sizeof *p);
    p->problem = problem;
    p->n_scores = problem->n_classes == 2 ? 1 : problem->n_classes;
    p->blocks = (problem->n_rows + LANES - 1) / LANES;
    p->padded = p->blocks * LANES;
    const size_t room = p->n_scores * p->padded;
    p->lane_masks = aligned(256, sizeof(lane_bits));
    p->weights = aligned(p->padded, sizeof(double));
    p->held_out = aligned(p->padded, sizeof(double));
    p->targets = aligned(p->padded, sizeof(double));
    p->scores = aligned(room, sizeof(double));
    p->steps = aligned(room, sizeof(double));
    p->trial = aligned(room, sizeof(double));
    p->probabilities = aligned(room, sizeof(double));
    p->residuals = aligned(room, sizeof(double));
    p->curvature = aligned(p->padded, sizeof(double));
    p->at = aligned(groups + 1, sizeof(size_t));
    p->in_set = aligned(groups, 1);
    p->set = aligned(groups, sizeof(size_t));
    p->local = aligned(groups, sizeof(size_t));
    p->column_sums = aligned(columns, sizeof(double));
    if (!p->lane_masks || !p->weights || !p->held_out || !p->targets)
        return 0;
    if (!p->scores || !p->steps || !p->trial || !p->probabilities || !p->residuals
        || !p->curvature || !p->at || !p->in_set || !p->set || !p->local || !p->column_sums)
        return 0;
    for (size_t i = 0; i < problem->n_rows; i++) {
        p->weights[i] = problem->weights[i];
        p->held_out[i] = problem->held_out ? problem->held_out[i] : 0;
        p->targets[i] = problem->classes[i] == 1;
    }
    size_t total = p->n_scores, widest = 1, largest = p->n_scores;
    for (size_t g = 0; g < groups; g++) {
        const size_t width = (size_t)(problem->starts[g + 1] - problem->starts[g]);
        p->at[g] = total;
        total += group_size(p, g);
        widest = width > widest ? width : widest;
        largest = group_size(p, g) > largest ? group_size(p, g) : largest;
    }
    p->coefficients = aligned(total, sizeof(double));
    p->gradient = aligned(total, sizeof(double));
    p->moved = aligned(total, sizeof(double));
    p->slope = aligned(total, sizeof(double));
    p->values = aligned(total, sizeof(double));
    p->pull = aligned(2 * largest, sizeof(double));
    p->is_decomposed = aligned(groups + 1, 1);
    p->scratch = aligned(2 * widest * widest + largest * largest, sizeof(double));
    if (!p->coefficients || !p->gradient || !p->moved || !p->slope || !p->values || !p->pull
        || !p->is_decomposed || !p->scratch)
        return 0;
    for (int byte = 0; byte < 256; byte++)
        for (int k = 0; k < LANES; k++)
            p->lane_masks[byte][k] = byte >> k & 1 ? -1 : 0;
    return 1;
}

ALWAYS_INLINE double lane_sum(lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

static const uint8_t *column(const path *p, size_t j)
{
    return p->problem->masks + j * p->problem->stride;
}

/* Sums of numbers over the rows that have a bit in each of some columns and, if `also` is not NULL, in
   that one. */
LANE_CLONES static void sums_over(const uint8_t *first, size_t stride, size_t n_columns,
                                  const uint8_t *also, size_t blocks, const double *numbers,
                                  const lane_bits *masks, double *out)
{
    const lane_bits *v = (const lane_bits *)numbers;
    size_t j = 0;
    for (; j + 4 <= n_columns; j += 4) {
        const uint8_t *a = first + j * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        lanes sa = {0}, sb = {0}, sc = {0}, sd = {0};
        for (size_t k = 0; k < blocks; k++) {
            const int in = also ? also[k] : 255;
            const lane_bits here = v[k];
            sa += (lanes)(here & masks[a[k] & in]);
            sb += (lanes)(here & masks[b[k] & in]);
            sc += (lanes)(here & masks[c[k] & in]);
            sd += (lanes)(here & masks[d[k] & in]);
        }
        out[j] = lane_sum(sa);
        out[j + 1] = lane_sum(sb);
        out[j + 2] = lane_sum(sc);
        out[j + 3] = lane_sum(sd);
    }
    for (; j < n_columns; j++) {
        const uint8_t *a = first + j * stride;
        lanes sa = {0};
        for (size_t k = 0; k < blocks; k++)
            sa += (lanes)(v[k] & masks[a[k] & (also ? also[k] : 255)]);
        out[j] = lane_sum(sa);
    }
}

LANE_CLONES static double plain_sum(size_t blocks, const double *numbers)
{
    const lanes *v = (const lanes *)numbers;
    lanes sum = {0};
    for (size_t k = 0; k < blocks; k++)
        sum += v[k];
    return lane_sum(sum);
}

ALWAYS_INLINE lanes all_lanes(double number)
{
    return (lanes){number, number, number, number, number, number, number, number};
}

/* Add a number to the rows with a bit. */
LANE_CLONES static void add_where(const uint8_t *bits, size_t blocks, double number,
                                  const lane_bits *masks, double *out)
{
    const lanes all = all_lanes(number);
    lanes *v = (lanes *)out;
    for (size_t k = 0; k < blocks; k++)
        v[k] += (lanes)((lane_bits)all & masks[bits[k]]);
}

/* exp(-t) for t from 0 to 700: 2^-k times a Taylor series on half a binary logarithm around 0. */
ALWAYS_INLINE lanes exp_minus(lanes t)
{
    const lanes magic = all_lanes(6755399441055744.0);
    const lanes rounded = t * all_lanes(1.4426950408889634) + magic, k = rounded - magic;
    const lanes r = k * all_lanes(0.693147180369123816490) - t
                    + k * all_lanes(1.90821492927058770002e-10);
    lanes sum = all_lanes(1.0 / 6227020800);
    static const double factorials[] = {479001600, 39916800, 3628800, 362880, 40320, 5040, 720,
                                        120, 24, 6, 2, 1, 1};
    for (int m = 0; m < 13; m++)
        sum = sum * r + all_lanes(1 / factorials[m]);
    const lane_bits exponent = (lane_bits)rounded << 52;
    return (lanes)((lane_bits)sum - exponent);
}

/* ln(1 + e) for e from 0 to 1: the series of the area tangent of e / (2 + e). */
ALWAYS_INLINE lanes log_one_plus(lanes e)
{
    const lanes z = e / (e + all_lanes(2)), square = z * z;
    lanes sum = all_lanes(1.0 / 35);
    for (int m = 33; m > 0; m -= 2)
        sum = sum * square + all_lanes(1.0 / m);
    return (z + z) * sum;
}

LANE_CLONES static void evaluate_two(path *p, const double *scores)
{
    const lane_bits no_sign = (lane_bits)all_lanes(-0.0);
    lanes loss = {0}, held_out = {0};
    for (size_t k = 0; k < p->blocks; k++) {
        const lanes s = ((const lanes *)scores)[k], y = ((const lanes *)p->targets)[k];
        const lanes weight = ((const lanes *)p->weights)[k];
        const lane_bits positive = s >= all_lanes(0);
        lanes size = (lanes)((lane_bits)s & ~no_sign);
        const lane_bits large = size > all_lanes(700);
        size = (lanes)(((lane_bits)size & ~large) | ((lane_bits)all_lanes(700) & large));
        const lanes e = exp_minus(size), larger = all_lanes(1) / (all_lanes(1) + e);
        const lanes smaller = e * larger;
        const lanes second =
            (lanes)(((lane_bits)larger & positive) | ((lane_bits)smaller & ~positive));
        const lanes own = (lanes)((lane_bits)s & positive) - y * s + log_one_plus(e);
        ((lanes *)p->probabilities)[k] = second;
        ((lanes *)p->residuals)[k] = weight * (second - y);
        loss += weight * own;
        held_out += ((const lanes *)p->held_out)[k] * own;
    }
    p->loss = lane_sum(loss);
    p->held_out_loss = lane_sum(held_out);
}

static void evaluate_several(path *p, const double *scores)
{
    const size_t q = p->n_scores, padded = p->padded;
    double loss = 0, held_out = 0;
    for (size_t i = 0; i < p->problem->n_rows; i++) {
        const size_t class = (size_t)p->problem->classes[i];
        double top = scores[i], sum = 0;
        for (size_t a = 1; a < q; a++)
            top = scores[a * padded + i] > top ? scores[a * padded + i] : top;
        for (size_t a = 0; a < q; a++)
            sum += p->probabilities[a * padded + i] = exp(scores[a * padded + i] - top);
        const double own = log(sum) + top - scores[class * padded + i];
        for (size_t a = 0; a < q; a++) {
            double *probability = &p->probabilities[a * padded + i];
            *probability /= sum;
            p->residuals[a * padded + i] = p->weights[i] * (*probability - (class == a));
        }
        if (p->weights[i] > 0)
            loss += p->weights[i] * own;
        if (p->held_out[i] > 0)
            held_out += p->held_out[i] * own;
    }
    p->loss = loss;
    p->held_out_loss = held_out;
}

/* Losses and residuals of the rows from their scores; returns whether the loss is finite. */
static int evaluate(path *p, const double *scores)
{
    if (p->n_scores == 1)
        evaluate_two(p, scores);
    else
        evaluate_several(p, scores);
    return isfinite(p->loss);
}

/* The gradient of the loss in the coefficients of a group (its column sums are at hand). */
static void group_gradient(path *p, size_t g, size_t score, double total)
{
    const path_problem *problem = p->problem;
    const size_t rank = (size_t)problem->ranks[g], q = p->n_scores;
    const double *basis = problem->bases + problem->base_starts[g];
    for (size_t m = 0; m < rank; m++) {
        double sum = 0;
        for (int64_t j = problem->starts[g]; j < problem->starts[g + 1]; j++)
            sum += basis[(size_t)(j - problem->starts[g]) * rank + m]
                   * (p->column_sums[j] - problem->means[j] * total);
        p->gradient[p->at[g] + m * q + score] = sum;
    }
}

/* The gradient of the groups of the set, or of all. */
static void find_gradient(path *p, int all)
{
    const path_problem *problem = p->problem;
    for (size_t a = 0; a < p->n_scores; a++) {
        const double *numbers = p->residuals + a * p->padded;
        const double total = plain_sum(p->blocks, numbers);
        p->gradient[a] = total;
        const size_t count = all ? problem->n_groups : p->set_size;
        for (size_t k = 0; k < count;) {
            const size_t g = all ? k : p->set[k];
            size_t end = k + 1;
            /* Groups side by side are summed in one go, those left out among them. */
            while (all && end < count && end < k + 16)
                end++;
            const size_t last = all ? end - 1 : g;
            const size_t from = (size_t)problem->starts[g];
            const size_t columns = (size_t)problem->starts[last + 1] - from;
            sums_over(column(p, from), problem->stride, columns, NULL, p->blocks, numbers,
                      p->lane_masks, p->column_sums + from);
            for (size_t h = g; h <= last; h++)
                group_gradient(p, h, a, total);
            k = end;
            if (stop_after(&p->work, columns * p->blocks))
                return;
        }
    }
}

static double norm_of(const double *v, size_t n)
{
    double sum = 0;
    if (n == 1)
        return fabs(v[0]);
    for (size_t k = 0; k < n; k++)
        sum += v[k] * v[k];
    return sqrt(sum);
}

/* By how much a group misses the conditions of a minimum, in shares of its penalty. */
static double group_gap(const path *p, size_t g, double penalty)
{
    const size_t size = group_size(p, g);
    const double *b = p->coefficients + p->at[g], *slope = p->gradient + p->at[g];
    const double own = penalty * p->problem->group_weights[g], norm = norm_of(b, size);
    double sum = 0;
    if (norm == 0)
        return norm_of(slope, size) / own - 1;
    for (size_t k = 0; k < size; k++) {
        const double rest = slope[k] / own + b[k] / norm;
        sum += rest * rest;
    }
    return sqrt(sum);
}

static double set_gap(const path *p, double penalty)
{
    double gap = norm_of(p->gradient, p->n_scores) / penalty;
    for (size_t k = 0; k < p->set_size; k++) {
        const double own = group_gap(p, p->set[k], penalty);
        gap = own > gap ? own : gap;
    }
    return gap;
}

/* Put the set in order and find the places of its coefficients in the model. */
static void lay_out(path *p)
{
    p->set_size = 0;
    p->dimension = p->n_scores;
    p->is_current = 0;
    for (size_t g = 0; g < p->problem->n_groups; g++)
        if (p->in_set[g]) {
            p->local[p->set_size] = p->dimension;
            p->set[p->set_size++] = g;
            p->dimension += group_size(p, g);
        }
}

static int make_room(path *p, const path_rule *rule, path_result *result)
{
    const size_t wanted = p->dimension * p->dimension;
    if (wanted > rule->room) {
        result->needed = wanted;
        return PATH_TOO_LARGE;
    }
    if (wanted > p->hessian_room) {
        free(p->hessian);
        free(p->factor);
        p->hessian_room = 2 * wanted < rule->room ? 2 * wanted : wanted;
        p->hessian = aligned(p->hessian_room, sizeof(double));
        p->factor = aligned(p->hessian_room, sizeof(double));
        if (!p->hessian || !p->factor)
            return PATH_NO_MEMORY;
    }
    return PATH_OK;
}

/* Weights of the rows in the Hessian of two scores. */
static void find_curvature(path *p, size_t a, size_t b)
{
    const double *weights = p->weights;
    const double *pa = p->probabilities + a * p->padded, *pb = p->probabilities + b * p->padded;
    for (size_t i = 0; i < p->problem->n_rows; i++)
        p->curvature[i] = weights[i] * (a == b ? pa[i] * (1 - pa[i]) : -pa[i] * pb[i]);
}

static void put(path *p, size_t row, size_t col, double value)
{
    p->hessian[row * p->dimension + col] = value;
    p->hessian[col * p->dimension + row] = value;
}

/* The block of the Hessian for groups g and h and scores a and b, from sums over pairs of columns. */
static void put_block(path *p, size_t kg, size_t kh, size_t a, size_t b, const double *pairs)
{
    const path_problem *problem = p->problem;
    const size_t g = p->set[kg], h = p->set[kh], q = p->n_scores;
    const size_t rank_g = (size_t)problem->ranks[g], rank_h = (size_t)problem->ranks[h];
    const size_t wide_g = (size_t)(problem->starts[g + 1] - problem->starts[g]);
    const size_t wide_h = (size_t)(problem->starts[h + 1] - problem->starts[h]);
    const double *basis_g = problem->bases + problem->base_starts[g];
    const double *basis_h = problem->bases + problem->base_starts[h];
    double *half = p->scratch + wide_g * wide_h;
    for (size_t j = 0; j < wide_g; j++)
        for (size_t m = 0; m < rank_h; m++) {
            double sum = 0;
            for (size_t l = 0; l < wide_h; l++)
                sum += pairs[j * wide_h + l] * basis_h[l * rank_h + m];
            half[j * rank_h + m] = sum;
        }
    for (size_t m = 0; m < rank_g; m++)
        for (size_t r = 0; r < rank_h; r++) {
            double sum = 0;
            for (size_t j = 0; j < wide_g; j++)
                sum += basis_g[j * rank_g + m] * half[j * rank_h + r];
            put(p, p->local[kg] + m * q + a, p->local[kh] + r * q + b, sum);
            put(p, p->local[kg] + m * q + b, p->local[kh] + r * q + a, sum);
        }
}

static void find_hessian_of(path *p, size_t a, size_t b)
{
    const path_problem *problem = p->problem;
    const size_t q = p->n_scores;
    const double total = plain_sum(p->blocks, p->curvature);
    put(p, a, b, total);
    for (size_t k = 0; k < p->set_size; k++) {
        const size_t g = p->set[k], rank = (size_t)problem->ranks[g];
        const size_t from = (size_t)problem->starts[g], to = (size_t)problem->starts[g + 1];
        const double *basis = problem->bases + problem->base_starts[g];
        sums_over(column(p, from), problem->stride, to - from, NULL, p->blocks, p->curvature,
                  p->lane_masks, p->column_sums + from);
        for (size_t m = 0; m < rank; m++) {
            double sum = 0;
            for (size_t j = from; j < to; j++)
                sum += basis[(j - from) * rank + m]
                       * (p->column_sums[j] - problem->means[j] * total);
            put(p, p->local[k] + m * q + a, b, sum);
            put(p, p->local[k] + m * q + b, a, sum);
        }
    }
    for (size_t kg = 0; kg < p->set_size; kg++)
        for (size_t kh = 0; kh <= kg; kh++) {
            const size_t g = p->set[kg], h = p->set[kh];
            const size_t from = (size_t)problem->starts[h];
            const size_t wide = (size_t)problem->starts[h + 1] - from;
            for (int64_t j = problem->starts[g]; j < problem->starts[g + 1]; j++) {
                double *sums = p->scratch + (size_t)(j - problem->starts[g]) * wide;
                sums_over(column(p, from), problem->stride, wide, column(p, (size_t)j), p->blocks,
                          p->curvature, p->lane_masks, sums);
                const double mean = problem->means[j];
                for (size_t l = 0; l < wide; l++)
                    sums[l] += mean * problem->means[from + l] * total
                               - mean * p->column_sums[from + l]
                               - problem->means[from + l] * p->column_sums[j];
                if (stop_after(&p->work, wide * p->blocks))
                    return;
            }
            put_block(p, kg, kh, a, b, p->scratch);
        }
}

static void find_hessian(path *p)
{
    for (size_t a = 0; a < p->n_scores; a++)
        for (size_t b = 0; b <= a; b++) {
            find_curvature(p, a, b);
            find_hessian_of(p, a, b);
        }
    p->is_current = 1;
}

/* The eigenvalues and, as rows, the eigenvectors of a block on the diagonal, by Jacobi's rotations. */
static void decompose(path *p, size_t from, size_t size, double *values, double *vectors)
{
    double *block = p->scratch, total = 0;
    for (size_t r = 0; r < size; r++)
        for (size_t c = 0; c < size; c++) {
            block[r * size + c] = p->hessian[(from + r) * p->dimension + from + c];
            vectors[r * size + c] = r == c;
            total += fabs(block[r * size + c]);
        }
    for (int sweep = 0; sweep < MOST_ROTATIONS; sweep++) {
        double rest = 0;
        for (size_t r = 0; r < size; r++)
            for (size_t c = 0; c < r; c++) {
                const double off = block[r * size + c];
                rest += fabs(off);
                if (fabs(off) <= 1e-16 * total)
                    continue;
                const double half = (block[c * size + c] - block[r * size + r]) / (2 * off);
                const double t = (half >= 0 ? 1 : -1) / (fabs(half) + sqrt(half * half + 1));
                const double cosine = 1 / sqrt(t * t + 1), sine = t * cosine;
                for (size_t k = 0; k < size; k++) {
                    const double x = block[r * size + k], y = block[c * size + k];
                    block[r * size + k] = cosine * x - sine * y;
                    block[c * size + k] = sine * x + cosine * y;
                }
                for (size_t k = 0; k < size; k++) {
                    const double x = block[k * size + r], y = block[k * size + c];
                    block[k * size + r] = cosine * x - sine * y;
                    block[k * size + c] = sine * x + cosine * y;
                }
                for (size_t k = 0; k < size; k++) {
                    const double x = vectors[r * size + k], y = vectors[c * size + k];
                    vectors[r * size + k] = cosine * x - sine * y;
                    vectors[c * size + k] = sine * x + cosine * y;
                }
            }
        if (rest <= 1e-11 * total || stop_after(&p->work, size * size * size))
            break;
    }
    for (size_t k = 0; k < size; k++)
        values[k] = block[k * size + k] > 1e-14 * total ? block[k * size + k] : 0;
}

/* Where pull' z - z' H z / 2 - penalty · |z| is largest, with the pull along the eigenvectors of H: the
   norm t of z solves sum (pull / (eigenvalue · t + penalty))² = 1. The inverse root of this sum is concave
   in t, so that Newton's iteration comes up to the solution from below. */
static void solve_block(double *pull, const double *values, size_t size, double penalty)
{
    double t = 0;
    if (penalty == 0) {
        for (size_t k = 0; k < size; k++)
            pull[k] = values[k] > 0 ? pull[k] / values[k] : 0;
        return;
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        double sum = 0, slope = 0;
        for (size_t k = 0; k < size; k++) {
            const double below = values[k] * t + penalty, share = pull[k] / below;
            sum += share * share;
            slope += share * share * values[k] / below;
        }
        const double more = slope > 0 ? (sqrt(sum) - 1) * sum / slope : 0;
        t += more > 0 ? more : 0;
        if (!(more > 1e-15 * t))
            break;
    }
    for (size_t k = 0; k < size; k++)
        pull[k] *= t / (values[k] * t + penalty);
}

/* Move one block of the quadratic model to its minimum; returns the change of its slope. The block is
   decomposed when it has more than one dimension and is first found to be in. */
static double move_block(path *p, size_t from, size_t size, const double *start, double penalty,
                         uint8_t *is_decomposed, double *vectors)
{
    const size_t d = p->dimension;
    double *moved = p->moved + from, *slope = p->slope + from, *values = p->values + from;
    double *pull = p->pull, *to = p->pull + size, norm = 0;
    for (size_t r = 0; r < size; r++) {
        double sum = -slope[r];
        for (size_t c = 0; c < size; c++)
            sum += p->hessian[(from + r) * d + from + c] * (start[c] + moved[c]);
        pull[r] = sum;
    }
    const double length = norm_of(pull, size);
    if (penalty > 0 && length <= penalty)
        memset(to, 0, size * sizeof(double));
    else if (size == 1) {
        const double curve = p->hessian[from * d + from];
        to[0] = (length - penalty) / (curve > 1e-300 ? curve : 1e-300) * (pull[0] < 0 ? -1 : 1);
    } else {
        if (!*is_decomposed)
            decompose(p, from, size, values, vectors);
        *is_decomposed = 1;
        double *along = p->scratch;
        for (size_t k = 0; k < size; k++) {
            along[k] = 0;
            for (size_t c = 0; c < size; c++)
                along[k] += vectors[k * size + c] * pull[c];
        }
        solve_block(along, values, size, penalty);
        memset(to, 0, size * sizeof(double));
        for (size_t k = 0; k < size; k++)
            for (size_t c = 0; c < size; c++)
                to[c] += vectors[k * size + c] * along[k];
    }
    for (size_t k = 0; k < size; k++) {
        const double change = to[k] - start[k] - moved[k];
        const double *row = p->hessian + (from + k) * d;
        /* Exactly 0, and not nearly so, where the group is out. */
        moved[k] = to[k] - start[k];
        if (change == 0)
            continue;
        norm += fabs(change) * row[from + k];
        for (size_t c = 0; c < d; c++)
            p->slope[c] += row[c] * change;
    }
    return norm;
}

/* Minimise the quadratic model; `moved` says by how much the coefficients change. */
static void minimise_model(path *p, double penalty, double tolerance)
{
    const path_problem *problem = p->problem;
    const size_t q = p->n_scores;
    memset(p->moved, 0, p->dimension * sizeof(double));
    memset(p->is_decomposed, 0, p->set_size + 1);
    memcpy(p->slope, p->gradient, q * sizeof(double));
    for (size_t k = 0; k < p->set_size; k++) {
        const size_t g = p->set[k];
        memcpy(p->slope + p->local[k], p->gradient + p->at[g], group_size(p, g) * sizeof(double));
    }
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double most = move_block(p, 0, q, p->coefficients, 0, p->is_decomposed, p->factor) / penalty;
        double *vectors = p->factor + q * q;
        for (size_t k = 0; k < p->set_size; k++) {
            const size_t g = p->set[k], size = group_size(p, g);
            const double own = penalty * problem->group_weights[g];
            const double change = move_block(p, p->local[k], size, p->coefficients + p->at[g], own,
                                             p->is_decomposed + k + 1, vectors);
            most = change / own > most ? change / own : most;
            vectors += size * size;
        }
        if (most <= tolerance || stop_after(&p->work, p->dimension * p->dimension))
            return;
    }
}

/* The scores that go with the coefficients' changes. */
static void find_steps(path *p)
{
    const path_problem *problem = p->problem;
    const size_t q = p->n_scores;
    for (size_t a = 0; a < q; a++) {
        double *steps = p->steps + a * p->padded, constant = p->moved[a];
        memset(steps, 0, p->padded * sizeof(double));
        for (size_t k = 0; k < p->set_size; k++) {
            const size_t g = p->set[k], rank = (size_t)problem->ranks[g];
            const double *basis = problem->bases + problem->base_starts[g];
            for (int64_t j = problem->starts[g]; j < problem->starts[g + 1]; j++) {
                double sum = 0;
                for (size_t m = 0; m < rank; m++)
                    sum += basis[(size_t)(j - problem->starts[g]) * rank + m]
                           * p->moved[p->local[k] + m * q + a];
                if (sum == 0)
                    continue;
                add_where(column(p, (size_t)j), p->blocks, sum, p->lane_masks, steps);
                constant -= problem->means[j] * sum;
                if (stop_after(&p->work, p->blocks))
                    return;
            }
        }
        for (size_t i = 0; i < p->padded; i++)
            steps[i] += constant;
    }
}

/* The sum of weighted norms when a share of the step is taken. */
static double weighted_norms(const path *p, double share)
{
    double sum = 0;
    for (size_t k = 0; k < p->set_size; k++) {
        const size_t g = p->set[k], size = group_size(p, g);
        double *there = p->scratch;
        for (size_t m = 0; m < size; m++)
            there[m] = p->coefficients[p->at[g] + m] + share * p->moved[p->local[k] + m];
        sum += p->problem->group_weights[g] * norm_of(there, size);
    }
    return sum;
}

/* Take the step, or the largest of its halves, quarters, … that descends; returns whether one does. */
static int take_step(path *p, double penalty)
{
    const double norms = weighted_norms(p, 0), before = p->loss + penalty * norms;
    double fall = penalty * (weighted_norms(p, 1) - norms), share = 1;
    for (size_t a = 0; a < p->n_scores; a++)
        fall += p->gradient[a] * p->moved[a];
    for (size_t k = 0; k < p->set_size; k++)
        for (size_t m = 0; m < group_size(p, p->set[k]); m++)
            fall += p->gradient[p->at[p->set[k]] + m] * p->moved[p->local[k] + m];
    for (int halving = 0; halving < MOST_HALVINGS; halving++, share /= 2) {
        for (size_t i = 0; i < p->n_scores * p->padded; i++)
            p->trial[i] = p->scores[i] + share * p->steps[i];
        const int finite = evaluate(p, p->trial);
        const double after = p->loss + penalty * weighted_norms(p, share);
        if (!finite || after > before + 1e-4 * share * fall + 1e-14 * (1 + before))
            continue;
        double *old = p->scores;
        p->scores = p->trial;
        p->trial = old;
        for (size_t a = 0; a < p->n_scores; a++)
            p->coefficients[a] += share * p->moved[a];
        for (size_t k = 0; k < p->set_size; k++)
            for (size_t m = 0; m < group_size(p, p->set[k]); m++)
                p->coefficients[p->at[p->set[k]] + m] += share * p->moved[p->local[k] + m];
        return 1;
    }
    evaluate(p, p->scores);
    return 0;
}

/* Take in the groups at which the conditions fail; returns their number. */
static size_t take_in_failing(path *p, double penalty, double tolerance)
{
    size_t failing = 0;
    for (size_t g = 0; g < p->problem->n_groups; g++)
        if (p->problem->ranks[g] > 0 && !p->in_set[g] && group_gap(p, g, penalty) > tolerance) {
            p->in_set[g] = 1;
            failing++;
        }
    if (failing)
        lay_out(p);
    return failing;
}

/* Find the minimum for a penalty, and by how much its conditions are missed. */
static int fit(path *p, double penalty, const path_rule *rule, path_result *result, double *gap)
{
    int tries = 0;
    find_gradient(p, 0);
    for (int step = 0; step < MOST_STEPS; step++) {
        *gap = set_gap(p, penalty);
        if (*gap <= rule->tolerance || tries > 1) {
            find_gradient(p, 1);
            if (!take_in_failing(p, penalty, rule->tolerance))
                return PATH_OK;
            tries = 0;
            *gap = set_gap(p, penalty);
        }
        const int room = make_room(p, rule, result);
        if (room != PATH_OK)
            return room;
        find_hessian(p);
        const double inner = 0.01 * *gap < 0.1 * rule->tolerance ? 0.1 * rule->tolerance
                             : 0.01 * *gap > 0.01               ? 0.01
                                                                : 0.01 * *gap;
        minimise_model(p, penalty, inner);
        find_steps(p);
        if (stop_wanted())
            return PATH_STOPPED;
        /* Where rounding leaves nothing to gain, a second failure ends it. */
        tries = take_step(p, penalty) ? 0 : tries + 1;
        find_gradient(p, 0);
    }
    find_gradient(p, 1);
    return PATH_OK;
}

/* How far −2 ln L per row can still fall without a penalty on the groups that have coefficients, by
   the quadratic model: slope' · inverse of the Hessian · slope. */
static double left_to_gain(path *p)
{
    const size_t d = p->dimension, q = p->n_scores;
    double *slope = p->slope, gain = 0;
    memcpy(slope, p->gradient, q * sizeof(double));
    memcpy(p->factor, p->hessian, d * d * sizeof(double));
    for (size_t k = 0; k < p->set_size; k++) {
        const size_t g = p->set[k], size = group_size(p, g), from = p->local[k];
        const int out = norm_of(p->coefficients + p->at[g], size) == 0;
        for (size_t m = 0; m < size; m++) {
            slope[from + m] = out ? 0 : p->gradient[p->at[g] + m];
            for (size_t c = 0; out && c < d; c++)
                p->factor[(from + m) * d + c] = p->factor[c * d + from + m] = c == from + m;
        }
    }
    /* The scores of several classes have one direction too many. */
    for (size_t r = 0; r < d; r++)
        p->factor[r * d + r] *= 1 + 1e-9;
    for (size_t r = 0; r < d; r++) {
        double rest = slope[r];
        for (size_t c = 0; c <= r; c++) {
            double sum = p->factor[r * d + c];
            for (size_t k = 0; k < c; k++)
                sum -= p->factor[r * d + k] * p->factor[c * d + k];
            if (c < r)
                p->factor[r * d + c] = sum / p->factor[c * d + c];
            else
                p->factor[r * d + r] = sum > 0 ? sqrt(sum) : 1e150;
        }
        for (size_t k = 0; k < r; k++)
            rest -= p->factor[r * d + k] * slope[k];
        slope[r] = rest / p->factor[r * d + r];
        gain += slope[r] * slope[r];
        if (stop_after(&p->work, r * r))
            return gain;
    }
    return gain;
}

/* Whether no smaller penalty is worth a look: the groups found, fitted without a penalty, would be worse
   than the best so far or hardly better than here, and the slope of no other group reaches what its
   parameters cost. */
static int is_over(path *p, const path_rule *rule, double penalty, double criterion, double best)
{
    const size_t q = p->n_scores;
    double spread = 0;
    if (!p->is_current)
        return 0;
    for (size_t a = 0; a < q; a++)
        spread += p->hessian[a * p->dimension + a];
    if (q > 1)
        spread /= 2 * ((double)q - 1);
    if (2 * penalty * penalty > rule->cost * spread)
        return 0;
    const double gain = left_to_gain(p);
    return criterion - gain > best || gain < NEGLIGIBLE * rule->cost;
}

static int64_t record(path *p, double *norms)
{
    const int64_t free_scores = p->n_scores == 1 ? 1 : (int64_t)p->n_scores - 1;
    int64_t parameters = 0;
    for (size_t g = 0; g < p->problem->n_groups; g++) {
        norms[g] = norm_of(p->coefficients + p->at[g], group_size(p, g));
        if (norms[g] > 0)
            parameters += p->problem->ranks[g] * free_scores;
    }
    return parameters;
}

/* The model without groups: the shares of the classes. */
static void begin(path *p)
{
    const path_problem *problem = p->problem;
    const size_t q = p->n_scores;
    double *shares = p->scratch, mean = 0;
    memset(p->slope, 0, q * sizeof(double));
    double second = 0;
    for (size_t i = 0; i < problem->n_rows; i++)
        if (q == 1)
            second += problem->classes[i] ? problem->weights[i] : 0;
        else
            p->slope[problem->classes[i]] += problem->weights[i];
    if (q == 1)
        shares[0] = log(second / (1 - second));
    else {
        for (size_t a = 0; a < q; a++)
            mean += (shares[a] = log(p->slope[a])) / (double)q;
        for (size_t a = 0; a < q; a++)
            shares[a] -= mean;
    }
    for (size_t a = 0; a < q; a++) {
        p->coefficients[a] = shares[a];
        for (size_t i = 0; i < p->padded; i++)
            p->scores[a * p->padded + i] = shares[a];
    }
    evaluate(p, p->scores);
    find_gradient(p, 1);
}

static void choose_penalties(const path *p, const path_rule *rule, double *penalties)
{
    double largest = 0;
    for (size_t g = 0; g < p->problem->n_groups; g++)
        if (p->problem->ranks[g] > 0) {
            const double own =
                norm_of(p->gradient + p->at[g], group_size(p, g)) / p->problem->group_weights[g];
            largest = own > largest ? own : largest;
        }
    for (size_t k = 0; k < rule->n_penalties; k++)
        penalties[k] = largest * pow(rule->ratio, rule->n_penalties > 1
                                     ? (double)k / (double)(rule->n_penalties - 1) : 0);
}

static int walk(path *p, const path_rule *rule, path_result *result)
{
    const size_t groups = p->problem->n_groups;
    double best = INFINITY, previous = INFINITY;
    begin(p);
    const double empty = p->loss;
    if (rule->chosen)
        choose_penalties(p, rule, result->penalties);
    lay_out(p);
    for (size_t k = 0; k < rule->n_penalties; k++) {
        const double penalty = result->penalties[k];
        double gap = 0;
        /* The first penalty is the largest at which a group may have coefficients: none has any. */
        const int nothing = rule->chosen && k == 0;
        if (penalty <= 0 && k > 0)
            break;
        if (!nothing) {
            const double strong = 2 * penalty - (previous < INFINITY ? previous : penalty);
            for (size_t g = 0; g < groups; g++)
                p->in_set[g] = p->problem->ranks[g] > 0
                    && (norm_of(p->coefficients + p->at[g], group_size(p, g)) > 0
                        || norm_of(p->gradient + p->at[g], group_size(p, g))
                               >= strong * p->problem->group_weights[g]);
            lay_out(p);
            const int done = fit(p, penalty, rule, result, &gap);
            if (done != PATH_OK)
                return done;
        }
        if (stop_wanted())
            return PATH_STOPPED;
        result->losses[k] = p->loss;
        result->held_out[k] = p->held_out_loss;
        result->gaps[k] = gap;
        result->parameters[k] = record(p, result->norms + k * groups);
        result->n_done = k + 1;
        const double criterion = 2 * p->loss + rule->cost * (double)result->parameters[k];
        if (rule->cost > 0 && !nothing && is_over(p, rule, penalty, criterion, best))
            break;
        best = criterion < best ? criterion : best;
        /* Nothing is left to explain. */
        if (p->loss < 1e-3 * empty)
            break;
        previous = penalty;
    }
    return PATH_OK;
}

int penalty_path(const path_problem *problem, const path_rule *rule, path_result *result)
{
    path p;
    int done = PATH_NO_MEMORY;
    result->n_done = 0;
    if (path_new(&p, problem))
        done = walk(&p, rule, result);
    path_free(&p);
    return done;
}
