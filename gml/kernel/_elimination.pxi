# Variable elimination: a part of _kernel.pyx.

cdef extern from "elimination.h":
    ctypedef struct elimination:
        const int64_t *code
        const int64_t *starts
        size_t n_steps
        double *work
    double c_eliminate "eliminate"(const elimination *, const double *, const int64_t *) nogil
    void c_distribute "distribute"(const elimination *, const int64_t *, double *) nogil
    void add_distributions(const elimination *, const int64_t *, double, double *) nogil
    void trace_maximum(const elimination *, int32_t *) nogil


cdef class Elimination:
    """A program of elimination steps (elimination.h), and the room for its tables (`work`)."""

    cdef elimination program
    cdef list keep
    cdef readonly object work
    cdef Py_ssize_t n_variables

    def __init__(self, const int64_t[::1] code, const int64_t[::1] starts, Py_ssize_t room,
                 Py_ssize_t n_variables):
        self.work = np.empty(max(1, room))
        cdef double[::1] work = self.work
        self.keep = [code, starts]
        self.program.code = &code[0]
        self.program.starts = &starts[0]
        self.program.n_steps = starts.shape[0]
        self.program.work = &work[0]
        self.n_variables = n_variables

    def eliminate(self, const double[::1] tables, const int64_t[::1] bases):
        """Multiply and eliminate; ln of the product of all factors, -inf when that is 0."""
        cdef double log_scale
        with nogil:
            log_scale = c_eliminate(&self.program, &tables[0], &bases[0])
        check_stopped()
        return log_scale

    def distribute(self, const int64_t[::1] offsets, double[::1] out):
        """Turn each table into a distribution; that of its last variable goes to out[offsets]."""
        with nogil:
            c_distribute(&self.program, &offsets[0], &out[0])
        check_stopped()

    def marginals(self, const double[::1] tables, const int64_t[:, ::1] bases,
                  const int64_t[::1] offsets, double[:, ::1] out, double[::1] log_p):
        """Eliminate and distribute for each row of bases; rows of probability 0 are left alone."""
        cdef Py_ssize_t row
        with nogil:
            for row in range(bases.shape[0]):
                if row % 64 == 63 and stop_wanted():
                    break
                log_p[row] = c_eliminate(&self.program, &tables[0], &bases[row, 0])
                if log_p[row] > -1e308:
                    c_distribute(&self.program, &offsets[0], &out[row, 0])
        check_stopped()

    def expectations(self, const double[::1] tables, const int64_t[:, ::1] bases,
                     const double[::1] weights, const int64_t[::1] offsets, double[::1] out,
                     double[::1] counts, double[::1] log_p):
        """Add the distributions given each row of bases to counts, where the factors came from."""
        cdef Py_ssize_t row
        with nogil:
            for row in range(bases.shape[0]):
                if row % 64 == 63 and stop_wanted():
                    break
                log_p[row] = c_eliminate(&self.program, &tables[0], &bases[row, 0])
                if log_p[row] > -1e308:
                    c_distribute(&self.program, &offsets[0], &out[0])
                    add_distributions(&self.program, &bases[row, 0], weights[row], &counts[0])
        check_stopped()

    def trace(self):
        """The levels that reach the maximum, the first of those that do; -1 where not asked."""
        levels = np.full(max(1, self.n_variables), -1, dtype=np.int32)
        cdef int32_t[::1] view = levels
        with nogil:
            trace_maximum(&self.program, &view[0])
        return levels[: self.n_variables]
