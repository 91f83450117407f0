/* Paths of penalties of logistic regressions on indicator columns, with penalties on groups of them. */
#ifndef GML_PENALTY_PATH_H
#define GML_PENALTY_PATH_H

#include <stddef.h>
#include <stdint.h>

enum { PATH_OK, PATH_STOPPED, PATH_NO_MEMORY, PATH_TOO_LARGE, PATH_UNWANTED };

typedef struct {
    size_t n_rows;
    size_t stride;              /* bytes per column of bits: at least n_rows / 8, rounded up */
    const uint8_t *masks;       /* the indicator columns, row i in bit i % 8 of byte i / 8 */
    size_t n_groups;
    const int64_t *starts;      /* indicator columns of a group: starts[g] to starts[g + 1] - 1 */
    const int32_t *ranks;       /* dimensions of a group; 0: it is left out */
    const double *bases;        /* by group: columns × dimensions, end to end */
    const int64_t *base_starts;
    const double *means;        /* of the indicator columns */
    const double *group_weights;
    const int32_t *classes;     /* of the rows */
    size_t n_classes;
    const double *weights;      /* of the rows; their sum is 1 */
    const double *held_out;     /* weights of the rows to be predicted, or NULL */
} path_problem;

typedef struct {
    size_t n_penalties;
    double ratio;               /* of the last penalty to the first, where they are chosen here */
    int chosen;                 /* whether the penalties are chosen here */
    double cost;                /* of a parameter in -2 ln L per row; 0: the path is never cut short */
    double tolerance;           /* by which conditions may be missed, in shares of the penalty */
    size_t room;                /* the most numbers that the Hessian may have */
    int (*watch)(void *watcher, double share); /* asked now and then whether to go on; or NULL */
    void *watcher;
} path_rule;

typedef struct {
    double *penalties;          /* n_penalties each, from here on */
    double *losses;             /* mean of -ln p of the rows */
    double *held_out;           /* the same of the rows to be predicted, their weights not normalised */
    double *gaps;               /* by which the conditions of a minimum are missed, in penalties */
    int64_t *parameters;
    double *norms;              /* n_penalties × n_groups */
    size_t n_done;
    size_t needed;              /* numbers of the Hessian that was too large */
} path_result;

/* Fits the penalties from the largest to the smallest; returns PATH_OK or why there is no more. */
int penalty_path(const path_problem *problem, const path_rule *rule, path_result *result);

#endif
