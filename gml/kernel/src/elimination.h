/* Variable elimination over tables (Zhang & Poole 1994; Dechter 1999), and its way back. */
#ifndef GML_ELIMINATION_H
#define GML_ELIMINATION_H

#include <stddef.h>
#include <stdint.h>

/* What a step does with its variable, the last axis of its table. KEEP leaves the table as it is. */
enum { STEP_SUM, STEP_MAX, STEP_KEEP };

/* A program of steps; step s is described from code[starts[s]] on:

     operation, axes, offset of its table in `work`, offset of its message there, factors, parent step
     or -1, where in `code` the parent has the strides of the message,
     size of each axis,
     variable of each axis,
     and for each factor its source and a stride for each axis of the step.

   The source of a factor is a step before, whose message it is, or -1-k for table k. The message of a
   step has its axes but the last. */
typedef struct {
    const int64_t *code;
    const int64_t *starts;
    size_t n_steps;
    double *work;
} elimination;

/* Multiply and eliminate, first step to last. Entry 0 of table k is tables[bases[k]]. Returns the
   logarithm of the product of all factors, eliminated; -infinity when that is 0. A last step that keeps
   its table leaves it divided by the exponential of the result. */
double eliminate(const elimination *program, const double *tables, const int64_t *bases);

/* After sums: turn the table of each step into the marginal distribution of its variables, and write that
   of its own variable to out[offsets[s]]. Spoils the messages. */
void distribute(const elimination *program, const int64_t *offsets, double *out);

/* After `distribute`: add each table's distribution, times a weight, to where its factors came from:
   entry 0 of table k is counts[bases[k]]. */
void add_distributions(const elimination *program, const int64_t *bases, double weight, double *counts);

/* After maxima: the levels that reach the maximum, last step to first; of levels that do so up to the
   rounding, the first. */
void trace_maximum(const elimination *program, int32_t *levels);

#endif
