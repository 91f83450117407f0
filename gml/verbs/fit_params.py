"""The tables of a graph on data: gml.fit_params (gml.fit), `gml fit-params`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gml.counts.counter import Counter
from gml.data.dataset import Variable
from gml.data.options import EM, MISSING_POLICIES
from gml.errors import UsageError, agreeing, counted, listing, parameter
from gml.graph.graph import Graph
from gml.model.bayesnet import CPT, BayesNet
from gml.model.fit import fit, require_all_seen, unseen_configurations
from gml.model.training import training_behind
from gml.parameters import FOR_LABELS
from gml.progress import Deadline, reporter
from gml.verbs.shared.data_input import Data, is_data, is_path, is_read, open_data
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.dialects import asked_with, with_policy
from gml.verbs.shared.em_fitting import Incomplete
from gml.verbs.shared.em_request import EmRequest, em_request
from gml.verbs.shared.fitted_models import accepted, fitted_by, warn_of_deliveries
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import (
    GivenGraph,
    GraphLike,
    common_dialect,
    declared_columns,
    given_graph,
)
from gml.verbs.shared.model_updates import model_change
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import records_keywords
from gml.verbs.shared.swapped import answers_swapped


@front_door()
@plannable("fit-params")
@records_keywords
@answers_swapped("graph")
def fit_params(
    data: Data,
    graph: GraphLike,
    *,
    method: str = "mle",
    prior: str | None = None,
    ess: float | None = None,
    number_prior: str | None = None,
    prior_rows: float | None = None,
    intervals: float | None = None,
    bootstrap: int | None = None,
    hidden: Mapping[str, int] | None = None,
    em_restarts: int | None = None,
    em_steps: int | None = None,
    seed: int | None = None,
    max_seconds: float | None = None,
    strict: bool = False,
    gaussian: bool = False,
    accept: bool = False,
    update: bool = False,
    forget: bool = False,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **reading: Any,
) -> BayesNet:
    """Fit the distributions of a graph: tables of labels, regressions of numbers.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    graph
        A graph, a path, or the result of a learner; a CPDAG gets the tables of one of its DAGs,
        with a warning, and the model keeps which of the arrows the class leaves open (`compelled`).
        Labels have no parents that are numbers.
    method
        `mle`: shares of rows, and least squares; `bayes`: the mean under conjugate priors.
    prior, ess
        For `method="bayes"` and labels: `bdeu` (ess rows over the table), `k2` or `uniform` (1 per
        cell), or `jeffreys` (half a row per cell).
    number_prior, prior_rows
        For `method="bayes"` and numbers: `pooled` (`prior_rows` rows, 1 by default, with the
        moments of all rows, whatever their labels) or `ridge` (as many, without correlations).
    intervals, bootstrap
        Add bounds that hold the truth with this probability; those of a fit by EM come from the
        observed information, or from this many bootstrap samples.
    hidden
        How many levels nodes of the graph have that are not columns: `{"H": 3}`. They, and missing
        values with `missing="em"`, are fitted by EM: to what was seen of each row.
    em_restarts, em_steps, seed, max_seconds
        How many starts EM has (20), how many steps each of them (100 000), the seed of the starts,
        and when to stop with the best so far; `complete` of the model says whether it did.
    strict
        Refuse a configuration of parents that occurs in no row.
    gaussian
        Treat the columns as numbers: fit linear regressions; the default for a graph that was
        learned from numbers.
    accept
        Accept what the model's own rows break, as `gml.check(data, model).accepted()` does: later
        checks of the model report only what is new.
    update, forget
        Add the rows to the counts of the graph, which is a model of labels, or take them away from
        these: the tables are those of all rows, fitted at once as the model was, but for rounding
        where weights are fractions. New rows may add the level `NA`, with `missing="level"`.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **reading
        How to read the data; see `gml.read`. What is not given is as when the graph was learned.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> net.cpt("lung").table.round(4).tolist()
    [[0.9896, 0.0104], [0.9076, 0.0924]]
    """
    if is_data(graph) and not is_path(graph):
        raise UsageError("the data come first, then the graph: fit(data, graph)")
    for_tables = _given(prior=prior, ess=ess)
    for_numbers = _given(number_prior=number_prior, prior_rows=prior_rows)
    _require_method(method, for_tables | for_numbers)
    given = given_graph(graph)
    if is_read(data):
        reading = with_policy(reading, common_dialect([given]), (*MISSING_POLICIES, EM))
        asked = asked_with(asked, reading)
    change = model_change(
        given, update=update, forget=forget, accept=accept, reading=reading if is_read(data) else {}
    )
    em = em_request(
        given,
        reading,
        hidden=hidden,
        is_read=is_read(data),
        deadline=Deadline(max_seconds),
        em_restarts=em_restarts,
        em_steps=em_steps,
        seed=seed,
        others={"max_seconds": max_seconds, "bootstrap": bootstrap},
    )
    if bootstrap is not None and intervals is None:
        raise UsageError(f"{parameter('bootstrap')} belongs to {parameter('intervals')}")
    declared = _declared(given, em)
    numbers = declared.numeric if is_read(data) and not gaussian else ()
    by_graph = bool(numbers) and {*numbers} >= {*given.graph.names}
    _require_kind(declared, _for_labels(strict, reading), gaussian=gaussian, by_graph=by_graph)
    # A graph that stands for no DAG is refused before the data are read.
    whole = given.dag()
    counter = open_data(
        data,
        fractional=True,
        used=given.columns(() if em is None else em.hidden),
        declared=declared,
        refuse_many_numbers=True,
        offer_available=em is None,
        offer_em=True,
        gaps_advice=None if change is None else change.gaps_advice,
        settles_empty=em is not None,
        undeclared="numbers" if gaussian or by_graph else "auto",
        takes_numbers=parameter("gaussian"),
        threads=threads,
        **reading,
    )
    _require_used(counter.variables, for_tables, for_numbers)
    dag = given.dag_of_kinds(counter.variables, whole=whole)
    _warn_of_graph(given, by_graph=by_graph)
    how = {"method": method, "intervals": intervals, **for_tables, **for_numbers}
    if change is not None:
        net = change.fitted(dag, counter, asked or {})
    elif em is None:
        net = fit(dag, counter, **how)
        net = replace(net, learning=fitted_by("fit-params", counter, asked or {}))
    else:
        how["bootstrap"] = bootstrap
        net = _fitted_by_em(Incomplete.of(counter, em, threads), dag, counter, asked or {}, **how)
    _tell_of_unseen(net, strict)
    # What else a model keeps of its rows does not add up.
    return net if change is not None else _with_training(net, counter, accept, threads)


def _fitted_by_em(
    incomplete: Incomplete, dag: Graph, counter: Counter, asked: Mapping[str, Any], **how: Any
) -> BayesNet:
    fitted = incomplete.fitted(dag, **how)
    return replace(fitted.net, learning=incomplete.learning("fit-params", counter, asked, fitted))


def _declared(given: GivenGraph, em: EmRequest | None) -> DeclaredColumns:
    """What the graph says of the columns."""
    declared = replace(declared_columns([given]), numeric=given.numeric())
    return declared if em is None else em.without_hidden(declared)


def _with_training(net: BayesNet, counter: Counter, accept: bool, threads: int | None) -> BayesNet:
    """Return the network with what it keeps of its rows, and what it accepts of them."""
    training = training_behind(counter)
    if training is not None and training.rows is not None:
        warn_of_deliveries(training.rows)
    net = replace(net, training=training)
    return replace(net, baseline=accepted(net, counter, threads)) if accept else net


def _warn_of_graph(given: GivenGraph, *, by_graph: bool) -> None:
    """Warn where a graph leaves a choice that was made, or says that columns are numbers."""
    if given.graph.kind != "dag":
        reporter().warn(
            f"{given.name}: {given.graph.kind_in_words}; the tables are those of one of the DAGs "
            "it stands for"
        )
    if by_graph:
        how = given.learned_by
        reporter().warn(
            f"{given.name} was learned from numbers{f' by {how}' if how else ''}: the columns are "
            "taken as numbers, and regressions fitted"
        )


def _tell_of_unseen(net: BayesNet, strict: bool) -> None:
    """Refuse, or warn about, tables that say nothing of some configurations of parents."""
    if strict:
        require_all_seen(net)
    unseen = unseen_configurations(net)
    if unseen:
        n_unseen = sum(map(len, unseen.values()))
        seen = agreeing(n_unseen, "was never seen, and is", "were never seen, and are")
        tables = [isinstance(net.cpd(name), CPT) for name in unseen]
        has = ["uniform"] * any(tables) + ["as all rows together"] * (not all(tables))
        what = ", or ".join(has)
        reporter().warn(
            f"{counted(n_unseen, 'configuration')} of parents {seen} {what}: for {listing(unseen)}"
        )


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _require_method(method: str, given: Mapping[str, Any]) -> None:
    """Refuse what does not go together."""
    if method != "bayes":
        for name in given:
            raise UsageError(f"{parameter(name)} belongs to {parameter('method', 'bayes')}")
    if given.get("prior", "bdeu") != "bdeu" and "ess" in given:
        raise UsageError(f"{parameter('ess')} belongs to {parameter('prior', 'bdeu')}")


def _require_used(
    variables: Sequence[Variable], for_tables: Collection[str], for_numbers: Collection[str]
) -> None:
    """Refuse priors of labels, or of numbers, where there are none."""
    kinds = {variable.is_continuous for variable in variables}
    for name in () if False in kinds else for_tables:
        raise UsageError(f"{parameter(name)} is for labels, and all columns hold numbers")
    for name in () if True in kinds else for_numbers:
        raise UsageError(
            f"{parameter(name)} is for numbers, and all columns hold labels; {parameter('numeric')}"
            " says which hold numbers"
        )


def _for_labels(strict: bool, reading: Mapping[str, Any]) -> list[str]:
    """The parameters given that mean nothing to regressions on numbers alone."""
    found = [parameter(name) for name in FOR_LABELS if reading.get(name) is not None]
    return found + [parameter("strict")] * strict


def _require_kind(
    declared: DeclaredColumns, for_labels: list[str], *, gaussian: bool, by_graph: bool
) -> None:
    """Refuse regressions of columns that have levels, and what is for labels with regressions."""
    if gaussian:
        for name in declared.levels:
            raise declared.contradiction(parameter("gaussian"), name)
    for option in for_labels if gaussian or by_graph else ():
        if by_graph:
            raise declared.contradiction(option, next(iter(declared.numeric)))
        raise UsageError(f"{option} does not go with {parameter('gaussian')}")
