/* Minimises, for one penalty after the other, beginning where the previous one ended,

       L(F) + penalty · sum over groups of weight · |B_g|,

   L the mean loss of a (multinomial) logistic regression. A Newton step replaces L by its quadratic
   model on the groups that may matter (Friedman, Hastie & Tibshirani 2010), which is minimised group
   by group, each exactly; where that takes long, the groups that are in are moved together by steps of
   Newton's for the model and its penalty, which is smooth there. A line search makes it descend. Groups
   are left out by the sequential strong rule (Tibshirani et al. 2012, section 7) and come back where the
   conditions of a minimum fail.

   Columns are bits. All that rows are needed for are sums of numbers over the rows with a bit, which
   are made in eight lanes in one order, whatever the instructions. The Hessian of several scores, or of
   columns with many levels, is made instead from sums of the numbers of all pairs of scores at once over
   the rows with a pair of levels. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cholesky.h"
#include "cpu.h"
#include "exp_series.h"
#include "penalty_path.h"
#include "stop.h"

/* Vectors are passed differently to functions for other instructions, so none takes them. */
#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 8, MOST_STEPS = 200, MOST_SWEEPS = 1000, MOST_HALVINGS = 40 };

/* Rows whose curvatures are made at a time, and the most pairs of scores for which they are. */
enum { TILE = 32, MOST_PAIRS = 128 };

/* Seconds between two questions to the watcher. */
#define WATCH_SECONDS 0.1

/* By how much a loss may be off, in shares of 1 and itself. */
#define ROUNDING 1e-12

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
    double *targets;            /* the classes of the rows */
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
    double *pull;
    size_t *which;              /* coefficients of the model that are moved together */
    double *joint, *response;   /* a step of all coefficients that are in, and how the slope changes */
    int32_t *levels;            /* groups × rows, where the Hessian needs them */
    double *level_values;       /* by group: levels × dimensions */
    size_t *values_at;
    double *tables;
    size_t tables_room;
    double *column_sums;        /* one per indicator column */
    double *scratch;
    int is_current;             /* whether the Hessian is that of the set */
    double loss, held_out_loss;
    uint64_t work;
    const path_rule *rule;
    double asked;               /* when the watcher was last asked */
    double share;               /* of the path that is done */
    int is_ended;               /* whether the answer was no */
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
    free(p->pull);
    free(p->which);
    free(p->joint);
    free(p->response);
    free(p->levels);
    free(p->level_values);
    free(p->values_at);
    free(p->tables);
    free(p->column_sums);
    free(p->scratch);
}

static double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether the watcher wants to stop. */
static int is_unwanted(path *p)
{
    if (p->rule->watch && !p->is_ended) {
        const double now = seconds_now();
        if (!(now >= p->asked && now < p->asked + WATCH_SECONDS)) {
            p->asked = now;
            p->is_ended = !p->rule->watch(p->rule->watcher, p->share);
        }
    }
    return p->is_ended;
}

static size_t group_size(const path *p, size_t g)
{
    return (size_t)p->problem->ranks[g] * p->n_scores;
}

static int path_new(path *p, const path_problem *problem, const path_rule *rule)
{
    const size_t groups = problem->n_groups, columns = (size_t)problem->starts[groups];
    memset(p, 0, sizeof *p);
    p->problem = problem;
    p->rule = rule;
    p->asked = seconds_now();
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
        p->targets[i] = problem->classes[i];
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
    p->which = aligned(total, sizeof(size_t));
    p->joint = aligned(total, sizeof(double));
    p->response = aligned(total, sizeof(double));
    p->pull = aligned(4 * largest, sizeof(double));
    p->scratch = aligned(2 * widest * widest + largest, sizeof(double));
    if (!p->coefficients || !p->gradient || !p->moved || !p->slope || !p->joint || !p->response
        || !p->which || !p->pull || !p->scratch)
        return 0;
    for (int byte = 0; byte < 256; byte++)
        for (int k = 0; k < LANES; k++)
            p->lane_masks[byte][k] = byte >> k & 1 ? -1 : 0;
    return 1;
}

LANE_INLINE double lane_sum(lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

static const uint8_t *column(const path *p, size_t j)
{
    return p->problem->masks + j * p->problem->stride;
}

/* Sums of numbers over the rows that have a bit in each of some columns and, if `also` is not NULL, in
   that one. */
LANE_INLINE void sums_over_lanes(const uint8_t *first, size_t stride, size_t n_columns,
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

static BY_LEVEL(void, sums_over,
         (const uint8_t *first, size_t stride, size_t n_columns, const uint8_t *also, size_t blocks,
          const double *numbers, const lane_bits *masks, double *out),
         (first, stride, n_columns, also, blocks, numbers, masks, out))

LANE_INLINE double plain_sum_lanes(size_t blocks, const double *numbers)
{
    const lanes *v = (const lanes *)numbers;
    lanes sum = {0};
    for (size_t k = 0; k < blocks; k++)
        sum += v[k];
    return lane_sum(sum);
}

static BY_LEVEL(double, plain_sum,
         (size_t blocks, const double *numbers),
         (blocks, numbers))

LANE_INLINE lanes all_lanes(double number)
{
    return (lanes){number, number, number, number, number, number, number, number};
}

/* Add a number to the rows with a bit. */
LANE_INLINE void add_where_lanes(const uint8_t *bits, size_t blocks, double number,
                                   const lane_bits *masks, double *out)
{
    const lanes all = all_lanes(number);
    lanes *v = (lanes *)out;
    for (size_t k = 0; k < blocks; k++)
        v[k] += (lanes)((lane_bits)all & masks[bits[k]]);
}

static BY_LEVEL(void, add_where,
         (const uint8_t *bits, size_t blocks, double number, const lane_bits *masks, double *out),
         (bits, blocks, number, masks, out))

EXP_SERIES(exp_lanes, lanes, lane_bits)

/* ln(1 + e) for e from 0 to 1: the series of the area tangent of e / (2 + e). */
LANE_INLINE lanes log_one_plus(lanes e)
{
    const lanes z = e / (e + all_lanes(2)), square = z * z;
    lanes sum = all_lanes(1.0 / 35);
    for (int m = 33; m > 0; m -= 2)
        sum = sum * square + all_lanes(1.0 / m);
    return (z + z) * sum;
}

LANE_INLINE void evaluate_two_lanes(path *p, const double *scores)
{
    const lane_bits sign_bit = (lane_bits)all_lanes(-0.0);
    lanes loss = {0}, held_out = {0};
    for (size_t k = 0; k < p->blocks; k++) {
        const lanes s = ((const lanes *)scores)[k], y = ((const lanes *)p->targets)[k];
        const lanes weight = ((const lanes *)p->weights)[k];
        const lane_bits positive = s >= all_lanes(0);
        lanes size = (lanes)((lane_bits)s & ~sign_bit);
        const lane_bits large = size > all_lanes(700);
        size = (lanes)(((lane_bits)size & ~large) | ((lane_bits)all_lanes(700) & large));
        const lanes e = exp_lanes(-size), larger = all_lanes(1) / (all_lanes(1) + e);
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

static BY_LEVEL(void, evaluate_two,
         (path *p, const double *scores),
         (p, scores))

LANE_INLINE void evaluate_several_lanes(path *p, const double *scores)
{
    const size_t q = p->n_scores, blocks = p->blocks;
    const lanes *s = (const lanes *)scores;
    lanes *probabilities = (lanes *)p->probabilities, *residuals = (lanes *)p->residuals;
    lanes loss = {0}, held_out = {0};
    for (size_t k = 0; k < blocks; k++) {
        const lanes class = ((const lanes *)p->targets)[k], weight = ((const lanes *)p->weights)[k];
        lanes top = s[k], sum = {0}, own = {0};
        for (size_t a = 1; a < q; a++) {
            const lane_bits higher = s[a * blocks + k] > top;
            top = (lanes)(((lane_bits)s[a * blocks + k] & higher) | ((lane_bits)top & ~higher));
        }
        for (size_t a = 0; a < q; a++) {
            lanes below = top - s[a * blocks + k];
            const lane_bits is_class = class == all_lanes((double)a), far = below > all_lanes(700);
            own += (lanes)((lane_bits)below & is_class);
            below = (lanes)(((lane_bits)below & ~far) | ((lane_bits)all_lanes(700) & far));
            sum += probabilities[a * blocks + k] = exp_lanes(-below);
        }
        for (int lane = 0; lane < LANES; lane++)
            own[lane] += log(sum[lane]);
        for (size_t a = 0; a < q; a++) {
            const lane_bits is_class = class == all_lanes((double)a);
            const lanes probability = probabilities[a * blocks + k] / sum;
            probabilities[a * blocks + k] = probability;
            residuals[a * blocks + k] =
                weight * (probability - (lanes)((lane_bits)all_lanes(1) & is_class));
        }
        loss += weight * own;
        held_out += ((const lanes *)p->held_out)[k] * own;
    }
    p->loss = lane_sum(loss);
    p->held_out_loss = lane_sum(held_out);
}

static BY_LEVEL(void, evaluate_several,
         (path *p, const double *scores),
         (p, scores))

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

/* Weights of the rows in the Hessian of one score. */
static void find_curvature(path *p)
{
    for (size_t i = 0; i < p->problem->n_rows; i++)
        p->curvature[i] = p->weights[i] * (p->probabilities[i] * (1 - p->probabilities[i]));
}

static void put(path *p, size_t row, size_t col, double value)
{
    p->hessian[row * p->dimension + col] = value;
    p->hessian[col * p->dimension + row] = value;
}

/* The block of the Hessian of one score for two groups, from sums over pairs of columns. */
static void put_block(path *p, size_t kg, size_t kh, const double *pairs)
{
    const path_problem *problem = p->problem;
    const size_t g = p->set[kg], h = p->set[kh];
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
            put(p, p->local[kg] + m, p->local[kh] + r, sum);
        }
}

/* The Hessian of one score, from sums over columns. */
static void find_hessian_by_columns(path *p)
{
    const path_problem *problem = p->problem;
    find_curvature(p);
    const double total = plain_sum(p->blocks, p->curvature);
    put(p, 0, 0, total);
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
            put(p, p->local[k] + m, 0, sum);
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
            put_block(p, kg, kh, p->scratch);
        }
}

/* What levels the rows have and which values these have in the dimensions of their group. */
static int find_levels(path *p)
{
    const path_problem *problem = p->problem;
    const size_t groups = problem->n_groups, n = problem->n_rows;
    size_t total = 0;
    p->levels = aligned(groups * n, sizeof(int32_t));
    p->values_at = aligned(groups, sizeof(size_t));
    if (!p->levels || !p->values_at)
        return 0;
    for (size_t g = 0; g < groups; g++) {
        p->values_at[g] = total;
        total += (size_t)(problem->starts[g + 1] - problem->starts[g] + 1) * (size_t)problem->ranks[g];
        for (int64_t j = problem->starts[g]; j < problem->starts[g + 1]; j++) {
            const uint8_t *bits = column(p, (size_t)j);
            for (size_t i = 0; i < n; i++)
                if (bits[i / 8] >> i % 8 & 1)
                    p->levels[g * n + i] = (int32_t)(j - problem->starts[g] + 1);
        }
    }
    p->level_values = aligned(total, sizeof(double));
    if (!p->level_values)
        return 0;
    for (size_t g = 0; g < groups; g++) {
        const size_t rank = (size_t)problem->ranks[g];
        const size_t wide = (size_t)(problem->starts[g + 1] - problem->starts[g]);
        const double *basis = problem->bases + problem->base_starts[g];
        const double *means = problem->means + problem->starts[g];
        double *values = p->level_values + p->values_at[g];
        for (size_t m = 0; m < rank; m++) {
            for (size_t j = 0; j < wide; j++)
                values[m] -= means[j] * basis[j * rank + m];
            for (size_t j = 0; j < wide; j++)
                values[(j + 1) * rank + m] = values[m] + basis[j * rank + m];
        }
    }
    return 1;
}

/* Some pairs of scores, the second no later than the first. */
typedef struct {
    size_t count, lanes;
    size_t first[MOST_PAIRS], second[MOST_PAIRS];
} score_pairs;

/* The curvatures of some rows for the pairs, a row's side by side. */
static void find_tile(const path *p, const score_pairs *pairs, size_t from, size_t count, double *tile)
{
    for (size_t i = from; i < from + count; i++, tile += pairs->lanes * LANES) {
        const double *here = p->probabilities + i;
        for (size_t k = 0; k < pairs->count; k++) {
            const double one = here[pairs->first[k] * p->padded];
            const double other = here[pairs->second[k] * p->padded];
            tile[k] = p->weights[i]
                      * (pairs->first[k] == pairs->second[k] ? one * (1 - one) : -one * other);
        }
    }
}

/* Add the numbers of each row to those of its cell. */
LANE_INLINE void add_to_cells_lanes(const double *tile, size_t count, size_t n_lanes,
                                      const size_t *cells, double *table)
{
    const lanes *from = (const lanes *)tile;
    for (size_t i = 0; i < count; i++) {
        lanes *to = (lanes *)table + cells[i] * n_lanes;
        for (size_t k = 0; k < n_lanes; k++)
            to[k] += *from++;
    }
}

static BY_LEVEL(void, add_to_cells,
         (const double *tile, size_t count, size_t n_lanes, const size_t *cells, double *table),
         (tile, count, n_lanes, cells, table))

LANE_INLINE void add_multiple_lanes(double *to, const double *from, double by, size_t n_lanes)
{
    const lanes all = all_lanes(by);
    for (size_t k = 0; k < n_lanes; k++)
        ((lanes *)to)[k] += all * ((const lanes *)from)[k];
}

static BY_LEVEL(void, add_multiple,
         (double *to, const double *from, double by, size_t n_lanes),
         (to, from, by, n_lanes))

static size_t level_count(const path *p, size_t g)
{
    return (size_t)(p->problem->starts[g + 1] - p->problem->starts[g]) + 1;
}

/* Sums for the pairs over the rows with each level of a group and, one after the other, each level of the
   groups before it in the set; those over its own levels come last. */
static void fill_tables(path *p, const score_pairs *pairs, size_t kg, double *tile)
{
    const size_t n = p->problem->n_rows, g = p->set[kg], step = pairs->lanes * LANES;
    size_t cells[TILE];
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        const int32_t *own = p->levels + g * n + from;
        double *table = p->tables;
        find_tile(p, pairs, from, count, tile);
        for (size_t kh = 0; kh < kg; kh++) {
            const size_t h = p->set[kh], wide = level_count(p, h);
            const int32_t *other = p->levels + h * n + from;
            for (size_t i = 0; i < count; i++)
                cells[i] = (size_t)own[i] * wide + (size_t)other[i];
            add_to_cells(tile, count, pairs->lanes, cells, table);
            table += level_count(p, g) * wide * step;
        }
        for (size_t i = 0; i < count; i++)
            cells[i] = (size_t)own[i];
        add_to_cells(tile, count, pairs->lanes, cells, table);
        if (stop_after(&p->work, count * pairs->lanes * (kg + 1)))
            return;
    }
}

/* Put sums for the pairs where a dimension of one group and one of another meet. */
static void put_pairs(path *p, const score_pairs *pairs, size_t row, size_t col, const double *sums)
{
    for (size_t k = 0; k < pairs->count; k++) {
        put(p, row + pairs->first[k], col + pairs->second[k], sums[k]);
        put(p, row + pairs->second[k], col + pairs->first[k], sums[k]);
    }
}

/* The blocks of the Hessian for a group, the intercepts and the groups before it in the set. */
static void put_tables(path *p, const score_pairs *pairs, size_t kg, double *half, double *sums)
{
    const size_t g = p->set[kg], q = p->n_scores, step = pairs->lanes * LANES;
    const size_t rank = (size_t)p->problem->ranks[g], levels = level_count(p, g);
    const double *values = p->level_values + p->values_at[g], *table = p->tables;
    for (size_t kh = 0; kh < kg; kh++) {
        const size_t h = p->set[kh], other = (size_t)p->problem->ranks[h];
        const double *others = p->level_values + p->values_at[h];
        memset(half, 0, levels * other * step * sizeof(double));
        for (size_t l = 0; l < levels; l++)
            for (size_t c = 0; c < level_count(p, h); c++, table += step)
                for (size_t r = 0; r < other; r++)
                    add_multiple(half + (l * other + r) * step, table, others[c * other + r],
                                 pairs->lanes);
        for (size_t m = 0; m < rank; m++)
            for (size_t r = 0; r < other; r++) {
                memset(sums, 0, step * sizeof(double));
                for (size_t l = 0; l < levels; l++)
                    add_multiple(sums, half + (l * other + r) * step, values[l * rank + m],
                                 pairs->lanes);
                put_pairs(p, pairs, p->local[kg] + m * q, p->local[kh] + r * q, sums);
            }
        if (stop_after(&p->work, levels * other * (level_count(p, h) + rank) * pairs->lanes))
            return;
    }
    for (size_t m = 0; m < rank; m++)
        for (size_t r = 0; r <= m + 1; r++) {
            /* One more than its dimensions: the intercepts. */
            const int is_intercept = r == m + 1;
            memset(sums, 0, step * sizeof(double));
            for (size_t l = 0; l < levels; l++)
                add_multiple(sums, table + l * step,
                             values[l * rank + m] * (is_intercept ? 1 : values[l * rank + r]),
                             pairs->lanes);
            put_pairs(p, pairs, p->local[kg] + m * q, is_intercept ? 0 : p->local[kg] + r * q, sums);
        }
}

/* The Hessian for some pairs of scores from sums over levels. */
static void find_hessian_from_levels(path *p, const score_pairs *pairs, double *tile, double *half,
                                     double *sums)
{
    const size_t n = p->problem->n_rows;
    const size_t cells[TILE] = {0};
    memset(tile, 0, TILE * pairs->lanes * LANES * sizeof(double));
    memset(sums, 0, pairs->lanes * LANES * sizeof(double));
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        find_tile(p, pairs, from, count, tile);
        add_to_cells(tile, count, pairs->lanes, cells, sums);
    }
    put_pairs(p, pairs, 0, 0, sums);
    for (size_t kg = 0, before = 0; kg < p->set_size; kg++) {
        const size_t levels = level_count(p, p->set[kg]);
        memset(p->tables, 0, levels * (before + 1) * pairs->lanes * LANES * sizeof(double));
        fill_tables(p, pairs, kg, tile);
        put_tables(p, pairs, kg, half, sums);
        before += levels;
        if (stop_wanted())
            return;
    }
}

static int find_hessian_by_levels(path *p)
{
    const size_t q = p->n_scores, all = q * (q + 1) / 2;
    const size_t most = all < MOST_PAIRS ? all : MOST_PAIRS;
    const size_t step = (most + LANES - 1) / LANES * LANES;
    size_t largest = 0, half = 0, before = 0, rank = 0;
    if (!p->levels && !find_levels(p))
        return 0;
    for (size_t kg = 0; kg < p->set_size; kg++) {
        const size_t levels = level_count(p, p->set[kg]);
        largest = levels * (before + 1) > largest ? levels * (before + 1) : largest;
        half = levels * rank > half ? levels * rank : half;
        before += levels;
        if ((size_t)p->problem->ranks[p->set[kg]] > rank)
            rank = (size_t)p->problem->ranks[p->set[kg]];
    }
    const size_t wanted = (largest + half + TILE + 1) * step;
    if (wanted > p->tables_room) {
        free(p->tables);
        p->tables_room = 2 * wanted;
        p->tables = aligned(p->tables_room, sizeof(double));
        if (!p->tables) {
            p->tables_room = 0;
            return 0;
        }
    }
    score_pairs pairs = {0};
    double *after = p->tables + largest * step;
    for (size_t a = 0; a < q; a++)
        for (size_t b = 0; b <= a; b++) {
            pairs.first[pairs.count] = a;
            pairs.second[pairs.count++] = b;
            if (pairs.count < most && !(a == q - 1 && b == a))
                continue;
            pairs.lanes = (pairs.count + LANES - 1) / LANES;
            find_hessian_from_levels(p, &pairs, after, after + TILE * step, after + (TILE + half) * step);
            pairs.count = 0;
        }
    return 1;
}

/* Find the Hessian of the set; returns whether there was memory for it. */
static int find_hessian(path *p)
{
    size_t columns = 0;
    for (size_t k = 0; k < p->set_size; k++)
        columns += level_count(p, p->set[k]) - 1;
    p->is_current = 1;
    /* Eight rows are summed at a time for a pair of columns, or one for a pair of groups. */
    if (p->n_scores > 1 || columns * columns > 2 * LANES * p->set_size * p->set_size)
        return find_hessian_by_levels(p);
    find_hessian_by_columns(p);
    return 1;
}

/* Where pull' z - z' H z / 2 - penalty · |z| is largest for a block H of the Hessian; z replaces the pull.
   The norm t of z is that at which (t H + penalty) y = pull has a solution of norm 1, and then z = t y.
   The inverse of the norm of y is concave in t, so that Newton's iteration comes up from below. */
static void solve_block(path *p, size_t from, size_t size, double penalty, double t)
{
    const size_t d = p->dimension;
    const double *block = p->hessian + from * d + from;
    double *pull = p->pull, *y = pull + 2 * size, *along = pull + 3 * size, trace = 0;
    for (size_t k = 0; k < size; k++)
        trace += block[k * d + k];
    if (penalty == 0) {
        /* Intercepts: to add the same to all of them changes nothing, so nothing is added. */
        for (size_t r = 0; r < size; r++)
            for (size_t c = 0; c <= r; c++)
                p->factor[r * size + c] = block[r * d + c] + trace / (double)(size * size);
        cholesky(p->factor, size, &p->work);
        cholesky_solve(p->factor, size, pull);
        return;
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        double squares = 0, slope = 0;
        for (size_t r = 0; r < size; r++)
            for (size_t c = 0; c <= r; c++)
                p->factor[r * size + c] = t * block[r * d + c] + (r == c ? penalty : 0);
        cholesky(p->factor, size, &p->work);
        memcpy(y, pull, size * sizeof(double));
        cholesky_solve(p->factor, size, y);
        memcpy(along, y, size * sizeof(double));
        cholesky_solve(p->factor, size, along);
        for (size_t r = 0; r < size; r++) {
            double curve = 0;
            for (size_t c = 0; c < size; c++)
                curve += block[r * d + c] * y[c];
            slope += along[r] * curve;
            squares += y[r] * y[r];
        }
        const double more = slope > 0 ? (sqrt(squares) - 1) * squares / slope : 0;
        const double to = t + more > 0 ? t + more : 0;
        const int is_close = fabs(to - t) <= 1e-12 * t;
        t = to;
        if (is_close || stop_wanted())
            break;
    }
    for (size_t k = 0; k < size; k++)
        pull[k] = t * y[k];
}

/* Move one block of the quadratic model to its minimum; returns the change of its slope. */
static double move_block(path *p, size_t from, size_t size, const double *start, double penalty)
{
    const size_t d = p->dimension;
    double *moved = p->moved + from, *slope = p->slope + from;
    double *pull = p->pull, *here = p->pull + size, norm = 0;
    for (size_t r = 0; r < size; r++)
        here[r] = start[r] + moved[r];
    for (size_t r = 0; r < size; r++) {
        double sum = -slope[r];
        for (size_t c = 0; c < size; c++)
            sum += p->hessian[(from + r) * d + from + c] * here[c];
        pull[r] = sum;
    }
    const double length = norm_of(pull, size);
    if (penalty > 0 && length <= penalty)
        memset(pull, 0, size * sizeof(double));
    else if (size == 1) {
        const double curve = p->hessian[from * d + from];
        pull[0] = (length - penalty) / (curve > 1e-300 ? curve : 1e-300) * (pull[0] < 0 ? -1 : 1);
    } else
        solve_block(p, from, size, penalty, norm_of(here, size));
    for (size_t k = 0; k < size; k++) {
        const double change = pull[k] - start[k] - moved[k];
        const double *row = p->hessian + (from + k) * d;
        /* Exactly 0, and not nearly so, where the group is out. */
        moved[k] = pull[k] - start[k];
        if (change == 0)
            continue;
        norm += fabs(change) * row[from + k];
        for (size_t c = 0; c < d; c++)
            p->slope[c] += row[c] * change;
    }
    return norm;
}

/* Where the coefficients of a group of the set are now in the model. */
static double place_of(const path *p, size_t k, double share, double *there)
{
    const size_t size = group_size(p, p->set[k]), from = p->local[k];
    const double *start = p->coefficients + p->at[p->set[k]];
    for (size_t m = 0; m < size; m++)
        there[m] = start[m] + p->moved[from + m] + share * p->joint[from + m];
    return norm_of(there, size);
}

/* The quadratic model of the groups that are in, and of their norms, in `factor`; the opposite of its slope
   in `response`. Returns its dimension. */
static size_t model_of_those_in(path *p, double penalty)
{
    const size_t d = p->dimension, q = p->n_scores;
    size_t size = 0, *which = p->which;
    for (; size < q; size++)
        which[size] = size;
    memset(p->joint, 0, d * sizeof(double));
    for (size_t k = 0; k < p->set_size; k++)
        if (place_of(p, k, 0, p->pull) > 0)
            for (size_t m = 0; m < group_size(p, p->set[k]); m++)
                which[size++] = p->local[k] + m;
    double trace = 0;
    for (size_t r = 0; r < size; r++) {
        const double *row = p->hessian + which[r] * d;
        for (size_t c = 0; c <= r; c++)
            p->factor[r * size + c] = row[which[c]];
        p->factor[r * size + r] *= 1 + 1e-12;
        p->response[r] = -p->slope[which[r]];
        trace += r < q ? row[which[r]] : 0;
    }
    /* To add the same to all intercepts changes nothing. */
    for (size_t r = 0; q > 1 && r < q; r++)
        for (size_t c = 0; c <= r; c++)
            p->factor[r * size + c] += trace / (double)(q * q);
    for (size_t k = 0, at = q; k < p->set_size; k++) {
        const size_t g = p->set[k], own = group_size(p, g);
        const double norm = place_of(p, k, 0, p->pull), cost = penalty * p->problem->group_weights[g];
        if (norm == 0)
            continue;
        for (size_t r = 0; r < own; r++) {
            const double unit = p->pull[r] / norm;
            for (size_t c = 0; c <= r && own > 1; c++)
                p->factor[(at + r) * size + at + c] +=
                    cost / norm * ((r == c) - unit * (p->pull[c] / norm));
            p->response[at + r] -= cost * unit;
        }
        at += own;
    }
    return size;
}

/* The change of the model when a share of the joint step is taken, the quadratic part given. */
static double model_change(path *p, double penalty, double share, double slope, double curve)
{
    double change = share * (slope + share * curve / 2);
    for (size_t k = 0; k < p->set_size; k++) {
        const double before = place_of(p, k, 0, p->pull);
        if (before > 0)
            change += penalty * p->problem->group_weights[p->set[k]]
                      * (place_of(p, k, share, p->pull) - before);
    }
    return change;
}

/* Move all groups that are in at once, by a step of Newton's for the model and its penalty. */
static void move_together(path *p, double penalty)
{
    const size_t d = p->dimension, size = model_of_those_in(p, penalty), *which = p->which;
    double slope = 0, curve = 0, fall = 0;
    for (size_t r = 0; r < size; r++)
        p->joint[which[r]] = p->response[r];
    cholesky(p->factor, size, &p->work);
    cholesky_solve(p->factor, size, p->response);
    for (size_t r = 0; r < size; r++) {
        fall -= p->joint[which[r]] * p->response[r];
        p->joint[which[r]] = p->response[r];
    }
    memset(p->response, 0, d * sizeof(double));
    for (size_t r = 0; r < size; r++) {
        const double *row = p->hessian + which[r] * d, by = p->joint[which[r]];
        for (size_t c = 0; c < d; c++)
            p->response[c] += row[c] * by;
    }
    for (size_t r = 0; r < size; r++) {
        slope += p->slope[which[r]] * p->joint[which[r]];
        curve += p->response[which[r]] * p->joint[which[r]];
    }
    double share = 1;
    for (int halving = 0; halving < MOST_HALVINGS; halving++, share /= 2)
        if (model_change(p, penalty, share, slope, curve) <= 1e-4 * share * fall)
            break;
        else if (halving == MOST_HALVINGS - 1)
            return;
    for (size_t k = 0; k < d; k++) {
        p->moved[k] += share * p->joint[k];
        p->slope[k] += share * p->response[k];
    }
}

/* Minimise the quadratic model; `moved` says by how much the coefficients change. */
static void minimise_model(path *p, double penalty, double tolerance)
{
    const path_problem *problem = p->problem;
    const size_t q = p->n_scores;
    uint64_t spent = 0, effort = p->dimension * p->dimension;
    int has_blocks = q > 1;
    memset(p->moved, 0, p->dimension * sizeof(double));
    memset(p->joint, 0, p->dimension * sizeof(double));
    memcpy(p->slope, p->gradient, q * sizeof(double));
    for (size_t k = 0; k < p->set_size; k++) {
        const size_t g = p->set[k], size = group_size(p, g);
        memcpy(p->slope + p->local[k], p->gradient + p->at[g], size * sizeof(double));
        effort += size > 1 ? size * size * size : 0;
        has_blocks |= size > 1;
    }
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double most = move_block(p, 0, q, p->coefficients, 0) / penalty;
        uint64_t in = q;
        for (size_t k = 0; k < p->set_size; k++) {
            const size_t g = p->set[k], size = group_size(p, g);
            const double own = penalty * problem->group_weights[g];
            const double change =
                move_block(p, p->local[k], size, p->coefficients + p->at[g], own);
            most = change / own > most ? change / own : most;
            in += place_of(p, k, 0, p->pull) > 0 ? size : 0;
        }
        if (most <= tolerance || stop_after(&p->work, effort) || is_unwanted(p))
            return;
        /* Groups of several coefficients are moved one by one for as long as all together would take. */
        spent += effort;
        if (has_blocks && sweep > 0 && spent > in * in * in / 24) {
            move_together(p, penalty);
            spent = 0;
        }
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
        if (!finite || after > before + 1e-4 * share * fall + ROUNDING * (1 + before))
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
        if (!find_hessian(p))
            return PATH_NO_MEMORY;
        const double inner = 0.01 * *gap < 0.1 * rule->tolerance ? 0.1 * rule->tolerance
                             : 0.01 * *gap > 0.01               ? 0.01
                                                                : 0.01 * *gap;
        minimise_model(p, penalty, inner);
        find_steps(p);
        if (stop_wanted())
            return PATH_STOPPED;
        if (is_unwanted(p))
            return PATH_UNWANTED;
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
    cholesky(p->factor, d, &p->work);
    cholesky_forward(p->factor, d, slope);
    for (size_t r = 0; r < d; r++)
        gain += slope[r] * slope[r];
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
        p->share = (double)k / (double)rule->n_penalties;
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
    if (path_new(&p, problem, rule))
        done = walk(&p, rule, result);
    path_free(&p);
    return done;
}
