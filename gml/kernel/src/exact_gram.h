/* Exact sums of products of integer columns: what products of matrices need, and what follows from them. */
#ifndef GML_EXACT_GRAM_H
#define GML_EXACT_GRAM_H

#include <stddef.h>
#include <stdint.h>

/* Integers as sums of limbs l_k 2^18k: out[k * stride + i] is limb k of values[i], below 2^17 in size but for
   the last one, which has the rest and must be below 2^51. */
void write_limbs(const int64_t *values, size_t n, size_t n_limbs, size_t stride, double *out);

/* n sum(q_i q_j) - sum(q_i) sum(q_j) for all pairs of `size` columns, rounded once to the nearest double. Sums
   are sum over s of parts[s][i][j] 2^(bits s); column `size` of each part is one of ones. Sums of products must
   be below 2^190, sums of columns below 2^127 and n below 2^63. */
void centred_products(const int64_t *parts, size_t n_parts, size_t size, int64_t n, unsigned bits, double *out);

#endif
