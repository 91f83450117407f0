"""The engine over rows that Apache Spark holds: each batch of questions is one job.

A first job reads the rows, with the labels of each piece coded by its own reader, and finds what
levels there are; a second one gives all pieces the levels of the whole, and caches the codes, one
binary cell per column and piece, in memory and on disk. From then on a job hands the columns that a
batch of questions asks for to the compiled kernel on each partition, and adds the answers up in a
tree (`gml.counts.spark_answers`). Counts and sums are exact integers, so the numbers are those of
the engine over rows in memory, to the last bit.

A cached partition that is lost with its executor is read again. If the rows are no longer the same
in number, or have a label that was not there, this is noticed and refused.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gml.counts.pass_work import Partial, Work
from gml.counts.settled_counter import SettledCounter
from gml.counts.spark_answers import PieceWork, Total, answer_of
from gml.counts.spark_rows import (
    N_ROWS,
    WEIGHTS,
    QuoteOpen,
    StorePieces,
    array_of,
    cells_name,
    piece_of,
    pieces_schema,
    stored,
)
from gml.counts.spark_session import job, require_same_gml
from gml.counts.spark_source import SparkSource, open_spark_source
from gml.data.chosen_cuts import refuse_cuts_by_others
from gml.data.column_tally import BYTES_PER_NUMBER
from gml.data.columns import Choice
from gml.data.dataset import Dataset, Variable
from gml.data.missing import why_no_rows
from gml.data.number_summary import Numbers
from gml.data.options import ReadOptions
from gml.data.piece_weights import bits_of_weights, sum_of_weights
from gml.data.settled_columns import SettledTable
from gml.data.table_tally import TableTally
from gml.data.tallied_pieces import IN_PIECES, PieceCoder, PieceColumns, PieceTallies
from gml.errors import CannotAnswer, DataError, counted, listing
from gml.progress import reporter
from gml.resources import budget_in_force


class SparkCounter(SettledCounter):
    """Counts rows that Spark holds; `open_spark` makes one."""

    kind = "Spark"

    def __init__(
        self,
        session: Any,
        coded: Any,
        table: SettledTable,
        n_parts: int,
        where: str,
        *,
        unit: float = 1.0,
    ) -> None:
        """Take a table of coded pieces, which is cached, and has so many partitions with rows."""
        super().__init__(table, where, unit=unit)
        self._session, self._coded, self._n_parts = session, coded, n_parts
        self._cut = frozenset(table.cut)
        self.n_jobs = 0
        # Whoever opened the engine may not close it.
        self._release = weakref.finalize(self, _unpersist, coded)
        self._release.atexit = False

    def close(self) -> None:
        """Let Spark forget the codes."""
        self._release()

    def number_values(self, names: Sequence[str] | None = None) -> Mapping[str, Numbers]:
        """The values of columns that hold numbers; of those that were cut only codes are left."""
        cut = [v.name for v in self.variables if v.name in self._cut]
        if names is not None:
            cut = [name for name in cut if name in names]
        if cut:
            reporter().warn(
                f"{self.where}: Spark holds codes of {listing(cut)}, so the model keeps nothing of "
                "their numbers before they were cut, which checks would compare"
            )
        return super().number_values(names)

    def over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        variables = tuple(self.variables[j] for j in columns)
        cells = [cells_name(j) for j in columns]
        pieces = self._coded.select(N_ROWS, WEIGHTS, *cells)
        counting = _CountPieces(work, variables, tuple(cells))
        self.n_jobs += 1
        with job(self._session, f"{self.where}: job {self.n_jobs}"):
            total = answer_of(pieces, PieceWork(counting, work.add), self._n_parts)
        if total.n_rows != self.pass_rows:
            raise DataError(
                f"{self.where}: {counted(total.n_rows, 'row')} where there were {self.pass_rows}; "
                "the table changed while it was read"
            )
        found: Partial = total.answer
        return found


def _unpersist(frame: Any) -> None:
    """Drop what is cached, unless Spark is gone."""
    with suppress(Exception):
        frame.unpersist()


@dataclass(frozen=True)
class _CountPieces:
    """Does the work of a pass on piece k of a batch of coded pieces."""

    work: Work[Any]
    variables: tuple[Variable, ...]
    cells: tuple[str, ...]

    def __call__(self, batch: Any, k: int) -> Any:
        columns = []
        for name in self.cells:
            cells = array_of(batch.column(name)[k])
            assert cells is not None
            columns.append(cells)
        weights = array_of(batch.column(WEIGHTS)[k])
        if not columns and weights is None:
            raise AssertionError("a pass over no columns")
        return self.work.of(Dataset(self.variables, tuple(columns), weights))


@dataclass(frozen=True)
class _TallyPieces:
    """Finds what is known of piece k of a batch of pieces as they were read."""

    tallies: PieceTallies
    where: str

    def __call__(self, batch: Any, k: int) -> TableTally:
        piece = piece_of(batch, k, len(self.tallies.columns))
        if self.tallies.options.weights is not None:
            assert piece.weights is not None
            sum_of_weights(piece.weights, self.tallies.options, self.where)
        return self.tallies.of(piece)


@dataclass(frozen=True)
class _SumWeights:
    """Adds up the weights of piece k of a batch of pieces."""

    options: ReadOptions
    where: str

    def __call__(self, batch: Any, k: int) -> Fraction:
        weights = piece_of(batch, k, 0).weights
        assert weights is not None
        return sum_of_weights(weights, self.options, self.where)


def _add_fractions(first: Fraction, second: Fraction) -> Fraction:
    return first + second


@dataclass(frozen=True)
class _CodePieces:
    """Gives the pieces of a partition the levels of the whole; Spark calls it."""

    coder: PieceCoder

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for k in range(batch.num_rows):
                piece: PieceColumns = piece_of(batch, k, len(self.coder.columns))
                columns, weights, n_rows = self.coder.coded(piece)
                yield stored(columns, weights, n_rows)


def open_spark(data: Any, options: ReadOptions, *, used: Choice | None = None) -> SparkCounter:
    """Return the engine over a path, a table or a frame that Spark reads, for the columns used."""
    source = open_spark_source(data, options, used=used)
    reading, session, where = source.reading, source.session, source.reading.where
    # What the options alone say is said before the rows are read.
    chosen = ((reading.names[j], reading.specs[j].kind, ()) for j in reading.chosen)
    refuse_cuts_by_others(chosen, options, where, IN_PIECES)
    require_same_gml(session)
    with ExitStack() as whole:
        try:
            pieces, tallies, found = _tallied(source)
        except QuoteOpen:
            reporter().note(f"{where}: line breaks within quotes; one task reads each file")
            whole.enter_context(source.whole_files())
            pieces, tallies, found = _tallied(source)
        try:
            if found.answer is None or found.answer.rows_weighed == 0:
                weighted = options.weights_column is not None
                raise CannotAnswer(f"{where}: {why_no_rows(where, weighted=weighted)}")
            table = tallies.settled(found.answer, where)
            return _coded(source, pieces, tallies, table, found.n_parts)
        finally:
            _unpersist(pieces)


def _tallied(source: SparkSource) -> tuple[Any, PieceTallies, Total]:
    """Read all pieces, and find out what is known of them; they are cached."""
    reading = source.reading
    options, where = reading.options, reading.where
    n_columns = len(reading.chosen)
    # Few answers go to the driver as they are, without a shuffle and the tasks after it.
    n_parts = source.n_parts()
    storing = StorePieces(source.reader, reading)
    with job(source.session, where):
        pieces = source.frame.mapInArrow(storing, pieces_schema(n_columns))
        pieces = pieces.persist(_storage_level())
    try:
        bits = 0
        if options.weights_fractional is not None:
            with job(source.session, f"{where}: adding up weights"):
                summing = PieceWork(_SumWeights(options, where), _add_fractions)
                total = answer_of(pieces, summing, n_parts)
            bits = bits_of_weights(total.answer or Fraction(0), options, where)
        most = budget_in_force() // (BYTES_PER_NUMBER * max(1, n_columns))
        tallies = PieceTallies(
            [reading.names[j] for j in reading.chosen],
            [reading.specs[j] for j in reading.chosen],
            options,
            bits,
            most,
        )
        with job(source.session, f"{where}: reading"):
            work = PieceWork(_TallyPieces(tallies, where), tallies.add)
            found = answer_of(pieces, work, n_parts)
        if options.weights is not None and found.answer is not None:
            bits_of_weights(Fraction(found.answer.n_before), options, where)
    except BaseException:
        # An interrupt too: the session may outlive it, and what it caches with it.
        _unpersist(pieces)
        raise
    return pieces, tallies, found


def _storage_level() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK


def _coded(
    source: SparkSource, pieces: Any, tallies: PieceTallies, table: SettledTable, n_parts: int
) -> SparkCounter:
    """Code all pieces, cache them, and return the engine over them."""
    where = source.reading.where
    with job(source.session, where):
        coding = _CodePieces(tallies.coder(table, where))
        coded = pieces.mapInArrow(coding, pieces_schema(len(table.columns)))
        coded = coded.persist(_storage_level())
    counter = SparkCounter(source.session, coded, table, n_parts, where, unit=2.0**-tallies.bits)
    try:
        with job(source.session, f"{where}: coding"):
            # A number per piece, which takes no shuffle as their sum does.
            coded.select(N_ROWS).toArrow()
    except BaseException:
        counter.close()
        raise
    reporter().note(
        f"Spark {source.session.version}: codes of {counted(table.tally.n_rows, 'row')} in "
        f"{counted(n_parts, 'partition')}"
    )
    return counter
