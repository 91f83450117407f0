# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, freethreading_compatible=False
"""Binding of the C kernels: checks nothing that its callers in gml have checked already.

`gml.kernel.reference` has the same functions in Python; the tests compare the two.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from gml.kernel.layout import (
    CODES8,
    CODES16,
    CODES32,
    DENSE_CELLS,
    NUMBERS,
    OVERFLOW,
    SKIP,
    CsvColumn,
    CsvProblem,
    CsvResult,
    FamilyWorth,
    FamilyWorths,
    GroupResiduals,
    PairSums,
    RowGroups,
    TableStatistics,
)
from gml.stopping import Stopped

cdef extern from "cpu.h":
    int cpu_level() nogil
    int cpu_limit(int level) nogil

cdef extern from "Python.h":
    int PyErr_CheckSignals()

cdef extern from "stop.h":
    enum:
        STOP_NONE
        STOP_FLAG
    void stop_obey(const unsigned char *)
    void stop_ask_signals(int (*)() noexcept nogil)
    int stop_wanted() nogil
    int stop_taken()

cdef extern from "recode.h":
    void recode8(uint8_t *, size_t, const uint8_t *, size_t) nogil
    void recode16(uint16_t *, size_t, const uint16_t *) nogil

cdef extern from "popcount.h":
    enum:
        MASK_ALIGN_WORDS
    int build_masks8(const uint8_t *, size_t, size_t, uint64_t *, size_t, int64_t *) nogil

cdef extern from "counting.h":
    ctypedef struct coded_column:
        const void *codes
        int width
        int has_missing
        uint32_t n_levels
        const uint64_t *masks
        const int64_t *totals
        size_t first_level
    ctypedef struct coded_data:
        const coded_column *columns
        size_t n_rows
        size_t mask_words
        const int64_t *weights
        const int32_t *pairs
        size_t n_levels
    int count_all_pairs(const coded_data *, size_t, int32_t *) nogil
    uint64_t count_cells(const coded_data *, const int32_t *, size_t) nogil
    int count_set(const coded_data *, const int32_t *, size_t, int64_t *) nogil
    int has_missing(const void *, int, size_t) nogil
    int count_pairs(const coded_data *, const int32_t *, size_t, int64_t *, const int64_t *) nogil

cdef extern from "statistics.h":
    ctypedef struct table_statistics:
        double g, x2, v_denominator, x2_mean, x2_variance, x2_third, seen_z
        int64_t n, df_adjusted, seen_x, seen_y, seen_strata, cells_xyz, cells_xz, cells_yz
    int statistics_of_table(const int64_t *, size_t, size_t, size_t, table_statistics *) nogil
    double c_log_bayes_factor "log_bayes_factor"(
        const int64_t *, size_t, size_t, size_t, double) nogil

cdef extern from "set_statistics.h":
    int c_set_statistics "set_statistics"(
        const coded_data *, const int32_t *, const int64_t *, size_t, uint64_t,
        table_statistics *) nogil

cdef extern from "families.h":
    ctypedef struct family_rule:
        int kind, share
        double prior, unit, ceiling_prior, rows
        int with_ceiling
    ctypedef struct family_worth:
        double value, ceiling
    int c_family_values "family_values"(
        const coded_data *, const int32_t *, const int64_t *, size_t, uint64_t,
        const family_rule *, family_worth *) nogil
    family_worth c_family_value "family_value"(
        const int64_t *, size_t, size_t, double, const family_rule *) nogil

cdef extern from "regret.h":
    double c_log_regret "log_regret"(double, double) nogil

cdef extern from "conditioning.h":
    ctypedef struct conditioning:
        const int64_t *starts
        const int32_t *neighbours
        const int32_t *tiers
        size_t level
    int64_t conditioning_total(const conditioning *, int32_t, int32_t, int32_t *) nogil
    void conditioning_fill(
        const conditioning *, int32_t, int32_t, int64_t, int64_t, int32_t *, int32_t *) nogil

cdef extern from "tail.h":
    double c_log_chi2_upper "log_chi2_upper"(double, double) nogil

cdef extern from "permutation.h":
    int c_permutation_draws "permutation_draws"(
        const int64_t *, size_t, size_t, size_t, const uint64_t *, int64_t, int64_t,
        double *) nogil
    int c_information_loss_draws "information_loss_draws"(
        const int64_t *, size_t, size_t, const double *, const int64_t *, const uint64_t *, int64_t,
        int64_t, double *) nogil

cdef extern from "moments.h":
    ctypedef struct wide_integer:
        uint64_t limb[3]
    wide_integer c_exact_dot "exact_dot"(
        const int64_t *, const int64_t *, const int64_t *, size_t) nogil

cdef extern from "distinct.h":
    int64_t c_group_rows "group_rows"(
        const uint8_t *, size_t, size_t, int64_t, int32_t *, int64_t *) nogil


INSTRUCTIONS = ("portable", "avx2", "avx512")


def instructions():
    """Name of the vector instructions in use."""
    return INSTRUCTIONS[cpu_level()]


def limit_instructions(str name):
    """Use at most the named instructions; returns the name of those then in use."""
    return INSTRUCTIONS[cpu_limit(INSTRUCTIONS.index(name))]


# ---------------------------------------------------------------------- stopping

cdef int _signal_stops() noexcept with gil:
    """Let a handler run; what it raises stays set until check_stopped hands it on."""
    return PyErr_CheckSignals() != 0


stop_ask_signals(_signal_stops)


def obey(const unsigned char[::1] flag):
    """Make the kernels of this thread stop when the flag is set, which has to outlive them."""
    stop_obey(&flag[0])


cdef int check_stopped() except -1:
    """Raise what made a kernel return early: nothing that it returned counts then."""
    cdef int why = stop_taken()
    if why == STOP_FLAG:
        raise Stopped
    return 0 if why == STOP_NONE else -1


# ---------------------------------------------------------------------- reading

cdef class _Memory:
    """Owner of a block from malloc, seen by NumPy through the buffer protocol."""

    cdef void *data
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]

    def __getbuffer__(self, Py_buffer *view, int flags):
        self.strides[0] = 1
        view.buf = self.data
        view.obj = self
        view.len = self.shape[0]
        view.itemsize = 1
        view.readonly = 0
        view.ndim = 1
        view.format = b"B"
        view.shape = self.shape
        view.strides = self.strides
        view.suboffsets = NULL
        view.internal = NULL

    def __releasebuffer__(self, Py_buffer *view):
        pass

    def __dealloc__(self):
        free(self.data)


cdef object _adopt(void **data, size_t n, object dtype):
    """NumPy array over a block from malloc, which it then owns."""
    if n == 0 or data[0] == NULL:
        return np.empty(0, dtype=dtype)
    cdef _Memory memory = _Memory.__new__(_Memory)
    memory.data = data[0]
    memory.shape[0] = n * np.dtype(dtype).itemsize
    data[0] = NULL
    return np.frombuffer(memory, dtype=dtype)


def recode(codes, list new_codes):
    """Replace code k by new_codes[k], in place; missing stays missing."""
    cdef uint8_t[::1] narrow
    cdef uint16_t[::1] wide
    cdef const uint8_t[::1] narrow_lookup
    cdef const uint16_t[::1] wide_lookup
    if len(codes) == 0:
        return
    missing = np.iinfo(codes.dtype).max
    if codes.dtype.itemsize == 4:
        # A table of all codes would take gibibytes.
        known = codes != missing
        codes[known] = np.array(new_codes, dtype=codes.dtype)[codes[known]]
        return
    lookup = np.full(missing + 1, missing, dtype=codes.dtype)
    lookup[: len(new_codes)] = new_codes
    cdef size_t n_labels = len(new_codes)
    if codes.dtype.itemsize == 1:
        narrow, narrow_lookup = codes, lookup
        with nogil:
            recode8(&narrow[0], narrow.shape[0], &narrow_lookup[0], n_labels)
    else:
        wide, wide_lookup = codes, lookup
        with nogil:
            recode16(&wide[0], wide.shape[0], &wide_lookup[0])


# ---------------------------------------------------------------------- counting

# The tables of all pairs take at most 64 MB.
cdef enum:
    MOST_PAIR_LEVELS = 4096

cdef class CodedData:
    """Coded columns in the form that the counting kernels need.

    `columns` are contiguous uint8 or uint16 arrays whose all-ones code means missing, `n_levels` at
    least 1 each. Columns of at most `mask_levels` levels get bit masks, unless rows are weighted.
    """

    cdef coded_data data
    cdef coded_column *columns
    cdef list keep
    cdef readonly Py_ssize_t n_columns
    cdef readonly list n_levels

    def __cinit__(self, list columns, list n_levels, weights, Py_ssize_t mask_levels):
        cdef size_t j
        cdef const uint8_t[::1] narrow
        cdef const uint16_t[::1] wide
        cdef const int64_t[::1] row_weights
        self.n_columns = len(columns)
        self.n_levels = n_levels
        self.keep = [columns, weights]
        self.columns = <coded_column *>calloc(max(1, len(columns)), sizeof(coded_column))
        if self.columns == NULL:
            raise MemoryError
        self.data.columns = self.columns
        self.data.n_rows = len(columns[0]) if columns else 0
        if weights is not None:
            row_weights = weights
            self.data.weights = &row_weights[0] if self.data.n_rows else NULL
        for j in range(<size_t>self.n_columns):
            codes = columns[j]
            self.columns[j].n_levels = n_levels[j]
            self.columns[j].width = codes.dtype.itemsize
            if self.data.n_rows == 0:
                continue
            if codes.dtype.itemsize == 1:
                narrow = codes
                self.columns[j].codes = &narrow[0]
            else:
                wide = codes
                self.columns[j].codes = &wide[0]
        if self.data.n_rows:
            self._build_masks(mask_levels if weights is None else 0)

    cdef _build_masks(self, Py_ssize_t mask_levels):
        """Masks and totals of the columns of few levels; which of all columns have missing cells."""
        cdef size_t j, words, n = self.data.n_rows, levels = 0
        cdef coded_column *column
        words = (n + 63) // 64
        words = (words + MASK_ALIGN_WORDS - 1) // MASK_ALIGN_WORDS * MASK_ALIGN_WORDS
        for j in range(<size_t>self.n_columns):
            if self.columns[j].width == 1 and <Py_ssize_t>self.columns[j].n_levels <= mask_levels:
                levels += self.columns[j].n_levels
        cdef uint64_t[::1] masks = np.empty(max(1, words * levels), dtype=np.uint64)
        cdef int64_t[::1] totals = np.empty(max(1, levels), dtype=np.int64)
        self.keep.append((masks, totals))
        self.data.mask_words = words if levels else 0
        levels = 0
        with nogil:
            for j in range(<size_t>self.n_columns):
                if stop_wanted():
                    break
                column = &self.columns[j]
                if column.width == 1 and <Py_ssize_t>column.n_levels <= mask_levels:
                    column.masks = &masks[levels * words]
                    column.totals = &totals[levels]
                    column.has_missing = build_masks8(
                        <const uint8_t *>column.codes, n, column.n_levels,
                        &masks[levels * words], words, &totals[levels])
                    levels += column.n_levels
                else:
                    column.has_missing = has_missing(column.codes, column.width, n)
        check_stopped()

    def remember_pairs(self):
        """Keep the tables of all pairs, if that is possible: tables of more columns need less then."""
        cdef size_t j, levels = 0
        cdef int32_t[::1] pairs
        cdef int done
        for j in range(<size_t>self.n_columns):
            if self.columns[j].masks == NULL or self.columns[j].has_missing:
                return
            self.columns[j].first_level = levels
            levels += self.columns[j].n_levels
        if self.data.pairs != NULL or levels > MOST_PAIR_LEVELS or self.data.n_rows >> 31:
            return
        self.data.n_levels = levels
        pairs = np.empty(levels * levels, dtype=np.int32)
        with nogil:
            done = count_all_pairs(&self.data, self.n_columns, &pairs[0])
        check_stopped()
        if done:
            self.keep.append(pairs)
            self.data.pairs = &pairs[0]

    def __dealloc__(self):
        free(self.columns)

    def count(self, const int32_t[::1] members):
        """Joint table of the columns `members`, flat, the last column fastest."""
        cdef uint64_t cells = count_cells(&self.data, &members[0], members.shape[0])
        table = np.empty(cells, dtype=np.int64)
        cdef int64_t[::1] view = table
        cdef int done
        with nogil:
            done = count_set(&self.data, &members[0], members.shape[0], &view[0])
        check_stopped()
        if not done:
            raise MemoryError
        return table

    def pair_statistics(self, const int32_t[:, ::1] pairs):
        """Statistics of the pair tables, one row of TableStatistics each."""
        cdef size_t p, q, n_pairs = pairs.shape[0], chunk
        out = TableStatistics.zeros(n_pairs)
        if n_pairs == 0:
            return out
        cdef double[:, ::1] floats = out.floats
        cdef int64_t[:, ::1] ints = out.ints
        cdef int64_t[::1] offsets = np.empty(n_pairs, dtype=np.int64)
        cdef int64_t cells, done = 1
        cdef int64_t *tables = NULL
        cdef size_t room = 0
        with nogil:
            p = 0
            while p < n_pairs and done and not stop_wanted():
                # as many tables as stay in the second-level cache
                chunk = 0
                cells = 0
                while p + chunk < n_pairs and (chunk == 0 or cells < 32768):
                    offsets[p + chunk] = cells
                    cells += count_cells(&self.data, &pairs[p + chunk, 0], 2)
                    chunk += 1
                if <size_t>cells > room:
                    free(tables)
                    room = cells
                    tables = <int64_t *>malloc(room * sizeof(int64_t))
                    if tables == NULL:
                        done = 0
                        break
                done = count_pairs(&self.data, &pairs[p, 0], chunk, tables, &offsets[p])
                for q in range(p, p + chunk):
                    if not done:
                        break
                    done = _describe(tables + offsets[q], 1,
                                     self.columns[pairs[q, 0]].n_levels,
                                     self.columns[pairs[q, 1]].n_levels, &floats[q, 0], &ints[q, 0])
                p += chunk
            free(tables)
        check_stopped()
        if not done:
            raise MemoryError
        return out

    def set_statistics(self, const int32_t[::1] members, const int64_t[::1] starts):
        """Statistics of tables (x, y | Z); members[starts[k]:starts[k+1]] = *Z, x, y.

        A set of over DENSE_CELLS cells in a stratum, or 2**63 in all, is left out: its n is -1.
        """
        cdef size_t k, n_sets = starts.shape[0] - 1
        cdef uint64_t limit = DENSE_CELLS
        cdef table_statistics *found
        cdef int done
        out = TableStatistics.zeros(n_sets)
        if n_sets == 0:
            return out
        cdef double[:, ::1] floats = out.floats
        cdef int64_t[:, ::1] ints = out.ints
        found = <table_statistics *>malloc(n_sets * sizeof(table_statistics))
        if found == NULL:
            raise MemoryError
        with nogil:
            done = c_set_statistics(&self.data, &members[0], &starts[0], n_sets, limit, found)
            if done:
                for k in range(n_sets):
                    _store(&found[k], &floats[k, 0], &ints[k, 0])
            free(found)
        check_stopped()
        if not done:
            raise MemoryError
        return out


    def family_values(self, const int32_t[::1] members, const int64_t[::1] starts, rule):
        """One value per family members[starts[k]:starts[k+1]] = *parents, child; see FamilyRule.

        NaN for a child of over DENSE_CELLS levels, or a table of over 2**63 cells.
        """
        return np.ascontiguousarray(self._family_worths(members, starts, _family_rule(rule))[:, 0])

    def family_ceilings(self, const int32_t[::1] members, const int64_t[::1] starts, rule,
                        double cell_prior):
        """Values and ceilings, as if every cell were a stratum; see family_values."""
        cdef family_rule c_rule = _family_rule(rule)
        c_rule.with_ceiling = 1
        c_rule.ceiling_prior = cell_prior
        worths = self._family_worths(members, starts, c_rule)
        return FamilyWorths(worths[:, 0], worths[:, 1])

    cdef object _family_worths(self, const int32_t[::1] members, const int64_t[::1] starts,
                               family_rule rule):
        cdef size_t n_families = starts.shape[0] - 1
        cdef uint64_t limit = DENSE_CELLS
        cdef int done
        out = np.empty((n_families, 2))
        if n_families == 0:
            return out
        cdef double[:, ::1] worths = out
        with nogil:
            done = c_family_values(&self.data, &members[0], &starts[0], n_families, limit, &rule,
                                   <family_worth *>&worths[0, 0])
        check_stopped()
        if not done:
            raise MemoryError
        return out


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


def exact_dot(const int64_t[::1] x, const int64_t[::1] y, weights=None):
    """Exact sum of x * y (* weights) as a Python integer."""
    cdef const int64_t[::1] row_weights
    cdef const int64_t *w = NULL
    cdef wide_integer total
    if x.shape[0] == 0:
        return 0
    if weights is not None:
        row_weights = weights
        w = &row_weights[0]
    with nogil:
        total = c_exact_dot(&x[0], &y[0], w, x.shape[0])
    value = int(total.limb[0]) | int(total.limb[1]) << 64 | int(total.limb[2]) << 128
    return value - (1 << 192) if value >> 191 else value


def group_rows(const uint8_t[:, ::1] rows, int64_t limit):
    """The groups of equal rows, or None with more than `limit` of them."""
    group = np.empty(rows.shape[0], dtype=np.int32)
    firsts = np.empty(max(limit, 1), dtype=np.int64)
    cdef int32_t[::1] group_view = group
    cdef int64_t[::1] firsts_view = firsts
    cdef int64_t found
    if rows.shape[0] == 0:
        return RowGroups(group, firsts[:0])
    with nogil:
        found = c_group_rows(&rows[0, 0], rows.shape[0], rows.shape[1], limit, &group_view[0],
                             &firsts_view[0])
    check_stopped()
    if found == -2:
        raise MemoryError
    return None if found < 0 else RowGroups(group, firsts[:found].copy())


# ---------------------------------------------------------------------- conditioning sets

cdef class ConditioningSets:
    """The sets of `level` nodes that PC conditions the pairs on, by their number.

    Subsets of the neighbours of x, then those of the neighbours of y that are not among them, in
    lexicographic order; never x or y, nor a node of a tier later than both. `neighbours` is a
    symmetric Boolean matrix.
    """

    cdef conditioning source
    cdef list keep
    cdef const int32_t[:, ::1] pairs
    cdef int32_t[::1] scratch
    cdef readonly object totals

    def __init__(self, neighbours, tiers, const int32_t[:, ::1] pairs, size_t level):
        cdef const int64_t[::1] starts = np.concatenate(
            [[0], np.cumsum(neighbours.sum(axis=1))]).astype(np.int64)
        cdef const int32_t[::1] flat = np.append(np.nonzero(neighbours)[1], 0).astype(np.int32)
        cdef const int32_t[::1] of_tiers = np.append(tiers, 0).astype(np.int32)
        cdef Py_ssize_t p
        self.keep = [starts, flat, of_tiers]
        self.source.starts = &starts[0]
        self.source.neighbours = &flat[0]
        self.source.tiers = &of_tiers[0]
        self.source.level = level
        self.pairs = pairs
        self.scratch = np.empty(2 * len(neighbours) + 1, dtype=np.int32)
        self.totals = np.empty(pairs.shape[0], dtype=np.int64)
        cdef int64_t[::1] totals = self.totals
        with nogil:
            for p in range(pairs.shape[0]):
                if p % 1024 == 1023 and stop_wanted():
                    break
                totals[p] = conditioning_total(&self.source, pairs[p, 0], pairs[p, 1],
                                               &self.scratch[0])
        check_stopped()

    def fill(self, const int64_t[::1] which, const int64_t[::1] first, const int64_t[::1] count):
        """Rows (x, y, *set): for pair which[k] the sets number first[k] and the count[k]-1 next."""
        cdef Py_ssize_t k, row = 0, i, j
        cdef int64_t total = 0
        cdef size_t level = self.source.level
        for k in range(count.shape[0]):
            total += count[k]
        out = np.empty((total, level + 2), dtype=np.int32)
        sets = np.empty(max(1, total * level), dtype=np.int32)
        cdef int32_t[:, ::1] view = out
        cdef int32_t[::1] room = sets
        cdef int64_t at = 0
        with nogil:
            for k in range(which.shape[0]):
                if k % 1024 == 1023 and stop_wanted():
                    break
                i, j = self.pairs[which[k], 0], self.pairs[which[k], 1]
                conditioning_fill(&self.source, <int32_t>i, <int32_t>j, first[k], count[k],
                                  &self.scratch[0], &room[at * <int64_t>level] if level else NULL)
                for row in range(at, at + count[k]):
                    view[row, 0] = <int32_t>i
                    view[row, 1] = <int32_t>j
                at += count[k]
        check_stopped()
        if level and total:
            out[:, 2:] = sets.reshape(-1, level)[:total]
        return out


include "_csv_reader.pxi"
include "_elimination.pxi"
include "_orders.pxi"
include "_subsets.pxi"
include "_order_search.pxi"
include "_penalty_path.pxi"
include "_precision_step.pxi"
include "_sampling.pxi"
include "_gibbs.pxi"
include "_row_probability.pxi"
include "_missing_parts.pxi"
include "_pair_sums.pxi"
include "_mixture_rows.pxi"
include "_chain_field.pxi"
include "_regressions.pxi"
include "_gram.pxi"
include "_exact_gram.pxi"
