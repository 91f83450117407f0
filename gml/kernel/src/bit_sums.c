/* Sums of numbers over the rows with a bit are made in eight lanes in one order, whatever the instructions,
   so that every machine finds the same. */

#include "bit_sums.h"

void fill_lane_masks(lane_bits *masks)
{
    for (int byte = 0; byte < 256; byte++)
        for (int k = 0; k < LANES; k++)
            masks[byte][k] = byte >> k & 1 ? -1 : 0;
}

LANE_INLINE void sums_over_lanes(const uint8_t *first, size_t stride, size_t n_columns,
                                   const uint8_t *also, size_t blocks, const double *numbers,
                                   const lane_bits *masks, double *out)
{
    const lane_bits *v = (const lane_bits *)numbers;
    size_t j = 0;
    for (; j + 4 <= n_columns; j += 4) {
        const uint8_t *a = first + j * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        lanes sa = {0}, sb = {0}, sc = {0}, sd = {0};
        for (size_t k = 0; k < blocks; k++) {
            const int in = also ? also[k] : 255;
            const lane_bits here = v[k];
            sa += (lanes)(here & masks[a[k] & in]);
            sb += (lanes)(here & masks[b[k] & in]);
            sc += (lanes)(here & masks[c[k] & in]);
            sd += (lanes)(here & masks[d[k] & in]);
        }
        out[j] = lane_sum(sa);
        out[j + 1] = lane_sum(sb);
        out[j + 2] = lane_sum(sc);
        out[j + 3] = lane_sum(sd);
    }
    for (; j < n_columns; j++) {
        const uint8_t *a = first + j * stride;
        lanes sa = {0};
        for (size_t k = 0; k < blocks; k++)
            sa += (lanes)(v[k] & masks[a[k] & (also ? also[k] : 255)]);
        out[j] = lane_sum(sa);
    }
}

BY_LEVEL(void, sums_over,
         (const uint8_t *first, size_t stride, size_t n_columns, const uint8_t *also, size_t blocks,
          const double *numbers, const lane_bits *masks, double *out),
         (first, stride, n_columns, also, blocks, numbers, masks, out))

LANE_INLINE double plain_sum_lanes(size_t blocks, const double *numbers)
{
    const lanes *v = (const lanes *)numbers;
    lanes sum = {0};
    for (size_t k = 0; k < blocks; k++)
        sum += v[k];
    return lane_sum(sum);
}

BY_LEVEL(double, plain_sum,
         (size_t blocks, const double *numbers),
         (blocks, numbers))

LANE_INLINE void add_where_lanes(const uint8_t *bits, size_t blocks, double number,
                                   const lane_bits *masks, double *out)
{
    const lanes all = all_lanes(number);
    lanes *v = (lanes *)out;
    for (size_t k = 0; k < blocks; k++)
        v[k] += (lanes)((lane_bits)all & masks[bits[k]]);
}

BY_LEVEL(void, add_where,
         (const uint8_t *bits, size_t blocks, double number, const lane_bits *masks, double *out),
         (bits, blocks, number, masks, out))
