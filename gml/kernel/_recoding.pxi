# Arrays over memory of C, and codes that change: a part of _kernel.pyx.

cdef extern from "recode.h":
    void recode8(uint8_t *, size_t, const uint8_t *, size_t) nogil
    void recode16(uint16_t *, size_t, const uint16_t *) nogil


cdef class _Memory:
    """Owner of a block from malloc, seen by NumPy through the buffer protocol."""

    cdef void *data
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]

    def __getbuffer__(self, Py_buffer *view, int flags):
        self.strides[0] = 1
        view.buf = self.data
        view.obj = self
        view.len = self.shape[0]
        view.itemsize = 1
        view.readonly = 0
        view.ndim = 1
        view.format = b"B"
        view.shape = self.shape
        view.strides = self.strides
        view.suboffsets = NULL
        view.internal = NULL

    def __releasebuffer__(self, Py_buffer *view):
        pass

    def __dealloc__(self):
        free(self.data)


cdef object _adopt(void **data, size_t n, object dtype):
    """NumPy array over a block from malloc, which it then owns."""
    if n == 0 or data[0] == NULL:
        return np.empty(0, dtype=dtype)
    cdef _Memory memory = _Memory.__new__(_Memory)
    memory.data = data[0]
    memory.shape[0] = n * np.dtype(dtype).itemsize
    data[0] = NULL
    return np.frombuffer(memory, dtype=dtype)


def recode(codes, list new_codes):
    """Replace code k by new_codes[k], in place; missing stays missing."""
    cdef uint8_t[::1] narrow
    cdef uint16_t[::1] wide
    cdef const uint8_t[::1] narrow_lookup
    cdef const uint16_t[::1] wide_lookup
    if len(codes) == 0:
        return
    missing = np.iinfo(codes.dtype).max
    if codes.dtype.itemsize == 4:
        # A table of all codes would take gibibytes.
        known = codes != missing
        codes[known] = np.array(new_codes, dtype=codes.dtype)[codes[known]]
        return
    lookup = np.full(missing + 1, missing, dtype=codes.dtype)
    lookup[: len(new_codes)] = new_codes
    cdef size_t n_labels = len(new_codes)
    if codes.dtype.itemsize == 1:
        narrow, narrow_lookup = codes, lookup
        with nogil:
            recode8(&narrow[0], narrow.shape[0], &narrow_lookup[0], n_labels)
    else:
        wide, wide_lookup = codes, lookup
        with nogil:
            recode16(&wide[0], wide.shape[0], &wide_lookup[0])
