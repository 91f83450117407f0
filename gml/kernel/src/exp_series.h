/* The exponential function from -700 to 0, of a number or of lanes of them: a power of 2 times a Taylor
   series on half a binary logarithm around 0, in operations that every machine does alike. */
#ifndef GML_EXP_SERIES_H
#define GML_EXP_SERIES_H

#include <stdint.h>
#include <string.h>

#include "cpu.h"

/* Defines `name` for a type and for integers of the same size. */
#define EXP_SERIES(name, number, integer)                                                         \
    LANE_INLINE number name(number x)                                                           \
    {                                                                                             \
        const number shifted = x * 0x1.71547652b82fep0 + 0x1.8p52, power = shifted - 0x1.8p52;    \
        const number r = (x - power * 0x1.62e42fee00000p-1) - power * 0x1.a39ef35793c76p-33;      \
        number sum = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;                                \
        sum = sum * r + 1.0 / 39916800.0;                                                         \
        sum = sum * r + 1.0 / 3628800.0;                                                          \
        sum = sum * r + 1.0 / 362880.0;                                                           \
        sum = sum * r + 1.0 / 40320.0;                                                            \
        sum = sum * r + 1.0 / 5040.0;                                                             \
        sum = sum * r + 1.0 / 720.0;                                                              \
        sum = sum * r + 1.0 / 120.0;                                                              \
        sum = sum * r + 1.0 / 24.0;                                                               \
        sum = sum * r + 1.0 / 6.0;                                                                \
        sum = sum * r + 0.5;                                                                      \
        sum = sum * r + 1.0;                                                                      \
        sum = sum * r + 1.0;                                                                      \
        integer of_sum, of_power;                                                                 \
        memcpy(&of_sum, &sum, sizeof sum);                                                        \
        memcpy(&of_power, &shifted, sizeof sum);                                                  \
        of_sum += of_power << 52;                                                                 \
        memcpy(&sum, &of_sum, sizeof sum);                                                        \
        return sum;                                                                               \
    }

#endif
