# Rows of a mixture: a part of _kernel.pyx.

cdef extern from "mixture_rows.h":
    ctypedef struct mixture_labels:
        const void *codes
        size_t code_bytes, n_rows, n_columns, n_classes
        const int64_t *offsets
        const double *tables
        const double *weights
    double c_mixture_rows "mixture_rows"(const mixture_labels *, double *, double *) nogil


def mixture_rows(codes, const int64_t[::1] offsets, const double[:, ::1] tables,
                 const double[::1] weights, double[:, ::1] densities, double[:, ::1] counts):
    """Turn ln densities of rows into weighted probabilities of classes, count, return ln P."""
    cdef mixture_labels labels
    cdef double found = 0
    cdef const uint8_t[:, ::1] narrow
    cdef const uint16_t[:, ::1] wide
    labels.n_rows, labels.n_classes = densities.shape[0], densities.shape[1]
    labels.n_columns = offsets.shape[0]
    if codes.shape[0] != densities.shape[0] or codes.shape[1] != offsets.shape[0]:
        raise ValueError("these are not the codes of the rows")
    if weights.shape[0] != densities.shape[0]:
        raise ValueError("these are not the weights of the rows")
    if tables.shape[1] != densities.shape[1] or counts.shape[1] != tables.shape[1]:
        raise ValueError("these are not tables of the classes")
    if tables.shape[0] != counts.shape[0]:
        raise ValueError("these are not counts for the tables")
    labels.code_bytes = codes.dtype.itemsize
    labels.codes = NULL
    labels.offsets, labels.tables = NULL, NULL
    if labels.n_rows == 0 or labels.n_classes == 0:
        return 0.0
    if labels.n_columns:
        if labels.code_bytes == 1:
            narrow = codes
            labels.codes = &narrow[0, 0]
        else:
            wide = codes
            labels.codes = &wide[0, 0]
        labels.offsets, labels.tables = &offsets[0], &tables[0, 0]
    labels.weights = &weights[0]
    cdef double *own = &counts[0, 0] if counts.shape[0] else NULL
    with nogil:
        found = c_mixture_rows(&labels, &densities[0, 0], own)
    check_stopped()
    return found


cdef extern from "latent_classes.h":
    ctypedef struct class_rows:
        const void *codes
        size_t code_bytes, n_groups, n_classes
        const int64_t *group_starts
        const int64_t *sizes
        const int64_t *offsets
        const double *weights
    int c_latent_class_rows "latent_class_rows"(
        const class_rows *, size_t, size_t, const double *, const double *, double *, double *,
        double *) nogil
    void c_latent_class_tables "latent_class_tables"(
        const int64_t *, size_t, size_t, const double *, const double *, const double *, double *,
        double *) nogil


def latent_class_rows(groups, const double[::1] weights, size_t first, size_t last,
                      const double[::1] shares, const double[:, ::1] tables,
                      double[:, ::1] counts, double[::1] totals):
    """Add expected counts of the rows first..last-1 to `counts` and `totals`; return ln P."""
    cdef class_rows rows
    cdef const uint8_t[:, ::1] narrow
    cdef const uint16_t[:, ::1] wide
    cdef const int64_t[::1] starts = groups.starts, sizes = groups.sizes, offsets = groups.offsets
    cdef double log_likelihood = 0
    cdef int has_room
    codes = groups.codes
    rows.n_groups, rows.n_classes = starts.shape[0] - 1, shares.shape[0]
    if codes.shape[1] != starts.shape[0] - 1 or codes.shape[0] != weights.shape[0]:
        raise ValueError("these are not the codes of the rows")
    if tables.shape[1] != shares.shape[0] or totals.shape[0] != shares.shape[0]:
        raise ValueError("these are not tables of the classes")
    if counts.shape[0] != tables.shape[0] or counts.shape[1] != tables.shape[1]:
        raise ValueError("these are not counts for the tables")
    if last <= first:
        return 0.0
    rows.code_bytes = codes.dtype.itemsize
    if rows.code_bytes == 1:
        narrow = codes
        rows.codes = &narrow[0, 0]
    else:
        wide = codes
        rows.codes = &wide[0, 0]
    rows.group_starts, rows.sizes, rows.offsets = &starts[0], &sizes[0], &offsets[0]
    rows.weights = &weights[0]
    with nogil:
        has_room = c_latent_class_rows(&rows, first, last, &shares[0], &tables[0, 0],
                                       &counts[0, 0], &totals[0], &log_likelihood)
    check_stopped()
    if not has_room:
        raise MemoryError
    return log_likelihood


def latent_class_tables(const int64_t[::1] offsets, const double[:, ::1] counts,
                        const double[::1] totals, const double[:, ::1] before,
                        double[::1] shares, double[:, ::1] tables):
    """Write the shares and tables that make counts most probable."""
    if counts.shape[0] == 0:
        raise ValueError("there are no labels")
    with nogil:
        c_latent_class_tables(&offsets[0], offsets.shape[0] - 1, counts.shape[1], &counts[0, 0],
                              &totals[0], &before[0, 0], &shares[0], &tables[0, 0])
