"""What a caller may ask of the reader: keywords as people write them, and what they mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal, TypedDict, Unpack

from gml.data.dataset import MAX_LEVELS
from gml.data.dialect import EM as EM
from gml.data.dialect import MISSING_POLICIES as MISSING_POLICIES
from gml.data.dialect import inherit, plain_delimiter, problem_with
from gml.data.discretize import BY_OTHERS, HARTEMINK, MDLP, METHODS, Binning, parse_binning
from gml.data.levels import NA_LEVEL
from gml.data.schema import NUMERIC, Schema, declared_by, is_text, read_schema
from gml.errors import (
    UnknownParameter,
    UsageError,
    listing,
    parameter,
    quote,
    require_one_of,
    require_whole,
    unknown_name,
)
from gml.resources import budget_in_force

DEFAULT_NA = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
AUTO, MEMORY, STREAM, SPARK = ENGINES = ("auto", "memory", "stream", "spark")
"""What scans rows: memory, or a file in passes where they are too many; or Apache Spark."""
TAKE_EM = ("fit-params", "mixture", "score", "hc", "ges")
"""The commands that can do that."""
# Of a label of few letters, its place in the kernel's table and its text in Python.
_WORD_BYTES = 400
_MOST_WORDS = (1 << 31) - 1

MDLP_VALUES = 10
"""Columns with more different numbers than this are cut by `mdlp`, unless `bins` says otherwise."""

Undeclared = Literal["auto", "labels", "numbers"]
"""What columns are that nobody declares: a rule says (`gml.data.kind_rule`), or all are alike."""
KINDS: tuple[Undeclared, ...] = ("auto", "labels")
"""What may be asked for; methods for numbers alone take all such columns for numbers."""

Names = str | int | Iterable[str | int]
"""Names of columns; a plain string is one name, and a number that of a column of a frame."""

Cut = str | Sequence[float] | Binning
"""How to cut a column: quantile:5, width:4, mdlp, cut points as text or as numbers."""


class ReadingKeywords(TypedDict, total=False):
    """The data options of the command line as keywords; None means that one is not given."""

    columns: Names | None
    exclude: Names | None
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    strip: bool | None
    na: Names | None
    missing: str | None
    min_complete: int | None
    weights: str | None
    weights_fractional: str | None
    bins: int | None
    discretize: str | None
    discretize_class: str | None
    cut: Mapping[str, Cut] | None
    levels: str | os.PathLike[str] | Schema | Mapping[str, Sequence[str]] | None
    kinds: str | None
    numeric: Names | None
    labels: Names | None
    max_levels: int | None
    engine: str | None
    spool: str | os.PathLike[str] | None
    spool_keep: bool | None
    master: str | None


KEYWORDS = tuple(ReadingKeywords.__annotations__)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table, checked; `reading_options` makes it from keywords."""

    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    strip: bool = False
    na: tuple[str, ...] | None = None
    missing: str = "error"
    min_complete: int | None = None
    """The fewest complete rows that `drop` may leave, in place of a share of all rows."""
    weights: str | None = None
    weights_fractional: str | None = None
    bins: int | None = None
    discretize: str = "quantile"
    discretize_class: str | None = None
    """The column of labels that `mdlp` cuts others for."""
    cut: Mapping[str, Binning] = field(default_factory=dict)
    levels: Schema = field(default_factory=Schema)
    kinds: Undeclared = "auto"
    numeric: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    max_levels: int = 255
    engine: str = AUTO
    spool: str | os.PathLike[str] | None = None
    """The folder for the file of codes; that of the system for temporary files by default."""
    spool_keep: bool = False
    """Whether that file stays, for the next run on the same input."""
    master: str | None = None
    """Where Spark runs, as its URL says."""
    maybe_numbers: tuple[str, ...] = ()
    """Columns that should hold numbers; one with a cell that is none is kept as labels."""
    digest: bool = False
    offer_available: bool = True
    """Whether the message about missing values offers `available`."""
    offer_em: bool = False
    """Whether it offers `em`, which is not a way to read."""
    offer_exclude: bool = True
    """Whether a message about too few complete rows offers to leave out a column."""
    gaps_advice: str | None = None
    """What it says in place of these choices, where none of them would be taken."""
    takes_numbers: str | None = None
    """What would take columns as numbers, for the message about columns with too many levels."""
    identifier: str | None = None
    """A column whose labels only tell sequences apart, however many they are."""
    limited: tuple[str, ...] | None = None
    """The columns that `max_levels` holds for, all by default; others may hold words."""
    threads: int | None = None
    """Threads that read a text file, all cores by default; the result is the same."""
    inherited: Mapping[str, str] = field(default_factory=dict)
    """Who says what no option says: a schema, a graph, a file of settings."""

    def __post_init__(self) -> None:
        if self.missing == EM:
            raise UsageError(refused_em())
        require_one_of("missing", self.missing, (*MISSING_POLICIES, EM))
        require_one_of("discretize", self.discretize, METHODS)
        self._check_engine()
        if self.delimiter is not None and (wrong := problem_with("delimiter", self.delimiter)):
            raise UsageError(f"{parameter('delimiter')} {wrong}")
        if self.weights is not None and self.weights_fractional is not None:
            raise UsageError(
                f"{parameter('weights')} and {parameter('weights_fractional')} exclude one another"
            )
        if (wrong := problem_with("decimal", self.decimal)) is not None:
            raise UsageError(f"{parameter('decimal')}: the decimal mark {wrong}")
        bounds: list[tuple[str, Any, int]] = [
            ("bins", self.bins, 2),
            ("max_levels", self.max_levels, 1),
        ]
        for name, value, least in bounds:
            if value is None:
                continue
            if not isinstance(value, Integral) or not least <= int(value) <= MAX_LEVELS:
                raise UsageError(
                    f"{parameter(name)} must be between {least} and {MAX_LEVELS}, not {value!r}"
                )
        if any(not is_text(token) for token in self.na or ()):
            raise UsageError("a missing token is not valid text")
        require_whole(1, min_complete=self.min_complete)
        self._check_cuts_by_others()
        both = [name for name in self.numeric if name in self.labels]
        if both:
            raise UsageError(
                f"{parameter('numeric')} and {parameter('labels')} both name {listing(both)}; "
                "leave out one of them"
            )
        for option, kept in (("numeric", "numbers"), ("labels", "labels")):
            cut = [name for name in getattr(self, option) if name in self.cut]
            if cut:
                raise UsageError(
                    f"{parameter(option)} keeps the {kept} of {listing(cut)}, which "
                    f"{parameter('cut')} turns into intervals; leave out one of them"
                )

    def _check_engine(self) -> None:
        require_one_of("engine", self.engine, ENGINES)
        if self.spool is not None and not isinstance(self.spool, str | os.PathLike):
            raise UsageError(f"{parameter('spool')} must be a folder, not {self.spool!r}")
        spools = {"spool": self.spool, "spool_keep": self.spool_keep or None}
        for name in [name for name, given in spools.items() if given is not None]:
            if self.engine not in (AUTO, STREAM):
                raise UsageError(
                    f"{parameter(name)} goes with {parameter('engine', STREAM)}, not "
                    f"{self.engine!r}"
                )
        if self.master is not None and self.engine != SPARK:
            raise UsageError(f"{parameter('master')} goes with {parameter('engine', SPARK)}")

    def _check_cuts_by_others(self) -> None:
        by_class = self.discretize == MDLP or any(how.method == MDLP for how in self.cut.values())
        if by_class and self.discretize_class is None:
            raise UsageError(
                f"mdlp cuts numbers for a class: name its column ({parameter('discretize_class')})"
            )
        if self.discretize_class is not None and not by_class:
            raise UsageError(
                f"{parameter('discretize_class')} goes with {parameter('discretize', MDLP)}"
            )
        if self.discretize == HARTEMINK and self.bins is None:
            raise UsageError(
                f"{parameter('discretize', HARTEMINK)} needs {parameter('bins')}, the number of "
                "intervals to join down to"
            )

    def require_memory_engine(self, what: str) -> None:
        """Refuse an engine that reads rows again and again, where they must be in memory."""
        if self.engine not in (AUTO, MEMORY):
            raise UsageError(
                f"{parameter('engine', self.engine)} reads rows in passes, and {what} has them in "
                "memory"
            )

    @property
    def cuts_by_others(self) -> bool:
        """Whether other columns have a say in where some are cut."""
        methods = [self.discretize, *(how.method for how in self.cut.values())]
        return any(method in BY_OTHERS for method in methods)

    @property
    def weights_column(self) -> str | None:
        """The column that says how often a row counts."""
        return self.weights if self.weights_fractional is None else self.weights_fractional

    @property
    def na_tokens(self) -> tuple[str, ...]:
        """The tokens that mean missing."""
        if self.na is not None:
            return self.na
        return DEFAULT_NA if self.levels.na is None else self.levels.na

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns to leave out if they are there, as a schema says, and not asked for."""
        said = self.levels.dialect.get("exclude")
        asked = {*(self.columns or ()), *self.numeric, *self.labels, *self.cut}
        asked.add(self.discretize_class or "")
        return () if said is None else tuple(name for name in said.value if name not in asked)

    @property
    def dialect(self) -> dict[str, Any]:
        """How the table is read, as far as that is not the default, for others to read it so."""
        found: dict[str, Any] = {"delimiter": self.delimiter, "encoding": self.encoding}
        found["decimal"] = None if self.decimal == "." else self.decimal
        found["strip"] = self.strip or None
        found["na"] = None if {*self.na_tokens} == {*DEFAULT_NA} else list(self.na_tokens)
        found["exclude"] = list(dict.fromkeys((*self.exclude, *self.left_out))) or None
        return {name: value for name, value in found.items() if value is not None}

    @property
    def delimiter_given(self) -> bool | str:
        """Whether an option gives the delimiter, or who else does."""
        return self.inherited.get("delimiter", self.delimiter is not None)

    def read_from(self, *, was_utf8: bool) -> ReadOptions:
        """The options as a file turned out to need them: UTF-8 needs no other encoding."""
        return replace(self, encoding=None) if was_utf8 else self

    def without_text(self) -> ReadOptions:
        """The options for what is no text file: what nobody asked for of such files is left out."""
        plain = ReadOptions()
        names = {"delimiter", "decimal", "encoding"}.intersection(self.inherited)
        return replace(self, **{name: getattr(plain, name) for name in names})

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers, not labels; an option overrides the schema."""
        if name in self.numeric or name in self.labels:
            return name in self.numeric
        kind = self.levels.kinds.get(name)
        if self.kinds == "numbers":
            return kind in (None, NUMERIC)
        return kind == NUMERIC and name not in self.cut

    def goes_by_rule(self, name: str) -> bool:
        """Whether nobody says what a column is, so that its values do."""
        return (
            self.kinds == "auto"
            and self.bins is None
            and name not in self.levels.kinds
            and name not in self.levels.categorical
            and name not in (*self.maybe_numbers, self.identifier, self.discretize_class)
            and not self.says_something_of(name)
        )

    def declared_levels(self, name: str) -> tuple[str, ...] | None:
        """The levels of a column that the schema declares, unless the column is to be cut."""
        return None if name in self.cut else self.levels.levels.get(name)

    def declared_intervals(self, name: str) -> tuple[str, ...] | None:
        """The intervals of a column that a graph or model declares."""
        return None if name in self.cut else self.levels.intervals.get(name)

    def expected_levels(self, name: str) -> tuple[str, ...]:
        """The levels of a column that come before any others it may have."""
        return self.levels.expected.get(name, ())

    def declares_missing(self, name: str) -> bool:
        """Whether the levels that a column is known to have include the one for missing cells."""
        of_schema = self.declared_levels(name) or self.declared_intervals(name) or ()
        return NA_LEVEL in (*of_schema, *self.expected_levels(name))

    def says_something_of(self, name: str) -> bool:
        """Whether a column is declared, cut or kept as numbers."""
        return (
            self.is_numeric(name)
            or self.declared_levels(name) is not None
            or self.declared_intervals(name) is not None
            or self.binning(name) is not None
            or name in self.labels
            or bool(self.expected_levels(name))
        )

    def holds_words(self, name: str) -> bool:
        """Whether a column may have more labels than `max_levels`, unless they are numbers."""
        return self.limited is not None and name not in self.limited and name != self.identifier

    def most_labels(self, name: str) -> int:
        """The most labels of a column that is read as it stands; memory limits words."""
        if name != self.identifier and not self.holds_words(name):
            return self.max_levels
        return min(_MOST_WORDS, max(MAX_LEVELS, budget_in_force() // _WORD_BYTES))

    def binning(self, name: str) -> Binning | None:
        """How a column is to be cut, if it is named."""
        if name in self.cut:
            return self.cut[name]
        if name in self.levels.cuts:
            return Binning("cuts", cuts=self.levels.cuts[name])
        return None


def refused_em() -> str:
    """Say that a command cannot fit by EM, and which can."""
    *first, last = TAKE_EM
    able = f"gml {', '.join(first)} and {last} do that"
    return (
        f"{parameter('missing', EM)} fits a model to what was seen of each row; {able}, and tests "
        f"(gml pc, indtest) use the rows they can with {parameter('missing', 'available')}"
    )


def given_keywords(reading: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the keywords that were given; all must be reading keywords."""
    for name in reading:
        if name not in KEYWORDS:
            raise UnknownParameter(unknown_name("parameter", name, KEYWORDS))
    return tuple(name for name in KEYWORDS if reading.get(name) is not None)


def reading_options(**reading: Unpack[ReadingKeywords]) -> ReadOptions:
    """Return the options that reading keywords stand for.

    Examples
    --------
    >>> options = reading_options(columns="age", cut={"age": [18, 65]}, missing="drop")
    >>> options.columns, options.cut["age"].cuts
    (('age',), (18.0, 65.0))
    """
    found: dict[str, Any] = {name: reading[name] for name in given_keywords(reading)}  # type: ignore[literal-required]
    if "kinds" in found:
        require_one_of("kinds", found["kinds"], KINDS)
    for name in ("columns", "exclude", "na", "numeric", "labels"):
        if name in found:
            found[name] = names_of(name, found[name])
    for name in ("weights", "weights_fractional", "discretize_class"):
        if name in found:
            found[name] = column_name(found[name])
    if "delimiter" in found:
        found["delimiter"] = plain_delimiter(found["delimiter"])
    if "cut" in found:
        if not isinstance(found["cut"], Mapping):
            raise UsageError(
                f"{parameter('cut')} must be a dictionary by column, not {found['cut']!r}"
            )
        found["cut"] = {
            column_name(name): _binning(name, how) for name, how in found["cut"].items()
        }
    if "levels" in found:
        found["levels"] = schema_of(found["levels"])
        found["inherited"] = inherit(found, found["levels"].dialect)
    if "min_complete" in found and found.get("missing") != "drop":
        raise UsageError(f"{parameter('min_complete')} goes with {parameter('missing', 'drop')}")
    if found.get("discretize") == MDLP:
        # It finds the number of intervals itself: `bins` only says what counts as many numbers.
        found.setdefault("bins", MDLP_VALUES)
    return ReadOptions(**found)


def with_undeclared(options: ReadOptions, undeclared: Undeclared) -> ReadOptions:
    """Return the options for a caller that takes columns in one way if nobody declares them.

    `auto` leaves it to the options.
    """
    return options if undeclared == "auto" else replace(options, kinds=undeclared)


def names_of(keyword: str, value: Any) -> tuple[str, ...]:
    """Return the names that a keyword gives; a plain string is one name.

    Examples
    --------
    >>> names_of("columns", "age"), names_of("columns", ["age", "sex"]), names_of("columns", [0, 1])
    (('age',), ('age', 'sex'), ('0', '1'))
    """
    if isinstance(value, str):
        return (value,)
    names = tuple(map(column_name, value if isinstance(value, Iterable) else (value,)))
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"{parameter(keyword)} must be a name or a list of names, not {value!r}")
    return names


def column_name(value: Any) -> Any:
    """Return the name of a column of a frame that is numbered, as text; others as they are."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return value
    return str(value)


def _binning(name: str, how: Any) -> Binning:
    if isinstance(how, Binning):
        return how
    if isinstance(how, str):
        return parse_binning(how)
    try:
        return parse_binning(",".join(repr(float(point)) for point in how))
    except (TypeError, ValueError):
        raise UsageError(
            f"{parameter('cut')}: column {quote(name)}: {how!r} is not a way to cut: write "
            "quantile:5, width:4, or increasing cut points"
        ) from None


def schema_of(levels: Any) -> Schema:
    """Return the schema that `levels` stand for."""
    if isinstance(levels, Schema):
        return levels
    if isinstance(levels, Mapping):
        return declared_by({column_name(name): found for name, found in levels.items()})
    if not isinstance(levels, str | os.PathLike):
        raise UsageError(
            f"{parameter('levels')} must be a schema file or a dictionary by column, not {levels!r}"
        )
    return read_schema(levels)
