# Coded columns, and what is counted in them: a part of _kernel.pyx.

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

    def count_many(self, const int32_t[:, ::1] sets):
        """Joint tables of many sets of as many columns each, end to end, each as by `count`."""
        cdef size_t k, n_sets = sets.shape[0], size = sets.shape[1]
        cdef int64_t[::1] starts = np.zeros(n_sets + 1, dtype=np.int64)
        cdef int done = 1
        cdef size_t last
        for k in range(n_sets):
            starts[k + 1] = starts[k] + <int64_t>count_cells(&self.data, &sets[k, 0], size)
        out = np.empty(starts[n_sets], dtype=np.int64)
        if n_sets == 0:
            return out
        cdef int64_t[::1] cells = out
        with nogil:
            k = 0
            while k < n_sets and done and not stop_wanted():
                last = k + 1
                if size == 2 and self.data.pairs == NULL:
                    # as many tables as stay in the second-level cache
                    while last < n_sets and starts[last + 1] - starts[k] < 32768:
                        last += 1
                    done = count_pairs(&self.data, &sets[k, 0], last - k, &cells[0], &starts[k])
                else:
                    done = count_set(&self.data, &sets[k, 0], size, &cells[starts[k]])
                k = last
        check_stopped()
        if not done:
            raise MemoryError
        return out

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
