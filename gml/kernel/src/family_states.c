#include "family_states.h"

#include <math.h>

static int64_t stride_in(const family_layout *l, int32_t family, int32_t node)
{
    for (int64_t m = l->member_starts[family]; m < l->member_starts[family + 1]; m++)
        if (l->members[m] == node)
            return l->strides[m];
    return 0;
}

void state_offsets(const family_layout *layout, const int32_t *nodes, size_t n_nodes, int32_t family,
                   int32_t *offsets)
{
    size_t done = 1;
    offsets[0] = 0;
    for (size_t k = n_nodes; k-- > 0;) {
        const size_t size = (size_t)layout->sizes[nodes[k]];
        const int32_t stride = (int32_t)stride_in(layout, family, nodes[k]);
        for (size_t level = 1; level < size; level++)
            for (size_t s = 0; s < done; s++)
                offsets[level * done + s] = offsets[s] + (int32_t)level * stride;
        done *= size;
    }
}

void multiply_apart(double *share, int *exponent, double factor)
{
    int own;
    const double fraction = frexp(factor, &own);
    *exponent += own;
    *share = frexp(*share * fraction, &own);
    *exponent += own;
}

int bring_together(double *shares, const int *exponents, size_t n, int *highest)
{
    int some = 0;
    *highest = 0;
    for (size_t s = 0; s < n; s++)
        if (shares[s] > 0 && (!some || exponents[s] > *highest)) {
            *highest = exponents[s];
            some = 1;
        }
    for (size_t s = 0; s < n; s++)
        shares[s] = ldexp(shares[s], exponents[s] - *highest);
    return some;
}
