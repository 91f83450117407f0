# Sums over the states of models of pairs: a part of _kernel.pyx.

cdef extern from "pair_sums.h":
    enum:
        PAIR_BITS
        PAIR_STATES
        PAIR_ROWS
    ctypedef struct pair_model:
        const double *middle
        const double *inner
        const double *couplings
    ctypedef struct pair_block:
        double constant
    void c_pair_sums "pair_sums"(const pair_model *, const pair_block *, size_t, double *, double *,
                                 double *, double *, double *) nogil


def pair_sums(const double[::1] middle, const double[::1] inner, const double[:, ::1] couplings,
              const double[:, ::1] blocks):
    """Sums over the states of blocks of a model of pairs; a PairSums."""
    cdef pair_model model
    cdef double scale = 0
    if middle.shape[0] != PAIR_STATES or inner.shape[0] != PAIR_STATES:
        raise ValueError("these are not tables of middle and inner variables")
    if couplings.shape[0] != PAIR_BITS or couplings.shape[1] != PAIR_BITS:
        raise ValueError("these are not couplings of middle and inner variables")
    if blocks.shape[0] == 0 or blocks.shape[1] != 1 + 2 * PAIR_BITS:
        raise ValueError("these are not blocks")
    scales = np.empty(blocks.shape[0])
    moments = np.empty((blocks.shape[0], PAIR_ROWS, PAIR_ROWS))
    by_inner, by_middle = np.empty(PAIR_STATES), np.empty(PAIR_STATES)
    cdef double[::1] scale_view = scales, inner_view = by_inner, middle_view = by_middle
    cdef double[:, :, ::1] moment_view = moments
    model.middle, model.inner, model.couplings = &middle[0], &inner[0], &couplings[0, 0]
    with nogil:
        c_pair_sums(&model, <const pair_block *>&blocks[0, 0], blocks.shape[0], &scale_view[0],
                    &moment_view[0, 0, 0], &inner_view[0], &middle_view[0], &scale)
    check_stopped()
    return PairSums(scales, moments, by_inner, by_middle, scale)
