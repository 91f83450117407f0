/* Expected counts of what incomplete rows leave open, by enumeration. */
#ifndef GML_EXPECTATION_H
#define GML_EXPECTATION_H

#include "missing_parts.h"

/* Add the expected counts of questions first .. last-1 to `counts`, a number per cell of all tables, and
   the logarithms of their probabilities, with their weights, to *log_likelihood. Returns the first
   question of probability 0, -1 if there is none, or -2 without memory. */
int64_t expected_counts(const family_layout *layout, const missing_questions *questions, int64_t first,
                        int64_t last, const double *tables, double *counts, double *log_likelihood);

/* Add to `matrix`, n x n, the covariances of the counts of cells given what is observed, with weights;
   places[cell] is the row and column of a cell, or -1. Returns as above. */
int64_t count_covariances(const family_layout *layout, const missing_questions *questions,
                          int64_t first, int64_t last, const double *tables, const int32_t *places,
                          size_t n, double *matrix);

#endif
