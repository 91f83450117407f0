# Newton steps of penalised precision matrices: a part of _kernel.pyx.

cdef extern from "precision_step.h":
    ctypedef struct precision_problem:
        size_t size
        const double *gradient
        const double *covariance
        const double *precision
        const double *penalties
        const int64_t *starts
        const int32_t *columns
    size_t c_precision_step "precision_step"(
        const precision_problem *, double, size_t, double *, double *, double *) nogil


def precision_step(const double[:, ::1] gradient, const double[:, ::1] covariance,
                   const double[:, ::1] precision, const double[:, ::1] penalties,
                   const int64_t[::1] starts, const int32_t[::1] columns, double accuracy,
                   size_t most_sweeps):
    """The Newton step of a penalised precision matrix in some pairs, and its sweeps."""
    cdef precision_problem problem
    cdef Py_ssize_t size = gradient.shape[0]
    if {covariance.shape[0], precision.shape[0], penalties.shape[0], gradient.shape[1],
            covariance.shape[1], precision.shape[1], penalties.shape[1]} != {size} or size == 0:
        raise ValueError("these are not matrices of one size")
    if starts.shape[0] != size + 1 or starts[0] != 0 or starts[size] != columns.shape[0]:
        raise ValueError("the rows have other pairs")
    if (np.diff(starts) < 0).any():
        raise ValueError("the rows have other pairs")
    rows = np.repeat(np.arange(size), np.diff(starts))
    if (np.asarray(columns) < rows).any() or (np.asarray(columns) >= size).any():
        raise ValueError("a pair is not in the upper triangle")
    step, image, column = np.zeros((size, size)), np.zeros((size, size)), np.empty(size)
    cdef double[:, ::1] step_view = step, image_view = image
    cdef double[::1] column_view = column
    cdef const int32_t *first = NULL
    cdef size_t sweeps
    if columns.shape[0] > 0:
        first = &columns[0]
    problem.size = size
    problem.gradient = &gradient[0, 0]
    problem.covariance = &covariance[0, 0]
    problem.precision = &precision[0, 0]
    problem.penalties = &penalties[0, 0]
    problem.starts = &starts[0]
    problem.columns = first
    with nogil:
        sweeps = c_precision_step(&problem, accuracy, most_sweeps, &step_view[0, 0],
                                  &image_view[0, 0], &column_view[0])
    check_stopped()
    return step, sweeps
