/* The minimum for one penalty. A Newton step replaces the loss by its quadratic model on the groups that may
   matter, the set (Friedman, Hastie & Tibshirani 2010), and a line search makes it descend. Groups that were
   left out come back where the conditions of a minimum fail. */

#include <math.h>
#include <stdlib.h>

#include "path_state.h"
#include "stop.h"

/* By how much a loss may be off, in shares of 1 and itself. */
#define ROUNDING 1e-12

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

void lay_out_set(path *p)
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
        p->hessian = aligned_zeros(p->hessian_room, sizeof(double));
        p->factor = aligned_zeros(p->hessian_room, sizeof(double));
        if (!p->hessian || !p->factor)
            return PATH_NO_MEMORY;
    }
    return PATH_OK;
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
        const int finite = evaluate_loss(p, p->trial);
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
    evaluate_loss(p, p->scores);
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
        lay_out_set(p);
    return failing;
}

int fit_penalty(path *p, double penalty, const path_rule *rule, path_result *result, double *gap)
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
        if (path_is_unwanted(p))
            return PATH_UNWANTED;
        /* Where rounding leaves nothing to gain, a second failure ends it. */
        tries = take_step(p, penalty) ? 0 : tries + 1;
        find_gradient(p, 0);
    }
    find_gradient(p, 1);
    return PATH_OK;
}
