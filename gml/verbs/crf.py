"""A conditional random field, of a table or of sequences: gml.crf, `gml crf`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from gml.counts.counter import Counter
from gml.counts.open_count_file import is_counted
from gml.data.column_kinds import require_kinds
from gml.data.dataset import Variable
from gml.data.options import ReadingKeywords, given_keywords, names_of
from gml.data.sequences import PREDICTION
from gml.errors import (
    DataError,
    GraphError,
    UsageError,
    agreeing,
    counted,
    listing,
    parameter,
    quote,
    require_whole,
    unknown_name,
)
from gml.graph.graph import Graph
from gml.model.conditional.estimation import checked_penalty, estimate_field
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.fit import DEFAULT_L2
from gml.model.conditional.folds import AUTO
from gml.model.conditional.numeric_inputs import Scale, scales_of
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.terms import FieldTerms
from gml.model.sequences.chain_field import ChainField
from gml.model.training import training_behind
from gml.parameters import LABELS
from gml.progress import Deadline, reporter
from gml.verbs.shared.data_input import Data, is_read, name_of, open_data, with_categories
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.dialects import asked_with, with_policy
from gml.verbs.shared.fitted_models import fitted_by, warn_of_deliveries
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import (
    GivenGraph,
    GraphLike,
    common_dialect,
    declared_columns,
    given_graph,
)
from gml.verbs.shared.holdout_input import open_holdout
from gml.verbs.shared.known_names import columns_in
from gml.verbs.shared.recording import records_keywords
from gml.verbs.shared.sequence_fields import WINDOW, train_field
from gml.verbs.shared.swapped import answers_swapped
from gml.verbs.shared.undirected_input import without_arrows
from gml.verbs.shared.weights_as_inputs import warn_of_weights_as_inputs


@front_door(choices={"target": columns_in})
@records_keywords
@answers_swapped("graph")
def crf(
    data: Data,
    graph: GraphLike | None = None,
    *,
    target: str | Sequence[str],
    sequence: str | None = None,
    window: int | None = None,
    l2: float | str = DEFAULT_L2,
    l1: float = 0.0,
    folds: int | None = None,
    holdout: Data | None = None,
    seed: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **reading: Unpack[ReadingKeywords],
) -> ConditionalField | ChainField:
    """Fit a conditional random field: p(y | x) over some columns, given the others.

    With `sequence`, rows that have the same value there are a chain in the order of the file: the
    label of a row depends on its own inputs, those of its neighbours, and the label before it.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    graph
        A graph, a path, or the result of a learner: targets are joined with the columns that its
        edges join them with; a DAG is moralised. Without it, each target is joined with all other
        columns, targets among them.
    target
        The columns y; the others are x. They have levels; inputs have levels, or hold numbers
        (`numeric`), which are standardised by the mean and sd of the rows.
    sequence
        The column that says which sequence a row is of; there is one target then, and no graph.
    window
        How many rows before and after a row its inputs come from (1); for `sequence`.
    l2
        Nats that the sum of the squared weights costs; or `auto`: the one of 10^-3, 10^-2.5, …,
        10^2 with the smallest log loss by folds.
    l1
        Nats that the sum of the weights' sizes costs; weak weights become exactly 0.
    folds
        Judge the field by cross-validation with so many folds, of rows or of whole sequences; for
        `auto`, 10 by default.
    holdout
        Judge it by these rows instead, read as the data are.
    seed
        Seed of the folds.
    max_seconds
        Stop after this time with what is reached; the field says so.
    threads
        Threads that read and count; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **reading
        How to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> net = gml.crf("sample_data/asia.csv", target=["lung", "bronc"], exclude="either")
    >>> net.inputs[0].name, net.n_parameters
    ('asia', 48)
    >>> round(net.summary.training.log_loss, 4)
    0.4614
    >>> flats = gml.crf("sample_data/flats.csv", target="condition", numeric=["size", "rent"],
    ...                 columns=["condition", "size", "rent"])
    >>> flats.tables["condition", "rent"].shape
    (3, 1)
    """
    deadline = Deadline(max_seconds)
    targets = _targets(target)
    checked_penalty(l1, l2)
    _require_fitting(l2, folds, holdout, seed, reading)
    if is_read(data) and not is_counted(data):
        reading = with_categories(reading, targets)
    if sequence is not None:
        _require_chain(graph, targets)
        return train_field(
            data,
            sequence=sequence,
            target=targets[0],
            window=WINDOW if window is None else window,
            holdout=holdout,
            reading=reading,
            asked=asked or {},
            deadline=deadline,
            l1=l1,
            l2=l2,
            folds=folds,
            seed=seed or 0,
            threads=threads,
        )
    if window is not None:
        raise UsageError(f"{parameter('window')} is for {parameter('sequence')}")
    found = None if graph is None else given_graph(graph, takes_fields=True)
    if found is not None and is_read(data):
        reading = with_policy(reading, common_dialect([found]), ("drop", "level"))
        asked = asked_with(asked, reading)
    if reading.get("missing") == "available":
        raise UsageError(
            f"{parameter('missing', 'available')} is for {parameter('sequence')}; a row of a table "
            "needs every input: use drop or level"
        )
    structured = None if found is None else without_arrows(found)
    declared = DeclaredColumns("the data") if found is None else declared_columns([found])
    counter = open_data(
        data,
        fractional=True,
        offer_available=False,
        takes_numbers=parameter("numeric"),
        used=None if found is None else found.columns(),
        declared=None if found is None else declared,
        refuse_many_numbers=found is not None,
        threads=threads,
        **reading,
    )
    inputs = [variable for variable in counter.variables if variable.name not in targets]
    warn_of_weights_as_inputs(inputs, reading, may_count=True)
    terms = _terms(counter, targets, structured)
    rows = _rows(counter, terms)
    judged_by = None
    if holdout is not None:
        judged_by = _held_out(holdout, counter, terms, declared, reading)
    estimated = estimate_field(
        rows,
        l1=l1,
        l2=l2,
        folds=folds,
        seed=seed or 0,
        holdout=judged_by,
        threads=threads,
        deadline=deadline,
    )
    learning = fitted_by("crf", counter, asked or {})
    if not estimated.complete:
        learning = learning.also(complete=False)
        reporter().warn(f"stopped by {parameter('max_seconds')}: this is the model so far")
    elif not estimated.summary.converged:
        reporter().warn(
            f"the fit did not converge: a derivative of {estimated.summary.gradient:.3g} is left"
        )
    known = {variable.name: variable for variable in counter.variables}
    read = {variable.name for variable in terms.inputs}
    training = training_behind(counter)
    if training is not None and training.rows is not None:
        warn_of_deliveries(training.rows)
    return ConditionalField.of_tables(
        [known[name] for name in targets],
        [variable for variable in counter.variables if variable.name in read],
        estimated.tables,
        summary=estimated.summary,
        learning=learning,
        training=training,
        scales=terms.scales,
    )


def _targets(target: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the targets; a plain string is one name."""
    names = names_of("target", target)
    if not names:
        raise UsageError(f"{parameter('target')} must name at least one column")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{parameter('target')} lists {listing(twice)} more than once")
    return tuple(names)


def _require_fitting(
    l2: float | str,
    folds: int | None,
    holdout: Data | None,
    seed: int | None,
    reading: ReadingKeywords,
) -> None:
    """Refuse what does not go together."""
    require_whole(2, folds=folds)
    splits = folds is not None or l2 == AUTO
    if holdout is not None and folds is not None and l2 != AUTO:
        raise UsageError(f"{parameter('holdout')} and {parameter('folds')} exclude one another")
    if seed is not None and not splits:
        raise UsageError(f"{parameter('seed')} is for {parameter('folds')}")
    given = given_keywords(reading)
    if splits and "weights_fractional" in given:
        raise UsageError(
            f"folds split whole rows, so {parameter('weights_fractional')} contradicts "
            + (parameter("folds") if folds is not None else parameter("l2", AUTO))
        )


def _require_chain(graph: GraphLike | None, targets: Sequence[str]) -> None:
    """Refuse what a chain cannot have."""
    if graph is not None:
        raise UsageError(
            f"{parameter('sequence')}: rows of a sequence are a chain, so there is no graph to give"
        )
    if len(targets) > 1:
        raise UsageError(f"{parameter('sequence')}: a chain has one target, not {listing(targets)}")


def _terms(counter: Counter, targets: Sequence[str], graph: Graph | None) -> FieldTerms:
    """The features of the field; what is wrong with the targets, and what is left out, is said."""
    variables = counter.variables
    known = {variable.name: variable for variable in variables}
    for name in targets:
        if name not in known:
            raise UsageError(f"{parameter('target')}: {unknown_name('column', name, known)}")
    require_kinds(PREDICTION, (LABELS,), [known[name] for name in targets])
    for name in targets:
        levels = known[name].levels or ()
        if len(levels) < 2:
            only = f", {quote(levels[0])}" if levels else ""
            raise DataError(
                f"target {quote(name)} has only one level{only}: there is nothing to predict"
            )
    inputs = [variable for variable in variables if variable.name not in targets]
    if not inputs:
        raise UsageError(
            "all columns are targets, and a conditional random field needs an input; gml mrf fits "
            "p(y) alone"
        )
    if graph is None:
        return FieldTerms.complete(
            [known[name] for name in targets], inputs, _scales(counter, inputs)
        )
    terms = FieldTerms.of_graph(variables, targets, graph, _scales(counter, inputs))
    if not terms.inputs:
        raise GraphError(
            f"no edge of the graph joins {listing(targets)} with another column; gml mrf fits p(y) "
            "alone"
        )
    read = {variable.name for variable in terms.inputs}
    unread = [variable.name for variable in inputs if variable.name not in read]
    if unread:
        reporter().tell(f"not joined with a target, left out: {listing(unread)}")
    others = sum(edge.source not in targets and edge.target not in targets for edge in graph.edges)
    if others:
        reporter().tell(
            f"{counted(others, 'edge')} between inputs {agreeing(others, 'is', 'are')} ignored: "
            "p(y | x) says nothing about x"
        )
    return terms


def _scales(counter: Counter, inputs: Sequence[Variable]) -> dict[str, Scale]:
    """The mean and sd of each numeric input, in all rows that are fitted."""
    names = [variable.name for variable in inputs if variable.is_continuous]
    if not names:
        return {}
    _require_complete(counter, names)
    rows = counter.require_rows("a conditional random field with numeric inputs")
    return scales_of(rows, names)


def _rows(counter: Counter, terms: FieldTerms) -> FieldRows:
    _require_complete(counter, [v.name for v in (*terms.targets, *terms.inputs)])
    return FieldRows.of_counter(terms, counter)


def _require_complete(counter: Counter, names: Sequence[str]) -> None:
    """Refuse data that were read before, and have cells that are missing."""
    if counter.select(names).missing:
        raise DataError(
            "the data have missing values; read them with "
            f"{parameter('missing', 'drop')} or {parameter('missing', 'level')}"
        )


def _held_out(
    holdout: Data,
    counter: Counter,
    terms: FieldTerms,
    declared: DeclaredColumns,
    reading: ReadingKeywords,
) -> FieldRows:
    """Rows to judge the field by; their levels must be those of the rows that it is fitted on."""
    names = [variable.name for variable in (*terms.targets, *terms.inputs)]
    used = GivenGraph(Graph.from_edges(names, []), name_of(holdout, "the holdout")).columns()
    judged = open_holdout(
        holdout,
        counter.select(names),
        used=used,
        declared=declared,
        fixed=names,
        source="the data",
        reading=reading,
        takes_numbers=parameter("numeric"),
    )
    return _rows(judged, terms)
