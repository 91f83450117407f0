"""Continuous optimisation of a linear DAG on a table: gml.notears, `gml notears`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gml.errors import parameter
from gml.graph.provenance import Provenance
from gml.learners import notears as learner
from gml.learners.notears import NotearsResult, NotearsSettings
from gml.progress import Deadline, reporter
from gml.verbs.shared.data_input import Data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.number_input import open_numbers
from gml.verbs.shared.recording import described, recorded, records_keywords


@front_door()
@records_keywords
def notears(
    data: Data,
    *,
    l1: float = learner.DEFAULT_L1,
    threshold: float = learner.DEFAULT_THRESHOLD,
    raw: bool = False,
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **reading: Any,
) -> NotearsResult:
    """Learn a linear DAG of numeric columns by continuous optimisation (NOTEARS, as DAGMA).

    Least squares follows variances: on raw columns arrows are an artefact of units, on standardised
    ones they say little. For graphs that mean something, `gml.ges` with `score="bic-g"` is better.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter, whose columns all hold numbers.
    l1
        The penalty on weights.
    threshold
        Weights below are left out; raised if the graph has a cycle otherwise.
    raw
        Leave the columns as they are; by default they are standardised.
    max_seconds
        Stop after this time with the weights so far; the result says so.
    threads
        Threads that read the data; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **reading
        How to read the data; see `gml.read`.

    Returns
    -------
    NotearsResult
        With the `graph`, whose edges carry `weight`, all `weights` before the threshold, the
        `threshold` in force and the `varsortability` of the raw columns.

    Examples
    --------
    >>> import gml, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gml.GmlWarning)
    ...     result = gml.notears("sample_data/crops.csv")
    >>> result.graph.kind, result.graph.n_edges
    ('dag', 7)
    """
    settings = NotearsSettings(l1, threshold, raw)
    deadline = Deadline(max_seconds)
    counter = open_numbers(data, "notears", threads=threads, **reading)
    result = learner.notears(counter, settings, deadline=deadline)
    _warn(result, settings)
    learning = Provenance.of(
        "notears",
        options=recorded(asked, counter),
        settings={"l1": l1, "threshold": threshold, "scale": _scale(settings)},
        rows=counter.n,
        threshold=result.threshold,
        varsortability=result.varsortability,
        acyclicity=result.acyclicity if math.isfinite(result.acyclicity) else None,
        steps=result.steps,
        data=counter.digest,
    )
    if not result.complete:
        learning = learning.also(complete=False)
    return described(result, counter, learning)


def _scale(settings: NotearsSettings) -> str:
    return "raw" if settings.raw else "standardised"


# Above ½, which is what chance gives, by far.
_HIGH = 0.8


def _warn(result: NotearsResult, settings: NotearsSettings) -> None:
    """Say what a reader of the graph must know."""
    if result.varsortability is not None:
        share = f"varsortability {result.varsortability:.3f}"
        rise = f"{share}: raw variances rise along that share of the paths of this graph"
        standardised = f"columns were standardised ({parameter('raw')} leaves them)"
        if result.varsortability < _HIGH:
            reporter().tell(rise if settings.raw else f"{rise}; {standardised}")
        elif settings.raw:
            reporter().warn(f"{rise}; arrows that follow scale are an artefact of units")
        else:
            reporter().warn(f"{rise}, though {standardised}: without their scale arrows say little")
    if result.threshold > settings.threshold:
        reporter().warn(
            f"weights from {settings.threshold:g} on have a cycle: only those above "
            f"{result.threshold:.6g} were kept"
        )
    if not result.complete:
        reporter().warn(f"stopped by {parameter('max_seconds')}: these are the weights so far")
