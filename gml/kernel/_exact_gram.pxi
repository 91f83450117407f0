# Exact sums of products of integer columns: a part of _kernel.pyx.

cdef extern from "exact_gram.h":
    void c_write_limbs "write_limbs"(const int64_t *, size_t, size_t, size_t, double *) nogil
    void c_centred_products "centred_products"(const int64_t *, size_t, size_t, int64_t, unsigned,
                                               double *) nogil


def write_limbs(const int64_t[::1] values, double[:, ::1] out):
    """Write limbs of 18 bits of integers, the lowest first, to rows that hold at least as many."""
    cdef size_t n = values.shape[0], n_limbs = out.shape[0], stride = out.shape[1]
    if n_limbs == 0 or stride < n:
        raise ValueError("there is no room for the limbs")
    if n:
        with nogil:
            c_write_limbs(&values[0], n, n_limbs, stride, &out[0, 0])


def centred_products(const int64_t[:, :, ::1] parts, int64_t n, unsigned bits):
    """n·Σqq − ΣqΣq of all pairs of columns, from sums by powers of 2^bits; the last has ones."""
    if parts.shape[1] == 0 or parts.shape[1] != parts.shape[2]:
        raise ValueError("these are not square matrices")
    cdef size_t size = parts.shape[1] - 1, n_parts = parts.shape[0]
    out = np.empty((size, size))
    cdef double[:, ::1] view = out
    if size and n_parts:
        with nogil:
            c_centred_products(&parts[0, 0, 0], n_parts, size, n, bits, &view[0, 0])
    check_stopped()
    return out
