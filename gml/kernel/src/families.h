/* Decomposable scores: one number for a child given its parents. */
#ifndef GML_FAMILIES_H
#define GML_FAMILIES_H

#include "counting.h"

enum {
    FAMILY_LIKELIHOOD, /* sum n_jk ln(n_jk / n_j) */
    FAMILY_DIRICHLET,  /* ln of the marginal likelihood under a symmetric Dirichlet prior */
    FAMILY_REGRET,     /* sum ln C(n_j, r) */
    FAMILY_JOINT       /* as DIRICHLET, all columns being one variable; the ceiling counts its levels seen */
};

/* What the prior's count is for: a cell, all cells of the table, or the cells of the seen strata. */
enum { PRIOR_OF_CELL, PRIOR_OF_TABLE, PRIOR_OF_SEEN };

typedef struct {
    int kind;
    int share;
    double prior;
    double unit; /* how many rows a count of 1 stands for */
    int with_ceiling;
    double ceiling_prior;
    double rows; /* of a joint, in all; family_values and family_value know it */
} family_rule;

/* What a family is worth and, with a ceiling, what it would be worth were every cell a stratum of its own,
   under a Dirichlet prior of `ceiling_prior` a cell; where that is 0 each cell is worth -ln r. */
typedef struct {
    double value, ceiling;
} family_worth;

/* One value for each family members[starts[k]..starts[k+1]-1] = *parents, child. NaN where the table has
   more than 2^63 cells, or the child over `most_cells` levels. Returns 0 when memory ran out. */
int family_values(const coded_data *data, const int32_t *members, const int64_t *starts,
                  size_t n_families, uint64_t most_cells, const family_rule *rule,
                  family_worth *worth);

/* The same of a table[stratum][level] that holds all seen strata; `cells` of the whole table. */
family_worth family_value(const int64_t *table, size_t strata, size_t levels, double cells,
                          const family_rule *rule);

#endif
