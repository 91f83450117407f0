# Regressions from correlations and within groups of rows: a part of _kernel.pyx.

cdef extern from "regressions.h":
    ctypedef struct group_residuals:
        double log_sum
        double least_pivot
        int64_t fewest_rows
        int64_t n_groups
        int64_t n_rows
    int c_cholesky_pivots "cholesky_pivots"(const double *, size_t, const int32_t *, const int64_t *,
                                            size_t, double, double *) nogil
    ctypedef struct block_matrix:
        const double *correlation
        size_t size
        const int32_t *first
        const int32_t *width
        const int32_t *ranks
    int c_family_pivots "family_pivots"(const block_matrix *, const int32_t *, size_t, size_t, double *,
                                        int32_t *, double *) nogil
    int c_partial_slopes "partial_slopes"(const double *, size_t, const int32_t *, size_t, size_t,
                                          double *, double *) nogil
    int c_residuals_within "residuals_within"(const int32_t *, size_t, size_t, const int64_t **, size_t,
                                              const int64_t *, int, group_residuals *) nogil
    int c_sums_within "sums_within"(const int32_t *, size_t, size_t, const int64_t **, size_t, const int64_t *,
                                    int64_t *, int64_t *) nogil
    int c_residuals_of_sums "residuals_of_sums"(const int64_t *, const int64_t *, size_t, size_t, int,
                                                group_residuals *) nogil


def cholesky_pivots(const double[:, ::1] correlation, const int32_t[::1] members,
                    const int64_t[::1] starts, double floor):
    """The share of each member's variance that is left given those before it in its set."""
    cdef int done = 1
    out = np.empty(members.shape[0])
    cdef double[::1] view = out
    if members.shape[0]:
        with nogil:
            done = c_cholesky_pivots(&correlation[0, 0], correlation.shape[0], &members[0], &starts[0],
                                     starts.shape[0] - 1, floor, &view[0])
    check_stopped()
    if not done:
        raise MemoryError
    return out


cdef int64_t _rows_of_children(const double[:, ::1] correlation, const int32_t[:, ::1] blocks,
                               const int32_t[:, ::1] families) except -1:
    """How many rows of the matrix the children of families have, all of which must be there."""
    cdef int64_t found = 0
    cdef Py_ssize_t f, k, j
    if blocks.shape[0] != 3:
        raise ValueError("a column has a first row, a number of rows and a rank")
    if correlation.shape[0] != correlation.shape[1]:
        raise ValueError("this is not a square matrix")
    if families.shape[1] == 0:
        raise ValueError("a family has a child")
    for j in range(blocks.shape[1]):
        if (blocks[0, j] < 0 or blocks[1, j] < 0
                or <int64_t>blocks[0, j] + blocks[1, j] > correlation.shape[0]):
            raise ValueError("the columns have other rows than the matrix")
    for f in range(families.shape[0]):
        for k in range(families.shape[1]):
            if families[f, k] < 0 or families[f, k] >= blocks.shape[1]:
                raise ValueError("the families have other columns")
        found += blocks[1, families[f, 0]]
    return found


def family_pivots(const double[:, ::1] correlation, const int32_t[:, ::1] blocks,
                  const int32_t[:, ::1] families):
    """Shares left of the variances of the rows of children, these rows, and the least shares."""
    cdef block_matrix matrix
    cdef int done = 1
    cdef int64_t n_rows = _rows_of_children(correlation, blocks, families)
    shares, rows = np.empty(n_rows), np.empty(n_rows, dtype=np.int32)
    least = np.ones(families.shape[0])
    cdef double[::1] share_view = shares, least_view = least
    cdef int32_t[::1] row_view = rows
    # Children without rows have parents that may have some, and then a least share.
    cdef double *to_shares = &share_view[0] if n_rows else NULL
    cdef int32_t *to_rows = &row_view[0] if n_rows else NULL
    if families.shape[0]:
        matrix.correlation = &correlation[0, 0] if correlation.shape[0] else NULL
        matrix.size = correlation.shape[0]
        matrix.first, matrix.width, matrix.ranks = &blocks[0, 0], &blocks[1, 0], &blocks[2, 0]
        with nogil:
            done = c_family_pivots(&matrix, &families[0, 0], families.shape[0], families.shape[1],
                                   to_shares, to_rows, &least_view[0])
    check_stopped()
    if not done:
        raise MemoryError
    return shares, rows, least


def partial_slopes(const double[:, ::1] correlation, const int32_t[:, ::1] sets):
    """r/√(1−r²) of the partial correlations of the last two of each set, and the least pivots."""
    cdef int done = 1
    slopes, least = np.empty(sets.shape[0]), np.empty(sets.shape[0])
    cdef double[::1] slope_view = slopes, least_view = least
    if sets.shape[0]:
        with nogil:
            done = c_partial_slopes(&correlation[0, 0], correlation.shape[0], &sets[0, 0], sets.shape[0],
                                    sets.shape[1], &slope_view[0], &least_view[0])
    check_stopped()
    if not done:
        raise MemoryError
    return slopes, least


def residuals_within(const int32_t[::1] group, int64_t n_groups, list columns, weights, int scale):
    """Regress the last column on the others within groups of rows; a GroupResiduals."""
    cdef group_residuals found
    cdef const int64_t[::1] cells
    cdef const int64_t[::1] row_weights
    cdef const int64_t *w = NULL
    cdef size_t n_columns = len(columns), c
    cdef int done
    if group.shape[0] == 0:
        return GroupResiduals(0.0, 1.0, 0, 0, 0)
    if weights is not None:
        row_weights = weights
        w = &row_weights[0]
    cdef const int64_t **pointers = <const int64_t **>malloc(max(1, n_columns) * sizeof(int64_t *))
    if pointers == NULL:
        raise MemoryError
    try:
        for c in range(n_columns):
            cells = columns[c]
            pointers[c] = &cells[0]
        with nogil:
            done = c_residuals_within(&group[0], group.shape[0], n_groups, pointers, n_columns, w, scale,
                                      &found)
    finally:
        free(pointers)
    check_stopped()
    if not done:
        raise MemoryError
    return GroupResiduals(found.log_sum, found.least_pivot, found.fewest_rows, found.n_groups,
                          found.n_rows)


def sums_within(const int32_t[::1] group, int64_t n_groups, list columns, weights):
    """Weights of groups of rows, and sums and products of columns within them, in digits of 42 bits."""
    cdef const int64_t[::1] cells
    cdef const int64_t[::1] row_weights
    cdef const int64_t *w = NULL
    cdef size_t n_columns = len(columns), c
    cdef int done
    counts = np.zeros(n_groups, dtype=np.int64)
    digits = np.zeros((n_groups, n_columns * (n_columns + 3) // 2, 3), dtype=np.int64)
    cdef int64_t[::1] count_view = counts
    cdef int64_t[:, :, ::1] digit_view = digits
    if group.shape[0] == 0 or n_groups == 0 or n_columns == 0:
        return counts, digits
    if weights is not None:
        row_weights = weights
        w = &row_weights[0]
    cdef const int64_t **pointers = <const int64_t **>malloc(n_columns * sizeof(int64_t *))
    if pointers == NULL:
        raise MemoryError
    try:
        for c in range(n_columns):
            cells = columns[c]
            pointers[c] = &cells[0]
        with nogil:
            done = c_sums_within(&group[0], group.shape[0], n_groups, pointers, n_columns, w, &count_view[0],
                                 &digit_view[0, 0, 0])
    finally:
        free(pointers)
    check_stopped()
    if not done:
        raise MemoryError
    return counts, digits


def residuals_of_sums(const int64_t[::1] counts, const int64_t[:, :, ::1] digits, int64_t n_columns, int scale):
    """Regress the last column on the others within groups, from their sums; a GroupResiduals."""
    cdef group_residuals found
    cdef int done
    if counts.shape[0] == 0:
        return GroupResiduals(0.0, 1.0, 0, 0, 0)
    if digits.shape[0] != counts.shape[0] or digits.shape[1] != n_columns * (n_columns + 3) // 2 \
            or digits.shape[2] != 3 or n_columns < 1:
        raise ValueError("these are not the sums of so many columns")
    with nogil:
        done = c_residuals_of_sums(&counts[0], &digits[0, 0, 0], counts.shape[0], n_columns, scale, &found)
    check_stopped()
    if not done:
        raise MemoryError
    return GroupResiduals(found.log_sum, found.least_pivot, found.fewest_rows, found.n_groups,
                          found.n_rows)
