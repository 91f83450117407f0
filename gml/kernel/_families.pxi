# Worths of families: a part of _kernel.pyx.

cdef extern from "regret.h":
    double c_log_regret "log_regret"(double, double) nogil


cdef family_rule _family_rule(rule):
    cdef family_rule c_rule
    c_rule.kind, c_rule.share, c_rule.prior, c_rule.unit = rule
    c_rule.with_ceiling = 0
    c_rule.ceiling_prior = 0
    c_rule.rows = 0
    return c_rule


def family_value(const int64_t[:, ::1] table, double cells, rule):
    """Value of table[stratum, level], which has all seen strata; `cells` of the whole table."""
    return _worth_of_table(table, cells, _family_rule(rule)).value


def family_ceiling(const int64_t[:, ::1] table, double cells, rule, double cell_prior):
    """The same with its ceiling, as if every cell were a stratum."""
    cdef family_rule c_rule = _family_rule(rule)
    c_rule.with_ceiling = 1
    c_rule.ceiling_prior = cell_prior
    return _worth_of_table(table, cells, c_rule)


cdef object _worth_of_table(const int64_t[:, ::1] table, double cells, family_rule rule):
    cdef family_worth worth
    if table.shape[0] == 0:
        return FamilyWorth(0.0, 0.0)
    with nogil:
        worth = c_family_value(&table[0, 0], table.shape[0], table.shape[1], cells, &rule)
    return FamilyWorth(worth.value, worth.ceiling)


def log_regret(double n, double levels):
    """ln of the normaliser of the NML distribution of n rows over this many levels."""
    cdef double value
    with nogil:
        value = c_log_regret(n, levels)
    return value
