/* Chains of labels over rows with sparse attributes: linear-chain conditional random fields (Lafferty,
   McCallum & Pereira 2001). The score of labels y over the rows of a sequence is

     sum over rows t and attributes a of row t of x[t, a] w[a, y_t]  +  sum over t > 0 of v[y_(t-1), y_t],

   where x is 1 unless the attributes have values, and its exponential, divided by the sum over all labels, is their probability. */
#ifndef GML_CHAIN_FIELD_H
#define GML_CHAIN_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* Sequence s has the rows sequences[s] to sequences[s+1], row t the attributes from rows[t] to rows[t+1],
   with their values at the same places, or NULL.
   Attribute a has the cells from cells[a] to cells[a+1], each for a label: either `width` of them, those of
   all labels in order, or fewer, those of the labels in `labels`. */
typedef struct {
    size_t n_labels, width; /* width: the least multiple of 4 that is n_labels or more */
    const int64_t *sequences, *rows;
    const int32_t *attributes;
    const int64_t *cells;
    const int32_t *labels;
    const double *values;
} chain_rows;

/* A weight for each cell, and one for each pair of labels: the first of the pair, then the second. */
typedef struct {
    const double *cells, *transitions;
} chain_weights;

/* The functions go through the sequences from `first` to `last`, and return 0 without memory. */

/* The sum of -ln p(targets); its derivatives are added to those in `out`. */
int chain_gradient(const chain_rows *rows, const chain_weights *weights, const int32_t *targets,
                   size_t first, size_t last, double *out_cells, double *out_transitions, double *value);

/* The probability of each label of each row (rows x labels), given all attributes of its sequence. */
int chain_marginals(const chain_rows *rows, const chain_weights *weights, size_t first, size_t last,
                    double *out);

/* The labels of the highest score (Viterbi 1967): of those that reach it up to the rounding, the last row
   has the lowest label that does, then the row before it given that, and so on. */
int chain_viterbi(const chain_rows *rows, const chain_weights *weights, size_t first, size_t last,
                  int32_t *out);

#endif
