"""Regressions of a number on its parents: one, or one per configuration of parents with levels.

The second is the conditional linear Gaussian distribution of Lauritzen & Wermuth (1989, Ann. Stat.
17:31): numbers have parents of both kinds, labels only labels. Both kinds of distribution answer to
`regressions`, `label_parents`, `number_parents` and `configurations`, so that the first is the
second without labels wherever that makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gml.data.dataset import Variable
from gml.errors import GraphError, quote
from gml.model.configurations import configuration
from gml.model.regression_rows import RegressionRows
from gml.printable_text import printable

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20


@dataclass(frozen=True, repr=False)
class LinearGaussian:
    """variable = intercept + Σ coefficients · parents + sd · a standard normal error.

    `n` is the number of rows behind it; `intervals`, if asked for, has the bounds of the intercept,
    of each coefficient and of the standard deviation, in this order; `rows` is what a check needs
    to know of the rows behind it. Where values were missing, `expected_n` is how many of all rows
    EM expects to be of it, and `n` counts those that have all its values; `available` is the
    regression of these, which a check compares.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1.5, 2.5, 3.5, 4.6]})
    >>> graph = gml.Graph.from_edges(["x", "y"], [("x", "-->", "y")])
    >>> found = gml.fit(frame, graph, gaussian=True).cpd("y")
    >>> round(found.intercept, 2), [round(slope, 2) for slope in found.coefficients]
    (0.45, [1.03])
    >>> found
    LinearGaussian('y' given 'x': 0.45 + 1.03 'x', sd 0.0273861)
    """

    variable: Variable
    parents: tuple[Variable, ...]
    intercept: float
    coefficients: tuple[float, ...]
    sd: float
    n: int | float | None = None
    intervals: tuple[tuple[float, float], ...] | None = None
    rows: RegressionRows | None = field(default=None, repr=False)
    expected_n: float | None = None
    available: LinearGaussian | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        where = f"the regression of {quote(self.variable.name)}"
        labels = [parent.name for parent in self.parents if not parent.is_continuous]
        if labels:
            raise GraphError(
                f"{where} is on {quote(labels[0])}, which has levels: there must be one regression "
                "per configuration of these"
            )
        if len(self.coefficients) != len(self.parents):
            raise GraphError(f"{where} must have one coefficient per parent")
        if not all(map(math.isfinite, (self.intercept, self.sd, *self.coefficients))):
            raise GraphError(f"{where} has a number that is not finite")
        if self.sd < 0:
            raise GraphError(f"{where} has a negative standard deviation")
        if self.n is not None and not self.n > 0:
            raise GraphError(f'{where} was fitted on {self.n} rows by its "n"')

    def __repr__(self) -> str:
        given = ", ".join(quote(parent.name) for parent in self.parents)
        family = quote(self.variable.name) + (f" given {given}" if given else "")
        return f"LinearGaussian({family}: {self.formula})"

    @property
    def formula(self) -> str:
        """The regression to six digits, for people."""
        terms = [
            f" {'-' if slope < 0 else '+'} {abs(slope):.6g} {quote(parent.name)}"
            for parent, slope in zip(self.parents, self.coefficients, strict=True)
        ]
        return f"{self.intercept:.6g}{''.join(terms)}, sd {self.sd:.6g}"

    @property
    def regressions(self) -> tuple[LinearGaussian, ...]:
        """The only one, as of a number that depends on no labels."""
        return (self,)

    @property
    def label_parents(self) -> tuple[Variable, ...]:
        """None."""
        return ()

    @property
    def number_parents(self) -> tuple[Variable, ...]:
        """All parents."""
        return self.parents

    @property
    def has_intervals(self) -> bool:
        """Whether there are intervals."""
        return self.intervals is not None

    @property
    def unseen(self) -> list[int]:
        """None: a regression on all rows has some."""
        return []

    def with_regressions(self, lines: Sequence[LinearGaussian]) -> LinearGaussian:
        """Return the one given."""
        (line,) = lines
        return line

    def configurations(self) -> list[tuple[str, ...]]:
        """The levels of no labels."""
        return [()]

    @property
    def n_parameters(self) -> int:
        """Intercept, coefficients and standard deviation."""
        return len(self.parents) + 2

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: one row per term, with its estimate."""
        import pandas as pd

        terms = ["(intercept)", *(parent.name for parent in self.parents), "(sd)"]
        frame = pd.DataFrame({"estimate": [self.intercept, *self.coefficients, self.sd]}, terms)
        if self.intervals is not None:
            frame["lower"] = [low for low, _ in self.intervals]
            frame["upper"] = [high for _, high in self.intervals]
        return frame


@dataclass(frozen=True, repr=False)
class ConditionalGaussian:
    """A number given labels and numbers: one regression on the numbers per configuration.

    `regressions` stand in the order of the configurations of the parents with levels, the last of
    these fastest, each over the parents that are numbers; `n` of a regression is None where no row
    was seen, and its figures are then those of all rows together.

    Examples
    --------
    >>> sex, age, mass = Variable("sex", ("f", "m")), Variable("age", None), Variable("mass", None)
    >>> lines = tuple(LinearGaussian(mass, (age,), 20.0 + k, (0.5,), 3.0) for k in (0, 9))
    >>> cpd = ConditionalGaussian(mass, (sex, age), lines)
    >>> cpd.configurations(), cpd.n_parameters
    ([('f',), ('m',)], 6)
    """

    variable: Variable
    parents: tuple[Variable, ...]
    regressions: tuple[LinearGaussian, ...]

    def __post_init__(self) -> None:
        where = f"the regressions of {quote(self.variable.name)}"
        if not self.label_parents:
            raise GraphError(f"{where} have no parent with levels to depend on")
        size = math.prod(len(parent.levels or ()) for parent in self.label_parents)
        if len(self.regressions) != size:
            raise GraphError(f"{where} must be {size}, one per configuration of its labels")
        for line in self.regressions:
            if line.variable != self.variable or line.parents != self.number_parents:
                raise GraphError(f"{where} must all be on its parents that are numbers")

    def __repr__(self) -> str:
        given = ", ".join(quote(parent.name) for parent in self.parents)
        name = quote(self.variable.name)
        title = f"ConditionalGaussian({name} given {given}: {len(self.regressions)} regressions)"
        rows = zip(self.configurations()[:_SHOWN], self.regressions, strict=False)
        lines = [f"{printable(', '.join(levels))}: {line.formula}" for levels, line in rows]
        more = len(self.regressions) - _SHOWN
        return "\n".join([title, *lines, *[f"... {more} more"] * (more > 0)])

    @property
    def label_parents(self) -> tuple[Variable, ...]:
        """The parents with levels, in order."""
        return tuple(parent for parent in self.parents if not parent.is_continuous)

    @property
    def number_parents(self) -> tuple[Variable, ...]:
        """The parents that are numbers, in order."""
        return tuple(parent for parent in self.parents if parent.is_continuous)

    @property
    def n(self) -> int | float | None:
        """The rows behind all regressions, if known."""
        known = [line.n for line in self.regressions if line.n is not None]
        return sum(known) if known else None

    @property
    def has_intervals(self) -> bool:
        """Whether some regression has intervals."""
        return any(line.intervals is not None for line in self.regressions)

    @property
    def unseen(self) -> list[int]:
        """The regressions that no row stands behind, if it is known how many do."""
        if self.n is None:
            return []
        return [
            k for k, line in enumerate(self.regressions) if line.n is None and not line.expected_n
        ]

    @property
    def n_parameters(self) -> int:
        """Those of all regressions."""
        return sum(line.n_parameters for line in self.regressions)

    def with_regressions(self, lines: Sequence[LinearGaussian]) -> ConditionalGaussian:
        """Return the same with other regressions."""
        return replace(self, regressions=tuple(lines))

    def configurations(self) -> list[tuple[str, ...]]:
        """The levels of the parents that have some, for each regression."""
        return [configuration(self.label_parents, row) for row in range(len(self.regressions))]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: the terms of each regression, by configuration."""
        import pandas as pd

        names = [parent.name for parent in self.label_parents]
        keys = [key if len(names) > 1 else key[0] for key in self.configurations()]
        return pd.concat(
            [line.to_frame() for line in self.regressions], keys=keys, names=[*names, "term"]
        )


NumberCpd = LinearGaussian | ConditionalGaussian
"""The distribution of a number given its parents."""
