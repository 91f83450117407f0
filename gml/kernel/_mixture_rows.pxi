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
