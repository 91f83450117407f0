# Probabilities of rows: a part of _kernel.pyx.

cdef extern from "row_probability.h":
    ctypedef struct row_family:
        const void **codes
        const int *widths
        const uint32_t *sizes
        size_t n_members
        const double *table
    void c_row_log_probabilities "row_log_probabilities"(
        const row_family *, size_t, size_t, size_t, double *) nogil


def row_log_probabilities(list columns, list n_levels, list members, list tables,
                          size_t first, size_t last):
    """Σ over families of a table's value for rows first..last-1; NaN where a code is unknown.

    `members` has the columns of each family, the child last; its table of logarithms has a value
    for each configuration, the child varying fastest.
    """
    cdef size_t n_families = len(members), total = sum(len(m) for m in members), f, k, at = 0
    cdef row_family *families = <row_family *>calloc(n_families + 1, sizeof(row_family))
    cdef const void **codes = <const void **>calloc(total + 1, sizeof(void *))
    cdef int *widths = <int *>calloc(total + 1, sizeof(int))
    cdef uint32_t *sizes = <uint32_t *>calloc(total + 1, sizeof(uint32_t))
    cdef const double[::1] table
    out = np.empty(last - first)
    cdef double[::1] view = out
    try:
        if families == NULL or codes == NULL or widths == NULL or sizes == NULL:
            raise MemoryError
        if any(len(column) < last for column in columns):
            raise ValueError("there are fewer rows")
        for f in range(n_families):
            families[f].codes = codes + at
            families[f].widths = widths + at
            families[f].sizes = sizes + at
            families[f].n_members = len(members[f])
            cells = 1
            for j in members[f]:
                widths[at] = columns[j].dtype.itemsize
                codes[at] = _codes(columns[j], widths[at])
                sizes[at] = n_levels[j]
                cells *= n_levels[j]
                at += 1
            table = tables[f]
            if cells >= 1 << 32:
                raise ValueError("a table of more cells than can be numbered")
            if table.shape[0] != cells:
                raise ValueError("a table has not a value for each configuration")
            families[f].table = &table[0]
        if last > first:
            with nogil:
                c_row_log_probabilities(families, n_families, first, last, &view[0])
            check_stopped()
    finally:
        free(families)
        free(codes)
        free(widths)
        free(sizes)
    return out
