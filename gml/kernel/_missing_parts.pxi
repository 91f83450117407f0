# What incomplete rows leave open, and its expected counts: a part of _kernel.pyx.

from gml.kernel.family_layout import CompleteRows, Expectation, MissingParts

cdef extern from "missing_parts.h":
    enum:
        PARTS_TOO_MANY
        PARTS_NO_MEMORY
    ctypedef struct family_layout:
        size_t n_nodes
        const int32_t *sizes
        const int64_t *member_starts
        const int32_t *members
        const int64_t *strides
        const int64_t *table_starts
        const int32_t *order
    ctypedef struct missing_questions:
        size_t n_shapes
        const int64_t *node_starts
        const int32_t *nodes
        const int64_t *family_starts
        const int32_t *families
        const int64_t *question_starts
        const int64_t *base_starts
        const int32_t *bases
        const int64_t *weights
    ctypedef struct parts_collector:
        pass
    parts_collector *parts_new(const family_layout *, const void **, const int *, int, size_t)
    void parts_free(parts_collector *)
    int parts_collect(parts_collector *, const int64_t *, size_t) nogil
    void parts_sizes(const parts_collector *, size_t *)
    void parts_write(const parts_collector *, int64_t *, int32_t *, int64_t *, int32_t *, int64_t *,
                     int64_t *, int32_t *, int64_t *, int64_t *) nogil


cdef extern from "completion.h":
    ctypedef struct completion_plan:
        const double *tables
        const uint64_t *key
        size_t most_points
        size_t most_states
    int c_complete_rows "complete_rows"(
        parts_collector *, const family_layout *, const completion_plan *, size_t, size_t, int32_t *,
        double *, int64_t *, uint8_t *) nogil

cdef extern from "expectation.h":
    int64_t c_expected_counts "expected_counts"(
        const family_layout *, const missing_questions *, int64_t, int64_t, const double *, double *,
        double *) nogil
    int64_t c_count_covariances "count_covariances"(
        const family_layout *, const missing_questions *, int64_t, int64_t, const double *,
        const int32_t *, size_t, double *) nogil


cdef const int32_t *_int32_at(const int32_t[::1] array):
    return &array[0] if array.shape[0] else NULL


cdef const int64_t *_int64_at(const int64_t[::1] array):
    return &array[0] if array.shape[0] else NULL


cdef family_layout _family_layout(layout):
    """The addresses of a layout, whose arrays the caller keeps."""
    cdef family_layout found
    found.n_nodes = len(layout.sizes)
    found.sizes = _int32_at(layout.sizes)
    found.member_starts = _int64_at(layout.member_starts)
    found.members = _int32_at(layout.members)
    found.strides = _int64_at(layout.strides)
    found.table_starts = _int64_at(layout.table_starts)
    found.order = _int32_at(layout.order)
    return found


cdef missing_questions _missing_questions(parts):
    """The addresses of questions, whose arrays the caller keeps."""
    cdef missing_questions found
    found.n_shapes = len(parts.node_starts) - 1
    found.node_starts = _int64_at(parts.node_starts)
    found.nodes = _int32_at(parts.nodes)
    found.family_starts = _int64_at(parts.family_starts)
    found.families = _int32_at(parts.families)
    found.question_starts = _int64_at(parts.question_starts)
    found.base_starts = _int64_at(parts.base_starts)
    found.bases = _int32_at(parts.bases)
    found.weights = _int64_at(parts.weights)
    return found


def missing_parts(layout, list columns, weights, size_t n_rows, bint keep_barren,
                  size_t most_bytes):
    """Collect the questions of all rows; None if they take more bytes than allowed.

    A missing node below which nothing is observed says nothing of the row, whose probability does
    not depend on it: it is left out, with its family, unless `keep_barren`.
    """
    cdef family_layout families = _family_layout(layout)
    cdef size_t n_nodes = families.n_nodes, k
    cdef size_t sizes[5]
    cdef const void **codes = <const void **>calloc(n_nodes + 1, sizeof(void *))
    cdef int *widths = <int *>calloc(n_nodes + 1, sizeof(int))
    cdef parts_collector *collector = NULL
    cdef const int64_t[::1] row_weights
    cdef const int64_t *w = NULL
    cdef int problem
    if weights is not None and len(weights):
        row_weights = weights
        w = &row_weights[0]
    try:
        _find_codes(columns, n_rows, codes, widths)
        collector = parts_new(&families, codes, widths, keep_barren, most_bytes)
        if collector == NULL:
            raise MemoryError
        with nogil:
            problem = parts_collect(collector, w, n_rows)
        check_stopped()
        if problem == PARTS_NO_MEMORY:
            raise MemoryError
        if problem == PARTS_TOO_MANY:
            return None
        parts_sizes(collector, sizes)
        return _written_parts(collector, sizes, most_bytes)
    finally:
        parts_free(collector)
        free(codes)
        free(widths)


cdef _find_codes(list columns, size_t n_rows, const void **codes, int *widths):
    """The addresses of columns, which the caller keeps."""
    if codes == NULL or widths == NULL:
        raise MemoryError
    for k, column in enumerate(columns):
        if column is not None and n_rows:
            if len(column) < n_rows:
                raise ValueError("there are fewer rows")
            widths[k] = column.dtype.itemsize
            codes[k] = _codes(column, widths[k])


def complete_rows(layout, list columns, size_t first, size_t last, const double[::1] tables,
                  const uint64_t[::1] key, size_t most_points, size_t most_states):
    """Complete the rows first..last-1 by the tables of a network."""
    cdef family_layout families = _family_layout(layout)
    cdef size_t n_nodes = families.n_nodes, n = last - first
    cdef const void **codes = <const void **>calloc(n_nodes + 1, sizeof(void *))
    cdef int *widths = <int *>calloc(n_nodes + 1, sizeof(int))
    cdef parts_collector *collector = NULL
    cdef completion_plan plan
    cdef int in_order
    points = np.zeros((n * most_points + 1, n_nodes + 1), dtype=np.int32)
    numbers = np.zeros(n * most_points + 1)
    lengths = np.zeros(n + 1, dtype=np.int64)
    fates = np.zeros(n + 1, dtype=np.uint8)
    cdef int32_t[:, ::1] point_view = points
    cdef double[::1] weights = numbers
    cdef int64_t[::1] n_points = lengths
    cdef uint8_t[::1] became = fates
    plan.tables = &tables[0]
    plan.key = &key[0]
    plan.most_points = most_points
    plan.most_states = most_states
    try:
        _find_codes(columns, last, codes, widths)
        collector = parts_new(&families, codes, widths, True, 0)
        if collector == NULL:
            raise MemoryError
        with nogil:
            in_order = c_complete_rows(collector, &families, &plan, first, last, &point_view[0, 0],
                                       &weights[0], &n_points[0], &became[0])
        check_stopped()
        if not in_order:
            raise MemoryError
    finally:
        parts_free(collector)
        free(codes)
        free(widths)
    cells = points.reshape(-1)[: n * most_points * n_nodes].reshape(n * most_points, n_nodes)
    kept = (np.arange(most_points) < lengths[:n, None]).reshape(-1)
    return CompleteRows(cells[kept], numbers[:n * most_points][kept], lengths[:n], fates[:n])


cdef _written_parts(parts_collector *collector, size_t *sizes, size_t most_bytes):
    if 32 * (sizes[0] + 1) + 4 * (sizes[1] + sizes[2] + sizes[4]) + 16 * sizes[3] > most_bytes:
        return None
    starts = [np.zeros(sizes[0] + 1, dtype=np.int64) for _ in range(4)]
    lists = [np.zeros(sizes[k] + 1, dtype=np.int32) for k in (1, 2, 4)]
    numbers = [np.zeros(sizes[3] + 1, dtype=np.int64) for _ in range(2)]
    cdef int64_t[::1] node_starts = starts[0], family_starts = starts[1]
    cdef int64_t[::1] question_starts = starts[2], base_starts = starts[3]
    cdef int32_t[::1] nodes = lists[0], families = lists[1], bases = lists[2]
    cdef int64_t[::1] weights = numbers[0], first_rows = numbers[1]
    with nogil:
        parts_write(collector, &node_starts[0], &nodes[0], &family_starts[0], &families[0],
                    &question_starts[0], &base_starts[0], &bases[0], &weights[0], &first_rows[0])
    return MissingParts(starts[0], lists[0][:sizes[1]], starts[1], lists[1][:sizes[2]], starts[2],
                        starts[3], lists[2][:sizes[4]], numbers[0][:sizes[3]],
                        numbers[1][:sizes[3]])


def expected_counts(layout, parts, int64_t first, int64_t last, const double[::1] tables,
                    double[::1] counts):
    """Add the expected counts of the questions first..last-1 to `counts`."""
    cdef family_layout families = _family_layout(layout)
    cdef missing_questions questions = _missing_questions(parts)
    cdef double log_likelihood = 0
    cdef int64_t problem = -1
    if last > first:
        with nogil:
            problem = c_expected_counts(&families, &questions, first, last, &tables[0], &counts[0],
                                        &log_likelihood)
        check_stopped()
    if problem == -2:
        raise MemoryError
    return Expectation(log_likelihood if problem < 0 else float("-inf"), problem)


def count_covariances(layout, parts, int64_t first, int64_t last, const double[::1] tables,
                      const int32_t[::1] places, double[:, ::1] matrix):
    """Add Σ w Cov(counts of two cells | what is observed) to the matrix over the placed cells."""
    cdef family_layout families = _family_layout(layout)
    cdef missing_questions questions = _missing_questions(parts)
    cdef int64_t problem = -1
    if last > first and matrix.shape[0]:
        with nogil:
            problem = c_count_covariances(&families, &questions, first, last, &tables[0],
                                          &places[0], matrix.shape[0], &matrix[0, 0])
        check_stopped()
    if problem == -2:
        raise MemoryError
