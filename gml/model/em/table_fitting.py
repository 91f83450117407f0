"""Fit the tables of a network by EM: counts, climbs, and the network at the best end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.errors import CannotAnswer, parameter
from gml.graph.graph import Graph
from gml.graph.open_arrows import compelled_arrows
from gml.model.bayesnet import CPT, BayesNet
from gml.model.em.climbing import Climb, Climbs, climb_from
from gml.model.em.em_report import EmFit, EmReport, EmSettings, refuse_silent, warn_of_left_out
from gml.model.em.hidden_labels import numbered
from gml.model.em.identification import model_rank
from gml.model.em.information import intervals as bounds_of
from gml.model.em.information import table_information
from gml.model.em.open_parts import open_parts
from gml.model.em.table_layout import TableLayout, Vector, layout_of, table_vector
from gml.model.em.table_problem import TableProblem, wholly_missing
from gml.model.em.table_starts import starts
from gml.model.fit_priors import prior_count
from gml.resources import available_threads, budget_in_force


def fit_tables(
    graph: Graph,
    rows: Dataset,
    *,
    hidden: Mapping[str, int],
    alpha: tuple[str, float] | None,
    intervals: float | None,
    settings: EmSettings,
    max_memory: int | None,
    threads: int | None,
) -> EmFit:
    """Fit tables; `alpha` is the prior and its equivalent sample size, or None."""
    problem = table_problem(
        graph, rows, hidden=hidden, alpha=alpha, max_memory=max_memory, threads=threads
    )
    climbs = _climbs(problem, settings)
    tables = climbs.best.parameters
    log_likelihood, expected = problem.expect(tables)
    tables = problem.without_given_up(tables, expected)
    wants_information = settings.information or intervals is not None
    counts, counts_all = None, True
    if settings.expected_counts or wants_information or hidden:
        counts, counts_all = _completed(problem, tables, max_memory)
        order = numbered(problem.layout, tables, counts)
        tables, counts = tables[order], counts[order]
    told = None
    if counts is not None and wants_information:
        told = table_information(problem, tables, counts, max_memory)
    bounds = None
    if intervals is not None:
        if told is None:
            raise CannotAnswer(
                f"{parameter('intervals')}: there are too many parameters for their information; "
                "a bootstrap gives intervals"
            )
        bounds = bounds_of(problem, tables, told, intervals)
    net = _network(problem, tables, counts if settings.expected_counts else None, bounds)
    return EmFit(
        net,
        EmReport.of(
            climbs,
            log_likelihood=log_likelihood,
            n_parameters=sum(cpd.n_parameters for cpd in net.cpds),
            rank=model_rank(problem, max_memory) if settings.information else None,
            # Shares are of what the counts of all rows would tell.
            missing_information={} if told is None or not counts_all else told.missing,
        ),
        counts_all,
    )


def _completed(
    problem: TableProblem, tables: Vector, max_memory: int | None
) -> tuple[Vector, bool]:
    """Expected counts of all rows, or of what EM looked at, where all would take too much."""
    try:
        return problem.completed_counts(tables, max_memory), True
    except CannotAnswer as error:
        warn_of_left_out(error)
        return problem.expect(tables)[1], False


def table_problem(
    graph: Graph,
    rows: Dataset,
    *,
    hidden: Mapping[str, int],
    alpha: tuple[str, float] | None,
    max_memory: int | None = None,
    threads: int | None = None,
) -> TableProblem:
    """Count what rows observe, and collect what they leave open."""
    layout = layout_of(graph, {variable.name: variable for variable in rows.variables}, hidden)
    budget = budget_in_force(max_memory)
    layout.require_room(budget)
    silent = wholly_missing(layout, rows)
    if alpha is None:
        refuse_silent(silent)
    prior = np.zeros(layout.kernel.n_cells)
    if alpha is not None:
        for node in range(len(layout.sizes)):
            table = layout.table(prior, node)
            table[:] = prior_count(*alpha, table.size)
    return TableProblem(
        layout,
        rows,
        _available(layout, rows, threads, budget),
        open_parts(layout, rows, budget=budget),
        prior,
        threads or available_threads(),
    )


def _available(layout: TableLayout, rows: Dataset, threads: int | None, budget: int) -> Any:
    """Count the rows that observe all of a family, for the families without hidden nodes."""
    counter = MemoryCounter(rows, threads=threads, max_memory=budget)
    observed = [
        node
        for node, parents in enumerate(layout.parents)
        if layout.hidden.isdisjoint((node, *parents))
    ]
    names = layout.names
    families = [
        (rows.index(names[node]), tuple(rows.index(names[p]) for p in layout.parents[node]))
        for node in observed
    ]
    found = np.zeros(layout.kernel.n_cells, dtype=np.int64)
    for node, cells in zip(observed, counter.family_tables(families), strict=True):
        layout.table(found, node)[:] = cells
    return found


def _climbs(problem: TableProblem, settings: EmSettings) -> Climbs:
    """Climb from all starts; where nothing is open, one step is all."""
    if problem.parts.is_empty:
        tables = problem.best_tables(problem.observed_counts)
        value = problem.step(tables).objective
        climb = Climb(tables, value, (value,), 1, 0.0, 0.0, converged=True)
        return Climbs((climb,), climb)
    return climb_from(
        problem,
        _starts(problem, settings),
        settings.restarts,
        most_steps=settings.most_steps,
        deadline=settings.deadline,
        enough=settings.enough,
    )


def _starts(problem: TableProblem, settings: EmSettings) -> Iterator[Vector]:
    """The given start if there is one, and drawn ones."""
    own = starts(problem, settings.restarts, settings.seed)
    if settings.start is not None:
        next(own)
        yield table_vector(settings.start, problem.layout)
    yield from own


def _network(
    problem: TableProblem, tables: Vector, counts: Vector | None, bounds: Vector | None
) -> BayesNet:
    layout = problem.layout
    cpds = []
    for name in layout.graph.names:
        node = layout.names.index(name)
        observed = layout.hidden.isdisjoint((node, *layout.parents[node]))
        available = None
        if observed:
            cells = layout.in_graph_order(node, layout.table(problem.available, node))
            available = cells if problem.data.unit == 1 else cells * problem.data.unit
        cpds.append(
            CPT(
                layout.variables[node],
                layout.parents_in_graph(node),
                layout.in_graph_order(node, layout.table(tables, node)),
                available,
                None if bounds is None else _intervals(layout, node, bounds),
                expected_counts=None
                if counts is None
                else layout.in_graph_order(node, layout.table(counts, node)),
            )
        )
    return BayesNet(tuple(cpds), compelled=compelled_arrows(layout.graph))


def _intervals(layout: TableLayout, node: int, bounds: Vector) -> Vector:
    starts = layout.kernel.table_starts
    own = bounds[starts[node] : starts[node + 1]].reshape(-1, layout.sizes[node], 2)
    found: Vector = layout.in_graph_order(node, own)
    return found
