#include "families.h"

#include <math.h>
#include <stdlib.h>

#include "configurations.h"
#include "held_tables.h"
#include "regret.h"
#include "sparse.h"
#include "stop.h"
#include "tail.h"

/* Most strata of large families have few rows: their terms are kept. */
#define SMALL 32

typedef struct {
    double prior, levels; /* of what is kept */
    double alone[SMALL], in_total[SMALL], of_empty[SMALL], pure[SMALL];
    double share[SMALL][SMALL], likelihood[SMALL][SMALL];
} small_terms;

typedef struct {
    const family_rule *rule;
    size_t levels;
    double cell_prior;
    small_terms *small;
    double cells;
    double sum, ceiling;
    double lost; /* by rounding the sum of a joint */
} family_sum;

/* What ln Gamma(n + a) - ln Gamma(a) has besides z ln z - z, z = n + a (Stirling with its error). */
static double rest(double n, double a)
{
    return n == 0 ? 0 : stirling_error(n + a) - stirling_error(a) - 0.5 * log1p(n / a);
}

/* ln of a share part / (part + others): a share near 1 keeps its digits. */
static double log_share(double part, double others)
{
    const double whole = part + others;
    return others < part ? log1p(-others / whole) : log(part / whole);
}

static double likelihood_term(int64_t count, int64_t total)
{
    return (double)count * log_share((double)count, (double)(total - count));
}

static double likelihood(const family_sum *family, const int64_t *counts, int64_t total)
{
    double sum = 0;
    for (size_t k = 0; k < family->levels; k++) {
        if (counts[k] == 0)
            continue;
        if (total < SMALL) {
            double *kept = &family->small->likelihood[total][counts[k]];
            if (isnan(*kept))
                *kept = likelihood_term(counts[k], total);
            sum += *kept;
        } else
            sum += likelihood_term(counts[k], total);
    }
    return sum * family->rule->unit;
}

/* ln of Gamma(A) / Gamma(n + A) * prod Gamma(n_k + a) / Gamma(a), A = r a. With z = n + prior count the
   parts z ln z add up to sum z_k ln(z_k / z) + A ln r and the parts z cancel: nothing of the size n ln n
   is ever subtracted. Where the prior outweighs the rows, the sum is that of z_k ln(r z_k / z) - n ln r, of
   which r z_k - z = r n_k - n: nothing of the size of the prior is. The three terms of which it consists: */
static double total_term(double n, double r, double a)
{
    return (r * a > n ? -n : r * a) * log(r) - rest(n, r * a);
}

static double share_term(double count, double others, double n, double r, double a)
{
    if (r * a > n)
        return (count + a) * log1p((r * count - n) / (n + r * a));
    return (count + a) * log_share(count + a, others + (r - 1) * a);
}

static double empty_term(double n, double r, double a)
{
    return r * a > n ? log1p(-n / (n + r * a)) : log(a / (n + r * a));
}

static double marginal_likelihood(const int64_t *counts, size_t levels, double unit, int64_t total,
                                  double a)
{
    const double r = (double)levels, n = (double)total * unit;
    double sum = total_term(n, r, a), empty = 0;
    for (size_t k = 0; k < levels; k++) {
        if (counts[k] == 0) {
            empty++;
            continue;
        }
        double count = (double)counts[k] * unit, others = (double)(total - counts[k]) * unit;
        sum += rest(count, a);
        sum += share_term(count, others, n, r, a);
    }
    return sum + empty * a * empty_term(n, r, a);
}

/* The same, bit for bit, for few rows that count 1 each. */
static double small_marginal_likelihood(const family_sum *family, const int64_t *counts,
                                        int64_t total)
{
    small_terms *small = family->small;
    const double r = (double)family->levels, a = family->cell_prior, n = (double)total;
    if (isnan(small->in_total[total])) {
        small->in_total[total] = total_term(n, r, a);
        small->of_empty[total] = empty_term(n, r, a);
    }
    double sum = small->in_total[total], empty = 0;
    for (size_t k = 0; k < family->levels; k++) {
        const int64_t count = counts[k];
        if (count == 0) {
            empty++;
            continue;
        }
        if (isnan(small->alone[count]))
            small->alone[count] = rest((double)count, a);
        if (isnan(small->share[total][count]))
            small->share[total][count] =
                share_term((double)count, (double)(total - count), n, r, a);
        sum += small->alone[count];
        sum += small->share[total][count];
    }
    return sum + empty * a * small->of_empty[total];
}

/* What a stratum with all its rows in one cell is worth; with no prior the limit, which is that of the
   first row. */
static double pure_value(double n, double r, double a)
{
    if (a == 0)
        return -log(r);
    return total_term(n, r, a) + rest(n, a) + share_term(n, 0, n, r, a) +
           (r - 1) * a * empty_term(n, r, a);
}

static double ceiling_of(const family_sum *family, const int64_t *counts)
{
    double sum = 0;
    for (size_t k = 0; k < family->levels; k++) {
        if (counts[k] == 0)
            continue;
        double *kept = counts[k] < SMALL ? &family->small->pure[counts[k]] : NULL;
        double value = kept == NULL ? NAN : *kept;
        if (isnan(value)) {
            value = pure_value((double)counts[k] * family->rule->unit, (double)family->levels,
                               family->rule->ceiling_prior);
            if (kept != NULL)
                *kept = value;
        }
        sum += value;
    }
    return sum;
}

static void forget(double *terms, size_t n)
{
    for (size_t i = 0; i < n; i++)
        terms[i] = NAN;
}

static void forget_all(small_terms *small)
{
    small->prior = small->levels = NAN;
    forget(&small->likelihood[0][0], SMALL * SMALL);
}

/* Keep the terms of this family from now on. */
static void keep_for(small_terms *small, double prior, double levels)
{
    if (small->prior == prior && small->levels == levels)
        return;
    small->prior = prior;
    small->levels = levels;
    forget(small->alone, SMALL);
    forget(small->in_total, SMALL);
    forget(small->pure, SMALL);
    forget(&small->share[0][0], SMALL * SMALL);
}

/* Add the observed levels of a variable made of all columns; its prior is that of each cell. */
static void add_levels(family_sum *family, const int64_t *counts)
{
    const double n = family->rule->rows, a = family->cell_prior, q = family->cells;
    for (size_t k = 0; k < family->levels; k++) {
        if (counts[k] == 0)
            continue;
        double *kept = counts[k] < SMALL ? &family->small->alone[counts[k]] : NULL;
        double value = kept == NULL ? NAN : *kept;
        if (isnan(value)) {
            const double count = (double)counts[k] * family->rule->unit;
            value = rest(count, a) + share_term(count, n - count, n, q, a);
            if (kept != NULL)
                *kept = value;
        }
        /* Kahan's sum: differences of joints are what is wanted. */
        const double next = value - family->lost, sum = family->sum + next;
        family->lost = (sum - family->sum) - next;
        family->sum = sum;
        family->ceiling++;
    }
}

/* Add the terms of the other levels of such a variable, and of its total. */
static void end_joint(family_sum *family)
{
    const double n = family->rule->rows, a = family->cell_prior, q = family->cells;
    family->sum += total_term(n, q, a) + (q - family->ceiling) * a * empty_term(n, q, a);
}

static void add_stratum(void *context, const int64_t *counts)
{
    family_sum *family = context;
    const double unit = family->rule->unit;
    int64_t total = 0;
    if (family->rule->kind == FAMILY_JOINT) {
        add_levels(family, counts);
        return;
    }
    for (size_t k = 0; k < family->levels; k++)
        total += counts[k];
    if (total == 0)
        return;
    if (family->rule->kind == FAMILY_LIKELIHOOD)
        family->sum += likelihood(family, counts, total);
    else if (family->rule->kind == FAMILY_REGRET)
        family->sum += log_regret((double)total * unit, (double)family->levels);
    else if (total < SMALL && unit == 1)
        family->sum += small_marginal_likelihood(family, counts, total);
    else
        family->sum += marginal_likelihood(counts, family->levels, unit, total, family->cell_prior);
    if (family->rule->with_ceiling)
        family->ceiling += ceiling_of(family, counts);
}

static double cell_prior(const family_rule *rule, size_t levels, double cells, size_t seen_strata)
{
    if (rule->share == PRIOR_OF_CELL)
        return rule->prior;
    if (rule->share == PRIOR_OF_TABLE)
        return rule->prior / cells;
    return rule->prior / ((double)levels * (double)(seen_strata > 0 ? seen_strata : 1));
}

static size_t seen_strata_of(const int64_t *table, size_t strata, size_t levels)
{
    size_t seen = 0;
    for (size_t s = 0; s < strata; s++) {
        size_t k = 0;
        while (k < levels && table[s * levels + k] == 0)
            k++;
        seen += k < levels;
    }
    return seen;
}

static family_sum start_family(const family_rule *rule, size_t levels, double cells, size_t seen,
                               small_terms *small)
{
    family_sum family = {rule, levels, cell_prior(rule, levels, cells, seen), small, cells, 0, 0, 0};
    keep_for(small, family.cell_prior, rule->kind == FAMILY_JOINT ? cells : (double)levels);
    return family;
}

static family_worth worth_of(const int64_t *table, size_t strata, size_t levels, double cells,
                             const family_rule *rule, small_terms *small)
{
    size_t seen = rule->share == PRIOR_OF_SEEN ? seen_strata_of(table, strata, levels) : 0;
    family_sum family = start_family(rule, levels, cells, seen, small);
    for (size_t s = 0; s < strata; s++)
        add_stratum(&family, table + s * levels);
    if (rule->kind == FAMILY_JOINT)
        end_joint(&family);
    return (family_worth){family.sum, family.ceiling};
}

family_worth family_value(const int64_t *table, size_t strata, size_t levels, double cells,
                          const family_rule *rule)
{
    small_terms small;
    family_rule of_table = *rule;
    forget_all(&small);
    of_table.rows = 0;
    for (size_t c = 0; c < strata * levels; c++)
        of_table.rows += (double)table[c] * rule->unit;
    return worth_of(table, strata, levels, cells, &of_table, &small);
}

void held_families(const held_tables *tables, const family_rule *rule, family_worth *worth)
{
    small_terms small;
    family_rule of_table = *rule;
    uint64_t steps = 0;
    forget_all(&small);
    of_table.rows = NAN;
    for (size_t t = 0; t < tables->n_tables; t++) {
        const int32_t *n_levels = tables->levels + t * tables->size;
        const int64_t *table = tables->cells + tables->starts[t];
        const size_t levels = (size_t)n_levels[tables->size - 1];
        size_t strata = 1;
        for (size_t k = 0; k + 1 < tables->size; k++)
            strata *= (size_t)n_levels[k];
        if (stop_after(&steps, strata * levels))
            return;
        double rows = 0;
        for (size_t c = 0; c < strata * levels; c++)
            rows += (double)table[c] * rule->unit;
        if (rows == 0) {
            worth[t] = (family_worth){0, 0};
            continue;
        }
        /* What is kept of a joint is for so many rows. */
        if (rule->kind == FAMILY_JOINT && rows != of_table.rows)
            forget_all(&small);
        of_table.rows = rows;
        worth[t] = worth_of(table, strata, levels, (double)strata * (double)levels, &of_table, &small);
    }
}

/* Returns as sort_rows does. */
static int sparse_value(const coded_data *data, const int32_t *set, size_t size, double cells,
                        const family_rule *rule, small_terms *small, family_worth *worth)
{
    const size_t levels = data->columns[set[size - 1]].n_levels;
    sorted_rows sorted;
    int done = sort_rows(data, set, size, &sorted);
    if (done != 1)
        return done;
    int64_t *stratum = calloc(levels, sizeof *stratum);
    if (stratum != NULL) {
        size_t seen = rule->share == PRIOR_OF_SEEN ? distinct_strata(&sorted, levels) : 0;
        family_sum family = start_family(rule, levels, cells, seen, small);
        visit_strata(data, &sorted, levels, stratum, add_stratum, &family);
        if (rule->kind == FAMILY_JOINT)
            end_joint(&family);
        *worth = (family_worth){family.sum, family.ceiling};
    }
    free_sorted_rows(&sorted);
    free(stratum);
    return stratum != NULL;
}

/* A rule with the rows of all data. Joints are asked for where no value is missing. */
static family_rule with_rows(const family_rule *rule, const coded_data *data)
{
    family_rule complete = *rule;
    complete.rows = data->weights == NULL ? (double)data->n_rows * rule->unit : 0;
    for (size_t i = 0; data->weights != NULL && i < data->n_rows; i++)
        complete.rows += (double)data->weights[i] * rule->unit;
    return complete;
}

int family_values(const coded_data *data, const int32_t *members, const int64_t *starts,
                  size_t n_families, uint64_t most_cells, const family_rule *asked,
                  family_worth *worth)
{
    const family_rule of_data = with_rows(asked, data), *rule = &of_data;
    const uint64_t worth_holding = 4096 + 8 * data->n_rows;
    const uint64_t most_held = most_cells < worth_holding ? most_cells : worth_holding;
    const family_worth unknown = {NAN, NAN};
    small_terms small;
    configurations configs;
    int64_t *table = NULL;
    uint64_t room = 0;
    uint64_t steps = 0;
    int done = 1;
    forget_all(&small);
    configurations_begin(&configs, data);
    for (size_t f = 0; f < n_families && done; f++) {
        if (stop_after(&steps, 1024 + data->n_rows)) {
            done = 0;
            break;
        }
        const int32_t *set = members + starts[f];
        const size_t size = (size_t)(starts[f + 1] - starts[f]);
        const size_t levels = data->columns[set[size - 1]].n_levels;
        uint64_t cells = count_cells(data, set, size);
        double all_cells = 1;
        for (size_t k = 0; k < size; k++)
            all_cells *= data->columns[set[k]].n_levels;
        if (levels > most_cells) {
            worth[f] = unknown;
            continue;
        }
        const size_t next_size =
            f + 1 < n_families ? (size_t)(starts[f + 2] - starts[f + 1]) : 0;
        int by_configuration =
            configurations_serve(&configs, set, size, set + size, next_size, all_cells);
        if (by_configuration) {
            const int reached = configurations_reach(&configs, set, size, most_held);
            done = reached != 0;
            by_configuration = reached > 0;
        }
        if (by_configuration)
            cells = configurations_cells(&configs, set, size);
        else if (done && (cells == 0 || cells > most_held)) {
            int found = sparse_value(data, set, size, all_cells, rule, &small, &worth[f]);
            done = found != 0;
            if (found < 0)
                worth[f] = unknown;
            continue;
        }
        if (done && cells > room) {
            free(table);
            table = malloc(cells * sizeof *table);
            room = table == NULL ? 0 : cells;
        }
        done = done && table != NULL;
        if (done && by_configuration)
            configurations_count(&configs, set, size, table);
        else if (done)
            done = count_set(data, set, size, table);
        if (done)
            worth[f] = worth_of(table, cells / levels, levels, all_cells, rule, &small);
    }
    free(table);
    configurations_end(&configs);
    return done;
}
