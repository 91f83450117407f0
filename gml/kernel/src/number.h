/* Decimal numbers as they stand in a CSV field. */
#ifndef GML_NUMBER_H
#define GML_NUMBER_H

#include <stddef.h>

/* Read [+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)? , spaces around it allowed, with `decimal` for the
   point. Returns 1 and the nearest double, or 0 when the field is not a finite number. Takes the
   GIL for the few numbers that need more than one exact multiplication. */
int number_parse(const unsigned char *text, size_t length, unsigned char decimal, double *value);

/* Whether a number begins, after its sign, with a zero and another digit, as codes such as 01234 do. */
int number_is_padded(const unsigned char *text, size_t length);

#endif
