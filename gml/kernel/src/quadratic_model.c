/* The minimum of the quadratic model of the loss, with its penalty, on the groups of the set (Friedman,
   Hastie & Tibshirani 2010): group by group, each exactly; where that takes long, the groups that are in are
   moved together by steps of Newton's for the model and its penalty, which is smooth there. */

#include <math.h>
#include <string.h>

#include "cholesky.h"
#include "path_state.h"
#include "stop.h"

enum { MOST_SWEEPS = 1000 };

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

void minimise_model(path *p, double penalty, double tolerance)
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
        if (most <= tolerance || stop_after(&p->work, effort) || path_is_unwanted(p))
            return;
        /* Groups of several coefficients are moved one by one for as long as all together would take. */
        spent += effort;
        if (has_blocks && sweep > 0 && spent > in * in * in / 24) {
            move_together(p, penalty);
            spent = 0;
        }
    }
}
