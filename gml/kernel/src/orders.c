#include "orders.h"

#include <math.h>

/* exp of less is nothing beside 1. */
#define NOTHING (-40.0)

static inline double log_add(double a, double b)
{
    const double high = a > b ? a : b, low = a > b ? b : a;
    return low - high > NOTHING ? high + log1p(exp(low - high)) : high;
}

void log_sum_sets(double *values, int m, int up)
{
    const uint64_t size = UINT64_C(1) << m;
    for (uint64_t bit = 1; bit < size; bit *= 2)
        for (uint64_t block = 0; block < size; block += 2 * bit)
            for (uint64_t at = block; at < block + bit; at++) {
                double *to = values + at + (up ? 0 : bit);
                const double other = values[at + (up ? bit : 0)];
                /* The difference of two infinities is none. */
                if (other > -INFINITY)
                    *to = log_add(*to, other);
            }
}

static inline uint64_t without(uint64_t set, int x)
{
    const uint64_t below = (UINT64_C(1) << x) - 1;
    return (set & below) | (set >> 1 & ~below);
}

void sum_orders(const double *parents, int m, int rest, double *sums)
{
    const uint64_t size = UINT64_C(1) << m, half = size / 2, all = size - 1;
    sums[rest ? all : 0] = 0;
    for (uint64_t k = 1; k < size; k++) {
        const uint64_t set = rest ? all - k : k;
        double terms[64], high = -INFINITY, sum = 0;
        int n = 0;
        for (uint64_t left = rest ? all & ~set : set; left != 0; left &= left - 1, n++) {
            const int x = __builtin_ctzll(left);
            const uint64_t before = set & ~(UINT64_C(1) << x), behind = set | UINT64_C(1) << x;
            terms[n] = parents[(uint64_t)x * half + without(before, x)] +
                       sums[rest ? behind : before];
            if (terms[n] > high)
                high = terms[n];
        }
        if (high > -INFINITY)
            for (int i = 0; i < n; i++)
                if (terms[i] - high > NOTHING)
                    sum += exp(terms[i] - high);
        sums[set] = high > -INFINITY ? high + log(sum) : -INFINITY;
    }
}
