/* What the files that follow a path of penalties share: its state, and what each of them does to it.
   penalty_path.h is what others see. */
#ifndef GML_PATH_STATE_H
#define GML_PATH_STATE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "bit_sums.h"
#include "penalty_path.h"

enum { MOST_STEPS = 200, MOST_HALVINGS = 40 };

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

/* ------------------------------------------------------------------ path_state.c */

/* Returns 0 without memory, and then too path_free is due. */
int path_new(path *p, const path_problem *problem, const path_rule *rule);
void path_free(path *p);

/* Whether the watcher wants to stop. */
int path_is_unwanted(path *p);

/* Zeros where lanes may begin; NULL without memory. */
void *aligned_zeros(size_t n, size_t size);

static inline size_t group_size(const path *p, size_t g)
{
    return (size_t)p->problem->ranks[g] * p->n_scores;
}

static inline const uint8_t *column(const path *p, size_t j)
{
    return p->problem->masks + j * p->problem->stride;
}

static inline double norm_of(const double *v, size_t n)
{
    double sum = 0;
    if (n == 1)
        return fabs(v[0]);
    for (size_t k = 0; k < n; k++)
        sum += v[k] * v[k];
    return sqrt(sum);
}

/* ------------------------------------------------------------------ logistic_loss.c */

/* Losses and residuals of the rows from their scores; returns whether the loss is finite. */
int evaluate_loss(path *p, const double *scores);

/* The gradient of the groups of the set, or of all. */
void find_gradient(path *p, int all);

/* The scores that go with the coefficients' changes. */
void find_steps(path *p);

/* ------------------------------------------------------------------ logistic_hessian.c */

/* Find the Hessian of the set; returns whether there was memory for it. */
int find_hessian(path *p);

/* ------------------------------------------------------------------ quadratic_model.c */

/* Minimise the quadratic model; `moved` says by how much the coefficients change. */
void minimise_model(path *p, double penalty, double tolerance);

/* ------------------------------------------------------------------ penalised_fit.c */

/* Put the set in order and find the places of its coefficients in the model. */
void lay_out_set(path *p);

/* Find the minimum for a penalty, and by how much its conditions are missed. */
int fit_penalty(path *p, double penalty, const path_rule *rule, path_result *result, double *gap);

#endif
