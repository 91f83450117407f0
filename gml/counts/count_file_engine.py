"""The engine over a count file: every question goes to a table that holds the answer.

The cells of a table are weighted rows, which the engine over data in memory counts, so every number
is the same to the last bit as on the rows that were counted. A set of columns without a table of
its own is summed from the smallest table that contains it, if that counts the same rows.

What is asked of numbers follows from their sums in the cells of such a table or, as every product
is of two columns, from those of tables with all rows that have them two by two. The sums have all
digits of the numbers, of which rows are counted with 53 bits of their range: both give the same
bits if that loses none (whole numbers, say), and otherwise numbers that differ by rounding.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Counts, MissingTreatment, Moments, StratifiedMoments
from gml.counts.cell_sums import CellSums, KeyedSums, added_cells, digits_of
from gml.counts.counter import Counter
from gml.counts.countfile import CountFile
from gml.counts.exact_moments import ExactSums, Frame, moments_from_sums
from gml.counts.expanded_moments import ExpandedMoments, with_numbers
from gml.counts.memory import MemoryCounter
from gml.counts.packed_keys import PackedKeys
from gml.counts.questions import Family, FamilyArray, TableSet, Triple, TripleArray
from gml.counts.residuals import (
    Residuals,
    bits_of_numbers,
    is_exact,
    is_settled,
    residuals_from_moments,
)
from gml.data.alignment import Recoding
from gml.data.column_kinds import require_labels
from gml.data.dataset import Dataset, Variable, code_type
from gml.data.options import ReadOptions
from gml.errors import MissingTable, UsageError, quote, unknown_name
from gml.kernel.layout import (
    DENSE_CELLS,
    FamilyRule,
    FamilyWorths,
    GroupResiduals,
    TableStatistics,
)
from gml.resources import available_threads, budget_in_force

_ENGINES = 4096
_SETS_REMEMBERED = 1 << 16


class CountFileCounter(Counter):
    """Answers from the tables of a count file.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> counts = gml.count_sets(counter, [("smoke", "lung", "bronc")])
    >>> same = CountFileCounter(counts, columns=("smoke", "lung"))
    >>> [counts.table.tolist() for counts in same.tables([TableSet((0, 1))])]
    [[[[2475, 26], [2268, 231]]]]
    """

    kind = "a count file"
    can_fork = True

    def __init__(
        self,
        counts: CountFile,
        *,
        columns: Sequence[str] | None = None,
        recodings: Mapping[str, Recoding] | None = None,
        where: str = "the count file",
        digest: str | None = None,
        threads: int | None = None,
        max_memory: int | None = None,
        dialect: Mapping[str, Any] | None = None,
    ) -> None:
        self._file = counts
        self._dialect = dialect
        self._where = where
        self._digest = digest
        self._threads = threads or available_threads()
        self._budget = budget_in_force(max_memory)
        position = {name: j for j, name in enumerate(counts.names)}
        for name in (*(columns or ()), *(recodings or ())):
            if name not in position:
                raise UsageError(unknown_name("column", name, counts.names))
        self._chosen = [position[name] for name in (counts.names if columns is None else columns)]
        self._position = {j: i for i, j in enumerate(self._chosen)}
        self._recodings = {position[name]: new for name, new in (recodings or {}).items()}
        self._all_variables = tuple(
            Variable(c.name, None if c.is_numeric else self._levels_of(j))
            for j, c in enumerate(counts.columns)
        )
        self._variables = tuple(self._all_variables[j] for j in self._chosen)
        self._set_of = {frozenset(members): k for k, members in enumerate(counts.sets)}
        # Sets that have every row, the smallest first.
        self._by_size = sorted(
            np.flatnonzero(counts.rows == counts.n).tolist(),
            key=lambda k: (counts.starts[k + 1] - counts.starts[k], counts.names_of(k)),
        )
        self._engine = functools.lru_cache(_ENGINES)(self._make_engine)
        self._find = functools.lru_cache(_SETS_REMEMBERED)(self._search)

    def _levels_of(self, j: int) -> tuple[str, ...]:
        known = self._recodings.get(j)
        return self._file.columns[j].levels if known is None else known[0]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns that can be counted."""
        return self._variables

    @property
    def n(self) -> int:
        """Rows that were counted."""
        return self._file.n

    @property
    def missing(self) -> bool:
        """Whether some tables leave rows out because a value is missing."""
        alone = [self._set_of.get(frozenset([j])) for j in self._chosen]
        return any(k is not None and self._file.rows[k] < self.n for k in alone)

    @property
    def digest(self) -> str | None:
        """SHA-256 of the count file, if it was asked for."""
        return self._digest

    @property
    def missing_treatment(self) -> MissingTreatment:
        """How missing values of the columns used were treated when the file was counted."""
        used = {variable.name for variable in self.variables}
        cells = {name: n for name, n in self._file.missing.items() if name in used}
        rows = self._file.n + self._file.dropped
        # Tables that were not counted from a file do not say.
        tokens = self._file.options.na or None
        options = ReadOptions(decimal=self.decimal, na=tokens)
        dialect = {**(self._dialect or {}), **options.dialect}
        return MissingTreatment(self._file.options.missing, rows, cells, tokens, dialect)

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers among the labels."""
        return self._file.options.decimal

    @property
    def where(self) -> str:
        """Where the count file is."""
        return self._where

    @property
    def budget(self) -> int:
        """The most bytes that a table may take."""
        return self._budget

    def recoded(self, recodings: Mapping[str, Recoding]) -> CountFileCounter:
        """Give columns other levels, in which some of their own may be joined."""
        known = self._recodings_by_name()
        for name, (levels, codes) in recodings.items():
            known[name] = (levels, codes[known[name][1]] if name in known else codes)
        return self._over([variable.name for variable in self._variables], known)

    def select(self, names: Sequence[str]) -> CountFileCounter:
        """Return the engine over some of the columns, in the order given."""
        chosen = [variable.name for variable in self._variables]
        for name in names:
            if name not in chosen:
                raise UsageError(unknown_name("column", name, chosen))
        return self._over(names, self._recodings_by_name())

    def _recodings_by_name(self) -> dict[str, Recoding]:
        return {self._file.names[j]: known for j, known in self._recodings.items()}

    def _over(
        self,
        columns: Sequence[str],
        recodings: Mapping[str, Recoding],
        file: CountFile | None = None,
    ) -> CountFileCounter:
        return CountFileCounter(
            file or self._file,
            columns=columns,
            recodings=recodings,
            where=self._where,
            digest=self._digest,
            threads=self._threads,
            max_memory=self._budget,
            dialect=self._dialect,
        )

    # ------------------------------------------------------------------ which table

    def _search(self, members: frozenset[int]) -> int:
        """Return the set that answers a question about columns of the file."""
        exact = self._set_of.get(members)
        if exact is not None:
            return exact
        larger = self._smallest_with(members)
        if larger is not None:
            return larger
        names = sorted(self._file.names[j] for j in members)
        record = io.StringIO()
        csv.writer(record, lineterminator="").writerow(names)
        partly = any(members <= frozenset(larger) for larger in self._file.sets)
        why = " (larger ones leave out rows with missing values)" if partly else ""
        raise MissingTable(
            f"{self.where}: no table of {', '.join(map(quote, names))}{why}",
            names,
            f"count it: gml count DATA --sets FILE, with the line {record.getvalue()}",
        )

    def _smallest_with(self, members: Iterable[int]) -> int | None:
        """Return the smallest set that has every row and these columns of the file."""
        containing = -1
        for j in members:
            containing &= self._containing[j]
        if containing <= 0:
            return None
        return self._by_size[(containing & -containing).bit_length() - 1]

    @functools.cached_property
    def _containing(self) -> list[int]:
        """For each column of the file, a number whose bits mark the sets of `_by_size` with it."""
        bits_of: list[list[int]] = [[] for _ in self._file.columns]
        for bit, k in enumerate(self._by_size):
            for j in self._file.sets[k]:
                bits_of[j].append(bit)
        found = []
        for bits in bits_of:
            which = np.zeros(len(self._by_size), dtype=bool)
            which[bits] = True
            found.append(int.from_bytes(np.packbits(which, bitorder="little").tobytes(), "little"))
        return found

    def _set_for(self, columns: Iterable[int]) -> int:
        return self._find(frozenset(self._chosen[j] for j in columns))

    def _make_engine(self, k: int) -> tuple[MemoryCounter, dict[int, int]]:
        """Return an engine over the cells of a set, and where our columns are in it."""
        codes, counts = self._file.cells(k)
        members = self._file.axes[k]
        variables = tuple(self._all_variables[j] for j in members)
        columns = tuple(
            np.ascontiguousarray(column, dtype=code_type(len(variable.levels or ())))
            for column, variable in zip(self._recoded(codes, k), variables, strict=True)
        )
        engine = MemoryCounter(
            Dataset(variables, columns, counts),
            threads=self._threads,
            max_memory=self._budget,
        )
        ours = self._position
        return engine, {ours[j]: i for i, j in enumerate(members) if j in ours}

    def _by_set(self, members: Sequence[Sequence[int]]) -> dict[int, list[int]]:
        """Return which questions each set answers."""
        groups: dict[int, list[int]] = {}
        for number, columns in enumerate(members):
            groups.setdefault(self._set_for(columns), []).append(number)
        return groups

    @functools.cached_property
    def _of_all_columns(self) -> tuple[MemoryCounter, NDArray[np.int32]] | None:
        """The engine that answers every question, if one does, and where our columns are in it."""
        k = self._smallest_with(j for j in self._chosen if not self._file.columns[j].is_numeric)
        if k is None:
            return None
        engine, place = self._engine(k)
        return engine, np.array([place.get(j, -1) for j in range(len(self._chosen))], np.int32)

    # ------------------------------------------------------------------ tables

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Sum up a batch of tables; answers come in the order of the questions."""
        for axes, given in sets:
            require_labels(self.variables[j] for j in (*axes, *given))
            engine, place = self._engine(self._set_for((*axes, *given)))
            there = TableSet(tuple(place[j] for j in axes), tuple(place[j] for j in given))
            yield from engine.tables([there])

    # ------------------------------------------------------------------ families

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        """Return the value of each child given its parents."""
        values = np.empty(len(families))

        def ask(engine: MemoryCounter, asked: Sequence[Family], places: Places) -> None:
            values[places] = engine.family_values(asked, rule)

        self._ask_of_families(families, ask)
        return values

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> FamilyWorths:
        """The same, and each value if every cell were a configuration of its own."""
        values, ceilings = np.empty(len(families)), np.empty(len(families))

        def ask(engine: MemoryCounter, asked: Sequence[Family], places: Places) -> None:
            values[places], ceilings[places] = engine.family_ceilings(asked, rule, cell_prior)

        self._ask_of_families(families, ask)
        return FamilyWorths(values, ceilings)

    def _ask_of_families(
        self,
        families: Sequence[Family],
        ask: Callable[[MemoryCounter, Sequence[Family], Places], None],
    ) -> None:
        everything = self._of_all_columns if isinstance(families, FamilyArray) else None
        if everything is not None and isinstance(families, FamilyArray):
            engine, place_of = everything
            self._require_labels_in(families.rows)
            ask(engine, FamilyArray(place_of[families.rows]), slice(None))
            return
        asked = list(families)
        require_labels(self.variables[j] for child, parents in asked for j in (child, *parents))
        for k, numbers in self._by_set([(child, *parents) for child, parents in asked]).items():
            engine, place = self._engine(k)
            there = [(place[asked[q][0]], tuple(place[j] for j in asked[q][1])) for q in numbers]
            ask(engine, there, np.array(numbers))

    # ------------------------------------------------------------------ statistics

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        """Return the statistics of a batch of tests."""
        everything = self._of_all_columns if isinstance(triples, TripleArray) else None
        if everything is not None and isinstance(triples, TripleArray):
            engine, place_of = everything
            self._require_labels_in(triples.rows)
            return engine.statistics(TripleArray(place_of[triples.rows]))
        asked = list(triples)
        require_labels(self.variables[j] for x, y, given in asked for j in (x, y, *given))
        found = TableStatistics.zeros(len(asked))
        for k, numbers in self._by_set([(x, y, *given) for x, y, given in asked]).items():
            if len(self._file.axes[k]) == 2 and (one := self._statistics_of_pair(k)) is not None:
                found.floats[numbers], found.ints[numbers] = one.floats[0], one.ints[0]
                continue
            engine, place = self._engine(k)
            there = [
                (place[x], place[y], tuple(place[j] for j in given))
                for x, y, given in (asked[q] for q in numbers)
            ]
            part = engine.statistics(there)
            found.floats[numbers], found.ints[numbers] = part.floats, part.ints
        return found

    def _require_labels_in(self, asked: NDArray[np.int32]) -> None:
        require_labels(self.variables[j] for j in np.unique(asked).tolist())

    def _statistics_of_pair(self, k: int) -> TableStatistics | None:
        """Statistics of a table of two columns; None if it is large. There may be very many."""
        codes, counts = self._file.cells(k)
        shape = [max(1, len(self._all_variables[j].levels or ())) for j in self._file.axes[k]]
        if shape[0] * shape[1] > DENSE_CELLS:
            return None
        table = np.zeros((1, *shape), dtype=np.int64)
        np.add.at(table[0], tuple(self._recoded(codes, k)), counts)
        found = kernel.active().table_statistics_of(table)
        found.seen_z[:] = 1.0
        return found

    def _recoded(self, codes: NDArray[np.uint16], k: int) -> list[NDArray[Any]]:
        """Return the columns of the cells in the codes of our levels."""
        return [
            codes[:, i] if j not in self._recodings else self._recodings[j][1][codes[:, i]]
            for i, j in enumerate(self._file.axes[k])
        ]

    # ------------------------------------------------------------------ numbers

    @overload
    def moments(self, columns: Sequence[int], given: tuple[()] = ()) -> Moments: ...  # type: ignore[overload-overlap]

    @overload
    def moments(self, columns: Sequence[int], given: Sequence[int]) -> StratifiedMoments: ...

    def moments(
        self, columns: Sequence[int], given: Sequence[int] = ()
    ) -> Moments | StratifiedMoments:
        """Moments of numeric columns over the rows complete in all of them and in those given."""
        self.check_moments(columns, given)
        configs, counts, sums = self._sums_within(columns, given)
        found = tuple(sums.moments(cell, n) for cell, n in enumerate(counts.tolist()))
        if given:
            return StratifiedMoments(found, configs, math.prod(self.n_levels[j] for j in given))
        if not found:
            nothing = [0] * len(columns)
            frames = [Frame(0.0, 0)] * len(columns)
            return moments_from_sums(ExactSums(0, nothing, [nothing] * len(columns)), frames)
        return found[0]

    def residuals(self, families: Sequence[Family]) -> Residuals:
        """Regress numbers on numbers within configurations of labels."""
        split = [(child, *self.regressors(child, parents)) for child, parents in families]
        found = [self._residuals([*numbers, child], labels) for child, numbers, labels in split]
        return Residuals.of(found, [len(numbers) for _, numbers, _ in split], self.unit)

    def _residuals(self, columns: Sequence[int], labels: Sequence[int]) -> GroupResiduals:
        """Regress the last column on the others, by the kernel if rounding cannot show."""
        self.check_moments(columns, labels)
        _, counts, sums = self._sums_within(columns, labels)
        bits = bits_of_numbers(self.n)
        if is_exact(bits) and len(sums) and sums.has_extremes:
            whole = sums.grouped(np.zeros(len(sums), dtype=np.int64), 1)
            frames = whole.frames(0, bits)
            digits = digits_of([sums.about(k, n, frames) for k, n in enumerate(counts.tolist())])
            active, scale = kernel.active(), frames[-1].scale
            found = active.residuals_of_sums(counts, digits, len(columns), scale)
            if is_settled(found, len(columns), self.unit):
                return found
        return residuals_from_moments(self.moments(columns, labels))

    def expanded_moments(self, columns: Sequence[int]) -> ExpandedMoments:
        """Moments of numbers and of indicators of levels, in the order of names."""
        ordered = self.order.sorted(columns)
        if self.missing:
            # All sums are over the rows complete in all columns, which one table has.
            alone = self._of_one_set(self._set_for(ordered))
            return alone.expanded_moments(columns)
        numbers = [j for j in ordered if self.variables[j].is_continuous]
        labels = super().expanded_moments([j for j in ordered if j not in numbers])
        if not numbers or self.n == 0:
            return labels
        _, _, sums = self._sums_within(numbers, ())
        frames = dict(zip(numbers, sums.exact_frames(0), strict=True))
        products = sums.about(0, self.n, list(frames.values()))

        def within(j: int, label: int) -> dict[int, int]:
            """The sums of a column of numbers by the level of one of labels."""
            configs, counts, found = self._sums_within([j], [label])
            sums_of = [found.about(k, n, [frames[j]])[0] for k, n in enumerate(counts.tolist())]
            return dict(zip(configs[:, 0].tolist(), sums_of, strict=True))

        return with_numbers(labels, ordered, frames, products, within)

    def _of_one_set(self, k: int) -> CountFileCounter:
        """The engine over the table of one set, and its rows."""
        file = self._file
        codes, counts = file.cells(k)
        alone = dataclasses.replace(
            file,
            n=int(file.rows[k]),
            sets=(file.sets[k],),
            codes=codes.reshape(-1),
            counts=counts,
            starts=np.array([0, len(counts)], dtype=np.int64),
            sums={0: file.sums[k]} if k in file.sums else {},
        )
        return self._over([v.name for v in self._variables], self._recodings_by_name(), alone)

    def _sums_within(
        self, columns: Sequence[int], given: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], CellSums]:
        """The configurations of labels that occur, their rows, and sums of numbers in each."""
        try:
            k = self._set_for((*columns, *given))
        except MissingTable:
            if self.missing or len(columns) < 3:
                raise
            return self._sums_by_pairs(columns, given)
        axes = [self._chosen[j] for j in given]
        packed = PackedKeys([self.n_levels[j] for j in given])
        cells = dict(zip(self._file.axes[k], self._recoded(self._file.cells(k)[0], k), strict=True))
        counts = self._file.counts[self._file.starts[k] : self._file.starts[k + 1]]
        place = {j: i for i, j in enumerate(self._file.numbers(k))}
        found = added_cells(
            [
                KeyedSums(
                    packed.keys([cells[j] for j in axes], len(counts)),
                    counts,
                    self._file.sums[k].over([place[self._chosen[j]] for j in columns]),
                )
            ]
        )
        return packed.codes(found.keys), found.counts, found.numbers

    def _sums_by_pairs(
        self, columns: Sequence[int], given: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], CellSums]:
        """The same from tables that have all rows, each of which has two of the columns."""
        pairs = {
            (i, j): self._sums_within([columns[i], columns[j]], given)
            for i, j in itertools.combinations(range(len(columns)), 2)
        }
        configs, counts, _ = pairs[0, 1]
        return configs, counts, CellSums.of_pairs({at: sums for at, (_, _, sums) in pairs.items()})


Places = slice | NDArray[np.int64]
