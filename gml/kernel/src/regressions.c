#include "regressions.h"

#include <math.h>
#include <stdlib.h>

#include "cpu.h"
#include "stop.h"

/* Sums of products of 126 bits times 4 to this power are doubles. */
#define SMALL_SCALE 400

static size_t longest_set(const int64_t *starts, size_t n_sets)
{
    size_t longest = 0;
    for (size_t s = 0; s < n_sets; s++) {
        size_t length = (size_t)(starts[s + 1] - starts[s]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Row i of the factor, from the rows before it; returns the pivot. The diagonal holds the inverse of its
   root, 0 for a member that nothing is regressed on. */
static double factor_row(double *factor, size_t stride, size_t i, const double *correlations,
                         const int32_t *members, double floor)
{
    double *row = factor + i * stride;
    double pivot = correlations[members[i]];
    for (size_t j = 0; j < i; j++) {
        const double *other = factor + j * stride;
        double value = correlations[members[j]];
        for (size_t k = 0; k < j; k++)
            value -= row[k] * other[k];
        row[j] = value * other[j];
        pivot -= row[j] * row[j];
    }
    row[i] = pivot >= floor && pivot > 0 ? 1 / sqrt(pivot) : 0;
    return pivot > 0 ? pivot : 0;
}

/* Rows i..n-1 of the factor and their pivots, from the rows before; returns 0 if the work is to stop. */
static int factor_rows(double *factor, size_t stride, size_t i, size_t n, const double *correlation, size_t size,
                       const int32_t *members, double floor, double *pivots, uint64_t *work)
{
    for (; i < n; i++) {
        pivots[i] = factor_row(factor, stride, i, correlation + (size_t)members[i] * size, members, floor);
        if (stop_after(work, 1 + i * i / 2))
            return 0;
    }
    return 1;
}

int cholesky_pivots(const double *correlation, size_t size, const int32_t *members, const int64_t *starts,
                    size_t n_sets, double floor, double *pivots)
{
    size_t longest = longest_set(starts, n_sets);
    double *factor = malloc((longest * longest + 1) * sizeof(double));
    uint64_t work = 0;
    if (factor == NULL)
        return 0;
    const int32_t *before = NULL;
    size_t before_length = 0;
    for (size_t s = 0; s < n_sets; s++) {
        const int32_t *set = members + starts[s];
        size_t length = (size_t)(starts[s + 1] - starts[s]), i = 0;
        /* Rows of members that the last set began with, too, are there already. */
        while (i < length && i < before_length && set[i] == before[i]) {
            pivots[starts[s] + (int64_t)i] = pivots[before - members + (int64_t)i];
            i++;
        }
        if (!factor_rows(factor, longest, i, length, correlation, size, set, floor, pivots + starts[s], &work))
            break;
        before = set;
        before_length = length;
        if (stop_after(&work, 1 + length))
            break;
    }
    free(factor);
    return 1;
}

/* The rows of the matrix that a family stands for, those of the child last; returns their number. */
static size_t expand_family(const block_matrix *matrix, const int32_t *family, size_t length, int32_t *parents,
                            int32_t *members)
{
    size_t n = 0;
    for (size_t k = 1; k < length; k++) {
        size_t place = k - 1;
        while (place > 0 && matrix->ranks[parents[place - 1]] > matrix->ranks[family[k]]) {
            parents[place] = parents[place - 1];
            place--;
        }
        parents[place] = family[k];
    }
    parents[length - 1] = family[0];
    for (size_t k = 0; k < length; k++)
        for (int32_t row = 0; row < matrix->width[parents[k]]; row++)
            members[n++] = matrix->first[parents[k]] + row;
    return n;
}

int family_pivots(const block_matrix *matrix, const int32_t *families, size_t n_families, size_t length,
                  double *shares, int32_t *rows, double *least)
{
    size_t longest = 1, before = 0;
    uint64_t work = 0;
    for (size_t f = 0; f < n_families; f++) {
        size_t n = 0;
        for (size_t k = 0; k < length; k++)
            n += (size_t)matrix->width[families[f * length + k]];
        longest = n > longest ? n : longest;
    }
    double *factor = malloc(longest * longest * sizeof(double)), *pivots = malloc(longest * sizeof(double));
    int32_t *parents = malloc(length * sizeof(int32_t)), *members = malloc(longest * sizeof(int32_t)),
            *last = malloc(longest * sizeof(int32_t));
    const int done = factor != NULL && pivots != NULL && parents != NULL && members != NULL && last != NULL;
    for (size_t f = 0; done && f < n_families; f++) {
        const int32_t *family = families + f * length;
        const size_t n = expand_family(matrix, family, length, parents, members);
        const size_t own = (size_t)matrix->width[family[0]];
        size_t i = 0;
        /* Rows that the last family began with, too, are there already. */
        while (i < n && i < before && members[i] == last[i])
            i++;
        if (!factor_rows(factor, longest, i, n, matrix->correlation, matrix->size, members, 0, pivots, &work))
            break;
        least[f] = 1;
        for (i = 0; i < n; i++)
            least[f] = pivots[i] < least[f] ? pivots[i] : least[f];
        for (i = n - own; i < n; i++) {
            *shares++ = pivots[i];
            *rows++ = members[i];
        }
        int32_t *spare = last;
        last = members;
        members = spare;
        before = n;
        if (stop_after(&work, 1 + n))
            break;
    }
    free(factor);
    free(pivots);
    free(parents);
    free(members);
    free(last);
    return done;
}

int partial_slopes(const double *correlation, size_t size, const int32_t *members, size_t n_sets,
                   size_t length, double *slopes, double *least)
{
    double *factor = malloc((length * (length + 1) + 1) * sizeof(double));
    uint64_t work = 0;
    if (factor == NULL)
        return 0;
    double *pivots = factor + length * length;
    for (size_t s = 0; s < n_sets; s++) {
        if (!factor_rows(factor, length, 0, length, correlation, size, members + s * length, 0, pivots, &work))
            break;
        slopes[s] = factor[length * length - 2] * factor[length * length - 1];
        least[s] = 1;
        for (size_t i = 0; i < length; i++)
            least[s] = pivots[i] < least[s] ? pivots[i] : least[s];
    }
    free(factor);
    return 1;
}

/* ---------------------------------------------------------------------- within groups */

typedef struct {
    int64_t *counts;    /* rows of each group */
    __int128 *sums;     /* of each column */
    int64_t *centres;   /* the mean of each column, rounded */
    __int128 *products; /* about these, the lower triangle */
} group_sums;

static void free_sums(group_sums *sums)
{
    free(sums->counts);
    free(sums->sums);
    free(sums->centres);
    free(sums->products);
}

static int make_sums(group_sums *sums, size_t n_groups, size_t n_columns)
{
    size_t triangle = n_columns * (n_columns + 1) / 2;
    sums->counts = calloc(n_groups + 1, sizeof(int64_t));
    sums->sums = calloc(n_groups * n_columns + 1, sizeof(__int128));
    sums->centres = calloc(n_groups * n_columns + 1, sizeof(int64_t));
    sums->products = calloc(n_groups * triangle + 1, sizeof(__int128));
    if (sums->counts && sums->sums && sums->centres && sums->products)
        return 1;
    free_sums(sums);
    return 0;
}

static int64_t rounded_mean(__int128 sum, int64_t n)
{
    __int128 twice = 2 * sum + n, mean = twice / (2 * (__int128)n);
    return (int64_t)(twice < 0 && mean * 2 * n != twice ? mean - 1 : mean);
}

static void centre_sums(group_sums *sums, size_t n_groups, size_t n_columns)
{
    for (size_t g = 0; g < n_groups; g++)
        for (size_t c = 0; c < n_columns && sums->counts[g]; c++) {
            size_t at = g * n_columns + c;
            sums->centres[at] = rounded_mean(sums->sums[at], sums->counts[g]);
            sums->sums[at] -= (__int128)sums->centres[at] * sums->counts[g];
        }
}

static void add_up_weighted(group_sums *sums, const int32_t *group, size_t n_rows, size_t n_groups,
                            const int64_t *const *columns, size_t n_columns, const int64_t *weights, int centred)
{
    const size_t triangle = n_columns * (n_columns + 1) / 2;
    uint64_t work = 0;
    for (size_t r = 0; r < n_rows && !stop_at_step(r); r++)
        sums->counts[group[r]] += weights[r];
    for (size_t c = 0; c < n_columns; c++)
        for (size_t r = 0; r < n_rows && !stop_at_step(r); r++)
            sums->sums[(size_t)group[r] * n_columns + c] += (__int128)columns[c][r] * weights[r];
    if (centred)
        centre_sums(sums, n_groups, n_columns);
    for (size_t r = 0; r < n_rows && !stop_after(&work, 1 + triangle); r++) {
        const int64_t *centres = sums->centres + (size_t)group[r] * n_columns;
        __int128 *products = sums->products + (size_t)group[r] * triangle;
        for (size_t i = 0; i < n_columns; i++) {
            __int128 value = (__int128)(columns[i][r] - centres[i]) * weights[r];
            for (size_t j = 0; j <= i; j++)
                *products++ += value * (columns[j][r] - centres[j]);
        }
    }
}

/* The same where rows count once: products of two integers of 64 bits, and of a known number of columns. */
LANE_INLINE void add_up_of(group_sums *sums, const int32_t *group, size_t n_rows, size_t n_groups,
                           const int64_t *const *columns, const size_t n_columns, int centred)
{
    const size_t triangle = n_columns * (n_columns + 1) / 2;
    uint64_t work = 0;
    for (size_t r = 0; r < n_rows && !stop_after(&work, 1 + n_columns); r++) {
        __int128 *of_group = sums->sums + (size_t)group[r] * n_columns;
        sums->counts[group[r]]++;
        for (size_t c = 0; c < n_columns; c++)
            of_group[c] += columns[c][r];
    }
    if (centred)
        centre_sums(sums, n_groups, n_columns);
    for (size_t r = 0; r < n_rows && !stop_after(&work, 1 + triangle); r++) {
        const int64_t *centres = sums->centres + (size_t)group[r] * n_columns;
        __int128 *products = sums->products + (size_t)group[r] * triangle;
        for (size_t i = 0; i < n_columns; i++) {
            const int64_t value = columns[i][r] - centres[i];
            for (size_t j = 0; j <= i; j++)
                *products++ += (__int128)value * (columns[j][r] - centres[j]);
        }
    }
}

/* Add up, with products about the means of the groups, or about 0. */
static void add_up(group_sums *sums, const int32_t *group, size_t n_rows, size_t n_groups,
                   const int64_t *const *columns, size_t n_columns, const int64_t *weights, int centred)
{
    if (weights != NULL)
        add_up_weighted(sums, group, n_rows, n_groups, columns, n_columns, weights, centred);
    else if (n_columns == 1)
        add_up_of(sums, group, n_rows, n_groups, columns, 1, centred);
    else if (n_columns == 2)
        add_up_of(sums, group, n_rows, n_groups, columns, 2, centred);
    else if (n_columns == 3)
        add_up_of(sums, group, n_rows, n_groups, columns, 3, centred);
    else
        add_up_of(sums, group, n_rows, n_groups, columns, n_columns, centred);
}

/* The share of its variance that is left of each column given those before; the least of them. The
   variance of the last one, times the rows, goes to `left`. */
static double least_share(const __int128 *products, const __int128 *sums, int64_t n, size_t n_columns,
                          double *factor, double *left)
{
    double least = 1;
    for (size_t i = 0; i < n_columns; i++) {
        double own = 0, pivot = 0;
        for (size_t j = 0; j <= i; j++) {
            double value = (double)*products++ - (double)sums[i] * (double)sums[j] / (double)n;
            own = value;
            for (size_t k = 0; k < j; k++)
                value -= factor[i * n_columns + k] * factor[j * n_columns + k];
            if (j < i) {
                value *= factor[j * n_columns + j];
                factor[i * n_columns + j] = value;
            }
            pivot = value;
        }
        if (!(pivot > 0))
            return 0;
        least = pivot / own < least ? pivot / own : least;
        factor[i * n_columns + i] = 1 / sqrt(pivot);
        *left = pivot;
    }
    return least;
}

/* ln of a variance in units of 4^-scale, which itself may be beyond what a double holds. */
static double log_variance(double variance, int scale)
{
    if (scale > -SMALL_SCALE && scale < SMALL_SCALE)
        return log(ldexp(variance, -2 * scale));
    return log(variance) - 2 * scale * M_LN2;
}

static void describe_groups(const group_sums *sums, size_t n_groups, size_t n_columns, int scale, double *factor,
                            group_residuals *found)
{
    const size_t triangle = n_columns * (n_columns + 1) / 2;
    uint64_t work = 0;
    *found = (group_residuals){0, 1, 0, 0, 0};
    for (size_t g = 0; g < n_groups; g++) {
        int64_t n = sums->counts[g];
        double left = 0;
        if (n == 0)
            continue;
        if (stop_after(&work, 1 + n_columns * triangle / 3))
            break;
        found->n_groups++;
        found->n_rows += n;
        if (found->fewest_rows == 0 || n < found->fewest_rows)
            found->fewest_rows = n;
        double share = least_share(sums->products + g * triangle, sums->sums + g * n_columns, n, n_columns,
                                   factor, &left);
        if (share < found->least_pivot)
            found->least_pivot = share;
        if (share > 0)
            found->log_sum += (double)n * log_variance(left / (double)n, scale);
    }
}

int residuals_within(const int32_t *group, size_t n_rows, size_t n_groups, const int64_t *const *columns,
                     size_t n_columns, const int64_t *weights, int scale, group_residuals *found)
{
    group_sums sums;
    double *factor = malloc((n_columns * n_columns + 1) * sizeof(double));
    if (factor == NULL || !make_sums(&sums, n_groups, n_columns)) {
        free(factor);
        return 0;
    }
    add_up(&sums, group, n_rows, n_groups, columns, n_columns, weights, 1);
    describe_groups(&sums, n_groups, n_columns, scale, factor, found);
    free(factor);
    free_sums(&sums);
    return 1;
}

/* ---------------------------------------------------------------------- sums of parts of a table */

#define DIGIT_BITS 42

static void write_digits(__int128 value, int64_t *digits)
{
    const __int128 mask = ((__int128)1 << DIGIT_BITS) - 1;
    digits[0] = (int64_t)(value & mask);
    digits[1] = (int64_t)((value >> DIGIT_BITS) & mask);
    digits[2] = (int64_t)(value >> (2 * DIGIT_BITS));
}

/* Digits are sums of digits, so they may be larger than one. Unsigned integers wrap around on the way. */
static __int128 read_digits(const int64_t *digits)
{
    const unsigned __int128 high = (unsigned __int128)(__int128)digits[2] << DIGIT_BITS;
    const unsigned __int128 middle = (high + (unsigned __int128)(__int128)digits[1]) << DIGIT_BITS;
    return (__int128)(middle + (unsigned __int128)(__int128)digits[0]);
}

int sums_within(const int32_t *group, size_t n_rows, size_t n_groups, const int64_t *const *columns,
                size_t n_columns, const int64_t *weights, int64_t *counts, int64_t *digits)
{
    const size_t triangle = n_columns * (n_columns + 1) / 2;
    group_sums sums;
    if (!make_sums(&sums, n_groups, n_columns))
        return 0;
    add_up(&sums, group, n_rows, n_groups, columns, n_columns, weights, 0);
    for (size_t g = 0; g < n_groups; g++) {
        counts[g] = sums.counts[g];
        for (size_t c = 0; c < n_columns; c++, digits += 3)
            write_digits(sums.sums[g * n_columns + c], digits);
        for (size_t k = 0; k < triangle; k++, digits += 3)
            write_digits(sums.products[g * triangle + k], digits);
    }
    free_sums(&sums);
    return 1;
}

/* Products about 0 become those about the rounded means. Unsigned integers wrap around on the way. */
static void centre_products(group_sums *sums, size_t n_groups, size_t n_columns)
{
    typedef unsigned __int128 wrapping;
    const size_t triangle = n_columns * (n_columns + 1) / 2;
    for (size_t g = 0; g < n_groups; g++) {
        const int64_t *centres = sums->centres + g * n_columns;
        const __int128 *left = sums->sums + g * n_columns;
        __int128 *products = sums->products + g * triangle;
        for (size_t i = 0; i < n_columns; i++)
            for (size_t j = 0; j <= i; j++) {
                /* The sums are about the means already: the whole one is left + n centre. */
                const wrapping n = (wrapping)sums->counts[g], of_i = (wrapping)centres[i], of_j = (wrapping)centres[j];
                *products = (__int128)((wrapping)*products - of_i * (wrapping)left[j] - of_j * (wrapping)left[i] -
                                       n * of_i * of_j);
                products++;
            }
    }
}

int residuals_of_sums(const int64_t *counts, const int64_t *digits, size_t n_groups, size_t n_columns, int scale,
                      group_residuals *found)
{
    const size_t triangle = n_columns * (n_columns + 1) / 2;
    group_sums sums;
    double *factor = malloc((n_columns * n_columns + 1) * sizeof(double));
    if (factor == NULL || !make_sums(&sums, n_groups, n_columns)) {
        free(factor);
        return 0;
    }
    for (size_t g = 0; g < n_groups; g++) {
        sums.counts[g] = counts[g];
        for (size_t c = 0; c < n_columns; c++, digits += 3)
            sums.sums[g * n_columns + c] = read_digits(digits);
        for (size_t k = 0; k < triangle; k++, digits += 3)
            sums.products[g * triangle + k] = read_digits(digits);
    }
    centre_sums(&sums, n_groups, n_columns);
    centre_products(&sums, n_groups, n_columns);
    describe_groups(&sums, n_groups, n_columns, scale, factor, found);
    free(factor);
    free_sums(&sums);
    return 1;
}
