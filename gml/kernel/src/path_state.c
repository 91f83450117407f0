/* The memory of a path of penalties, and the watcher who may end it. */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "path_state.h"

/* Seconds between two questions to the watcher. */
#define WATCH_SECONDS 0.1

void *aligned_zeros(size_t n, size_t size)
{
    const size_t bytes = (n * size + 63) / 64 * 64;
    void *found = aligned_alloc(64, bytes ? bytes : 64);
    if (found)
        memset(found, 0, bytes ? bytes : 64);
    return found;
}

void path_free(path *p)
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

int path_is_unwanted(path *p)
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

int path_new(path *p, const path_problem *problem, const path_rule *rule)
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
    p->lane_masks = aligned_zeros(256, sizeof(lane_bits));
    p->weights = aligned_zeros(p->padded, sizeof(double));
    p->held_out = aligned_zeros(p->padded, sizeof(double));
    p->targets = aligned_zeros(p->padded, sizeof(double));
    p->scores = aligned_zeros(room, sizeof(double));
    p->steps = aligned_zeros(room, sizeof(double));
    p->trial = aligned_zeros(room, sizeof(double));
    p->probabilities = aligned_zeros(room, sizeof(double));
    p->residuals = aligned_zeros(room, sizeof(double));
    p->curvature = aligned_zeros(p->padded, sizeof(double));
    p->at = aligned_zeros(groups + 1, sizeof(size_t));
    p->in_set = aligned_zeros(groups, 1);
    p->set = aligned_zeros(groups, sizeof(size_t));
    p->local = aligned_zeros(groups, sizeof(size_t));
    p->column_sums = aligned_zeros(columns, sizeof(double));
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
    p->coefficients = aligned_zeros(total, sizeof(double));
    p->gradient = aligned_zeros(total, sizeof(double));
    p->moved = aligned_zeros(total, sizeof(double));
    p->slope = aligned_zeros(total, sizeof(double));
    p->which = aligned_zeros(total, sizeof(size_t));
    p->joint = aligned_zeros(total, sizeof(double));
    p->response = aligned_zeros(total, sizeof(double));
    p->pull = aligned_zeros(4 * largest, sizeof(double));
    p->scratch = aligned_zeros(2 * widest * widest + largest, sizeof(double));
    if (!p->coefficients || !p->gradient || !p->moved || !p->slope || !p->joint || !p->response
        || !p->which || !p->pull || !p->scratch)
        return 0;
    fill_lane_masks(p->lane_masks);
    return 1;
}
