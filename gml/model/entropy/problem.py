"""Constraints over labels as what is solved: log-linear terms, and features with a number each.

The distribution nearest to p₀ under linear constraints is p ∝ p₀ exp(Σ multiplier · feature)
(Csiszár 1975, theorem 3.1; Jaynes 1957). All cells of a margin are features, so together they are
the terms of a log-linear model whose generators are the margins: the coefficients of their
contrasts (undirected/coefficients.py) are free of the redundancy of cells that add up, and of
margins that overlap. Every other constraint is one feature, a sum of small tables; at least is its
form, so that an upper bound has the sign turned.

A feature is divided by its largest absolute number, so that residuals are shares of it.

Variables of one level have no contrasts, so that tables of several variables leave them out. A
table over k others has 2^k terms: those of three or more variables are counted, and refused beyond
16384, which is one table over 14.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import MAX_LEVELS, Variable
from gml.errors import CannotAnswer, DataError, quote
from gml.kernel.layout import MOST_AXES
from gml.model.bayesnet import BayesNet
from gml.model.entropy.constraints import (
    AT_MOST,
    EQUALS,
    Conditional,
    Constraints,
    Expectation,
    Margin,
)
from gml.model.markovnet import MarkovNet
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.fitting import Support
from gml.model.undirected.from_tables import LogTable, log_conditional
from gml.model.undirected.terms import Scope, Terms
from gml.resources import require_memory

Table = NDArray[np.float64]

_CELL_BYTES = 64
# Singles and pairs do not count: there are no more of them than a file has room for.
_MOST_TERMS = 1 << 14


class ScopedTable(NamedTuple):
    """Numbers over variables in the order of their names."""

    scope: Scope
    table: Table


class GivenMargin(NamedTuple):
    """A margin: which of the constraints it is, and the probabilities of all its cells."""

    which: int
    scope: Scope
    table: Table


@dataclass(frozen=True)
class Feature:
    """A constraint that is one number: E[sign · Σ parts / scale] = (or ≥) target.

    Numbers are counted from the middle of their range: what matters of years is differences.
    """

    which: int
    """Which of the constraints it is."""
    parts: tuple[ScopedTable, ...]
    """Less the middle of their range, divided by the scale, with the sign."""
    target: float
    is_bound: bool
    """Whether it is an inequality, whose multiplier is not negative."""
    scale: float
    sign: float
    offset: float = 0.0
    """What the middles of all parts add up to."""

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 whatever happens."""
        return not any(part.table.any() for part in self.parts)


@dataclass(frozen=True)
class Problem:
    """Margins and features over variables in the order of their names, and the reference."""

    constraints: Constraints
    order: tuple[Variable, ...]
    """The variables as a model lists them."""
    terms: Terms
    """Of the margins; a variable that none has is a generator, whose term is not used."""
    margins: tuple[GivenMargin, ...]
    features: tuple[Feature, ...]
    reference: tuple[ScopedTable, ...] = ()
    """Logarithms, up to a constant; −∞ is impossible."""
    reference_model: BayesNet | MarkovNet | None = None
    coefficients: Coefficients = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", Coefficients(self.terms))

    @property
    def feature_scopes(self) -> tuple[Scope, ...]:
        """The scopes of the tables of all features, each once."""
        return tuple(dict.fromkeys(p.scope for f in self.features for p in f.parts))

    def observed(self) -> list[Table]:
        """Return the margins of the generators; those of variables without a margin are even."""
        given = {margin.scope: margin.table for margin in reversed(self.margins)}
        return [
            given[scope] if scope in given else np.full(shape, 1 / math.prod(shape))
            for scope in self.terms.generators
            for shape in [self.terms.shape(scope)]
        ]

    def used(self) -> NDArray[np.bool_]:
        """Return which coefficients belong to a margin."""
        given = {margin.scope for margin in self.margins}
        of_term = [self.terms.generator_of(scope) in given for scope in self.terms.all]
        return np.array(of_term, dtype=bool)[self.coefficients.group]

    def zeros(self) -> list[Support]:
        """Return what margins that have zeros leave, smaller ones first."""
        found = [
            Support(margin.scope, margin.table > 0)
            for margin in self.margins
            if not margin.table.all()
        ]
        return sorted(found, key=lambda support: (len(support.scope), support.scope))

    def without_reference(self) -> Problem:
        """Return the same constraints with every cell possible."""
        return Problem(self.constraints, self.order, self.terms, self.margins, self.features)

    def in_order(self, scope: Scope) -> tuple[Variable, ...]:
        """Return the variables of a scope."""
        return tuple(self.terms.variables[k] for k in scope)


def problem_of(constraints: Constraints, reference: BayesNet | MarkovNet | None = None) -> Problem:
    """Compile constraints; with a reference, they are about its variables.

    Examples
    --------
    >>> die = Expectation({"die": {str(face): face for face in range(1, 7)}}, "=", 4.5)
    >>> problem = problem_of(Constraints((die,)))
    >>> problem.terms.names, problem.features[0].target
    (('die',), 0.4)
    """
    order = _variables(constraints, reference)
    sizes = {variable.name: len(variable.levels or ()) for variable in order}
    for item in constraints.items:
        if not isinstance(item, Expectation):
            _require_table(_varying(item.names, sizes), sizes, item.title, constraints.where)
    _require_terms(constraints, sizes)
    terms = Terms.of(order, [_varying(margin.names, sizes) for margin in constraints.margins])
    places = _Places(terms)
    margins, features = [], []
    for index, item in enumerate(constraints.items):
        if isinstance(item, Margin):
            margins.append(GivenMargin(index, *places.margin(item)))
        else:
            features.append(_feature(index, item, places))
    tables = () if reference is None else tuple(_reference_tables(reference, places))
    return Problem(constraints, order, terms, tuple(margins), tuple(features), tables, reference)


def _variables(
    constraints: Constraints, reference: BayesNet | MarkovNet | None
) -> tuple[Variable, ...]:
    if reference is not None:
        return tuple(reference.variables)
    found = []
    for name, levels in constraints.levels.items():
        if len(levels) > MAX_LEVELS:
            raise DataError(
                f"{constraints.where}: {quote(name)} has {len(levels)} levels; the limit is "
                f"{MAX_LEVELS}"
            )
        found.append(Variable(name, levels))
    named = {variable.name: variable.levels or () for variable in found}
    for item in constraints.items:
        if isinstance(item, Margin):
            continue
        for name in item.names:
            levels = named[name]
            if len(levels) == 1 and name not in constraints.declared:
                raise DataError(
                    f"{constraints.where}: {item.title}: {quote(levels[0])} is the only level of "
                    f'{quote(name)} that is named; declare all of them in "variables"'
                )
    return tuple(found)


class _Places:
    """Where variables and levels are in the tables."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.rank = {name: k for k, name in enumerate(terms.names)}
        self._code = [
            {level: code for code, level in enumerate(variable.levels or ())}
            for variable in terms.variables
        ]

    def scope(self, names: Iterable[str]) -> Scope:
        """The variables of these names, but for those of one level beside others."""
        ranks = [self.rank[name] for name in names]
        varying = [k for k in ranks if self.terms.sizes[k] > 1]
        return tuple(sorted(varying or ranks[:1]))

    def code(self, name: str, label: str) -> int:
        """The place of a level on its axis."""
        return self._code[self.rank[name]][label]

    def margin(self, margin: Margin) -> ScopedTable:
        """The table of a margin, with a cell for every combination of levels."""
        scope = self.scope(margin.names)
        table = np.zeros(self.terms.shape(scope))
        ranks = [self.rank[name] for name in margin.names]
        # Variables of one level may have no axis.
        axes = [ranks.index(k) for k in scope]
        for cell, value in margin.cells.items():
            codes = [self.code(name, label) for name, label in zip(margin.names, cell, strict=True)]
            table[tuple(codes[axis] for axis in axes)] = value
        return ScopedTable(scope, table / table.sum())

    def cell(self, levels: Mapping[str, str], value: float, names: Sequence[str]) -> ScopedTable:
        """A table over these names that has a value where variables have some levels."""
        scope = self.scope(names)
        table = np.zeros(self.terms.shape(scope))
        at = {self.rank[name]: self.code(name, label) for name, label in levels.items()}
        table[tuple(at.get(k, slice(None)) for k in scope)] = value
        return ScopedTable(scope, table)


def _feature(index: int, item: Expectation | Conditional, places: _Places) -> Feature:
    variables = {variable.name: variable for variable in places.terms.variables}
    offset = 0.0
    if isinstance(item, Expectation):
        parts, middles = [], []
        for name, numbers in sorted(item.numbers.items()):
            table = np.zeros(len(variables[name].levels or ()))
            for label, number in numbers.items():
                table[places.code(name, label)] = number
            middles.append(float(table.min()) / 2 + float(table.max()) / 2)
            parts.append(ScopedTable(places.scope([name]), table - middles[-1]))
        offset = math.fsum(middles)
        target = float(item.value) - offset
    else:
        both = places.cell({**item.event, **item.given}, 1.0, item.names)
        given = places.cell(item.given, 1.0, item.names).table if item.given else None
        # P(A, B) − c P(B) = 0, or P(A) = c.
        table = both.table if given is None else both.table - item.value * given
        parts, target = [ScopedTable(both.scope, table)], item.value if given is None else 0.0
    scale = math.fsum(float(np.abs(part.table).max()) for part in parts) or 1.0
    sign = -1.0 if item.relation == AT_MOST else 1.0
    scaled = tuple(ScopedTable(p.scope, sign * p.table / scale) for p in parts)
    return Feature(
        index, scaled, sign * target / scale, item.relation != EQUALS, scale, sign, offset
    )


def _varying(names: Iterable[str], sizes: Mapping[str, int]) -> list[str]:
    """Return the names of variables of two levels or more; the first name if there are none."""
    names = list(names)
    return [name for name in names if sizes[name] > 1] or names[:1]


def _require_table(names: Sequence[str], sizes: Mapping[str, int], title: str, where: str) -> None:
    if len(names) > MOST_AXES:
        raise DataError(
            f"{where}: {title}: {len(names)} variables in one constraint; the limit is {MOST_AXES}"
        )
    cells = math.prod(sizes[name] for name in names)
    require_memory(_CELL_BYTES * cells, None, f"{where}: {title}: its table")


def _require_terms(constraints: Constraints, sizes: Mapping[str, int]) -> None:
    """Refuse tables over so many variables that their terms would take minutes."""
    scopes = {
        frozenset(_varying(item.names, sizes))
        for item in constraints.items
        if not isinstance(item, Expectation)
    }
    n_terms = sum(2**k - 1 - k - math.comb(k, 2) for k in map(len, scopes))
    if n_terms > _MOST_TERMS:
        widest = max(
            (item for item in constraints.items if not isinstance(item, Expectation)),
            key=lambda item: len(_varying(item.names, sizes)),
        )
        raise CannotAnswer(
            f"{constraints.where}: the constraints have {n_terms} terms of three or more "
            f"variables, and the limit is {_MOST_TERMS}; {widest.title} is about "
            f"{len(_varying(widest.names, sizes))} variables of two levels or more: give margins "
            "of fewer"
        )


def _reference_tables(model: BayesNet | MarkovNet, places: _Places) -> Iterable[ScopedTable]:
    """Yield the logarithms of a model, table by table, axes in the order of names."""
    if isinstance(model, MarkovNet):
        tables = [
            LogTable(tuple(model.variables[model.index(name)] for name in names), table)
            for names, table in model.log_tables.items()
        ]
    else:
        tables = [LogTable(factor.scope, log_conditional(factor)) for factor in model.factors]
    for one in tables:
        axes = [places.rank[variable.name] for variable in one.scope]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        yield ScopedTable(tuple(sorted(axes)), one.table.transpose(order))
