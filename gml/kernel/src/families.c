#include "families.h"

#include <math.h>
#include <stdlib.h>

#include "regret.h"
#include "sparse.h"
#include "tail.h"

typedef struct {
    const family_rule *rule;
    size_t levels;
    double cell_prior;
    double sum;
} family_sum;

/* What ln Gamma(n + a) - ln Gamma(a) has beside z ln z - z, z = n + a (Stirling with its error). */
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

static double likelihood(const int64_t *counts, size_t levels, double unit, int64_t total)
{
    double sum = 0;
    for (size_t k = 0; k < levels; k++)
        if (counts[k] != 0)
            sum += (double)counts[k] * log_share((double)counts[k], (double)(total - counts[k]));
    return sum * unit;
}

/* ln of Gamma(A) / Gamma(n + A) * prod Gamma(n_k + a) / Gamma(a), A = r a. With z = n + prior count the
   parts z ln z add up to sum z_k ln(z_k / z) + A ln r and the parts z cancel: nothing of the size n ln n
   is ever subtracted. Where the prior outweighs the rows, the sum is that of z_k ln(r z_k / z) - n ln r, of
   which r z_k - z = r n_k - n: nothing of the size of the prior is. */
static double marginal_likelihood(const int64_t *counts, size_t levels, double unit, int64_t total,
                                  double a)
{
    const double r = (double)levels, all = r * a, n = (double)total * unit;
    const int by_prior = all > n;
    double sum = (by_prior ? -n : all) * log(r) - rest(n, all), empty = 0;
    for (size_t k = 0; k < levels; k++) {
        if (counts[k] == 0) {
            empty++;
            continue;
        }
        double count = (double)counts[k] * unit, others = (double)(total - counts[k]) * unit;
        sum += rest(count, a);
        if (by_prior)
            sum += (count + a) * log1p((r * count - n) / (n + all));
        else
            sum += (count + a) * log_share(count + a, others + (r - 1) * a);
    }
    return sum + empty * a * (by_prior ? log1p(-n / (n + all)) : log(a / (n + all)));
}

static void add_stratum(void *context, const int64_t *counts)
{
    family_sum *family = context;
    const double unit = family->rule->unit;
    int64_t total = 0;
    for (size_t k = 0; k < family->levels; k++)
        total += counts[k];
    if (total == 0)
        return;
    if (family->rule->kind == FAMILY_LIKELIHOOD)
        family->sum += likelihood(counts, family->levels, unit, total);
    else if (family->rule->kind == FAMILY_DIRICHLET)
        family->sum += marginal_likelihood(counts, family->levels, unit, total, family->cell_prior);
    else
        family->sum += log_regret((double)total * unit, (double)family->levels);
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

double family_value(const int64_t *table, size_t strata, size_t levels, double cells,
                    const family_rule *rule)
{
    size_t seen = rule->share == PRIOR_OF_SEEN ? seen_strata_of(table, strata, levels) : 0;
    family_sum family = {rule, levels, cell_prior(rule, levels, cells, seen), 0};
    for (size_t s = 0; s < strata; s++)
        add_stratum(&family, table + s * levels);
    return family.sum;
}

/* Returns as sort_rows does. */
static int sparse_value(const coded_data *data, const int32_t *set, size_t size, double cells,
                        const family_rule *rule, double *value)
{
    const size_t levels = data->columns[set[size - 1]].n_levels;
    sorted_rows sorted;
    int done = sort_rows(data, set, size, &sorted);
    if (done != 1)
        return done;
    int64_t *stratum = calloc(levels, sizeof *stratum);
    if (stratum != NULL) {
        size_t seen = rule->share == PRIOR_OF_SEEN ? distinct_strata(&sorted, levels) : 0;
        family_sum family = {rule, levels, cell_prior(rule, levels, cells, seen), 0};
        visit_strata(data, &sorted, levels, stratum, add_stratum, &family);
        *value = family.sum;
    }
    free_sorted_rows(&sorted);
    free(stratum);
    return stratum != NULL;
}

int family_values(const coded_data *data, const int32_t *members, const int64_t *starts,
                  size_t n_families, uint64_t most_cells, const family_rule *rule, double *values)
{
    const uint64_t worth_holding = 4096 + 8 * data->n_rows;
    int64_t *table = NULL;
    uint64_t room = 0;
    int done = 1;
    for (size_t f = 0; f < n_families && done; f++) {
        const int32_t *set = members + starts[f];
        const size_t size = (size_t)(starts[f + 1] - starts[f]);
        const size_t levels = data->columns[set[size - 1]].n_levels;
        const uint64_t cells = count_cells(data, set, size);
        double all_cells = 1;
        for (size_t k = 0; k < size; k++)
            all_cells *= data->columns[set[k]].n_levels;
        if (levels > most_cells) {
            values[f] = NAN;
            continue;
        }
        if (cells == 0 || cells > most_cells || cells > worth_holding) {
            int found = sparse_value(data, set, size, all_cells, rule, &values[f]);
            done = found != 0;
            if (found < 0)
                values[f] = NAN;
            continue;
        }
        if (cells > room) {
            free(table);
            table = malloc(cells * sizeof *table);
            room = table == NULL ? 0 : cells;
        }
        done = table != NULL && count_set(data, set, size, table);
        if (done)
            values[f] = family_value(table, cells / levels, levels, all_cells, rule);
    }
    free(table);
    return done;
}
