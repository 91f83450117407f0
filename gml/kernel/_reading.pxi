# CSV files, and codes that change: a part of _kernel.pyx.

cdef extern from "csv_reader.h":
    enum:
        CSV_SLACK
        CSV_OK
    ctypedef struct csv_column:
        int kind
        uint32_t n_labels
        unsigned char *text
        size_t *ends
        void *cells
    ctypedef struct csv_reader:
        size_t n_columns
        csv_column *columns
        size_t n_rows, row_capacity
        uint64_t line
        int status
        uint64_t error_line
        size_t error_column, error_fields
        unsigned char error_value[64]
        size_t error_value_size
    csv_reader *csv_new(size_t, unsigned char, unsigned char, uint64_t, size_t, size_t)
    void csv_free(csv_reader *)
    int csv_add_na(csv_reader *, const unsigned char *, size_t)
    int csv_set_column(csv_reader *, size_t, int, uint32_t, int, int, int)
    int csv_declare(csv_reader *, size_t, const unsigned char *, size_t)
    size_t csv_feed(csv_reader *, const unsigned char *, size_t, int) nogil
    int csv_reserve(csv_reader *, size_t)
    int csv_finish(csv_reader *)

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


cdef _take_column(csv_column *column, size_t n_rows):
    labels = []
    cdef size_t start, end
    cdef uint32_t k
    if column.kind == <int>SKIP:
        return CsvColumn(SKIP, [], None)
    for k in range(column.n_labels):
        start = column.ends[2 * k]
        end = column.ends[2 * k + 1]
        labels.append((<bytes>column.text[start:end]).decode("utf-8"))
    kind = column.kind
    if kind == OVERFLOW:
        return CsvColumn(kind, labels, None)
    dtype = {CODES8: np.uint8, CODES16: np.uint16, CODES32: np.uint32, NUMBERS: np.float64}[kind]
    return CsvColumn(kind, labels, _adopt(&column.cells, n_rows, dtype))


def read_csv(source, bytes start, first_line, list columns, dialect):
    """Read the records after the header; see gml.kernel.layout for the types."""
    cdef csv_reader *reader = csv_new(
        len(columns), ord(dialect.delimiter), ord(dialect.decimal), first_line,
        dialect.field_limit, dialect.record_limit)
    if reader == NULL:
        raise MemoryError
    cdef size_t capacity = max(BLOCK_BYTES, 2 * len(start))
    cdef size_t size = len(start), consumed
    cdef unsigned char *block
    cdef int final = 0
    cdef size_t expected = source.size or 0
    cdef bytes encoded
    cells_limit = dialect.cells_limit
    buffer = bytearray(capacity + CSV_SLACK)
    try:
        for token in dialect.na:
            encoded = token.encode("utf-8")
            if not csv_add_na(reader, encoded, len(encoded)):
                raise MemoryError
        for j, spec in enumerate(columns):
            if not csv_set_column(reader, j, spec.kind, spec.max_levels, spec.declared is not None,
                                  spec.numbers_on_overflow, spec.counts):
                raise MemoryError
            for label in spec.declared or spec.known:
                encoded = label.encode("utf-8")
                if not csv_declare(reader, j, encoded, len(encoded)):
                    raise MemoryError
        buffer[:size] = start
        while not final:
            with memoryview(buffer) as view, view[size:capacity] as room:
                got = source.readinto(room)
            final = got == 0
            size += got
            block = buffer
            with nogil:
                consumed = csv_feed(reader, block, size, final)
            if reader.status != CSV_OK:
                value = bytes(reader.error_value[:reader.error_value_size])
                raise CsvProblem(reader.status, reader.error_line, reader.error_column,
                                 reader.error_fields, value)
            # The exact sum takes a while for many columns.
            if cells_limit is not None and 8 * reader.n_rows * reader.n_columns > cells_limit:
                row_bytes = sum([CELL_BYTES[reader.columns[j].kind] for j in range(reader.n_columns)])
                if reader.n_rows * row_bytes > cells_limit:
                    raise CsvProblem(TOO_MANY_ROWS, reader.line, 0, reader.n_rows, b"")
            if expected and consumed and not final:
                # The first block tells how long rows are, and so how many there will be.
                expected = <size_t>(1.02 * expected / consumed * reader.n_rows) + 1024
                if expected > reader.row_capacity and not csv_reserve(reader, expected):
                    raise MemoryError
                expected = 0
            memmove(block, block + consumed, size - consumed)
            size -= consumed
            if 2 * size > capacity:
                capacity *= 2
                buffer.extend(bytes(capacity + CSV_SLACK - len(buffer)))
        csv_finish(reader)
        return CsvResult(
            reader.n_rows,
            [_take_column(&reader.columns[j], reader.n_rows) for j in range(reader.n_columns)],
            reader.line - first_line)
    finally:
        csv_free(reader)


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
