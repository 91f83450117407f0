"""What graphs and models declare about columns, and options that contradict it.

A graph that was learned from data says which levels each column has (levels that are intervals are
its cuts) or that it holds numbers. Reading options may repeat that, but not say otherwise: the
graph would be fitted to other columns than those it was learned from. `cut` with points, a schema
and `numeric` must say what is declared. How many intervals were asked for need not show in them, as
quantiles of a column with repeated values coincide: `bins` agrees with what the file records, or,
where it records nothing, with columns of which one has that many intervals.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gml.data.dialect import Dialect, first_said, parse_dialect
from gml.data.discretize import Binning, cuts_of_levels, interval_levels, parse_binning
from gml.data.levels import NA_LEVEL
from gml.data.options import ReadOptions
from gml.data.schema import NUMERIC, Schema
from gml.errors import UsageError, counted, listing, parameter, quote
from gml.graph.graph import Graph
from gml.kernel.number import number_of

_RELATIVE = 1e-9
_ROUNDING = 2.0**-50


@dataclass(frozen=True)
class DeclaredColumns:
    """The levels of columns, those that hold numbers, and who says so."""

    source: str
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numeric: Collection[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of reading that the graph was learned with, where its file records them."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Who declares a column, if there are several."""
    dialect: Dialect = field(default_factory=dict)
    """How the table was read that the graph was learned from."""
    nodes: Collection[str] = ()
    """All columns that it is about."""

    @classmethod
    def of(cls, graph: Graph, source: str) -> DeclaredColumns:
        """Return what a graph declares, or the graph of a model."""
        learning = graph.learning
        how = parse_dialect(learning.reading, source)
        return cls(
            source, graph.levels, graph.numeric, learning.options, dialect=how, nodes=graph.names
        )

    def schema_beside(self, schema: Schema) -> Schema:
        """Return a schema that says how to read a table as the graph does, and else as it does.

        What becomes of missing values depends on what is done with them.
        """
        own = {name: said for name, said in self.dialect.items() if name != "missing"}
        dialect = first_said([own, schema.dialect])
        if "exclude" in dialect:
            said = dialect["exclude"]
            left = tuple(name for name in said.value if name not in self.nodes)
            dialect["exclude"] = said._replace(value=left)
        return replace(schema, dialect=dialect)

    def source_of(self, name: str) -> str:
        """Who declares a column."""
        return self.sources.get(name, self.source)

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """The cut points of the columns whose levels are intervals."""
        found = {name: cuts_of_levels(levels) for name, levels in self.levels.items()}
        return {name: cuts for name, cuts in found.items() if cuts is not None}

    def require_agreement(
        self, options: ReadOptions, given: Collection[str], *, adds_levels: bool = False
    ) -> None:
        """Refuse options, of those that are given, that say something else about a column.

        `adds_levels` says that a schema may have levels that the graph does not have, and cuts of
        numbers.
        """
        self._check_numeric(options)
        self._check_cut(options)
        self._check_schema(options, adds_levels)
        if "bins" in given:
            self._check_bins(options)
        if "discretize" in given:
            self._check_discretize(options)
        if "max_levels" in given:
            for name, levels in self.levels.items():
                if len(levels) > options.max_levels:
                    raise self.contradiction(parameter("max_levels", options.max_levels), name)

    def _check_numeric(self, options: ReadOptions) -> None:
        for name in options.numeric:
            if name in self.levels:
                raise self.contradiction(parameter("numeric"), name)
        for name in options.labels:
            if name in self.numeric:
                raise self.contradiction(parameter("labels"), name)

    def _check_cut(self, options: ReadOptions) -> None:
        cuts = self.cuts
        for name, binning in options.cut.items():
            declared = cuts.get(name)
            if name in self.numeric or (name in self.levels and declared is None):
                raise self.contradiction(parameter("cut"), name)
            if declared is None:
                continue
            if binning.method == "cuts":
                agrees = binning.cuts == declared
            else:
                agrees = binning in (
                    _recorded_cut(self.options.get("cut"), name),
                    Binning(binning.method, self._n_intervals(name)),
                ) and (binning.method != "width" or _is_even(declared))
            if not agrees:
                raise self.contradiction(parameter("cut"), name)

    def _check_schema(self, options: ReadOptions, adds_levels: bool) -> None:
        schema = options.levels
        said = {**schema.levels, **schema.intervals}
        said |= {name: interval_levels(cuts) for name, cuts in schema.cuts.items()}
        for name, levels in said.items():
            if name in self.numeric and not adds_levels:
                raise self.contradiction(parameter("levels"), name)
            declared = self.levels.get(name)
            if declared is None or _same_levels(levels, declared):
                continue
            if not adds_levels or cuts_of_levels(levels) or cuts_of_levels(declared):
                raise self.contradiction(parameter("levels"), name)
        for name, kind in schema.kinds.items():
            # What is cut is not kept as numbers.
            if name not in options.cut and name in (
                self.levels if kind == NUMERIC else self.numeric
            ):
                raise self.contradiction(f"{parameter('levels')}, where it is {kind},", name)

    def _check_bins(self, options: ReadOptions) -> None:
        bins = options.bins
        what = parameter("bins", bins)
        for name in self.numeric:
            raise self.contradiction(what, name)
        intervals = [name for name in self.cuts if name not in options.cut]
        recorded = self.options.get("bins")
        if recorded is None and any(self._n_intervals(name) == bins for name in intervals):
            recorded = bins
        if recorded != bins and intervals:
            raise self.contradiction(what, intervals[0])
        for name, levels in self.levels.items():
            numbers = {number_of(level, options.decimal) for level in _labels(levels)}
            if None not in numbers and len(numbers) > (bins or 0):
                raise self.contradiction(what, name)

    def _check_discretize(self, options: ReadOptions) -> None:
        asked = options.discretize
        recorded = self.options.get("discretize", "quantile" if "bins" in self.options else None)
        for name, cuts in self.cuts.items():
            uneven = asked == "width" and not _is_even(cuts)
            if name not in options.cut and (uneven if recorded is None else asked != recorded):
                raise self.contradiction(parameter("discretize", asked), name)

    def _n_intervals(self, name: str) -> int:
        return len(_labels(self.levels[name]))

    def contradiction(self, option: str, name: str) -> UsageError:
        """Return the error for an option that says something else about a column."""
        if name in self.levels:
            levels = self.levels[name]
            number = counted(len(levels), "level" if name not in self.cuts else "interval")
            what = f"the {number} {listing(levels)}"
        else:
            what = "numbers"
        return UsageError(
            f"{option} contradicts {self.source_of(name)}, which declares {what} for column "
            f"{quote(name)}; leave the option out, or learn the graph again with it"
        )


def _labels(levels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(level for level in levels if level != NA_LEVEL)


def _same_levels(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether levels are the same but for their order and for what is missing."""
    cuts = cuts_of_levels(some)
    if cuts is not None:
        return cuts == cuts_of_levels(others)
    return set(_labels(some)) == set(_labels(others))


def _is_even(cuts: tuple[float, ...]) -> bool:
    """Whether cut points are multiples of one width apart: empty intervals may be left out."""
    gaps = [high - low for low, high in itertools.pairwise(cuts)]
    width = min(gaps, default=1.0)
    rounding = _ROUNDING * max(map(abs, cuts), default=0.0)
    return all(
        abs(gap - (times := round(gap / width)) * width) <= _RELATIVE * gap + rounding * (1 + times)
        for gap in gaps
    )


def _recorded_cut(recorded: Any, name: str) -> Binning | None:
    """How a column was cut, by the options that a file records."""
    if isinstance(recorded, list):
        pairs = (str(item).rpartition("=") for item in recorded)
        recorded = {column: how for column, _, how in pairs}
    how = recorded.get(name) if isinstance(recorded, Mapping) else None
    try:
        return parse_binning(how) if isinstance(how, str) else None
    except UsageError:
        return None
