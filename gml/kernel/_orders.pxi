# Sums over orders, and orders by Markov chains: a part of _kernel.pyx.

cdef extern from "orders.h":
    void c_log_sum_sets "log_sum_sets"(double *, int, int) nogil
    void c_sum_orders "sum_orders"(const double *, int, int, double *) nogil


def log_sum_sets(double[::1] values, bint up):
    """Make each value the log of the sum over all its subsets, or `up` supersets; see orders.h."""
    cdef int m = int(values.shape[0]).bit_length() - 1
    with nogil:
        c_log_sum_sets(&values[0], m, up)


def sum_orders(const double[:, ::1] parents, bint rest):
    """Logs of the sums over the orders of each set, or of the `rest` behind it; see orders.h."""
    cdef int m = parents.shape[0]
    sums = np.empty(1 << m)
    cdef double[::1] view = sums
    with nogil:
        c_sum_orders(&parents[0, 0], m, rest, &view[0])
    return sums
