# Sums over orders, and orders by Markov chains: a part of _kernel.pyx.

cdef extern from "orders.h":
    void c_log_sum_sets "log_sum_sets"(double *, int, int) nogil
    void c_sum_orders "sum_orders"(const double *, int, int, double *) nogil
    ctypedef struct order_model:
        int32_t n
        const int32_t *candidates
        const int64_t *candidate_starts
        const uint64_t *sets
        const double *logs
        const int64_t *set_starts
    ctypedef struct order_state:
        int32_t *order
        int32_t *position
        double *sums
    void place_order(const order_model *, order_state *) nogil
    int64_t c_walk_orders "walk_orders"(
        const order_model *, order_state *, const uint64_t *, int64_t, int64_t, int32_t *,
        double *) nogil
    void c_order_edges "order_edges"(const order_model *, const order_state *, double *) nogil


def log_sum_sets(double[::1] values, bint up):
    """Make each value the log of the sum over all its subsets, or `up` supersets; see orders.h."""
    cdef int m = int(values.shape[0]).bit_length() - 1
    with nogil:
        c_log_sum_sets(&values[0], m, up)
    check_stopped()


def sum_orders(const double[:, ::1] parents, bint rest):
    """Logs of the sums over the orders of each set, or of the `rest` behind it; see orders.h."""
    cdef int m = parents.shape[0]
    sums = np.empty(1 << m)
    cdef double[::1] view = sums
    with nogil:
        c_sum_orders(&parents[0, 0], m, rest, &view[0])
    check_stopped()
    return sums


cdef class OrderChain:
    """A Markov chain over orders of variables; see orders.h for the sets of their parents."""

    cdef order_model model
    cdef order_state state
    cdef list keep
    cdef uint64_t key[2]
    cdef int32_t[::1] saved
    cdef double[::1] saved_sums
    cdef readonly object order
    cdef readonly object sums

    def __init__(self, const int32_t[::1] candidates, const int64_t[::1] candidate_starts,
                 const uint64_t[::1] sets, const double[::1] logs, const int64_t[::1] set_starts,
                 order, key):
        cdef Py_ssize_t n = set_starts.shape[0] - 1
        self.order = np.array(order, dtype=np.int32)
        self.sums = np.empty(n)
        cdef int32_t[::1] order_view = self.order
        cdef int32_t[::1] position = np.empty(n, dtype=np.int32)
        cdef double[::1] sums = self.sums
        self.saved = np.empty(n, dtype=np.int32)
        self.saved_sums = np.empty(n)
        self.keep = [candidates, candidate_starts, sets, logs, set_starts, position]
        self.key[0], self.key[1] = key
        self.model.n = n
        self.model.candidates = &candidates[0] if candidates.shape[0] else NULL
        self.model.candidate_starts = &candidate_starts[0]
        self.model.sets = &sets[0]
        self.model.logs = &logs[0]
        self.model.set_starts = &set_starts[0]
        self.state.order = &order_view[0]
        self.state.position = &position[0]
        self.state.sums = &sums[0]
        with nogil:
            place_order(&self.model, &self.state)

    def walk(self, int64_t first, int64_t last):
        """Take some steps; returns how many were accepted."""
        cdef int64_t accepted
        with nogil:
            accepted = c_walk_orders(&self.model, &self.state, self.key, first, last,
                                     &self.saved[0], &self.saved_sums[0])
        check_stopped()
        return accepted

    def edges(self):
        """Probabilities of the edges, from row to column, given the order."""
        n = self.model.n
        found = np.empty((n, n))
        cdef double[:, ::1] view = found
        with nogil:
            c_order_edges(&self.model, &self.state, &view[0, 0])
        return found
