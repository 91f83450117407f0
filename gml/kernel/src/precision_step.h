/* The Newton step of a penalised precision matrix Θ, by coordinate descent (Hsieh, Sustik, Dhillon &
   Ravikumar 2014, JMLR 15:2911, equations 12 to 16): the symmetric D that makes

       tr(G·D) + ½ tr(W·D·W·D) + Σ λ_ij·|Θ_ij + D_ij|

   smallest, G being the gradient of the smooth part and W the inverse of Θ. Only the pairs that are
   listed may change. U = D·W is kept, two rows of which change with a pair; the column of U that a row of
   pairs needs is copied once and kept up to date. */
#ifndef GML_PRECISION_STEP_H
#define GML_PRECISION_STEP_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t size;
    const double *gradient, *covariance, *precision, *penalties;
    /* Row i has the pairs (i, columns[k]), i ≤ columns[k], for k from starts[i] to starts[i + 1]. */
    const int64_t *starts;
    const int32_t *columns;
} precision_problem;

/* Fills in `step`, which is 0 before, as is `image`, room for U; `column` is room for a column of it.
   Ends after a sweep whose largest change, in units of the curvature, is at most so many times the
   largest of any sweep. Returns the number of sweeps. */
size_t precision_step(const precision_problem *problem, double accuracy, size_t most_sweeps, double *step,
                      double *image, double *column);

#endif
