# Exact sums, and equal rows: a part of _kernel.pyx.

cdef extern from "moments.h":
    ctypedef struct wide_integer:
        uint64_t limb[3]
    wide_integer c_exact_dot "exact_dot"(
        const int64_t *, const int64_t *, const int64_t *, size_t) nogil

cdef extern from "distinct.h":
    int64_t c_group_rows "group_rows"(
        const uint8_t *, size_t, size_t, int64_t, int32_t *, int64_t *) nogil


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
