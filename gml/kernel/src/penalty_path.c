/* Minimises, for one penalty after the other, beginning where the previous one ended,

       L(F) + penalty · sum over groups of weight · |B_g|,

   L the mean loss of a (multinomial) logistic regression, as Friedman, Hastie & Tibshirani (2010) do: the
   regression is in logistic_loss.c and logistic_hessian.c, a step in quadratic_model.c, the minimum for one
   penalty in penalised_fit.c. Groups are left out by the sequential strong rule (Tibshirani et al. 2012,
   section 7), and a path ends where no smaller penalty is worth a look. */

#include "penalty_path.h"

#include <math.h>
#include <string.h>

#include "cholesky.h"
#include "path_state.h"
#include "stop.h"

/* The share of a parameter's cost that is not worth going on for. */
#define NEGLIGIBLE 0.01

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
    evaluate_loss(p, p->scores);
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
    lay_out_set(p);
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
            lay_out_set(p);
            const int done = fit_penalty(p, penalty, rule, result, &gap);
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
