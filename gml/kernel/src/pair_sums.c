#include "pair_sums.h"

#include <math.h>
#include <string.h>

#include "cpu.h"
#include "stop.h"

#define LANES 8
#define LANE_BITS 3
#define HALF (PAIR_STATES / 2)

/* What the configurations of the middle variables are in a block. */
typedef struct {
    double weights[PAIR_STATES];             /* exp of what does not depend on inner variables */
    double firsts[PAIR_STATES];              /* weights where all inner variables are 0 */
    double ratios[PAIR_STATES][PAIR_BITS];   /* by which a 1 of an inner variable multiplies them */
    double sums[PAIR_ROWS][PAIR_STATES];
} block_room;

/* Fill in weights and ratios; the largest exponent is returned, and taken off. A sum of inner fields that are
   positive is the exponent of the heaviest configuration of the inner variables, which then weighs 1. */
static double prepare(const pair_model *model, const pair_block *block, block_room *room)
{
    double fields[PAIR_STATES][PAIR_BITS], largest = -INFINITY;
    room->weights[0] = block->constant;
    for (int j = 0; j < PAIR_BITS; j++) {
        fields[0][j] = block->inner[j];
        room->ratios[0][j] = exp(block->inner[j]);
    }
    for (int i = 0; i < PAIR_BITS; i++) {
        const double *coupling = model->couplings + i * PAIR_BITS;
        double factors[PAIR_BITS];
        for (int j = 0; j < PAIR_BITS; j++)
            factors[j] = exp(coupling[j]);
        for (size_t a = 0, other = (size_t)1 << i; a < (size_t)1 << i; a++, other++) {
            room->weights[other] = room->weights[a] + block->middle[i];
            for (int j = 0; j < PAIR_BITS; j++) {
                fields[other][j] = fields[a][j] + coupling[j];
                room->ratios[other][j] = room->ratios[a][j] * factors[j];
            }
        }
    }
    for (size_t a = 0; a < PAIR_STATES; a++) {
        double positive = 0;
        for (int j = 0; j < PAIR_BITS; j++)
            positive += fields[a][j] > 0 ? fields[a][j] : 0;
        room->firsts[a] = exp(-positive);
        room->weights[a] += model->middle[a] + positive;
        largest = room->weights[a] > largest ? room->weights[a] : largest;
    }
    for (size_t a = 0; a < PAIR_STATES; a++)
        room->weights[a] = exp(room->weights[a] - largest);
    return largest;
}

LANE_INLINE double lane_sum(const double *x)
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* Add up the states of one configuration of the middle variables, and add them to those by inner ones.
   Sums are kept in LANES parts, whatever the machine adds up at once, so that all add in the same order. */
LANE_INLINE void add_states(const double *restrict inner, block_room *room, size_t a,
                            double *restrict by_inner)
{
    double table[HALF] __attribute__((aligned(64)));
    double total[LANES] __attribute__((aligned(64))) = {0};
    const double *ratios = room->ratios[a], weight = room->weights[a], last = ratios[PAIR_BITS - 1];
    double sums[PAIR_ROWS];
    table[0] = room->firsts[a];
    for (int j = 0; j < PAIR_BITS - 1; j++) {
        const size_t size = (size_t)1 << j;
        const double ratio = ratios[j];
        for (size_t k = 0; k < size; k++)
            table[size + k] = table[k] * ratio;
    }
    for (size_t k = 0; k < HALF; k += LANES)
        for (size_t l = 0; l < LANES; l++) {
            const double low = table[k + l] * inner[k + l];
            const double high = table[k + l] * last * inner[HALF + k + l];
            by_inner[k + l] += weight * low;
            by_inner[HALF + k + l] += weight * high;
            total[l] += high;
            table[k + l] = low + high;
        }
    sums[PAIR_BITS] = lane_sum(total);
    for (int j = PAIR_BITS - 2; j >= LANE_BITS; j--) {
        const size_t size = (size_t)1 << j;
        memset(total, 0, sizeof total);
        for (size_t k = 0; k < size; k += LANES)
            for (size_t l = 0; l < LANES; l++) {
                total[l] += table[size + k + l];
                table[k + l] += table[size + k + l];
            }
        sums[j + 1] = lane_sum(total);
    }
    sums[3] = (table[4] + table[5]) + (table[6] + table[7]);
    sums[2] = (table[2] + table[3]) + (table[6] + table[7]);
    sums[1] = (table[1] + table[3]) + (table[5] + table[7]);
    sums[0] = lane_sum(table);
    for (int r = 0; r < PAIR_ROWS; r++)
        room->sums[r][a] = weight * sums[r];
}

/* Sums over all middle configurations, and over those where each variable is 1; the row is used up. */
LANE_INLINE void fold(double *row, double *moments)
{
    for (int i = PAIR_BITS - 1; i >= 0; i--) {
        const size_t size = (size_t)1 << i;
        double sum = 0;
        for (size_t k = 0; k < size; k++) {
            sum += row[size + k];
            row[k] += row[size + k];
        }
        moments[i + 1] = sum;
    }
    moments[0] = row[0];
}

LANE_INLINE void pair_block_sums_lanes(const double *inner, block_room *room, double *moments,
                                       double *restrict by_inner, double *by_middle)
{
    memset(by_inner, 0, PAIR_STATES * sizeof *by_inner);
    for (size_t a = 0; a < PAIR_STATES; a++)
        if (room->weights[a] > 0)
            add_states(inner, room, a, by_inner);
        else
            for (int r = 0; r < PAIR_ROWS; r++)
                room->sums[r][a] = 0;
    memcpy(by_middle, room->sums[0], sizeof room->sums[0]);
    for (int r = 0; r < PAIR_ROWS; r++)
        fold(room->sums[r], moments + r * PAIR_ROWS);
}

BY_LEVEL(void, pair_block_sums,
         (const double *inner, block_room *room, double *moments, double *restrict by_inner,
          double *by_middle),
         (inner, room, moments, by_inner, by_middle))

void pair_sums(const pair_model *model, const pair_block *blocks, size_t n_blocks, double *scales,
               double *moments, double *by_inner, double *by_middle, double *scale)
{
    static const size_t n_moments = (size_t)PAIR_ROWS * PAIR_ROWS;
    block_room room;
    double own_inner[PAIR_STATES], own_middle[PAIR_STATES];
    memset(by_inner, 0, PAIR_STATES * sizeof *by_inner);
    memset(by_middle, 0, PAIR_STATES * sizeof *by_middle);
    *scale = -INFINITY;
    for (size_t b = 0; b < n_blocks && !stop_wanted(); b++) {
        scales[b] = prepare(model, &blocks[b], &room);
        pair_block_sums(model->inner, &room, moments + b * n_moments, own_inner, own_middle);
        const double top = scales[b] > *scale ? scales[b] : *scale;
        const double before = exp(*scale - top), now = exp(scales[b] - top);
        for (size_t k = 0; k < PAIR_STATES; k++) {
            by_inner[k] = by_inner[k] * before + own_inner[k] * now;
            by_middle[k] = by_middle[k] * before + own_middle[k] * now;
        }
        *scale = top;
    }
}
