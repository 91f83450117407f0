"""Structure of a model of labels and numbers: independences, and edges.

Relations between labels are asked as in a model of labels (`structure_checks`), independences of
numbers by `mixed_independences`, edges of a node with one regression by `gaussian_structure`.

*Edges of nodes with several regressions.* A parent is lost if it tells less than in the model's own
rows: with I as `lines_of_node` has it, both the loss I₀ − I, without the bias of either side, and
its first-order part −Σ dI/dβ·Δβ − Σ dI/d ln s²·Δ ln s² must be more than chance explains. Of a
parent that is a number only the coefficients count, as for one regression; of a label also the size
of the errors, by which its configurations may differ. Covariances are each side's own or common
ones, whichever makes the loss less certain, and that of coefficients with ln s², which the model
does not keep, is taken at its worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gml.counts.row_sums import NumberTable, Steps, together
from gml.errors import parameter
from gml.gate.check import INSUFFICIENT, NATS, PASS
from gml.gate.gaussian_families import spreads
from gml.gate.gaussian_structure import SANDWICH, number_edge
from gml.gate.gaussian_tables import changes_of_variance
from gml.gate.lines_of_node import Information, LinesOfNode, lines_of_node
from gml.gate.mixed_families import NumberNode, groups_without, log_p_of_parent
from gml.gate.mixed_independences import mixed_independence
from gml.gate.question import Question
from gml.gate.relations import edge_check, given_text, too_weak
from gml.gate.tails import log_f_tail
from gml.graph.graph import Graph
from gml.independence.implied import each_implied
from gml.model.baseline import Reference
from gml.resources import require_memory
from gml.stopping import check_stopped

# A question, its test and its place in the report.
_PAIR_BYTES = 1300


def mixed_structure_checks(
    graph: Graph,
    table: NumberTable,
    nodes: Sequence[NumberNode],
    labels: Sequence[str],
    *,
    alpha: float,
    references: Mapping[str, Reference],
) -> list[Question]:
    """Ask about every pair of nodes that has a number: about its independence, or its edge."""
    n_pairs = len(graph.names) * (len(graph.names) - 1) // 2
    require_memory(
        _PAIR_BYTES * n_pairs,
        None,
        f"checks of {n_pairs} pairs",
        f"; leave the structure out with {parameter('families')} schema,tables,fit",
    )
    questions = together(table, _independences(graph, table, frozenset(labels), references))
    return questions + edge_checks(nodes, alpha)


def edge_checks(nodes: Sequence[NumberNode], alpha: float) -> list[Question]:
    """Ask about the edges into numbers."""
    questions: list[Question] = []
    for node in nodes:
        if not node.label_parents:
            (family,) = node.families
            questions += [number_edge(family, k, alpha) for k in range(len(family.parents))]
            continue
        names = [parent.name for parent in node.cpd.parents]
        questions += [_edge(node, name, alpha) for name in names]
    return questions


def _independences(
    graph: Graph,
    table: NumberTable,
    labels: frozenset[str],
    references: Mapping[str, Reference],
) -> Iterator[Steps[Question]]:
    """Ask about pairs without an edge, one after the other."""
    there = frozenset(table.names)
    for u, v, given in each_implied(graph):
        if {u, v} <= labels or not there.issuperset((u, v, *given)):
            continue
        check_stopped()
        yield mixed_independence(table, labels, (u, v, given), references)


def _edge(node: NumberNode, source: str, alpha: float) -> Question:
    cpd = node.cpd
    others = tuple(parent.name for parent in cpd.parents if parent.name != source)
    check = replace(
        edge_check(source, node.name, others), rows_old=node.rows_old, rows_new=node.rows_new
    )
    if all(line.rows is None for line in cpd.regressions):
        return Question(
            replace(
                check, message=f"{source} -> {node.name}: the model keeps nothing to compare with"
            )
        )
    is_label = source in [parent.name for parent in cpd.label_parents]
    places, lines = _comparable(node, source, is_label=is_label)
    if lines is None or lines.new is None:
        return Question(check)
    shown = log_p_of_parent(cpd, places, lines, source, in_new=True) <= math.log(alpha)
    status = PASS if shown else INSUFFICIENT
    if source in node.weak:
        return Question(replace(check, message=too_weak(check), status=status))
    numbers = [parent.name for parent in lines.families[0].parents]
    terms = [0, *(k + 1 for k, name in enumerate(numbers) if name != source)]
    groups = groups_without(cpd, places, [source])
    told, tells = (side.information(groups, terms) for side in (lines.old, lines.new))
    loss = told.nats - tells.nats
    if is_label:
        loss -= lines.old.bias(told) - lines.new.bias(tells)
    log_p = _log_p_of_loss(lines, told, loss, is_label=is_label)
    return Question(
        replace(
            check,
            message=f"{source} -> {node.name}: {source} told {told.nats:.3g} nats about "
            f"{node.name}{given_text(others)}, now {tells.nats:.3g}",
            test=SANDWICH,
            statistic=told.nats - tells.nats,
            log_p=log_p,
            effect=max(0.0, loss),
            effect_unit=NATS,
            old={"nats": told.nats},
            new={"nats": tells.nats},
            rows_old=int(lines.old.rows.sum()),
            rows_new=int(lines.new.rows.sum()),
            status=status,
        )
    )


def _comparable(
    node: NumberNode, source: str, *, is_label: bool
) -> tuple[list[int], LinesOfNode | None]:
    """The regressions that both sides can tell, of a label only where another level is there."""
    cpd = node.cpd
    chosen = [
        k
        for k, family in enumerate(node.families)
        if family.old is not None
        and family.new is not None
        and family.new.has_all_terms
        and family.new.variance > 0
    ]
    if is_label:
        groups = groups_without(cpd, [node.places[k] for k in chosen], [source])
        sizes = np.bincount(groups) if len(groups) else np.zeros(0)
        chosen = [k for k, group in zip(chosen, groups.tolist(), strict=True) if sizes[group] > 1]
    places = [node.places[k] for k in chosen]
    return places, lines_of_node([node.families[k] for k in chosen])


def _log_p_of_loss(lines: LinesOfNode, told: Information, loss: float, *, is_label: bool) -> float:
    """ln p of a loss of information, by the less certain of two covariances."""
    assert lines.new is not None
    moved = np.sum(told.by_slopes * (lines.new.slopes - lines.old.slopes))
    if is_label:
        grown = np.log(lines.new.variances / lines.old.variances)
        moved += np.sum(told.by_variances * grown)
    least = min(loss, -float(moved))
    if least <= 0:
        return 0.0
    variances = [0.0, 0.0]
    for k, family in enumerate(lines.families):
        assert family.old is not None and family.new is not None
        weights = lines.units[k].T @ told.by_slopes[k]
        of_variance = changes_of_variance(family.old, family.new)[:2]
        for side, spread in enumerate(spreads(family.old, family.new)):
            deviation = math.sqrt(max(0.0, float(weights @ spread.covariance @ weights)))
            if is_label:
                uneven = math.sqrt(of_variance[side][1])
                deviation += abs(float(told.by_variances[k])) * uneven
            variances[side] += deviation**2
    widest = max(variances)
    if widest <= 0:
        return 0.0
    sides = [float(np.sum(side.rows - side.n_terms)) for side in (lines.old, lines.new)]
    return math.log(0.5) + log_f_tail(least * least / widest, 1.0, min(sides))
