"""Text files that are read piece by piece, in memory that does not grow with the file.

`open_pieces(path, options)` opens a file, compressed or not, or standard input, and yields a
`TextPieces`: the names of its columns, which of them are in use and what they are read as. To go
through it yields the cells of the whole file once, as `CsvResult`s of whole records one after the
other (gml/kernel/layout.py). What is wrong is raised with the line of the whole file.

Labels persist: column j has one list of labels, the same object in each piece, and code k means
`labels[k]` in all of them. Later pieces add labels at the end of the list, so codes never need to
be changed, but what they are stored in may become wider from one piece to the next:

- CODES8 (uint8, 255 = missing) until there are more than 255 labels, then CODES16 (uint16, 65535 =
  missing), then, for columns that may have so many, CODES32; never back.
- NUMBERS (float64, NaN = missing): a column that is `numbers_on_overflow` begins as codes, and may
  turn into numbers with any piece; then all its labels so far are numbers, and the codes of earlier
  pieces mean `number_of(labels[k], decimal)`.
- OVERFLOW: there are too many labels. From then on the column has no cells (None) and gets no new
  labels; whoever reads on learns whether anything else is wrong with the file.
- SKIP: the column is not in use, and has no cells.

The cells of a piece belong to whoever gets it. At least one piece comes, and the last may be
without rows. Its columns have the final kinds and all labels.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gml.data.cells import cell_pieces
from gml.data.columns import Choice, choose_columns, column_specs
from gml.data.options import ReadOptions
from gml.data.problems import explain_problem
from gml.data.reading import begin_text
from gml.data.source import ByteSource, open_source
from gml.errors import UsageError, parameter
from gml.kernel.layout import ColumnSpec, CsvProblem, CsvResult
from gml.ledger import note_digest
from gml.resources import available_threads

PIECE_BYTES = 1 << 24
"""Text per piece; its cells take up to eight times as much, and usually less than the text."""


class TextPieces:
    """A text file whose header has been read; it can be gone through once."""

    def __init__(
        self,
        source: ByteSource,
        path: str | os.PathLike[str],
        options: ReadOptions,
        used: Choice | None,
        piece_bytes: int,
    ) -> None:
        if piece_bytes < 1:
            raise UsageError(f"{parameter('piece_bytes')} must be at least 1, not {piece_bytes}")
        self._source = source
        self._header, dialect = begin_text(source, path, options)
        self._dialect = replace(dialect, cells_limit=None)
        self.delimiter = dialect.delimiter
        """The one in use, be it asked for or implied by the suffix of the path."""
        self._piece_bytes = piece_bytes
        self._threads = options.threads or available_threads()
        self.where = source.name
        self.names: Sequence[str] = self._header.names
        self.chosen = choose_columns(self.names, options, used, source.name)
        """Positions of the columns in use; that of the weights, if any, is not among them."""
        self.specs: list[ColumnSpec] = column_specs(self.names, self.chosen, options)
        """What each column of the file is read as."""
        self.first_line = self._header.next_line
        """The line after the header."""

    def __iter__(self) -> Iterator[CsvResult]:
        header = self._header
        try:
            yield from cell_pieces(
                self._source,
                header.rest,
                header.next_line,
                self.specs,
                self._dialect,
                piece_bytes=self._piece_bytes,
                threads=self._threads,
            )
        except CsvProblem as problem:
            raise explain_problem(problem, self.where, self.names, self.specs) from None

    @property
    def was_utf8(self) -> bool:
        """Whether all bytes so far would have been valid UTF-8."""
        return self._source.was_utf8

    def digest(self) -> str | None:
        """SHA-256 of the stored bytes, if the options ask for it, when all pieces were read."""
        return self._source.digest()


@contextmanager
def open_pieces(
    path: str | os.PathLike[str],
    options: ReadOptions,
    *,
    used: Choice | None = None,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[TextPieces]:
    """Open a text file to go through it once in pieces of at most so many bytes of text.

    A record that is longer still comes whole, with at most as many bytes of others. `used` picks
    columns from those that the options leave. When the file is done with, its run learns its hash,
    if the options ask for one.

    Examples
    --------
    >>> from gml.data.options import reading_options
    >>> asia = "sample_data/asia.csv"
    >>> with open_pieces(asia, reading_options(columns="smoke"), piece_bytes=50_000) as pieces:
    ...     [(piece.n_rows, piece.columns[pieces.chosen[0]].labels) for piece in pieces][:2]
    [(1955, ['no', 'yes']), (1949, ['no', 'yes'])]
    """
    with open_source(path, digest=options.digest) as source:
        pieces = TextPieces(source, path, options, used, piece_bytes)
        yield pieces
        note_digest(path, pieces.digest())
