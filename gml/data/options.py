"""What a caller may ask of the reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gml.data.dataset import MAX_LEVELS
from gml.data.discretize import Binning
from gml.data.schema import Schema, is_text
from gml.errors import UsageError

DEFAULT_NA = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
MISSING_POLICIES = ("error", "drop", "level", "available")


@dataclass(frozen=True)
class ReadOptions:
    """The data options of the command line, as values."""

    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    na: tuple[str, ...] | None = None
    missing: str = "error"
    weights: str | None = None
    weights_fractional: str | None = None
    bins: int | None = None
    discretize: str = "quantile"
    cuts: Mapping[str, Binning] = field(default_factory=dict)
    schema: Schema = field(default_factory=Schema)
    max_levels: int = 255
    digest: bool = False
    offer_available: bool = True
    """Whether the message on missing values names `available` among the choices."""

    def __post_init__(self) -> None:
        if self.missing not in MISSING_POLICIES:
            raise UsageError(f"missing is one of {', '.join(MISSING_POLICIES)}")
        if self.delimiter is not None and (
            len(self.delimiter) != 1
            or not self.delimiter.isascii()
            or self.delimiter in '"\r\n'
            or (not self.delimiter.isprintable() and self.delimiter != "\t")
        ):
            raise UsageError("the delimiter is one ASCII character, not a quote or a line end")
        if self.weights is not None and self.weights_fractional is not None:
            raise UsageError("--weights and --weights-fractional exclude one another")
        if self.decimal not in (".", ","):
            raise UsageError("the decimal mark is '.' or ','")
        if self.bins is not None and not 2 <= self.bins <= MAX_LEVELS:
            raise UsageError(f"--bins is between 2 and {MAX_LEVELS}")
        if any(not is_text(token) for token in self.na or ()):
            raise UsageError("a missing token is not valid text")
        if not 1 <= self.max_levels <= MAX_LEVELS:
            raise UsageError(f"--max-levels is between 1 and {MAX_LEVELS}")

    @property
    def weights_column(self) -> str | None:
        """The column that says how often a row counts."""
        return self.weights if self.weights_fractional is None else self.weights_fractional

    @property
    def na_tokens(self) -> tuple[str, ...]:
        """The tokens that mean missing."""
        if self.na is not None:
            return self.na
        return DEFAULT_NA if self.schema.na is None else self.schema.na

    def declared_levels(self, name: str) -> tuple[str, ...] | None:
        """The levels of a column that the schema declares, unless the column is to be cut."""
        return None if name in self.cuts else self.schema.levels.get(name)

    def declared_intervals(self, name: str) -> tuple[str, ...] | None:
        """The intervals of a column that a graph or model declares."""
        return None if name in self.cuts else self.schema.intervals.get(name)

    def expected_levels(self, name: str) -> tuple[str, ...]:
        """The levels of a column that come first, before others that it may have."""
        return self.schema.expected.get(name, ())

    def binning(self, name: str) -> Binning | None:
        """How a column is to be cut, if it is asked for by name."""
        if name in self.cuts:
            return self.cuts[name]
        if name in self.schema.cuts:
            return Binning("cuts", cuts=self.schema.cuts[name])
        return None
