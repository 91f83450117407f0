# Statistics of tables, and their distributions: a part of _kernel.pyx.

cdef extern from "statistics.h":
    ctypedef struct table_statistics:
        double g, x2, v_denominator, x2_mean, x2_variance, x2_third, seen_z
        int64_t n, df_adjusted, seen_x, seen_y, seen_strata, cells_xyz, cells_xz, cells_yz
    int statistics_of_table(const int64_t *, size_t, size_t, size_t, table_statistics *) nogil
    double c_log_bayes_factor "log_bayes_factor"(
        const int64_t *, size_t, size_t, size_t, double) nogil

cdef extern from "tail.h":
    double c_log_chi2_upper "log_chi2_upper"(double, double) nogil

cdef extern from "permutation.h":
    int c_permutation_draws "permutation_draws"(
        const int64_t *, size_t, size_t, size_t, const uint64_t *, int64_t, int64_t,
        double *) nogil
    int c_information_loss_draws "information_loss_draws"(
        const int64_t *, size_t, size_t, const double *, const int64_t *, const uint64_t *, int64_t,
        int64_t, double *) nogil


cdef int _describe(const int64_t *table, size_t strata, size_t rows, size_t columns,
                   double *floats, int64_t *ints) noexcept nogil:
    cdef table_statistics found
    if not statistics_of_table(table, strata, rows, columns, &found):
        return 0
    _store(&found, floats, ints)
    return 1


cdef void _store(const table_statistics *found, double *floats, int64_t *ints) noexcept nogil:
    floats[0] = found.g
    floats[1] = found.x2
    floats[2] = found.v_denominator
    floats[3] = found.seen_z
    floats[4] = found.x2_mean
    floats[5] = found.x2_variance
    floats[6] = found.x2_third
    ints[0] = found.n
    ints[1] = found.df_adjusted
    ints[2] = found.seen_x
    ints[3] = found.seen_y
    ints[4] = found.seen_strata
    ints[5] = found.cells_xyz
    ints[6] = found.cells_xz
    ints[7] = found.cells_yz


def table_statistics_of(const int64_t[:, :, ::1] table):
    """Statistics of one table[stratum, x, y]; the levels seen of Z stay the caller's to fill in."""
    out = TableStatistics.zeros(1)
    cdef double[:, ::1] floats = out.floats
    cdef int64_t[:, ::1] ints = out.ints
    cdef int done
    if table.shape[0] == 0:
        return out
    with nogil:
        done = _describe(&table[0, 0, 0], table.shape[0], table.shape[1], table.shape[2],
                         &floats[0, 0], &ints[0, 0])
    check_stopped()
    if not done:
        raise MemoryError
    return out


def log_bayes_factor(const int64_t[:, :, ::1] table, double alpha):
    """ln of BDeu(x | y, Z) over BDeu(x | Z) with prior count `alpha` a cell; seen levels only."""
    cdef double value
    if table.shape[0] == 0:
        return 0.0
    with nogil:
        value = c_log_bayes_factor(&table[0, 0, 0], table.shape[0], table.shape[1], table.shape[2],
                                   alpha)
    if value != value:
        raise MemoryError
    return value


def log_chi2_upper(const double[::1] statistic, const double[::1] df):
    """ln of the upper tail of the chi-squared distribution, elementwise."""
    out = np.empty(statistic.shape[0])
    cdef double[::1] view = out
    cdef Py_ssize_t k
    with nogil:
        for k in range(statistic.shape[0]):
            if k % 1024 == 1023 and stop_wanted():
                break
            view[k] = c_log_chi2_upper(statistic[k], df[k])
    check_stopped()
    return out


def permutation_draws(const int64_t[:, :, ::1] table, tuple key, int64_t first, int64_t last):
    """G of the replicates first..last-1 of a table, its stratum margins fixed."""
    cdef uint64_t words[2]
    cdef int done
    out = np.empty(last - first)
    cdef double[::1] view = out
    words[0], words[1] = key
    if last <= first:
        return out
    with nogil:
        done = c_permutation_draws(&table[0, 0, 0], table.shape[0], table.shape[1],
                                   table.shape[2], words, first, last, &view[0])
    check_stopped()
    if not done:
        raise MemoryError
    return out


def information_loss_draws(const int64_t[:, :, ::1] table, const double[::1] weights,
                           const int64_t[::1] groups, tuple key, int64_t first, int64_t last):
    """Information that a second sample has less, in replicates first..last-1 of sharing out rows."""
    cdef uint64_t words[2]
    cdef int done
    out = np.empty(last - first)
    cdef double[::1] view = out
    words[0], words[1] = key
    if table.shape[1] != 2 or table.shape[0] != weights.shape[0] or (
        weights.shape[0] != groups.shape[0]
    ):
        raise ValueError("there are two samples, and a weight and a group for each stratum")
    if last <= first:
        return out
    if table.shape[0] == 0:
        out[:] = 0
        return out
    with nogil:
        done = c_information_loss_draws(&table[0, 0, 0], table.shape[0], table.shape[2],
                                        &weights[0], &groups[0], words, first, last, &view[0])
    check_stopped()
    if not done:
        raise MemoryError
    return out
