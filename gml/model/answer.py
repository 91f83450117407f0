"""Answers of a model: small labelled objects, which `gml query` writes and Python users hold.

Every answer has rows for a report, `to_frame()`, the values observed and set by hand, and ln of the
probability (or density) of those observed.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import UsageError, counted, unknown_name
from gml.graph.knowledge import Arc
from gml.model.evidence import assigned, resolved, unknown_value, value_of
from gml.model.notebook_table import NotebookTable
from gml.printable_text import printable
from gml.text_table import aligned as table_lines

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS = 20

Row = dict[str, Any]
Values = Mapping[str, str | float]


@dataclass(frozen=True, eq=False)
class Answer(NotebookTable, ABC):
    """What all answers have: the evidence, what was set by hand, and ln P(evidence)."""

    evidence: Values
    do: Values
    log_evidence: float
    given: Values = field(default_factory=dict, kw_only=True)
    """Inputs of a conditional model, which have no probability: all else is given these."""
    rests_on: tuple[Arc, ...] = field(default=(), kw_only=True)
    """The arrows that the data leave open, and without which what `do` sets has other effects."""

    if TYPE_CHECKING:
        # The package adds it to the class: pictures are above this room.
        def _repr_html_(self) -> str | None: ...

    @property
    def is_density(self) -> bool:
        """Whether `log_evidence` is that of a density."""
        return False

    @property
    def log_probability(self) -> float | None:
        """For a best assignment, ln of its probability given the evidence; otherwise None."""
        return None

    @property
    def assigns_density(self) -> bool:
        """Whether `log_probability` is that of a density."""
        return False

    @abstractmethod
    def rows(self) -> list[Row]:
        """Return the answer as rows with the same keys."""

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def heading(self) -> list[str]:
        """Say how probable the evidence is, and the answer too if it is an assignment."""
        lines = []
        if self.given:
            lines.append(f"given {assigned(self.given)}")
        if self.evidence:
            letter = "density p" if self.is_density else "P"
            lines.append(f"{letter}({assigned(self.evidence)}) = {_shown(self.log_evidence)}")
        if self.log_probability is not None:
            letter = "density p" if self.assigns_density else "P"
            lines.append(f"{letter}(this | evidence) = {_shown(self.log_probability)}")
        return lines

    def __repr__(self) -> str:
        return "\n".join([*self.heading(), *aligned(self.rows())])


def _shown(log_p: float) -> str:
    if -700 < log_p < 700:
        return f"{math.exp(log_p):.6g}"
    exponent = log10(log_p)
    return "0" if exponent is None else f"10^{exponent:.6g}"


def log10(log_p: float) -> float | None:
    """Return log10 of a number given by its ln; None if that is beyond what a float can hold."""
    return log_p / math.log(10) + 0.0 if math.isfinite(log_p) else None


def aligned(rows: Sequence[Row], n_rows: int | None = None) -> list[str]:
    """Return the lines of a table that fits on a screen: a header and the first rows."""
    if not rows:
        return ["no results"]
    shown_rows = rows[:SHOWN_ROWS]
    table = [[_cell(key) for key in rows[0]]]
    table += [[_cell(value) for value in row.values()] for row in shown_rows]
    right = {
        k
        for k, key in enumerate(rows[0])
        if all(isinstance(row[key], int | float | None) for row in shown_rows)
    }
    lines = table_lines(table, right=right)
    more = (len(rows) if n_rows is None else n_rows) - SHOWN_ROWS
    return [*lines, f"... {counted(more, 'more row')}"] if more > 0 else lines


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = printable(str(value))
    return text if len(text) <= 40 else text[:37] + "..."


# ---------------------------------------------------------------------- levels


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(NotebookTable, Mapping[str, float]):
    """The probability of each level of a node.

    Examples
    --------
    >>> rain = Distribution(Variable("rain", ("no", "yes")), np.array([0.75, 0.25]))
    >>> rain["yes"], max(rain, key=rain.get)
    (0.25, 'no')
    """

    variable: Variable
    table: NDArray[np.float64]

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels, in the order of the table."""
        return self.variable.levels or ()

    def __getitem__(self, level: object) -> float:
        meant = value_of(self.variable, level)
        if meant is None:
            raise KeyError(unknown_value(self.variable, level))
        return float(self.table[self.levels.index(str(meant))])

    def __iter__(self) -> Iterator[str]:
        return iter(self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        rows: list[Row] = [{"level": level, "probability": p} for level, p in self.items()]
        return "\n".join(aligned(rows))


@dataclass(frozen=True, eq=False, repr=False)
class Marginals(Answer):
    """The distribution of each node by itself: `answer["lung"]["yes"]`."""

    distributions: Mapping[str, Distribution]

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes asked for."""
        return tuple(self.distributions)

    @property
    def table(self) -> NDArray[np.float64]:
        """The probabilities of the levels, if one node was asked for."""
        if len(self.distributions) != 1:
            raise UsageError("there is one table per node: answer[name].table")
        return next(iter(self.distributions.values())).table

    def __getitem__(self, name: str) -> Distribution:
        return self.distributions[known(name, self.names)]

    def rows(self) -> list[Row]:
        """One row per level of each node."""
        return [
            {"node": name, "level": level, "probability": p}
            for name, distribution in self.distributions.items()
            for level, p in distribution.items()
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Answer):
    """The joint distribution of some nodes; `answer["lung"]` is the margin of one of them."""

    variables: tuple[Variable, ...]
    table: NDArray[np.float64]
    """One axis per node."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes asked for, in the order of the axes."""
        return tuple(variable.name for variable in self.variables)

    def __getitem__(self, name: str) -> Distribution:
        axis = self.names.index(known(name, self.names))
        others = tuple(k for k in range(len(self.variables)) if k != axis)
        return Distribution(self.variables[axis], self.table.sum(axis=others))

    def probability(self, values: Mapping[str, Any]) -> float:
        """Return the probability that some of the nodes have these values."""
        levels = resolved(self.variables, values)
        where = tuple(
            (variable.levels or ()).index(str(levels[variable.name]))
            if variable.name in levels
            else slice(None)
            for variable in self.variables
        )
        return float(self.table[where].sum())

    def rows(self) -> list[Row]:
        """One row per cell; the last node varies fastest."""
        column = "probability"
        while column in self.names:
            column += "_"
        cells = itertools.product(*(variable.levels or () for variable in self.variables))
        return [
            {**dict(zip(self.names, cell, strict=True)), column: float(p)}
            for cell, p in zip(cells, self.table.reshape(-1), strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Answer):
    """The most probable levels of some nodes together: `answer["lung"]`."""

    levels: Mapping[str, str]
    log_p: float

    @property
    def log_probability(self) -> float:
        """ln of the probability of the assignment, given the evidence."""
        return self.log_p

    def __getitem__(self, name: str) -> str:
        return self.levels[known(name, self.levels)]

    def rows(self) -> list[Row]:
        """One row per node."""
        return [{"node": name, "level": level} for name, level in self.levels.items()]


# ---------------------------------------------------------------------- numbers


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Answer):
    """Mean and standard deviation of nodes of numbers: `answer["x"]` is (mean, sd).

    `correlations`, if several were asked for together, holds r of any two; None if one of them
    does not vary.
    """

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    correlations: Mapping[tuple[str, str], float | None] | None = None

    @property
    def is_density(self) -> bool:
        """Numbers have a density."""
        return True

    def __getitem__(self, name: str) -> tuple[float, float]:
        at = self.names.index(known(name, self.names))
        return float(self.mean[at]), float(self.sd[at])

    def rows(self) -> list[Row]:
        """One row per node."""
        rows = []
        for k, name in enumerate(self.names):
            row = {"node": name, "mean": float(self.mean[k]), "sd": float(self.sd[k])}
            if self.correlations is not None:
                row |= {f"r({other})": self.correlations[name, other] for other in self.names}
            rows.append(row)
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class BestValues(Answer):
    """The most probable numbers of some nodes together, their means: `answer["x"]`."""

    values: Mapping[str, float]

    @property
    def is_density(self) -> bool:
        """Numbers have a density."""
        return True

    def __getitem__(self, name: str) -> float:
        return self.values[known(name, self.values)]

    def rows(self) -> list[Row]:
        """One row per node."""
        return [{"node": name, "value": value} for name, value in self.values.items()]


def known(name: str, names: Sequence[str] | Mapping[str, object]) -> str:
    """Return a name that an answer has."""
    if name not in names:
        raise KeyError(unknown_name("node", name, names))
    return name
