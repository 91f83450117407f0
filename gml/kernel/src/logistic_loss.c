/* The mean loss L of a (multinomial) logistic regression, -ln p of the rows' classes, and its gradient, from
   the scores of the rows: of two classes the log odds, of more a score each, whose softmax the probabilities
   are. All that the columns are needed for are sums over the rows with a bit. */

#include <math.h>
#include <string.h>

#include "exp_series.h"
#include "path_state.h"
#include "stop.h"

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

int evaluate_loss(path *p, const double *scores)
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

void find_gradient(path *p, int all)
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

void find_steps(path *p)
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
