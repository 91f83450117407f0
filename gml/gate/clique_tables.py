"""The margins of the cliques of an undirected model, as tables of one variable given others.

What an undirected model takes from its rows are the margins of its generators. They overlap: a
variable that changed would break every margin that it is in. So the generators come one after the
other, and of each only that is asked which the earlier ones do not hold: its other variables, each
given what it shares with an earlier one and those of its own that came before. By the chain rule
the margins are unchanged iff all these tables are, and G adds up over them.

A decomposable model has its cliques in a perfect order, and what a clique shares with all earlier
ones is its separator: the tables are then those of a network with the same distribution, and a
change of P(v | parents) shows in the table of v alone. Otherwise a variable may have several tables
(of a cycle A – B – C – D, both D given A and D given C), a change shows in each of them, and may
show in others, as nothing in the margins tells which of them it is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.gate.families import CheckedModel, table_of
from gml.model.bayesnet import CPT
from gml.model.factor import margin_over
from gml.model.markovnet import MarkovNet
from gml.model.undirected.directed import conditional
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.terms import Scope, Terms
from gml.progress import reporter

Margins = dict[Scope, NDArray[np.float64]]


class Part(NamedTuple):
    """A variable given others, as a part of the margin of a generator."""

    generator: Scope
    child: int
    parents: Scope


def parts_of(terms: Terms) -> list[Part]:
    """Divide the margins of a model's generators.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> variables = [Variable(name, ("n", "y")) for name in "ABCD"]
    >>> cycle = Terms.of(variables, ["AB", "BC", "CD", "AD"])
    >>> [(part.child, part.parents) for part in parts_of(cycle)]
    [(0, ()), (1, (0,)), (3, (0,)), (2, (1,)), (3, (2,))]
    """
    return [
        Part(generator, child, parents)
        for generator, shared in _with_shared(terms)
        for child, parents in _one_by_one(generator, shared)
    ]


def _with_shared(terms: Terms) -> Iterator[tuple[Scope, Scope]]:
    """Each generator, and the most that it shares with one before it."""
    perfect = terms.perfect_sequence
    if perfect is not None:
        yield from zip(perfect.cliques, perfect.separators, strict=True)
        return
    earlier: dict[int, list[Scope]] = {}
    for generator in terms.generators:
        most: set[int] = set()
        members = set(generator)
        for other in (other for k in generator for other in earlier.get(k, ())):
            shared = members.intersection(other)
            if len(shared) > len(most):
                most = shared
            if len(most) == len(generator) - 1:
                break
        yield generator, tuple(sorted(most))
        for k in generator:
            earlier.setdefault(k, []).append(generator)


def _one_by_one(generator: Scope, shared: Scope) -> Iterator[tuple[int, Scope]]:
    given = set(shared)
    for child in generator:
        if child not in given:
            yield child, tuple(sorted(given))
            given.add(child)


def members_of_tables(net: CheckedModel) -> Iterator[tuple[str, ...]]:
    """The columns that each table of a model is over."""
    if isinstance(net, MarkovNet):
        for part in parts_of(net.terms):
            yield tuple(net.terms.names[k] for k in (*part.parents, part.child))
    else:
        for cpd in net.cpds:
            yield (*(parent.name for parent in cpd.parents), cpd.variable.name)


def moved_with(net: MarkovNet) -> dict[str, tuple[str, ...]]:
    """The columns whose tables may change where rows are selected by another.

    In a decomposable model these are its parents, and theirs in turn; otherwise any that it is
    connected with.
    """
    names, terms = net.terms.names, net.terms
    if terms.is_decomposable:
        return {names[p.child]: tuple(names[k] for k in p.parents) for p in parts_of(terms)}
    graph = terms.graph
    return {name: tuple(graph.neighbours(name)) for name in names}


def clique_tables(net: MarkovNet) -> list[CPT]:
    """Return the parts of the margins of the generators: by their counts, or by the model itself.

    A model without counts that is too wide for its margins to be known has none.
    """
    counts = generator_counts(net)
    try:
        margins = model_margins(net) if counts is None else counts
    except CannotAnswer as error:
        reporter().warn(f"no tables to compare: the model has no counts, and {error}")
        return []
    variables = net.terms.variables
    found = []
    for generator, child, parents in parts_of(net.terms):
        axes = [generator.index(k) for k in (*parents, child)]
        table = margin_over(margins[generator], axes)
        rows = table.reshape(-1, table.shape[-1])
        found.append(
            CPT(
                variables[child],
                tuple(variables[k] for k in parents),
                conditional(rows),
                counts=None if counts is None else rows,
            )
        )
    return found


def has_counts(net: CheckedModel) -> bool:
    """Whether it is known what all tables of a model of levels were fitted on."""
    if isinstance(net, MarkovNet):
        return generator_counts(net) is not None
    hidden = {*net.hidden}
    return all(
        table_of(cpd).counts is not None
        for cpd in net.cpds
        if hidden.isdisjoint(v.name for v in (cpd.variable, *cpd.parents))
    )


def generator_counts(net: MarkovNet) -> Margins | None:
    """The rows behind each cell of each generator, axes in the order of names; None if unknown."""
    terms = net.terms
    by_scope = {frozenset(p.names): p for p in net.potentials if p.counts is not None}
    found = {}
    for generator in terms.generators:
        names = [terms.names[k] for k in generator]
        potential = by_scope.get(frozenset(names))
        if potential is None or potential.counts is None:
            return None
        found[generator] = potential.counts.transpose([potential.names.index(n) for n in names])
    return found


def model_margins(net: MarkovNet) -> Margins:
    """The margins of the generators by the model itself."""
    # What a maximum at infinity excludes may be over more variables than a generator.
    whole = Terms.of(net.variables, [potential.names for potential in net.potentials])
    added = [scope for scope in net.terms.generators if scope not in whole.generators]
    scopes = [*whole.generators, *added]
    tables = [*net.log_tables.values()]
    tables += [np.zeros(whole.shape(scope)) for scope in added]
    margins = dict(zip(scopes, CliqueMargins(whole, scopes).of(tables).margins, strict=True))
    return {scope: margins[scope] for scope in net.terms.generators}
