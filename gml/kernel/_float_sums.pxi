# Sums of doubles without rounding: a part of _kernel.pyx.

cdef extern from "float_sums.h":
    enum:
        FLOAT_SUM_WORDS
    void c_float_sums "float_sums"(const double *const *, const int32_t *, const int32_t *, size_t,
                                   const int64_t *, size_t, int64_t *) nogil


def float_sums(list columns, const int32_t[::1] first, const int32_t[::1] second, times=None):
    """Sums over rows of columns, or of products of two where the second is not below 0."""
    cdef size_t n_columns = len(columns), n_sums = first.shape[0], n = 0, k
    cdef const double[::1] column
    cdef const int64_t[::1] counts
    cdef const int64_t *counted = NULL
    if second.shape[0] != <Py_ssize_t>n_sums:
        raise ValueError("these are not pairs")
    for k in range(n_sums):
        if not (0 <= first[k] < <int32_t>n_columns and second[k] < <int32_t>n_columns):
            raise ValueError("there is no such column")
    out = np.zeros((n_sums, FLOAT_SUM_WORDS), dtype=np.int64)
    cdef int64_t[:, ::1] out_view = out
    cdef const double **places
    if n_sums == 0:
        return out
    n = len(columns[0])
    if n == 0:
        return out
    if times is not None:
        counts = times
        if counts.shape[0] != <Py_ssize_t>n:
            raise ValueError("rows and their counts differ in number")
        counted = &counts[0]
    places = <const double **>malloc(n_columns * sizeof(const double *))
    if places == NULL:
        raise MemoryError
    try:
        for k in range(n_columns):
            column = columns[k]
            if column.shape[0] != <Py_ssize_t>n:
                raise ValueError("columns differ in length")
            places[k] = &column[0]
        with nogil:
            c_float_sums(places, &first[0], &second[0], n_sums, counted, n, &out_view[0, 0])
    finally:
        free(places)
    check_stopped()
    return out
