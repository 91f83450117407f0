#include "latent_classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "class_loops.h"
#include "cpu.h"
#include "stop.h"

/* A row less probable than this is looked at in logarithms, since products below may have lost digits. */
#define LEAST_TOTAL 1e-250
#define LEAST_PROBABILITY 1e-300

/* Probabilities of the codes of groups, and expected counts of them. */
typedef struct {
    size_t *starts; /* of each group: its first code among those of all */
    double *tables; /* codes x classes */
    double *counts;
} joint_tables;

static size_t codes_of_group(const class_rows *rows, size_t group)
{
    size_t n = 1;
    for (int64_t j = rows->group_starts[group]; j < rows->group_starts[group + 1]; j++)
        n *= (size_t)rows->sizes[j];
    return n;
}

/* The place in the tables of column j of a code of its group; the rest of the code is for columns before. */
static size_t place_in_tables(const class_rows *rows, int64_t j, size_t *code)
{
    const size_t size = (size_t)rows->sizes[j], level = *code % size;
    *code /= size;
    return ((size_t)rows->offsets[j] + level) * rows->n_classes;
}

static int joint_new(const class_rows *rows, const double *tables, joint_tables *joint)
{
    const size_t n_classes = rows->n_classes;
    size_t n_codes = 0;
    memset(joint, 0, sizeof *joint);
    joint->starts = malloc((rows->n_groups + 1) * sizeof *joint->starts);
    if (joint->starts == NULL)
        return 0;
    for (size_t group = 0; group < rows->n_groups; group++) {
        joint->starts[group] = n_codes;
        n_codes += codes_of_group(rows, group);
    }
    joint->starts[rows->n_groups] = n_codes;
    joint->tables = malloc((n_codes * n_classes + 1) * sizeof(double));
    joint->counts = calloc(n_codes * n_classes + 1, sizeof(double));
    if (joint->tables == NULL || joint->counts == NULL)
        return 0;
    for (size_t group = 0; group < rows->n_groups; group++) {
        const size_t begin = joint->starts[group], end = joint->starts[group + 1];
        for (size_t at = begin; at < end; at++) {
            double *restrict own = joint->tables + at * n_classes;
            size_t code = at - begin;
            for (size_t k = 0; k < n_classes; k++)
                own[k] = 1.0;
            for (int64_t j = rows->group_starts[group + 1]; j-- > rows->group_starts[group];) {
                const double *restrict of_column = tables + place_in_tables(rows, j, &code);
                for (size_t k = 0; k < n_classes; k++)
                    own[k] *= of_column[k];
            }
        }
    }
    return 1;
}

static void joint_free(joint_tables *joint)
{
    free(joint->starts);
    free(joint->tables);
    free(joint->counts);
}

/* Hand the counts of groups on to their columns. */
static void joint_spread(const class_rows *rows, const joint_tables *joint, double *counts)
{
    const size_t n_classes = rows->n_classes;
    for (size_t group = 0; group < rows->n_groups; group++) {
        const size_t begin = joint->starts[group], end = joint->starts[group + 1];
        for (size_t at = begin; at < end; at++) {
            const double *restrict own = joint->counts + at * n_classes;
            size_t code = at - begin;
            for (int64_t j = rows->group_starts[group + 1]; j-- > rows->group_starts[group];) {
                double *restrict of_column = counts + place_in_tables(rows, j, &code);
                for (size_t k = 0; k < n_classes; k++)
                    of_column[k] += own[k];
            }
        }
    }
}

LANE_INLINE size_t joint_place(const class_rows *rows, const joint_tables *joint, size_t row, size_t group)
{
    const size_t cell = row * rows->n_groups + group;
    const size_t code = rows->code_bytes == 1 ? ((const uint8_t *)rows->codes)[cell]
                                              : ((const uint16_t *)rows->codes)[cell];
    return (joint->starts[group] + code) * rows->n_classes;
}

/* ln of the probability of a row, and the probabilities of its classes: in logarithms, and column by column, so
   that what is impossible in fewer columns is the more probable. */
static double improbable_row(const class_rows *rows, size_t row, const double *shares, const double *tables,
                             double *found)
{
    const size_t n_classes = rows->n_classes;
    for (size_t k = 0; k < n_classes; k++)
        found[k] = log(fmax(shares[k], LEAST_PROBABILITY));
    for (size_t group = 0; group < rows->n_groups; group++) {
        const size_t cell = row * rows->n_groups + group;
        size_t code = rows->code_bytes == 1 ? ((const uint8_t *)rows->codes)[cell]
                                            : ((const uint16_t *)rows->codes)[cell];
        for (int64_t j = rows->group_starts[group + 1]; j-- > rows->group_starts[group];) {
            const double *of_column = tables + place_in_tables(rows, j, &code);
            for (size_t k = 0; k < n_classes; k++)
                found[k] += log(fmax(of_column[k], LEAST_PROBABILITY));
        }
    }
    double largest = found[0], total = 0;
    for (size_t k = 1; k < n_classes; k++)
        largest = fmax(largest, found[k]);
    for (size_t k = 0; k < n_classes; k++) {
        found[k] = exp(found[k] - largest);
        total += found[k];
    }
    for (size_t k = 0; k < n_classes; k++)
        found[k] /= total;
    return largest + log(total);
}

typedef struct {
    const class_rows *rows;
    const joint_tables *joint;
    const double *shares, *tables;
    double *totals, *room; /* room for a number per class */
} class_work;

LANE_INLINE double rows_in_classes(const class_work *work, size_t first, size_t last, const size_t n_classes)
{
    const class_rows *rows = work->rows;
    const joint_tables *joint = work->joint;
    double *restrict found = work->room;
    double sum = 0;
    uint64_t steps = 0;
    for (size_t row = first; row < last; row++) {
        for (size_t k = 0; k < n_classes; k++)
            found[k] = work->shares[k];
        for (size_t group = 0; group < rows->n_groups; group++) {
            const double *restrict own = joint->tables + joint_place(rows, joint, row, group);
            for (size_t k = 0; k < n_classes; k++)
                found[k] *= own[k];
        }
        double total = 0;
        for (size_t k = 0; k < n_classes; k++)
            total += found[k];
        const double weight = rows->weights[row];
        double scale = weight / total;
        if (total >= LEAST_TOTAL) {
            sum += weight * log(total);
        } else {
            sum += weight * improbable_row(rows, row, work->shares, work->tables, found);
            scale = weight;
        }
        for (size_t k = 0; k < n_classes; k++) {
            found[k] *= scale;
            work->totals[k] += found[k];
        }
        for (size_t group = 0; group < rows->n_groups; group++) {
            double *restrict own = joint->counts + joint_place(rows, joint, row, group);
            for (size_t k = 0; k < n_classes; k++)
                own[k] += found[k];
        }
        if (stop_after(&steps, n_classes * (2 + rows->n_groups)))
            break;
    }
    return sum;
}

LANE_INLINE double count_in_classes_lanes(const class_work *work, size_t first, size_t last)
{
    WITH_CLASSES_KNOWN(work->rows->n_classes, rows_in_classes, work, first, last)
}

BY_LEVEL(double, count_in_classes, (const class_work *work, size_t first, size_t last), (work, first, last))

int latent_class_rows(const class_rows *rows, size_t first, size_t last, const double *shares, const double *tables,
                      double *counts, double *totals, double *log_likelihood)
{
    joint_tables joint;
    double *room = malloc(rows->n_classes * sizeof *room);
    const int has_room = joint_new(rows, tables, &joint) && room != NULL;
    if (has_room) {
        const class_work work = {rows, &joint, shares, tables, totals, room};
        *log_likelihood += count_in_classes(&work, first, last);
        joint_spread(rows, &joint, counts);
    }
    joint_free(&joint);
    free(room);
    return has_room;
}

void latent_class_tables(const int64_t *offsets, size_t n_columns, size_t n_classes, const double *counts,
                         const double *totals, const double *before, double *shares, double *tables)
{
    double n = 0;
    for (size_t k = 0; k < n_classes; k++)
        n += totals[k];
    for (size_t k = 0; k < n_classes; k++)
        shares[k] = totals[k] / n;
    for (size_t j = 0; j < n_columns; j++) {
        const size_t begin = (size_t)offsets[j], end = (size_t)offsets[j + 1] - 1;
        for (size_t k = 0; k < n_classes; k++) {
            double seen = 0;
            for (size_t row = begin; row < end; row++)
                seen += counts[row * n_classes + k];
            for (size_t row = begin; row < end; row++) {
                const size_t at = row * n_classes + k;
                tables[at] = seen > 0 ? counts[at] / seen : before[at];
            }
            tables[end * n_classes + k] = 1.0;
        }
    }
}
