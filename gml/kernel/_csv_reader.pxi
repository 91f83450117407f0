# The CSV reader, which takes blocks of bytes and gives out cells whenever they are wanted.

cdef extern from "csv_reader.h":
    enum:
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
        size_t cells_limit
        int strip
        uint64_t line
        int status
        uint64_t error_line
        size_t error_column, error_fields
        unsigned char error_value[64]
        size_t error_value_size
    csv_reader *csv_new(size_t, unsigned char, unsigned char, uint64_t, size_t, size_t)
    void csv_free(csv_reader *)
    int csv_add_na(csv_reader *, const unsigned char *, size_t)
    int csv_set_column(csv_reader *, size_t, int, uint32_t, int, int, int, int)
    int csv_declare(csv_reader *, size_t, const unsigned char *, size_t)
    size_t csv_feed(csv_reader *, const unsigned char *, size_t, int) nogil
    int csv_reserve(csv_reader *, size_t)
    int csv_finish(csv_reader *)
    void csv_forget_rows(csv_reader *)

cdef extern from "csv_chunks.h":
    int csv_catch_up(csv_reader *, const csv_reader *) nogil
    int csv_absorb(csv_reader *, const csv_reader *) nogil


cdef class CsvReader:
    """Reads the records after a header; labels keep their codes when cells are taken.

    See gml.kernel.layout for the types, and csv_reader.h for the grammar.
    """

    cdef csv_reader *reader
    cdef uint64_t line_taken
    cdef list labels

    def __cinit__(self, list columns, dialect, first_line):
        cdef bytes encoded
        self.reader = csv_new(
            len(columns), ord(dialect.delimiter), ord(dialect.decimal), first_line,
            dialect.field_limit, dialect.record_limit)
        if self.reader == NULL:
            raise MemoryError
        self.reader.strip = dialect.strip
        if dialect.cells_limit is not None:
            self.reader.cells_limit = dialect.cells_limit
        self.line_taken = first_line
        self.labels = [[] for _ in columns]
        for token in dialect.na:
            encoded = token.encode("utf-8")
            if not csv_add_na(self.reader, encoded, len(encoded)):
                raise MemoryError
        for j, spec in enumerate(columns):
            if not csv_set_column(self.reader, j, spec.kind, spec.max_levels,
                                  spec.declared is not None, spec.numbers_on_overflow,
                                  spec.plain_numbers, spec.counts):
                raise MemoryError
            for label in spec.declared or spec.known:
                encoded = label.encode("utf-8")
                if not csv_declare(self.reader, j, encoded, len(encoded)):
                    raise MemoryError

    def __dealloc__(self):
        csv_free(self.reader)

    @property
    def n_rows(self):
        """Rows that were read and not taken yet."""
        return self.reader.n_rows

    def expect(self, size_t n_rows):
        """Make room for so many rows at once."""
        if n_rows > self.reader.row_capacity and not csv_reserve(self.reader, n_rows):
            raise MemoryError

    def feed(self, unsigned char[::1] block, size_t size, bint final):
        """Read the whole records among the first bytes of a block; returns their bytes.

        Behind them, READ_AHEAD more bytes must be readable. What was not read comes again at the
        start of the next block. `final` says that no more bytes follow. The first thing that is
        wrong is raised as a CsvProblem, and ends the reader.
        """
        cdef csv_reader *reader = self.reader
        cdef size_t consumed
        with nogil:
            consumed = csv_feed(reader, &block[0], size, final)
        if reader.status != CSV_OK:
            value = bytes(reader.error_value[:reader.error_value_size])
            raise CsvProblem(reader.status, reader.error_line, reader.error_column,
                             reader.error_fields, value)
        return consumed

    def catch_up(self, CsvReader leader):
        """Make ready for a chunk: without rows, with the labels and kinds of another reader."""
        cdef int done
        with nogil:
            done = csv_catch_up(self.reader, leader.reader)
        if not done:
            raise MemoryError

    def absorb(self, CsvReader chunk):
        """Take over the rows of a chunk that begins where this reader is.

        Returns whether that was possible; if not, the chunk is still to be fed to this reader.
        """
        cdef int done
        with nogil:
            done = csv_absorb(self.reader, chunk.reader)
        if self.reader.status != CSV_OK:
            raise MemoryError
        return bool(done)

    def take(self):
        """Return the cells of all rows since the last time; lists of labels go on to grow."""
        cdef csv_reader *reader = self.reader
        cdef size_t n_rows = reader.n_rows
        cdef uint64_t n_lines = reader.line - self.line_taken
        csv_finish(reader)
        columns = [self._take_column(j) for j in range(reader.n_columns)]
        csv_forget_rows(reader)
        self.line_taken = reader.line
        return CsvResult(n_rows, columns, n_lines)

    cdef _take_column(self, size_t j):
        cdef csv_column *column = &self.reader.columns[j]
        cdef list labels = self.labels[j]
        cdef size_t start, end
        cdef uint32_t k
        kind = column.kind
        if kind == SKIP:
            return CsvColumn(SKIP, labels, None)
        for k in range(len(labels), column.n_labels):
            start = column.ends[2 * k]
            end = column.ends[2 * k + 1]
            labels.append((<bytes>column.text[start:end]).decode("utf-8"))
        if kind == OVERFLOW:
            return CsvColumn(kind, labels, None)
        dtype = {CODES8: np.uint8, CODES16: np.uint16, CODES32: np.uint32, NUMBERS: np.float64}[kind]
        return CsvColumn(kind, labels, _adopt(&column.cells, self.reader.n_rows, dtype))
