# The best order of variables by A*: a part of _kernel.pyx.

cdef extern from "order_search.h":
    enum:
        SEARCH_NO_MEMORY
    ctypedef struct parent_lists:
        const uint64_t *masks
        const int64_t *units
        const int64_t *starts
        int m
    ctypedef struct order_search:
        parent_lists lists
        int n_groups
        const int32_t *sizes
        const uint64_t *to_go
        uint64_t bound
        uint64_t most
        uint64_t n_states
        uint64_t n_expanded
        uint64_t reached
        int found
    int c_losses_to_go "losses_to_go"(const parent_lists *, int, uint64_t *) nogil
    uint64_t c_improve_order "improve_order"(const parent_lists *, int32_t *) nogil
    int search_begin(order_search *) nogil
    int search_run(order_search *, uint64_t) nogil
    int search_path(const order_search *, uint64_t *) nogil
    void search_end(order_search *) nogil


cdef parent_lists lists_of(const uint64_t[::1] masks, const int64_t[::1] units,
                           const int64_t[::1] starts) noexcept:
    cdef parent_lists lists
    lists.masks = &masks[0]
    lists.units = &units[0]
    lists.starts = &starts[0]
    lists.m = <int>(starts.shape[0] - 1)
    return lists


def losses_to_go(const uint64_t[::1] masks, const int64_t[::1] units, const int64_t[::1] starts,
                 int low, uint64_t[::1] to_go):
    """The least losses of variables that are left, for all sets of them; see order_search.h."""
    cdef parent_lists lists = lists_of(masks, units, starts)
    cdef int done
    with nogil:
        done = c_losses_to_go(&lists, low, &to_go[0])
    check_stopped()
    if not done:
        raise MemoryError


def improve_order(const uint64_t[::1] masks, const int64_t[::1] units, const int64_t[::1] starts,
                  int32_t[::1] order):
    """Move variables of an order until no move gains anything; returns the sum of losses."""
    cdef parent_lists lists = lists_of(masks, units, starts)
    cdef uint64_t losses
    with nogil:
        losses = c_improve_order(&lists, &order[0])
    check_stopped()
    return losses


cdef class OrderSearch:
    """A* over sets of variables that come first in an order; see order_search.h."""

    cdef order_search search
    cdef list keep

    def __cinit__(self, const uint64_t[::1] masks, const int64_t[::1] units,
                  const int64_t[::1] starts, const int32_t[::1] sizes, const uint64_t[::1] to_go,
                  uint64_t bound, uint64_t most):
        self.keep = [masks, units, starts, sizes, to_go]
        self.search.lists = lists_of(masks, units, starts)
        self.search.n_groups = <int>sizes.shape[0]
        self.search.sizes = &sizes[0]
        self.search.to_go = &to_go[0]
        self.search.bound = bound
        self.search.most = most
        if not search_begin(&self.search):
            raise MemoryError

    def __dealloc__(self):
        search_end(&self.search)

    @property
    def bound(self):
        """The losses of the order found, or those that it has to be below."""
        return self.search.bound

    @property
    def reached(self):
        """No order that is still looked for has smaller losses than this."""
        return self.search.reached

    @property
    def expanded(self):
        """How many sets were looked at."""
        return self.search.n_expanded

    @property
    def states(self):
        """How many sets are held."""
        return self.search.n_states

    def run(self, uint64_t expansions):
        """Look at some more sets; returns whether there are more, none, or no room."""
        cdef int code
        with nogil:
            code = search_run(&self.search, expansions)
        check_stopped()
        if code == SEARCH_NO_MEMORY:
            raise MemoryError
        return code

    def path(self):
        """The sets on the way to the order found, the smallest first; None without one."""
        cdef uint64_t sets[65]
        if not self.search.found:
            return None
        cdef int n = search_path(&self.search, sets)
        return [sets[k] for k in range(n)][::-1]
