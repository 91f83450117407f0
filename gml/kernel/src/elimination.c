#include "elimination.h"

#include <math.h>
#include <string.h>

#include "stop.h"

#define HEADER 7
/* Tables have fewer than 2^63 cells, so fewer axes of two levels. */
#define MOST_AXES 64
#define TIE 1e-12
#define LOG_2 0.693147180559945309417232121458176568
/* Products begin at the second times their first factor, and are lifted there again when their largest
   number falls below the first: the smallest double times it is still one of full precision. */
#define LOW 0x1p300
#define LIFTED 500
#define START 0x1p500

typedef struct {
    int operation;
    size_t n_axes, n_factors;
    double *table, *message;
    int64_t parent;
    const int64_t *strides_in_parent, *sizes, *variables, *factors;
} step;

static step step_at(const elimination *program, size_t s)
{
    const int64_t *at = program->code + program->starts[s];
    step found;
    found.operation = (int)at[0];
    found.n_axes = (size_t)at[1];
    found.table = program->work + at[2];
    found.message = program->work + at[3];
    found.n_factors = (size_t)at[4];
    found.parent = at[5];
    found.strides_in_parent = program->code + at[6];
    found.sizes = at + HEADER;
    found.variables = found.sizes + found.n_axes;
    found.factors = found.variables + found.n_axes;
    return found;
}

/* Rows of a table: its cells without the last axis. */
static size_t rows_of(const step *of)
{
    size_t rows = 1;
    for (size_t a = 0; a + 1 < of->n_axes; a++)
        rows *= (size_t)of->sizes[a];
    return rows;
}

static size_t levels_of(const step *of)
{
    return of->n_axes == 0 ? 1 : (size_t)of->sizes[of->n_axes - 1];
}

/* Rows go by in stretches, so that the loop over them need not check whether to stop. */
static inline size_t stretch_end(size_t r, size_t rows)
{
    return rows - r < STOP_STEPS ? rows : r + STOP_STEPS;
}

static inline int more_rows(size_t r, size_t rows)
{
    return r < rows && (r == 0 || !stop_wanted());
}

/* The next row, in lexicographic order: moves the digits and the place of the row in a factor. */
static inline void next_row(const step *of, const int64_t *strides, int64_t *digits, int64_t *place)
{
    for (size_t a = of->n_axes - 1; a-- > 0;) {
        *place += strides[a];
        if (++digits[a] < of->sizes[a])
            return;
        *place -= digits[a] * strides[a];
        digits[a] = 0;
    }
}

static void multiply(const step *into, const double *factor, const int64_t *strides, int first)
{
    const size_t rows = rows_of(into), levels = levels_of(into);
    const int64_t last = into->n_axes == 0 ? 0 : strides[into->n_axes - 1];
    int64_t digits[MOST_AXES] = {0}, place = 0;
    double *row = into->table;
    for (size_t r = 0; more_rows(r, rows);)
        for (const size_t end = stretch_end(r, rows); r < end; r++, row += levels) {
            const double *from = factor + place;
            if (first)
                for (size_t k = 0; k < levels; k++)
                    row[k] = START * from[(int64_t)k * last];
            else
                for (size_t k = 0; k < levels; k++)
                    row[k] *= from[(int64_t)k * last];
            if (into->n_axes > 1)
                next_row(into, strides, digits, &place);
        }
}

/* Divide by a power of two that brings the largest near 2^target; returns its exponent. Zeros stay. */
static int rescale(double *values, size_t n, int target)
{
    double largest = 0;
    int exponent = target;
    for (size_t i = 0; i < n; i++)
        if (values[i] > largest)
            largest = values[i];
    if (!(largest > 0))
        return 0;
    frexp(largest, &exponent);
    /* Two factors: one alone may be beyond the largest double. */
    const double half = ldexp(1, (target - exponent) / 2);
    const double rest = ldexp(1, target - exponent - (target - exponent) / 2);
    if (exponent != target)
        for (size_t i = 0; i < n; i++)
            values[i] = values[i] * half * rest;
    return exponent - target;
}

/* Rescale only if no number is large enough; one is soon found otherwise. */
static int lift(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] > LOW)
            return 0;
    return rescale(values, n, LIFTED);
}

static void send_message(const step *from)
{
    const size_t rows = rows_of(from), levels = levels_of(from);
    for (size_t r = 0; more_rows(r, rows);)
        for (const size_t end = stretch_end(r, rows); r < end; r++) {
            const double *row = from->table + r * levels;
            double value = row[0];
            for (size_t k = 1; k < levels; k++)
                if (from->operation == STEP_SUM)
                    value += row[k];
                else if (row[k] > value)
                    value = row[k];
            from->message[r] = value;
        }
}

static double sum_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

/* ln of the mantissa; the exponent is added to one. */
static double log_mantissa(double value, int64_t *exponent)
{
    int own;
    double mantissa = frexp(value, &own);
    *exponent += own;
    return log(mantissa);
}

double eliminate(const elimination *program, const double *tables, const int64_t *bases)
{
    /* The exponents are added as whole numbers: what was scaled leaves no rounding. */
    double log_sum = 0;
    int64_t exponent = 0;
    for (size_t s = 0; s < program->n_steps; s++) {
        const step at = step_at(program, s);
        const int64_t *factor = at.factors;
        const size_t cells = rows_of(&at) * levels_of(&at);
        if (at.n_factors == 0)
            for (size_t c = 0; c < cells; c++)
                at.table[c] = START;
        exponent -= LIFTED;
        for (size_t f = 0; f < at.n_factors; f++, factor += at.n_axes + 1) {
            const double *source = factor[0] < 0 ? tables + bases[-1 - factor[0]]
                                                 : step_at(program, (size_t)factor[0]).message;
            multiply(&at, source, factor + 1, f == 0);
            if (cells >= STOP_STEPS && stop_wanted())
                return -INFINITY;
            exponent += lift(at.table, cells);
        }
        if (at.operation == STEP_KEEP) {
            double sum = sum_of(at.table, cells);
            if (!(sum > 0))
                return -INFINITY;
            for (size_t c = 0; c < cells; c++)
                at.table[c] /= sum;
            log_sum += log_mantissa(sum, &exponent);
            continue;
        }
        send_message(&at);
        const size_t rows = rows_of(&at);
        if (at.parent < 0) {
            if (!(at.message[0] > 0))
                return -INFINITY;
            log_sum += log_mantissa(at.message[0], &exponent);
        } else
            exponent += rescale(at.message, rows, 0);
    }
    return log_sum + (double)exponent * LOG_2;
}

/* Sum the parent's table over what its child does not share with it, into the child's message. */
static void sum_to_child(const step *parent, const step *child)
{
    const size_t rows = rows_of(parent), levels = levels_of(parent);
    const int64_t last = child->strides_in_parent[parent->n_axes - 1];
    int64_t digits[MOST_AXES] = {0}, place = 0;
    memset(child->message, 0, rows_of(child) * sizeof *child->message);
    for (size_t r = 0; more_rows(r, rows);)
        for (const size_t end = stretch_end(r, rows); r < end; r++) {
            const double *row = parent->table + r * levels;
            for (size_t k = 0; k < levels; k++)
                child->message[place + (int64_t)k * last] += row[k];
            if (parent->n_axes > 1)
                next_row(parent, child->strides_in_parent, digits, &place);
        }
}

void distribute(const elimination *program, const int64_t *offsets, double *out)
{
    for (size_t s = program->n_steps; s-- > 0;) {
        const step at = step_at(program, s);
        const size_t rows = rows_of(&at), levels = levels_of(&at);
        double *marginal = out + offsets[s];
        if (at.parent < 0)
            at.message[0] = 1;
        else {
            const step parent = step_at(program, (size_t)at.parent);
            sum_to_child(&parent, &at);
        }
        memset(marginal, 0, levels * sizeof *marginal);
        for (size_t r = 0; more_rows(r, rows);)
            for (const size_t end = stretch_end(r, rows); r < end; r++) {
                double *row = at.table + r * levels;
                double sum = sum_of(row, levels);
                for (size_t k = 0; k < levels; k++) {
                    row[k] = sum > 0 ? row[k] / sum * at.message[r] : 0;
                    marginal[k] += row[k];
                }
            }
        double total = sum_of(marginal, levels);
        for (size_t k = 0; k < levels; k++)
            marginal[k] /= total;
    }
}

void add_distributions(const elimination *program, const int64_t *bases, double weight, double *counts)
{
    for (size_t s = 0; s < program->n_steps; s++) {
        const step at = step_at(program, s);
        const size_t rows = rows_of(&at), levels = levels_of(&at);
        const int64_t *factor = at.factors;
        for (size_t f = 0; f < at.n_factors; f++, factor += at.n_axes + 1) {
            if (factor[0] >= 0)
                continue;
            const int64_t *strides = factor + 1;
            const int64_t last = strides[at.n_axes - 1];
            int64_t digits[MOST_AXES] = {0}, place = bases[-1 - factor[0]];
            const double *row = at.table;
            for (size_t r = 0; more_rows(r, rows);)
                for (const size_t end = stretch_end(r, rows); r < end; r++, row += levels) {
                    for (size_t k = 0; k < levels; k++)
                        counts[place + (int64_t)k * last] += weight * row[k];
                    if (at.n_axes > 1)
                        next_row(&at, strides, digits, &place);
                }
        }
    }
}

void trace_maximum(const elimination *program, int32_t *levels)
{
    for (size_t s = program->n_steps; s-- > 0;) {
        const step at = step_at(program, s);
        if (at.operation != STEP_MAX)
            continue;
        const size_t n = levels_of(&at);
        size_t place = 0, best = 0;
        for (size_t a = 0; a + 1 < at.n_axes; a++)
            place = place * (size_t)at.sizes[a] + (size_t)levels[at.variables[a]];
        const double *row = at.table + place * n;
        for (size_t k = 1; k < n; k++)
            if (row[k] > row[best] * (1 + TIE))
                best = k;
        levels[at.variables[at.n_axes - 1]] = (int32_t)best;
    }
}
