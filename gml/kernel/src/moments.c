#include "moments.h"

/* Below 2^53 in size, 2^20 products fit 127 bits. */
#define BLOCK (1 << 20)

static void add(wide_integer *sum, __int128 part)
{
    unsigned __int128 low = (unsigned __int128)part;
    uint64_t sign = part < 0 ? UINT64_MAX : 0;
    uint64_t addend[3] = {(uint64_t)low, (uint64_t)(low >> 64), sign};
    unsigned carry = 0;
    for (int k = 0; k < 3; k++) {
        unsigned __int128 total = (unsigned __int128)sum->limb[k] + addend[k] + carry;
        sum->limb[k] = (uint64_t)total;
        carry = (unsigned)(total >> 64);
    }
}

/* sum += part * factor */
static void add_product(wide_integer *sum, __int128 part, uint64_t factor)
{
    uint64_t low = (uint64_t)(unsigned __int128)part;
    int64_t high = (int64_t)(part >> 64);
    add(sum, (__int128)((unsigned __int128)low * factor >> 1)); /* in two halves: may exceed 127 bits */
    add(sum, (__int128)(((unsigned __int128)low * factor + 1) >> 1));
    __int128 upper = (__int128)high * (__int128)factor;
    wide_integer shifted = {{0, (uint64_t)(unsigned __int128)upper,
                             (uint64_t)((unsigned __int128)upper >> 64)}};
    unsigned carry = 0;
    for (int k = 0; k < 3; k++) {
        unsigned __int128 total = (unsigned __int128)sum->limb[k] + shifted.limb[k] + carry;
        sum->limb[k] = (uint64_t)total;
        carry = (unsigned)(total >> 64);
    }
}

wide_integer exact_dot(const int64_t *x, const int64_t *y, const int64_t *weights, size_t n)
{
    wide_integer sum = {{0, 0, 0}};
    if (weights != NULL) {
        for (size_t i = 0; i < n; i++)
            add_product(&sum, (__int128)x[i] * y[i], (uint64_t)weights[i]);
        return sum;
    }
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t to = n - from < BLOCK ? n : from + BLOCK;
        __int128 part = 0;
        for (size_t i = from; i < to; i++)
            part += (__int128)x[i] * y[i];
        add(&sum, part);
    }
    return sum;
}
