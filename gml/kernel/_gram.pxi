# Gram matrices, random features and sums of distances: a part of _kernel.pyx.

cdef extern from "gram.h":
    void c_squared_distances "squared_distances"(const double *, size_t, size_t, double *) nogil
    double c_median_square "median_square"(const double *, size_t) nogil
    void c_gaussian_gram "gaussian_gram"(const double *, size_t, size_t, double, double *) nogil
    void c_centre_gram "centre_gram"(double *, size_t, double *) nogil
    int c_permuted_products "permuted_products"(
        const double *, const double *, size_t, const uint64_t *, int64_t, int64_t, double *) nogil
    size_t c_gaussian_factor "gaussian_factor"(
        const double *, size_t, size_t, double, double, size_t, double *, double *) nogil
    void c_fourier_features "fourier_features"(
        const double *, size_t, size_t, const double *, const double *, size_t, double *) nogil

cdef extern from "distance_products.h":
    int c_distance_product "distance_product"(
        const double *, const double *, size_t, double *) nogil
    ctypedef struct distance_columns:
        const double *x
        const double *y
        const double *x_sums
        const double *y_sums
        size_t n
    int c_permuted_distance_products "permuted_distance_products"(
        const distance_columns *, const uint64_t *, int64_t, int64_t, double *) nogil


def _require_points(points):
    if points.shape[0] == 0 or points.shape[1] == 0:
        raise ValueError("there are no points")


def squared_distances(const double[:, ::1] points):
    """Squared distances of the pairs i < j of columns of points, row after row."""
    _require_points(points)
    cdef size_t n = points.shape[1], columns = points.shape[0]
    out = np.empty(n * (n - 1) // 2)
    cdef double[::1] view = out
    if n < 2:
        return out
    with nogil:
        c_squared_distances(&points[0, 0], n, columns, &view[0])
    check_stopped()
    return out


def median_square(const double[::1] ascending):
    """The median of the squared distances of pairs of ascending numbers that are positive."""
    cdef size_t n = ascending.shape[0]
    cdef double found
    if n == 0:
        raise ValueError("there are no numbers")
    with nogil:
        found = c_median_square(&ascending[0], n)
    check_stopped()
    return found


def gaussian_gram(const double[:, ::1] points, double scale):
    """exp(−scale·d²) of all pairs of columns of points."""
    _require_points(points)
    cdef size_t n = points.shape[1], columns = points.shape[0]
    out = np.empty((n, n))
    cdef double[:, ::1] view = out
    with nogil:
        c_gaussian_gram(&points[0, 0], n, columns, scale, &view[0, 0])
    check_stopped()
    return out


def centre_gram(double[:, ::1] gram):
    """Subtract the means of rows and columns of a symmetric matrix, in place."""
    if gram.shape[0] != gram.shape[1]:
        raise ValueError("this is not a square matrix")
    cdef size_t n = gram.shape[0]
    cdef double[::1] means = np.empty(n)
    if n == 0:
        return
    with nogil:
        c_centre_gram(&gram[0, 0], n, &means[0])
    check_stopped()


def permuted_products(const double[:, ::1] a, const double[:, ::1] b, tuple key, int64_t first,
                      int64_t last):
    """Σ a[i, j]·b[p(i), p(j)] of symmetric matrices for the permutations first..last-1."""
    cdef size_t n = a.shape[0]
    if n == 0 or a.shape[1] != n or b.shape[0] != n or b.shape[1] != n or first > last:
        raise ValueError("these are not square matrices of one size")
    cdef uint64_t words[2]
    cdef int done = 1
    out = np.empty(last - first)
    cdef double[::1] view = out
    words[0], words[1] = key
    if first < last:
        with nogil:
            done = c_permuted_products(&a[0, 0], &b[0, 0], n, words, first, last, &view[0])
        check_stopped()
    if not done:
        raise MemoryError
    return out


def gaussian_factor(const double[:, ::1] points, double scale, double tolerance, size_t most):
    """Rows of a factor G, at most so many, with gaussian_gram = G'G up to a rest of small trace."""
    _require_points(points)
    cdef size_t n = points.shape[1], columns = points.shape[0], found
    out = np.empty((min(most, n), n))
    cdef double[:, ::1] view = out
    cdef double[::1] rest = np.empty(n)
    if out.shape[0] == 0:
        return out
    with nogil:
        found = c_gaussian_factor(&points[0, 0], n, columns, scale, tolerance, view.shape[0],
                                  &view[0, 0], &rest[0])
    check_stopped()
    return out[:found]


def fourier_features(const double[:, ::1] points, const double[:, ::1] weights,
                     const double[::1] phases, double[:, ::1] out):
    """√2·cos(w·p + phase), a row per feature, written to `out`."""
    _require_points(points)
    cdef size_t n = points.shape[1], columns = points.shape[0], features = phases.shape[0]
    if weights.shape[0] != features or weights.shape[1] != columns:
        raise ValueError("these are not weights of the columns")
    if <size_t>out.shape[0] != features or <size_t>out.shape[1] != n:
        raise ValueError("there is no room for the features")
    if features == 0:
        return
    with nogil:
        c_fourier_features(&points[0, 0], n, columns, &weights[0, 0], &phases[0], features,
                           &out[0, 0])
    check_stopped()


def distance_product(const double[::1] x, const double[::1] y):
    """Σ |x_i − x_j|·|y_i − y_j| over all i and j; x ascends."""
    cdef size_t n = x.shape[0]
    cdef double found = 0
    cdef int done = 1
    if <size_t>y.shape[0] != n:
        raise ValueError("x and y have different lengths")
    if n:
        with nogil:
            done = c_distance_product(&x[0], &y[0], n, &found)
        check_stopped()
    if not done:
        raise MemoryError
    return found


def permuted_distance_products(const double[:, ::1] x, const double[:, ::1] y, tuple key,
                               int64_t first, int64_t last):
    """The same less 2/n·Σ of products of sums of rows, for the permutations first..last-1 of y.

    Each column has two rows: its values, those of x ascending, and the sums of their distances.
    """
    cdef distance_columns columns
    cdef uint64_t words[2]
    cdef int done = 1
    if x.shape[0] != 2 or y.shape[0] != 2 or x.shape[1] != y.shape[1] or first > last:
        raise ValueError("x and y have different lengths")
    out = np.zeros(last - first)
    cdef double[::1] view = out
    words[0], words[1] = key
    columns.n = x.shape[1]
    if columns.n and first < last:
        columns.x, columns.x_sums = &x[0, 0], &x[1, 0]
        columns.y, columns.y_sums = &y[0, 0], &y[1, 0]
        with nogil:
            done = c_permuted_distance_products(&columns, words, first, last, &view[0])
        check_stopped()
    if not done:
        raise MemoryError
    return out
