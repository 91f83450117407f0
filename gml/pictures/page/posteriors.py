"""What the page knows of distributions beforehand, and whether it can compute the rest itself.

A page computes posteriors exactly, by a junction tree whose tables all together have at most two
million cells: that takes a browser a fraction of a second per click, as long as the tables of the
model itself are not too large to send. For larger models the answers
to each single observation and each single intervention are computed here, as long as they are few
enough and each is quick enough; for still larger ones only what holds without evidence.

Of labels and numbers together, a page adds to the junction tree the labels of each group of numbers
that edges connect, as one clique, and has a network of numbers for each configuration of it. If
these are too many, only what holds without evidence is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gml.errors import CannotAnswer
from gml.model.bayesnet import BayesNet
from gml.model.evidence import circumstances
from gml.model.gaussian import gaussian_posterior
from gml.model.inference import Inference
from gml.model.junction_tree import JunctionTree, build_tree
from gml.model.markovnet import MarkovNet
from gml.model.mixed.inference import MixedInference
from gml.model.network import CPT
from gml.model.reach import excludes, is_beyond_doubles, log_span
from gml.model.undirected.terms import Terms
from gml.name_order import NameOrder
from gml.pictures.text.layers import components, neighbours_of
from gml.progress import reporter

MOST_CELLS = 2_000_000
"""Cells of all tables of a junction tree that a page can work on."""
MOST_PARAMETERS = 250_000
"""Probabilities of all tables of a model that go into a page to compute with."""
MOST_ANSWERS = 300_000
"""Probabilities that are computed beforehand, for observations and again for interventions."""
_MOST_WORK = 4_000_000_000
"""Cells of the junction tree times questions."""
_PRIOR_BYTES = 1 << 28
_MOST_NETWORKS = 20_000
"""Networks of numbers, one per configuration of labels, that a page asks at each click."""
_MOST_STEPS = 20_000_000
"""Such networks times the cubes of their nodes."""

Shares = list[float]
Answers = dict[str, dict[str, dict[str, Shares] | None]]
"""By node and level: the distributions of all nodes, or None where the level is impossible."""


@dataclass(frozen=True)
class Posteriors:
    """What the page is told of distributions.

    `prior` has the shares of each level, the mean and deviation of a node of numbers, and None for
    a node whose distribution would take too much memory.
    """

    mode: str
    why: str | None
    prior: Mapping[str, Any]
    given: Answers | None = None
    do: Answers | None = None


def posteriors_of(net: BayesNet | MarkovNet) -> Posteriors:
    """Return what a page about a model needs, by the size of the model.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> found = posteriors_of(net)
    >>> found.mode, [round(share, 4) for share in found.prior["smoke"]]
    ('exact', [0.5002, 0.4998])
    """
    if isinstance(net, BayesNet) and net.is_gaussian:
        known = gaussian_posterior(net, {})
        moments = {
            name: {"mean": float(known.mean[k]), "sd": known.sd(k)}
            for k, name in enumerate(known.names)
        }
        return Posteriors("exact", None, moments)
    if isinstance(net, BayesNet) and net.is_mixed:
        return _of_both(net)
    cells = junction_cells(net)
    prior = _prior(net)
    parameters = sum(factor.table.size for factor in net.factors)
    if cells > MOST_CELLS:
        too_large = (
            f"The junction tree of this model has {cells:,} cells, too many to compute with in a "
            "page"
        )
    elif parameters > MOST_PARAMETERS:
        too_large = f"The tables of this model have {parameters:,} cells, too many for a page"
    elif _is_too_wide(net):
        too_large = "The factors of this model lie too far apart for the numbers of a page"
    else:
        return Posteriors("exact", None, prior)
    n_levels = sum(len(variable.levels or ()) for variable in net.variables)
    if n_levels**2 > MOST_ANSWERS or n_levels * cells > _MOST_WORK or None in prior.values():
        shown = "only priors are shown"
        if all(known is None for known in prior.values()):
            shown = "no distributions are shown"
        why = f"{too_large}, and to answer all questions beforehand: {shown}."
        return Posteriors("precomputed", why, prior)
    asked = "one observation"
    if isinstance(net, BayesNet):
        asked += " or one intervention"
    why = f"{too_large}: answers to {asked} at a time are shown."
    return Posteriors("precomputed", why, prior, *_single_answers(net))


def _of_both(net: BayesNet) -> Posteriors:
    """What a page about a model of labels and numbers needs."""
    groups = number_groups(net)
    sizes = {variable.name: len(variable.levels or ()) for variable in net.variables}
    configurations = [math.prod(sizes[name] for name in labels) for _, labels in groups]
    work = sum(
        count * len(numbers) ** 3
        for (numbers, _), count in zip(groups, configurations, strict=True)
    )
    prior = _prior_of_both(net)
    shown = "only what holds without evidence is shown; gml query answers."
    if None in prior.values():
        shown = "not all distributions are shown; gml query answers."
    if sum(configurations) > _MOST_NETWORKS or work > _MOST_STEPS:
        why = (
            f"The numbers of this model depend on {sum(configurations):,} configurations of "
            f"labels, too many to compute with in a page: {shown}"
        )
    elif _label_cells(net, [labels for _, labels in groups]) > MOST_CELLS:
        why = f"The junction tree of this model is too large to compute with in a page: {shown}"
    elif net.n_parameters > MOST_PARAMETERS:
        why = f"This model has {net.n_parameters:,} parameters, too many for a page: {shown}"
    else:
        return Posteriors("exact", None, prior)
    return Posteriors("precomputed", why, prior)


def number_groups(net: BayesNet) -> list[tuple[list[str], list[str]]]:
    """Return the numbers that edges between numbers connect, with the labels they depend on."""
    numbers = [cpd for cpd in net.cpds if cpd.variable.is_continuous]
    group = {cpd.variable.name: {cpd.variable.name} for cpd in numbers}
    for cpd in numbers:
        for parent in cpd.parents:
            if parent.is_continuous and group[parent.name] is not group[cpd.variable.name]:
                joined = group[cpd.variable.name] | group[parent.name]
                group |= dict.fromkeys(joined, joined)
    found = []
    for members in {id(each): each for each in group.values()}.values():
        labels = {
            parent.name
            for cpd in numbers
            if cpd.variable.name in members
            for parent in cpd.parents
            if not parent.is_continuous
        }
        found.append((sorted(members), sorted(labels)))
    return found


def _label_cells(net: BayesNet, further: Sequence[Sequence[str]]) -> int:
    """The cells of the junction tree of the labels, in which further sets of them are together."""
    names = sorted(v.name for v in net.variables if not v.is_continuous)
    rank = {name: k for k, name in enumerate(names)}
    sizes = [len(net.variables[net.index(name)].levels or ()) for name in names]
    scopes = [
        [rank[parent.name] for parent in (*cpd.parents, cpd.variable)]
        for cpd in net.cpds
        if isinstance(cpd, CPT)
    ]
    scopes += [[rank[name] for name in labels] for labels in further if labels]
    tree = build_tree(scopes, sizes, [range(len(sizes))])
    return sum(map(tree.cells, tree.cliques))


def _prior_of_both(net: BayesNet) -> dict[str, Any]:
    """Shares of labels, means and deviations of numbers; None where they do not fit."""
    found: dict[str, Any] = dict.fromkeys(net.names)
    try:
        given = MixedInference(net, max_memory=_PRIOR_BYTES).given({})
    except CannotAnswer:
        return found
    for variable in net.variables:
        name = variable.name
        try:
            if variable.is_continuous:
                known = given.number(name)
                found[name] = {"mean": known.mean, "sd": known.sd}
            else:
                found[name] = given.label(name).tolist()
        except CannotAnswer:
            continue
    return found


def junction_cells(net: BayesNet | MarkovNet) -> int:
    """Return the cells of all tables of the junction tree of a model of levels, by min-fill."""
    tree, _ = _junction_tree(net)
    return sum(map(tree.cells, tree.cliques))


def _is_too_wide(net: BayesNet | MarkovNet) -> bool:
    """Whether a page, which does not compute in logarithms, might lose what is possible."""
    if isinstance(net, BayesNet):
        return False
    tree, scopes = _junction_tree(net)
    spans = np.array([log_span(factor) for factor in net.factors])
    some_excluded = any(excludes(factor) for factor in net.factors)
    return is_beyond_doubles(spans, scopes, tree.cliques, excludes=some_excluded)


def _junction_tree(net: BayesNet | MarkovNet) -> tuple[JunctionTree, list[list[int]]]:
    """The tree by min-fill, and the scopes of the factors as it numbers the nodes."""
    rank = dict(zip(net.names, NameOrder(net.names).rank, strict=True))
    sizes = [0] * len(net.variables)
    for variable in net.variables:
        sizes[rank[variable.name]] = len(variable.levels or ())
    scopes = [[rank[variable.name] for variable in factor.scope] for factor in net.factors]
    return build_tree(scopes, sizes, [range(len(sizes))]), scopes


def _prior(net: BayesNet | MarkovNet) -> dict[str, Shares | None]:
    """The distribution of each node; where all of them are too much at once, part by part."""
    inference = Inference(net, max_memory=_PRIOR_BYTES)
    try:
        return _shares(inference)
    except CannotAnswer:
        found: dict[str, Shares | None] = {}
        for part, names in _parts(net, inference):
            try:
                found |= _shares(part, names)
            except CannotAnswer:
                found |= dict.fromkeys(names)
        return {name: found[name] for name in net.names}


def _shares(inference: Inference, names: Sequence[str] | None = None) -> dict[str, Any]:
    known = inference.marginals(None, names)
    return {name: shares.tolist() for name, shares in known.items()}


def _parts(
    net: BayesNet | MarkovNet, inference: Inference
) -> Iterator[tuple[Inference, Sequence[str]]]:
    """Whom to ask about which nodes, that cost as much together as one by one.

    A node of a network needs its ancestors alone; one of an undirected model all that it is
    connected with.
    """
    if isinstance(net, BayesNet):
        yield from ((inference, [name]) for name in net.names)
        return
    graph = Terms.of(net.variables, [potential.names for potential in net.potentials]).graph
    for part in components(graph, neighbours_of(graph)):
        names = [graph.names[k] for k in part]
        inside = [found for found in net.potentials if {*found.names} <= {*names}]
        variables = [net.variables[net.index(name)] for name in names]
        part_alone = MarkovNet(tuple(variables), tuple(inside))
        yield Inference(part_alone, max_memory=_PRIOR_BYTES), names


def _single_answers(net: BayesNet | MarkovNet) -> tuple[Answers, Answers | None]:
    """What follows from each level of each node, observed and, where there are arrows, set."""
    given: Answers = {}
    do: Answers = {}
    inference = Inference(net)
    for done, variable in enumerate(net.variables):
        name, levels = variable.name, variable.levels or ()
        given[name] = {level: _observed(inference, name, level) for level in levels}
        if isinstance(net, BayesNet):
            do[name] = {level: _set(net, name, level) for level in levels}
        reporter().advance("posteriors", done + 1, len(net.variables))
    return given, do or None


def _observed(inference: Inference, name: str, level: str) -> dict[str, Shares] | None:
    try:
        found = inference.marginals({name: level})
    except CannotAnswer:
        return None
    return {other: shares.tolist() for other, shares in found.items()}


def _set(net: BayesNet, name: str, level: str) -> dict[str, Shares]:
    changed = circumstances(net, None, {name: level}).net
    found = Inference(changed).marginals()
    return {other: shares.tolist() for other, shares in found.items() if other != name}
