# Gibbs sampling: a part of _kernel.pyx.

from gml.kernel.gibbs_plan import code_bits

cdef extern from "gibbs.h":
    enum:
        GIBBS_GROUP
        GIBBS_SLACK
    ctypedef struct gibbs_factor:
        size_t start, stride
        const uint32_t *members
        const uint64_t *strides
        size_t n_members
    ctypedef struct gibbs_step:
        size_t target
        uint32_t n_levels
        const uint32_t *blanket
        const uint32_t *sizes
        const uint32_t *bits
        size_t n_blanket
        int is_binary
        const gibbs_factor *factors
        size_t n_factors
        uint64_t key[2]
        unsigned int n_bits
        uint64_t *thresholds
        uint8_t *bytes
    ctypedef struct gibbs_scopes:
        const uint32_t *members
        const uint64_t *strides
        const uint64_t *starts
        const uint64_t *tables
        size_t n_scopes
    int gibbs_has_bytes(const gibbs_step *) nogil
    int gibbs_prepare(gibbs_step *, size_t, const double *) nogil
    int gibbs_sweep(const gibbs_step *, size_t, const double *, void *, int, size_t, size_t, size_t,
                    uint64_t, uint64_t) nogil
    void gibbs_count(const gibbs_scopes *, const void *, int, size_t, size_t, int64_t *) nogil
    void gibbs_sum(const gibbs_scopes *, const void *, int, size_t, size_t, const double *, double *) nogil


cdef void *_state_codes(states, int *width, size_t *n_chains) except? NULL:
    """Where the codes of variables × chains are, how wide they are, and how many chains there are."""
    cdef uint8_t[:, ::1] narrow
    cdef uint16_t[:, ::1] wide
    n_chains[0] = states.shape[1]
    width[0] = states.itemsize
    if width[0] == 1:
        narrow = states
        return &narrow[0, 0] if states.size else NULL
    wide = states
    return &wide[0, 0] if states.size else NULL


cdef class GibbsSampler:
    """Draws chains after a GibbsPlan; it has no tables before `set_tables`."""

    cdef gibbs_step *steps
    cdef gibbs_factor *factors
    cdef size_t n_steps, n_cells, n_variables
    cdef bint has_tables
    cdef double[::1] numbers
    cdef list keep

    def __cinit__(self, plan):
        cdef const uint64_t[:, ::1] keys = plan.keys
        cdef const uint32_t[::1] members
        cdef const uint64_t[::1] strides
        cdef gibbs_step *step
        cdef gibbs_factor *factor
        cdef size_t used = 0
        self.keep = []
        self.n_cells = plan.n_cells
        self.n_variables = len(plan.n_levels)
        self.numbers = np.zeros(max(1, plan.n_cells))
        self.n_steps = len(plan.steps)
        total = sum(len(source.factors) for source in plan.steps)
        self.steps = <gibbs_step *>calloc(max(1, self.n_steps), sizeof(gibbs_step))
        self.factors = <gibbs_factor *>calloc(max(1, total), sizeof(gibbs_factor))
        if self.steps == NULL or self.factors == NULL:
            raise MemoryError
        for k, source in enumerate(plan.steps):
            step = &self.steps[<size_t>k]
            step.target = source.target
            step.n_levels = plan.n_levels[source.target]
            members = self._kept(source.blanket, np.uint32)
            step.blanket = &members[0]
            sizes = [plan.n_levels[v] for v in source.blanket]
            members = self._kept(sizes, np.uint32)
            step.sizes = &members[0]
            members = self._kept([code_bits(size) for size in sizes], np.uint32)
            step.bits = &members[0]
            step.is_binary = step.n_levels == 2 and all(size == 2 for size in sizes)
            step.n_blanket = len(source.blanket)
            step.key[0] = keys[step.target, 0]
            step.key[1] = keys[step.target, 1]
            step.factors = &self.factors[used]
            step.n_factors = len(source.factors)
            for part in source.factors:
                factor = &self.factors[used]
                used += 1
                factor.start = part.start
                factor.stride = part.stride
                members = self._kept(part.members, np.uint32)
                factor.members = &members[0]
                strides = self._kept(part.strides, np.uint64)
                factor.strides = &strides[0]
                factor.n_members = len(part.members)
            if source.n_listed:
                step.n_bits = sum(code_bits(size) for size in sizes)
                self._add_table(step)

    def _kept(self, values, kind):
        """An array that is never empty, and that lives as long as the sampler."""
        found = np.array([*values, 0], dtype=kind)
        self.keep.append(found)
        return found

    cdef int _add_table(self, gibbs_step *step) except -1:
        cdef size_t size = <size_t>1 << step.n_bits, ends = step.n_levels - 1
        step.thresholds = <uint64_t *>calloc(max(1, size * ends), sizeof(uint64_t))
        if step.thresholds == NULL:
            raise MemoryError
        if gibbs_has_bytes(step):
            step.bytes = <uint8_t *>calloc(max(16, size) * ends + GIBBS_SLACK, 1)
            if step.bytes == NULL:
                raise MemoryError
        return 0

    def __dealloc__(self):
        cdef size_t k
        if self.steps != NULL:
            for k in range(self.n_steps):
                free(self.steps[k].thresholds)
                free(self.steps[k].bytes)
        free(self.steps)
        free(self.factors)

    def set_tables(self, const double[::1] numbers):
        """Draw from these tables of logarithms from now on, all finite."""
        cdef int done
        if <size_t>numbers.shape[0] != self.n_cells:
            raise ValueError("these are not the tables of the plan")
        if not np.isfinite(numbers).all():
            raise ValueError("tables of logarithms must be finite")
        self.has_tables = False
        self.numbers[: numbers.shape[0]] = numbers
        with nogil:
            done = gibbs_prepare(self.steps, self.n_steps, &self.numbers[0])
        check_stopped()
        if not done:
            raise MemoryError
        self.has_tables = True

    def sweep(self, states, size_t first, size_t last, uint64_t first_sweep, uint64_t n_sweeps):
        """Draw the chains from `first` to `last` (multiples of 64) in so many sweeps."""
        cdef int width, done
        cdef size_t n_chains
        cdef void *codes = _state_codes(states, &width, &n_chains)
        if not self.has_tables:
            raise ValueError("there are no tables to draw from")
        if <size_t>states.shape[0] != self.n_variables:
            raise ValueError("these are not the variables of the plan")
        if codes == NULL:
            return
        if first % GIBBS_GROUP or last % GIBBS_GROUP or last > n_chains:
            raise ValueError("chains are drawn in whole groups")
        with nogil:
            done = gibbs_sweep(self.steps, self.n_steps, &self.numbers[0], codes, width, n_chains,
                               first, last, first_sweep, n_sweeps)
        check_stopped()
        if not done:
            raise MemoryError


cdef gibbs_scopes _scopes(layout, states, size_t n) except *:
    if n > <size_t>states.shape[1]:
        raise ValueError("there are fewer chains than that")
    if len(states) and int(layout.members.max()) >= len(states):
        raise ValueError("the tables are over more variables than the states")
    cdef const uint32_t[::1] members = layout.members
    cdef const uint64_t[::1] strides = layout.strides
    cdef const uint64_t[::1] starts = layout.starts
    cdef const uint64_t[::1] tables = layout.tables
    cdef gibbs_scopes found
    found.members, found.strides = &members[0], &strides[0]
    found.starts, found.tables = &starts[0], &tables[0]
    found.n_scopes = layout.n_scopes
    return found


def count_states(layout, states, size_t n):
    """How many of the first n chains are in each cell of each table."""
    cdef int width
    cdef size_t n_chains
    cdef gibbs_scopes scopes = _scopes(layout, states, n)
    cdef const void *codes = _state_codes(states, &width, &n_chains)
    found = np.zeros(layout.n_cells, dtype=np.int64)
    cdef int64_t[::1] counts = found
    if codes != NULL and counts.shape[0]:
        with nogil:
            gibbs_count(&scopes, codes, width, n_chains, n, &counts[0])
        check_stopped()
    return found


def sum_states(layout, states, size_t n, const double[::1] numbers):
    """Sum, for each of the first n chains, the numbers of the cells that it is in."""
    cdef int width
    cdef size_t n_chains
    cdef gibbs_scopes scopes = _scopes(layout, states, n)
    cdef const void *codes = _state_codes(states, &width, &n_chains)
    if numbers.shape[0] != layout.n_cells:
        raise ValueError("these are not the numbers of the tables")
    found = np.zeros(n)
    cdef double[::1] sums = found
    if codes != NULL and n and numbers.shape[0]:
        with nogil:
            gibbs_sum(&scopes, codes, width, n_chains, n, &numbers[0], &sums[0])
        check_stopped()
    return found
