# Conditioning sets: a part of _kernel.pyx.

cdef extern from "conditioning.h":
    ctypedef struct conditioning:
        const int64_t *starts
        const int32_t *neighbours
        const int32_t *tiers
        size_t level
    int64_t conditioning_total(const conditioning *, int32_t, int32_t, int32_t *) nogil
    void conditioning_fill(
        const conditioning *, int32_t, int32_t, int64_t, int64_t, int32_t *, int32_t *) nogil


cdef class ConditioningSets:
    """The sets of `level` nodes that PC conditions the pairs on, by their number.

    Subsets of the neighbours of x, then those of the neighbours of y that are not among them, in
    lexicographic order; never x or y, nor a node of a tier later than both. `neighbours` is a
    symmetric Boolean matrix.
    """

    cdef conditioning source
    cdef list keep
    cdef const int32_t[:, ::1] pairs
    cdef int32_t[::1] scratch
    cdef readonly object totals

    def __init__(self, neighbours, tiers, const int32_t[:, ::1] pairs, size_t level):
        cdef const int64_t[::1] starts = np.concatenate(
            [[0], np.cumsum(neighbours.sum(axis=1))]).astype(np.int64)
        cdef const int32_t[::1] flat = np.append(np.nonzero(neighbours)[1], 0).astype(np.int32)
        cdef const int32_t[::1] of_tiers = np.append(tiers, 0).astype(np.int32)
        cdef Py_ssize_t p
        self.keep = [starts, flat, of_tiers]
        self.source.starts = &starts[0]
        self.source.neighbours = &flat[0]
        self.source.tiers = &of_tiers[0]
        self.source.level = level
        self.pairs = pairs
        self.scratch = np.empty(2 * len(neighbours) + 1, dtype=np.int32)
        self.totals = np.empty(pairs.shape[0], dtype=np.int64)
        cdef int64_t[::1] totals = self.totals
        with nogil:
            for p in range(pairs.shape[0]):
                if p % 1024 == 1023 and stop_wanted():
                    break
                totals[p] = conditioning_total(&self.source, pairs[p, 0], pairs[p, 1],
                                               &self.scratch[0])
        check_stopped()

    def fill(self, const int64_t[::1] which, const int64_t[::1] first, const int64_t[::1] count):
        """Rows (x, y, *set): for pair which[k] the sets number first[k] and the count[k]-1 next."""
        cdef Py_ssize_t k, row = 0, i, j
        cdef int64_t total = 0
        cdef size_t level = self.source.level
        for k in range(count.shape[0]):
            total += count[k]
        out = np.empty((total, level + 2), dtype=np.int32)
        sets = np.empty(max(1, total * level), dtype=np.int32)
        cdef int32_t[:, ::1] view = out
        cdef int32_t[::1] room = sets
        cdef int64_t at = 0
        with nogil:
            for k in range(which.shape[0]):
                if k % 1024 == 1023 and stop_wanted():
                    break
                i, j = self.pairs[which[k], 0], self.pairs[which[k], 1]
                conditioning_fill(&self.source, <int32_t>i, <int32_t>j, first[k], count[k],
                                  &self.scratch[0], &room[at * <int64_t>level] if level else NULL)
                for row in range(at, at + count[k]):
                    view[row, 0] = <int32_t>i
                    view[row, 1] = <int32_t>j
                at += count[k]
        check_stopped()
        if level and total:
            out[:, 2:] = sets.reshape(-1, level)[:total]
        return out
