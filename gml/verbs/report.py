"""Report: one page with all that is known of a model on data, `gml report`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from gml.counts.counter import rows_counted
from gml.data.options import ReadingKeywords
from gml.errors import CannotAnswer, UsageError, parameter, place, require_whole, with_flags
from gml.gate.checked_data import CheckedData
from gml.gate.result import CheckReport
from gml.gate.settings import CheckSettings
from gml.ledger import Ledger, RunPath, note_digest
from gml.model.baseline import Baseline
from gml.pictures.page.content import InputFile, ReportContent
from gml.pictures.page.page import ReportPage as ReportPage
from gml.pictures.page.page import report_page
from gml.progress import reporter
from gml.verbs.check import require_one_table
from gml.verbs.shared.check_run import CheckRun
from gml.verbs.shared.data_input import Data, is_path, name_of, options_for
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GraphLike
from gml.verbs.shared.model_input import ModelSource
from gml.verbs.shared.reported.columns import (
    columns_of,
    engine_of,
    information_of,
    rows_left_out,
)
from gml.verbs.shared.reported.explained import explained_pairs
from gml.verbs.shared.reported.scores import scores_of
from gml.verbs.shared.reported.strengths import strengths_of
from gml.verbs.shared.swapped import answers_swapped


@front_door()
@answers_swapped("model")
def report(
    data: Data,
    model: ModelSource,
    *,
    test_log: str | os.PathLike[str] | None = None,
    strengths: GraphLike | None = None,
    baseline: str | os.PathLike[str] | Baseline | None = None,
    check: bool = True,
    alpha: float = 0.01,
    folds: int = 10,
    title: str | None = None,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> ReportPage:
    """Return one HTML page with all that is known of a model on data.

    It has the graph, which can be explored in a browser (evidence, interventions, posteriors by
    exact inference), the columns of the data, mutual information, the tests behind each edge,
    scores, strengths of edges, a check of the model, and where all that comes from. It is one file
    that loads nothing.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or an engine, as for `gml.check`.
    model
        A path, a BayesNet or a MarkovNet, of labels, of numbers or of both. The page of an
        undirected model has its fit, its couplings and its factors instead of interventions, which
        need arrows.
    test_log
        The file that `gml.pc(..., test_log=FILE)` wrote: why there is an edge, or none.
    strengths
        A graph that `gml.average` learned, or its path: how certain each edge is.
    baseline
        What was accepted before, as for `gml.check`.
    check
        Whether to check the model, which takes long for one of many nodes.
    alpha
        Chance of a false alarm in the check.
    folds
        Folds of the cross-validation that finds the held-out loss.
    title
        The title of the page; by default the names of the files.
    threads
        Threads; all cores by default.
    **reading
        How to read the data, as in `gml.read`; what is not given is as when the model was fitted:
        delimiter, decimal mark, missing values.

    Returns
    -------
    ReportPage
        Its `html` is the page, `to_file` writes it, and a notebook shows it.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> page = gml.report("sample_data/asia.csv", net)
    >>> page.title, page.html[:15]
    ('asia.csv and model', '<!DOCTYPE html>')
    """
    if baseline is not None and not check:
        raise UsageError(f"{parameter('baseline')} is for the check, which is left out")
    require_whole(2, folds=folds)
    inputs = _Inputs()
    table = inputs.path("data", data)
    options_for(table, reading, threads=threads)
    require_one_table(table)
    run = CheckRun.of(
        inputs.path("model", model),
        CheckSettings(alpha=alpha, threads=threads),
        inputs.path("baseline", baseline),
    )
    reading = run.agreed(reading)
    net = run.net
    # Files that are wrong are said to be before the data are read.
    tests = None
    if test_log is not None:
        tests = explained_pairs(inputs.path("test_log", test_log), net.graph)
    averaged = None
    if strengths is not None:
        averaged = strengths_of(inputs.path("strengths", strengths), net.names)
    with reporter().phase("checking"):
        rows = run.read(table, run.reading(table, name_of(data, "data"), reading))
        checked, unchecked = None, f"{parameter('no_check')} leaves it out"
        if check:
            checked, unchecked = _checked(run, name_of(data, "data"), rows)
    counter = engine_of(net, rows, threads)
    with reporter().phase("describing columns"):
        columns = columns_of(net, counter, rows.context)
    with reporter().phase("scoring"):
        scores = scores_of(net, counter, columns, folds, threads)
    with reporter().phase("mutual information"):
        information = information_of(net, counter)
    with reporter().phase("making the page"):
        content = ReportContent(
            title=title or f"{_short(data, 'data')} and {_short(model, 'model')}",
            net=net,
            data=_short(data, "data"),
            model=_short(model, "model"),
            rows=int(rows_counted(counter)),
            rows_left_out=rows_left_out(rows.counter, columns),
            columns=columns,
            check=checked,
            unchecked=with_flags(unchecked),
            fitted_on=rows.fitted_on,
            scores=scores,
            information=information,
            tests=tests,
            strengths=averaged,
            inputs=inputs.files(),
        )
        return report_page(content)


def _checked(run: CheckRun, name: str, rows: CheckedData) -> tuple[CheckReport | None, str]:
    """Return what a check finds, or why there is none."""
    try:
        delivery = run.asked(name, rows)
        found = run.reports([delivery], together=True)[0]
    except CannotAnswer as error:
        return None, f"{error}"
    return replace(found, notes=(*found.notes, *run.notes([delivery]))), ""


class _Inputs:
    """What a report is made from: files are hashed as they are read, whoever calls."""

    def __init__(self) -> None:
        self._ledger = Ledger(wants_digests=True)
        self._given: list[tuple[str, Any]] = []

    def path(self, role: str, given: Any) -> Any:
        """Take an input, and return what to read in its place."""
        if given is None:
            return None
        self._given.append((role, given))
        return RunPath(os.fspath(given), self._ledger) if is_path(given) else given

    def files(self) -> tuple[InputFile, ...]:
        """Return all inputs by their roles, and tell the run of each its hash."""
        found = []
        for role, given in self._given:
            if not is_path(given):
                found.append(InputFile(role, f"a {type(given).__name__}", None))
                continue
            digest = self._ledger.digests.get(os.fspath(given))
            note_digest(given, digest)
            found.append(InputFile(role, place(given), digest))
        return tuple(found)


def _short(given: object, otherwise: str) -> str:
    """The last part of a path: what a reader needs to tell files apart."""
    if not is_path(given):
        return otherwise
    name = os.fspath(given)
    return place(name) if name == "-" else Path(name).name or name
