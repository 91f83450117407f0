/* Ancestral sampling of coded columns, any block of rows at a time. */
#ifndef GML_SAMPLING_H
#define GML_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    void *codes; /* uint8_t if width is 1, uint16_t if 2 */
    int width;
    uint32_t n_levels;
} sampled_column;

/* One column given others that were drawn before it. A row of `thresholds` stands for one
   configuration of the parents, the last one fastest, and has one number fewer than levels: level
   k is drawn iff thresholds k-1 and k enclose the 63 random bits of the row. */
typedef struct {
    size_t target;
    const uint32_t *parents;
    size_t n_parents;
    const uint64_t *thresholds;
    uint64_t key[2];
} sampling_step;

/* Draw rows first_row .. first_row + n_rows - 1 of the columns that the steps are for; the others
   hold what was observed. A cell is a function of its step's key, its row and its parents alone.
   Returns 0 when memory ran out. */
int sample_rows(const sampling_step *steps, size_t n_steps, const sampled_column *columns,
                uint64_t first_row, size_t n_rows);

/* Replace by all ones the cells whose 63 random bits are below the threshold. */
void blank_cells(const sampled_column *column, const uint64_t key[2], uint64_t threshold,
                 uint64_t first_row, size_t n_rows);

#endif
