/* New codes for old ones. */
#ifndef GML_RECODE_H
#define GML_RECODE_H

#include <stddef.h>
#include <stdint.h>

/* codes[i] = lookup[codes[i]] for codes below n_labels; the code of all ones, missing, stays. */
void recode8(uint8_t *codes, size_t n, const uint8_t *lookup, size_t n_labels);
void recode16(uint16_t *codes, size_t n, const uint16_t *lookup);

#endif
