# Chains of labels over rows: a part of _kernel.pyx.

cdef extern from "chain_field.h":
    ctypedef struct chain_rows:
        size_t n_labels, width
        const int64_t *sequences
        const int64_t *rows
        const int32_t *attributes
        const int64_t *cells
        const int32_t *labels
        const double *values
    ctypedef struct chain_weights:
        const double *cells
        const double *transitions
    int chain_gradient(const chain_rows *, const chain_weights *, const int32_t *, size_t, size_t,
                       double *, double *, double *) nogil
    int chain_marginals(const chain_rows *, const chain_weights *, size_t, size_t, double *) nogil
    int chain_viterbi(const chain_rows *, const chain_weights *, size_t, size_t, int32_t *) nogil


cdef class ChainRows:
    """Sequences of rows with attributes (a ChainLayout), and a chain of labels over each."""

    cdef chain_rows layout
    cdef size_t n_sequences, n_rows, n_cells
    cdef list keep

    def __init__(self, layout):
        # One place more than needed, so that there is a first.
        self.keep = [
            np.append(layout.sequences, 0).astype(np.int64),
            np.append(layout.rows, 0).astype(np.int64),
            np.append(layout.attributes, 0).astype(np.int32),
            np.append(layout.cells, 0).astype(np.int64),
            np.append(layout.labels, 0).astype(np.int32),
        ]
        cdef const int64_t[::1] sequences = self.keep[0], rows = self.keep[1], cells = self.keep[3]
        cdef const int32_t[::1] attributes = self.keep[2], labels = self.keep[4]
        self.layout.n_labels = layout.n_labels
        self.layout.width = layout.width
        self.layout.sequences = &sequences[0]
        self.layout.rows = &rows[0]
        self.layout.attributes = &attributes[0]
        self.layout.cells = &cells[0]
        self.layout.labels = &labels[0]
        self.layout.values = NULL
        cdef const double[::1] values
        if layout.values is not None:
            self.keep.append(np.append(layout.values, 0).astype(np.float64))
            values = self.keep[5]
            self.layout.values = &values[0]
        self.n_sequences = layout.n_sequences
        self.n_rows = layout.n_rows
        self.n_cells = layout.n_cells

    cdef chain_weights _weights(self, const double[::1] cells, const double[:, ::1] transitions,
                                size_t first, size_t last) except *:
        cdef chain_weights found
        if <size_t>cells.shape[0] != self.n_cells or self.n_cells == 0:
            raise ValueError("these are not the cells of the layout")
        if (<size_t>transitions.shape[0] != self.layout.n_labels
                or <size_t>transitions.shape[1] != self.layout.n_labels):
            raise ValueError("these are not the transitions of the layout")
        if first > last or last > self.n_sequences:
            raise ValueError("there are fewer sequences than that")
        found.cells = &cells[0]
        found.transitions = &transitions[0, 0]
        return found

    def gradient(self, const double[::1] cells, const double[:, ::1] transitions,
                 const int32_t[::1] targets, span, out):
        """Σ −ln p(targets) over the sequences of a span; its derivatives are added to `out`."""
        cdef size_t first = span[0], last = span[1]
        cdef chain_weights weights = self._weights(cells, transitions, first, last)
        cdef double[::1] out_cells = out[0]
        cdef double[:, ::1] out_transitions = out[1]
        cdef double value = 0
        cdef int done
        if <size_t>targets.shape[0] != self.n_rows:
            raise ValueError("there must be a target for each row")
        if (out_cells.shape[0] != cells.shape[0]
                or out_transitions.shape[0] != transitions.shape[0]
                or out_transitions.shape[1] != transitions.shape[1]):
            raise ValueError("derivatives have the shape of the weights")
        if first == last or self.n_rows == 0:
            return 0.0
        with nogil:
            done = chain_gradient(&self.layout, &weights, &targets[0], first, last, &out_cells[0],
                                  &out_transitions[0, 0], &value)
        check_stopped()
        if not done:
            raise MemoryError
        return value

    def marginals(self, const double[::1] cells, const double[:, ::1] transitions, span,
                  double[:, ::1] out):
        """Fill in the probability of each label of each row of the sequences of a span."""
        cdef size_t first = span[0], last = span[1]
        cdef chain_weights weights = self._weights(cells, transitions, first, last)
        cdef int done
        if (<size_t>out.shape[0] != self.n_rows
                or <size_t>out.shape[1] != self.layout.n_labels):
            raise ValueError("probabilities are rows × labels")
        if first == last or self.n_rows == 0:
            return
        with nogil:
            done = chain_marginals(&self.layout, &weights, first, last, &out[0, 0])
        check_stopped()
        if not done:
            raise MemoryError

    def viterbi(self, const double[::1] cells, const double[:, ::1] transitions, span,
                int32_t[::1] out):
        """Fill in the labels of the highest score; of those that reach it, the lowest."""
        cdef size_t first = span[0], last = span[1]
        cdef chain_weights weights = self._weights(cells, transitions, first, last)
        cdef int done
        if <size_t>out.shape[0] != self.n_rows:
            raise ValueError("there must be a label for each row")
        if first == last or self.n_rows == 0:
            return
        with nogil:
            done = chain_viterbi(&self.layout, &weights, first, last, &out[0])
        check_stopped()
        if not done:
            raise MemoryError
