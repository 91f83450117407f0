# Many tables that are held end to end: a part of _kernel.pyx.

cdef extern from "held_tables.h":
    ctypedef struct held_tables:
        const int64_t *cells
        const int64_t *starts
        const int32_t *levels
        size_t n_tables, size
    void c_turn_tables "turn_tables"(
        const held_tables *, const int64_t *, const int64_t *, int64_t *) nogil
    int c_held_statistics "held_statistics"(const held_tables *, table_statistics *) nogil
    void c_held_families "held_families"(
        const held_tables *, const family_rule *, family_worth *) nogil


cdef held_tables _held(const int64_t[::1] cells, const int64_t[::1] starts,
                       const int32_t[:, ::1] levels):
    cdef held_tables held
    held.cells = &cells[0]
    held.starts = &starts[0]
    held.levels = &levels[0, 0]
    held.n_tables = levels.shape[0]
    held.size = levels.shape[1]
    return held


def turned_tables(const int64_t[::1] cells, const int64_t[::1] starts, const int32_t[:, ::1] levels,
                  const int64_t[:, ::1] steps, const int64_t[:, ::1] summed):
    """Tables end to end whose columns, of so many levels, are so many cells apart at `starts`.

    Each is summed over summed[t, 0] levels of another column, which are summed[t, 1] cells apart.
    """
    cdef held_tables held
    sizes = np.prod(levels, axis=1, dtype=np.int64)
    out = np.empty(int(sizes.sum()), dtype=np.int64)
    cdef int64_t[::1] view = out
    if levels.shape[0] == 0:
        return out
    held = _held(cells, starts, levels)
    with nogil:
        c_turn_tables(&held, &steps[0, 0], &summed[0, 0], &view[0])
    check_stopped()
    return out


def held_statistics(const int64_t[::1] cells, const int64_t[::1] starts,
                    const int32_t[:, ::1] levels):
    """Statistics of tables of *Z, x, y, which begin at `starts` and hold every cell."""
    cdef size_t k, n_tables = levels.shape[0]
    cdef held_tables held
    cdef table_statistics *found
    cdef int done
    out = TableStatistics.zeros(n_tables)
    if n_tables == 0:
        return out
    cdef double[:, ::1] floats = out.floats
    cdef int64_t[:, ::1] ints = out.ints
    held = _held(cells, starts, levels)
    found = <table_statistics *>malloc(n_tables * sizeof(table_statistics))
    if found == NULL:
        raise MemoryError
    with nogil:
        done = c_held_statistics(&held, found)
        if done:
            for k in range(n_tables):
                _store(&found[k], &floats[k, 0], &ints[k, 0])
        free(found)
    check_stopped()
    if not done:
        raise MemoryError
    return out


def held_families(const int64_t[::1] cells, const int64_t[::1] starts, const int32_t[:, ::1] levels,
                  rule, cell_prior):
    """Values of families, of tables of *parents, child; ceilings too with a prior (not None)."""
    cdef family_rule c_rule = _family_rule(rule)
    cdef held_tables held
    out = np.zeros((levels.shape[0], 2))
    if levels.shape[0] == 0:
        return FamilyWorths(out[:, 0], out[:, 1])
    cdef double[:, ::1] worths = out
    held = _held(cells, starts, levels)
    if cell_prior is not None:
        c_rule.with_ceiling = 1
        c_rule.ceiling_prior = cell_prior
    with nogil:
        c_held_families(&held, &c_rule, <family_worth *>&worths[0, 0])
    check_stopped()
    return FamilyWorths(np.ascontiguousarray(out[:, 0]), np.ascontiguousarray(out[:, 1]))
