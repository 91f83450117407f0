# Sampling and writing CSV: a part of _kernel.pyx.

from gml.kernel.plan import thresholds

cdef extern from "sampling.h":
    ctypedef struct sampled_column:
        void *codes
        int width
        uint32_t n_levels
    ctypedef struct sampling_step:
        size_t target
        const uint32_t *parents
        size_t n_parents
        const uint64_t *thresholds
        uint64_t key[2]
    int c_sample_rows "sample_rows"(
        const sampling_step *, size_t, const sampled_column *, uint64_t, size_t) nogil
    void c_blank_cells "blank_cells"(
        const sampled_column *, const uint64_t *, uint64_t, uint64_t, size_t) nogil

cdef extern from "gaussian.h":
    double c_normal_quantile "normal_quantile"(double) nogil
    ctypedef struct gaussian_step:
        size_t target
        const uint32_t *parents
        const double *coefficients
        size_t n_parents
        double intercept, sd
        uint64_t key[2]
    void c_sample_numbers "sample_numbers"(
        const gaussian_step *, size_t, double **, uint64_t, size_t) nogil
    void c_blank_numbers "blank_numbers"(
        double *, const uint64_t *, uint64_t, uint64_t, size_t) nogil

cdef extern from "csv_writer.h":
    enum:
        CSV_FIELD_STORE
    ctypedef struct csv_field:
        pass
    ctypedef struct csv_coded_column:
        const void *codes
        int width
        uint32_t n_levels
        const csv_field *fields
    void csv_set_field(csv_field *, const unsigned char *, size_t)
    size_t csv_write_rows(const csv_coded_column *, size_t, size_t, unsigned char *) nogil


cdef void *_writable_codes(codes, int width) except? NULL:
    """Where the codes of a column are; its type must be as wide as its levels ask for."""
    cdef uint8_t[::1] narrow
    cdef uint16_t[::1] wide
    if width == 1:
        narrow = codes
        return &narrow[0] if narrow.shape[0] else NULL
    wide = codes
    return &wide[0] if wide.shape[0] else NULL


cdef const void *_codes(codes, int width) except? NULL:
    cdef const uint8_t[::1] narrow
    cdef const uint16_t[::1] wide
    if width == 1:
        narrow = codes
        return &narrow[0] if narrow.shape[0] else NULL
    wide = codes
    return &wide[0] if wide.shape[0] else NULL


cdef size_t _rows(list columns, size_t n_columns) except? 0:
    """Number of rows of columns of equal length."""
    if <size_t>len(columns) != n_columns or len({len(column) for column in columns}) > 1:
        raise ValueError("these are not the columns of the plan")
    return len(columns[0]) if columns else 0


cdef class TableSampler:
    """Draws rows of coded columns after a TablePlan."""

    cdef sampling_step *steps
    cdef size_t n_steps
    cdef tuple n_levels
    cdef dict fixed
    cdef list keep

    def __cinit__(self, plan):
        cdef const uint32_t[::1] parents
        cdef const uint64_t[:, ::1] ends
        cdef const uint64_t[:, ::1] keys = plan.keys
        cdef sampling_step *step
        self.n_levels = plan.n_levels
        self.fixed = dict(plan.fixed)
        self.keep = []
        self.n_steps = len(plan.steps)
        self.steps = <sampling_step *>calloc(max(1, self.n_steps), sizeof(sampling_step))
        if self.steps == NULL:
            raise MemoryError
        for k, source in enumerate(plan.steps):
            step = &self.steps[<size_t>k]
            parents = np.array([*source.parents, 0], dtype=np.uint32)
            ends = thresholds(source.table)
            self.keep.append((parents, ends))
            step.target = source.target
            step.parents = &parents[0]
            step.n_parents = len(source.parents)
            # One level only needs no threshold.
            step.thresholds = &ends[0, 0] if ends.shape[0] and ends.shape[1] else NULL
            step.key[0] = keys[step.target, 0]
            step.key[1] = keys[step.target, 1]

    def __dealloc__(self):
        free(self.steps)

    def draw(self, uint64_t first_row, list columns):
        """Fill the columns with the rows from first_row on."""
        cdef size_t j, n_columns = len(self.n_levels), n_rows = _rows(columns, n_columns)
        cdef int done
        if n_rows == 0:
            return
        for column, code in self.fixed.items():
            columns[column][:] = code
        cdef sampled_column *where = <sampled_column *>malloc(n_columns * sizeof(sampled_column))
        if where == NULL:
            raise MemoryError
        try:
            for j in range(n_columns):
                where[j].n_levels = self.n_levels[j]
                where[j].width = 1 if self.n_levels[j] <= 255 else 2
                where[j].codes = _writable_codes(columns[j], where[j].width)
            with nogil:
                done = c_sample_rows(self.steps, self.n_steps, where, first_row, n_rows)
            check_stopped()
        finally:
            free(where)
        if not done:
            raise MemoryError


cdef class GaussianSampler:
    """Draws rows of columns of numbers after a GaussianPlan."""

    cdef gaussian_step *steps
    cdef size_t n_steps, n_columns
    cdef dict fixed
    cdef list keep

    def __cinit__(self, plan):
        cdef const uint32_t[::1] parents
        cdef const double[::1] coefficients
        cdef const uint64_t[:, ::1] keys = plan.keys
        cdef gaussian_step *step
        self.n_columns = plan.n_columns
        self.fixed = dict(plan.fixed)
        self.keep = []
        self.n_steps = len(plan.steps)
        self.steps = <gaussian_step *>calloc(max(1, self.n_steps), sizeof(gaussian_step))
        if self.steps == NULL:
            raise MemoryError
        for k, source in enumerate(plan.steps):
            step = &self.steps[<size_t>k]
            parents = np.array([*source.parents, 0], dtype=np.uint32)
            coefficients = np.array([*source.coefficients, 0], dtype=np.float64)
            self.keep.append((parents, coefficients))
            step.target = source.target
            step.parents = &parents[0]
            step.coefficients = &coefficients[0]
            step.n_parents = len(source.parents)
            step.intercept = source.intercept
            step.sd = source.sd
            step.key[0] = keys[step.target, 0]
            step.key[1] = keys[step.target, 1]

    def __dealloc__(self):
        free(self.steps)

    def draw(self, uint64_t first_row, list columns):
        """Fill the columns with the rows from first_row on."""
        cdef size_t j, n_rows = _rows(columns, self.n_columns)
        cdef double[::1] numbers
        if n_rows == 0:
            return
        for column, value in self.fixed.items():
            columns[column][:] = value
        cdef double **where = <double **>malloc(self.n_columns * sizeof(double *))
        if where == NULL:
            raise MemoryError
        try:
            for j in range(self.n_columns):
                numbers = columns[j]
                where[j] = &numbers[0]
            with nogil:
                c_sample_numbers(self.steps, self.n_steps, where, first_row, n_rows)
            check_stopped()
        finally:
            free(where)


def blank_cells(list columns, const uint64_t[:, ::1] keys, uint64_t limit, uint64_t first_row):
    """Make a cell missing where the 63 bits of its row and its column's key are below the limit."""
    cdef size_t j, n_rows = _rows(columns, keys.shape[0])
    cdef sampled_column where
    cdef double[::1] numbers
    if n_rows == 0:
        return
    for j in range(<size_t>len(columns)):
        if columns[j].dtype.kind == "f":
            numbers = columns[j]
            with nogil:
                c_blank_numbers(&numbers[0], &keys[j, 0], limit, first_row, n_rows)
        else:
            where.width = columns[j].dtype.itemsize
            where.codes = _writable_codes(columns[j], where.width)
            with nogil:
                c_blank_cells(&where, &keys[j, 0], limit, first_row, n_rows)


def normal_quantile(const double[::1] p):
    """Quantiles of the standard normal distribution, elementwise, at 0 < p < 1."""
    out = np.empty(p.shape[0])
    cdef double[::1] view = out
    cdef Py_ssize_t k
    with nogil:
        for k in range(p.shape[0]):
            if k % 65536 == 65535 and stop_wanted():
                break
            view[k] = c_normal_quantile(p[k])
    check_stopped()
    return out


cdef class CsvWriter:
    """Writes coded columns as CSV text.

    `fields` has for each column the bytes that its levels, and after them a missing cell, are
    written as, delimiter or line end included.
    """

    cdef csv_field *fields
    cdef csv_coded_column *columns
    cdef size_t n_columns
    cdef list keep
    cdef readonly size_t row_bytes
    """Bytes of the longest row."""

    def __cinit__(self, list fields):
        cdef size_t j, k, at = 0, n_fields = sum(map(len, fields))
        cdef bytes text
        self.keep = fields
        self.n_columns = len(fields)
        self.row_bytes = sum(max(map(len, texts)) for texts in fields)
        self.fields = <csv_field *>malloc(max(1, n_fields) * sizeof(csv_field))
        self.columns = <csv_coded_column *>calloc(max(1, self.n_columns), sizeof(csv_coded_column))
        if self.fields == NULL or self.columns == NULL:
            raise MemoryError
        for j in range(self.n_columns):
            texts = fields[j]
            self.columns[j].fields = self.fields + at
            self.columns[j].n_levels = len(texts) - 1
            self.columns[j].width = 1 if len(texts) <= 256 else 2
            for k in range(<size_t>len(texts)):
                text = texts[k]
                csv_set_field(&self.fields[at], text, len(text))
                at += 1

    def __dealloc__(self):
        free(self.fields)
        free(self.columns)

    def room(self, n_rows):
        """Bytes that a buffer for so many rows has."""
        return n_rows * self.row_bytes + CSV_FIELD_STORE

    def write(self, list columns, bytearray buffer):
        """Write the rows into the buffer and return the number of bytes."""
        cdef size_t j, written, n_rows = _rows(columns, self.n_columns)
        cdef unsigned char *out = buffer
        if <size_t>len(buffer) < self.room(n_rows):
            raise ValueError("the buffer is too small")
        if n_rows == 0:
            return 0
        cdef size_t size = self.n_columns * sizeof(csv_coded_column)
        cdef csv_coded_column *where = <csv_coded_column *>malloc(size)
        if where == NULL:
            raise MemoryError
        try:
            for j in range(self.n_columns):
                where[j] = self.columns[j]
                where[j].codes = _codes(columns[j], where[j].width)
            with nogil:
                written = csv_write_rows(where, self.n_columns, n_rows, out)
        finally:
            free(where)
        return written
