"""An undirected model of any tables of logarithms, brought into the sum-to-zero gauge.

A table is the sum of terms over the subsets of its scope (gauge.py) and, where it has cells that
are impossible, of a table of zeros and −∞; what the terms say of such cells then has no effect, and
is that of the average cell. The constant is dropped, as it changes ln Z alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, listing
from gml.graph.provenance import Provenance
from gml.model.factor import Factor
from gml.model.markovnet import MarkovNet
from gml.model.training import Training
from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Scope, Terms
from gml.resources import require_memory

Table = NDArray[np.float64]

# Copies of a cell while the terms are split off and kept, and an object per term.
_BYTES_PER_CELL = 32
_BYTES_PER_TERM = 1000


@dataclass(frozen=True)
class LogTable:
    """Logarithms over some variables, one axis each; −∞ is impossible.

    `counts`, if known, are the rows behind each cell.
    """

    scope: tuple[Variable, ...]
    table: Table
    counts: Table | None = None


def log_conditional(factor: Factor) -> Table:
    """Return ln P(last variable | the others), whose rows may add up to 1 only after rounding."""
    with np.errstate(divide="ignore"):
        found: Table = np.log(factor.table / factor.table.sum(axis=-1, keepdims=True))
    return found


def markov_of_tables(
    variables: Sequence[Variable],
    tables: Iterable[LogTable],
    *,
    learning: Provenance | None = None,
    training: Training | None = None,
) -> MarkovNet:
    """Return the model whose probabilities are in proportion to the product of the tables.

    Examples
    --------
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> net = markov_of_tables([a, b], [LogTable((b, a), np.log([[8.0, 1.0], [1.0, 2.0]]))])
    >>> {term.names: round(float(term.table.flat[-1]), 12) for term in net.potentials}
    {('A',): -0.34657359028, ('B',): -0.34657359028, ('A', 'B'): 0.69314718056}
    """
    given = list(tables)
    terms = Terms.of(variables, [[v.name for v in table.scope] for table in given])
    _require_room(terms)
    rank = {name: k for k, name in enumerate(terms.names)}
    finite: dict[Scope, Table] = {}
    possible: dict[Scope, NDArray[np.bool_]] = {}
    counts: dict[Scope, Table] = {}
    for one in given:
        axes = [rank[variable.name] for variable in one.scope]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        table = one.table.transpose(order)
        scope = tuple(sorted(axes))
        if one.counts is not None:
            counts[scope] = one.counts.transpose(order)
        allowed = np.isfinite(table)
        if not allowed.any():
            names = listing(terms.names[k] for k in scope)
            raise GraphError(f"the factor of {names} excludes everything")
        if not allowed.all():
            possible[scope] = possible.get(scope, True) & allowed
            table = np.where(allowed, table, table[allowed].mean())
        if scope:
            finite[scope] = finite.get(scope, 0.0) + table
    found = [
        Potential(tuple(terms.variables[k] for k in scope), table, counts=counts.get(scope))
        for scope, table in zip(terms.all, terms_of_tables(terms, finite), strict=True)
    ]
    found += [
        Potential(
            tuple(terms.variables[k] for k in scope), np.where(possible[scope], 0.0, -math.inf)
        )
        for scope in sorted(possible, key=lambda scope: (len(scope), scope))
    ]
    return MarkovNet(
        tuple(variables), tuple(found), learning=learning or Provenance(), training=training
    )


def _require_room(terms: Terms) -> None:
    cells = sum(math.prod(1 + terms.sizes[k] for k in scope) for scope in terms.generators)
    n_terms = sum(2 ** len(scope) for scope in terms.generators)
    require_memory(
        cells * _BYTES_PER_CELL + n_terms * _BYTES_PER_TERM, None, "the terms of the model"
    )
