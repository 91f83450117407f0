# Sets of parents, and dynamic programming over sets of variables: a part of _kernel.pyx.

from gml.kernel.layout import GrownSets

cdef extern from "subsets.h":
    int64_t c_grow_sets "grow_sets"(
        const uint64_t *, const int64_t *, size_t, uint64_t, uint64_t *, int64_t *) nogil
    int c_best_sinks "best_sinks"(
        const uint64_t *, const int64_t *, const int64_t *, int, int, uint64_t, uint64_t, int64_t *,
        uint8_t *) nogil


def grow_sets(const uint64_t[::1] sets, const int64_t[::1] best, uint64_t candidates,
              Py_ssize_t room):
    """Sets of one more member, all of whose subsets of this size are there, and the best of these.

    `room` is an upper limit of how many there are; see subsets.h.
    """
    grown = np.empty(max(1, room), dtype=np.uint64)
    values = np.empty(max(1, room), dtype=np.int64)
    cdef uint64_t[::1] grown_view = grown
    cdef int64_t[::1] values_view = values
    cdef int64_t found = 0
    if sets.shape[0]:
        with nogil:
            found = c_grow_sets(&sets[0], &best[0], sets.shape[0], candidates, &grown_view[0],
                                &values_view[0])
        check_stopped()
    if found < 0:
        raise MemoryError
    return GrownSets(grown[:found].copy(), values[:found].copy())


def best_sinks(const uint64_t[::1] masks, const int64_t[::1] units, const int64_t[::1] starts,
               int low, uint64_t first, uint64_t last, int64_t[::1] best, uint8_t[::1] sinks):
    """Slices `first` to `last` - 1 of the best orders of all sets of variables; see subsets.h."""
    cdef int done
    with nogil:
        done = c_best_sinks(&masks[0], &units[0], &starts[0], starts.shape[0] - 1, low, first, last,
                            &best[0], &sinks[0])
    check_stopped()
    if not done:
        raise MemoryError
