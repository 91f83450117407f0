/* The states of some nodes together, and where they are in the tables of families. */
#ifndef GML_FAMILY_STATES_H
#define GML_FAMILY_STATES_H

#include "missing_parts.h"

/* Products whose largest falls below this are computed with exponents of their own. */
#define LEAST_PRODUCT 1e-200

/* How far each state of the nodes, the last of them fastest, is from the first cell of a family. */
void state_offsets(const family_layout *layout, const int32_t *nodes, size_t n_nodes, int32_t family,
                   int32_t *offsets);

/* Multiply share * 2^exponent by a factor, so that the share is neither too small nor too large. */
void multiply_apart(double *share, int *exponent, double factor);

/* Turn shares with exponents of their own into shares of one exponent, which is returned in *highest: what
   that makes 0 is nothing beside the largest. 0 if all are 0. */
int bring_together(double *shares, const int *exponents, size_t n, int *highest);

#endif
