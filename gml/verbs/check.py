"""Check: does a model still hold on new data?"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.options import ReadingKeywords, given_keywords
from gml.errors import (
    CannotAnswer,
    MissingTable,
    UsageError,
    parameter,
    place,
    require_whole,
    unknown_name,
    unmarked,
)
from gml.formats.baseline import read_baseline
from gml.formats.models import read_model
from gml.gate.baseline import Baseline
from gml.gate.checked_data import CheckedData, CheckedReading
from gml.gate.result import FAIL, SEVERITIES, WARN, WITHOUT_BASELINE
from gml.gate.result import FAMILIES as FAMILIES
from gml.gate.result import CheckReport as CheckReport
from gml.gate.run import CheckSettings, check_model
from gml.ledger import Ledger, RunPath, note_digest
from gml.model.bayesnet import BayesNet
from gml.progress import reporter
from gml.verbs.shared.data_input import Data, name_of, options_for, require_whole_rows
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.keywords import answers_misspelling
from gml.verbs.shared.model_input import require_model

Effects = float | Mapping[str, float]

# Families whose effects are nats; those of the others are shares.
_IN_NATS = ("structure", "fit")


@answers_misspelling()
def check(
    data: Data,
    model: str | os.PathLike[str] | BayesNet,
    *,
    alpha: float = 0.01,
    min_effect: Effects | None = None,
    families: str | Iterable[str] | None = None,
    severity: Mapping[str, str] | None = None,
    warn_only: bool = False,
    baseline: str | os.PathLike[str] | Baseline | None = None,
    unlikely_rows: int = 5,
    seed: int = 0,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> CheckReport:
    """Check whether a model still holds on new data, and say which relation broke.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or an engine (a count file has no rows, so that its fit is
        not looked at). It may lack columns of the model, and have values that it does not know.
    model
        A path or a BayesNet.
    alpha
        Chance of a false alarm in the whole run.
    min_effect
        Fail only if the effect is at least this: one number, or numbers by family. It is the
        total variation for a row of a table, nats for a relation, nats per row for the fit, and
        the share of rows for the schema.
    families
        What to check: "schema", "tables", "structure", "fit"; all by default.
    severity
        "warn" or "fail" by family: whether a failure fails or only warns; "fail" by default.
    warn_only
        Whether failures only warn, so that the answer is yes.
    baseline
        What was accepted before: a file, or what `CheckReport.accepted` returned.
    unlikely_rows
        Show this many of the least likely rows.
    seed
        Seed of the random numbers.
    threads
        Threads; all cores by default.
    **reading
        How to read the data, as in `gml.read`; not with a Dataset or an engine. `missing` and `na`
        are as when the model was fitted, unless given.

    Returns
    -------
    CheckReport
        The same that the command writes; `failed` is its answer.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> gml.check("sample_data/asia.csv", net)
    CheckReport(pass: 4 insufficient, 72 pass)
    """
    require_whole(0, unlikely_rows=unlikely_rows)
    settings = CheckSettings(
        alpha=alpha,
        min_effect=_effects(min_effect),
        families=_families(families),
        warn=FAMILIES if warn_only else _only_warning(severity or {}),
        seed=seed,
        threads=threads,
        unlikely_rows=unlikely_rows,
    )
    options = options_for(data, reading)
    if isinstance(baseline, Baseline | None):
        known = baseline or Baseline()
    else:
        known = read_baseline(baseline)
    net, digest = _read_model(model)
    declared = DeclaredColumns.of(net.graph, place(name_of(model, "the model")))
    declared.require_agreement(options, given_keywords(reading), adds_levels=True)
    notes = _notes_on_model(known, digest)
    reader = CheckedReading(
        net,
        place(name_of(model, "model")),
        name_of(data, "data"),
        options,
        frozenset(reading),
        threads,
    )
    checked = _found(data, reader)
    require_whole_rows(checked.counter.unit)
    report = _run(checked, net, settings, known, reader.model)
    if baseline is None and any(c.kind == "independence" for c in report.ranked(FAIL, WARN)):
        notes = (*notes, WITHOUT_BASELINE)
    return replace(report, notes=(*report.notes, *notes))


# ---------------------------------------------------------------------- what was asked for


def problem_with_effect(effect: float, family: str | None = None) -> str | None:
    """Say what is wrong with an effect that is asked for, in one family or in all of them."""
    if not 0 <= effect < math.inf:
        return f"the effect must be 0 or more, not {effect:g}"
    if effect > 1 and family not in _IN_NATS:
        return f"{effect:g} is too large: total variation and shares of rows are at most 1"
    return None


def problem_with_family(name: str) -> str | None:
    """Say that a family is unknown, if it is."""
    return None if name in FAMILIES else unknown_name("family", name, FAMILIES)


def _refuse(name: str, problem: str | None) -> None:
    if problem is not None:
        raise UsageError(f"{parameter(name)}: {problem}")


def _effects(asked: Effects | None) -> dict[str, float]:
    """By family; a number alone is for all of them."""
    if asked is None:
        return {}
    if not isinstance(asked, Mapping):
        _refuse("min_effect", problem_with_effect(asked))
        return dict.fromkeys(FAMILIES, asked)
    for family, effect in asked.items():
        _refuse("min_effect", problem_with_family(family))
        _refuse("min_effect", problem_with_effect(effect, family))
    return dict(asked)


def _families(asked: str | Iterable[str] | None) -> Collection[str]:
    names = (asked,) if isinstance(asked, str) else tuple(asked or FAMILIES)
    for name in names:
        _refuse("families", problem_with_family(name))
    return names


def _only_warning(severity: Mapping[str, str]) -> list[str]:
    for family, found in severity.items():
        _refuse("severity", problem_with_family(family))
        if found not in SEVERITIES:
            _refuse("severity", f"{family} must be 'warn' or 'fail', not {found!r}")
    return [family for family, found in severity.items() if found == WARN]


# ---------------------------------------------------------------------- the model


def _read_model(
    model: str | os.PathLike[str] | BayesNet,
) -> tuple[BayesNet, str | None]:
    """Return the model, and the hash of its file, which tells whether a baseline is for it."""
    require_model(model)
    if isinstance(model, BayesNet):
        return model, None
    # Its hash costs nothing; that of the data is asked for only where an output holds it.
    own = Ledger(wants_digests=True)
    path = RunPath(os.fspath(model), own)
    net = read_model(path)
    digest = own.digests.get(path)
    note_digest(model, digest)
    return net, digest


def _notes_on_model(known: Baseline, digest: str | None) -> tuple[str, ...]:
    """Warn if the baseline was written for another model."""
    if known.model in (None, f"sha256:{digest}") or digest is None:
        return ()
    other = (
        "the baseline was written for another model; accept this one with "
        f"{parameter('write_baseline')}"
    )
    reporter().warn(other)
    return (unmarked(other),)


# ---------------------------------------------------------------------- the run


def _found(data: Data, reader: CheckedReading) -> CheckedData:
    if isinstance(data, Dataset):
        return reader.of_dataset(data)
    return reader.of_counter(data) if isinstance(data, Counter) else reader.of_source(data)


def _run(
    checked: CheckedData, net: BayesNet, settings: CheckSettings, known: Baseline, model: str
) -> CheckReport:
    try:
        report = check_model(
            net, checked.counter, settings, baseline=known, context=checked.context
        )
    except MissingTable as error:
        way_out = _way_to_tables(error.names, net, settings, model)
        raise CannotAnswer(f"{error.lacking}; a check needs more tables: {way_out}") from None
    return replace(_located(report, checked), fitted_on=checked.fitted_on)


def _way_to_tables(
    lacking: frozenset[str], net: BayesNet, settings: CheckSettings, model: str
) -> str:
    """Say how to count what a check needs, and what can be checked without it."""
    families = ({cpd.variable, *cpd.parents} for cpd in net.cpds)
    of_family = any(lacking == {variable.name for variable in members} for members in families)
    without = {"schema"} if of_family else {"schema", "tables"}
    rest = [name for name in settings.families if name in without]
    wanted = parameter("implied" if "structure" in settings.families else "graph")
    less = ""
    if 0 < len(rest) < len(settings.families):
        less = f", or {parameter('families')} {','.join(rest)}"
    return f"gml count DATA {wanted} {model}{less}"


def _located(report: CheckReport, checked: CheckedData) -> CheckReport:
    """Give rows the numbers and lines that they have in the file."""
    shown = [check for check in report.checks if check.row is not None]
    wanted = {row.row for row in report.unlikely} | {check.row for check in shown if check.row}
    places = checked.places(wanted)

    def found(row: int) -> dict[str, Any]:
        number, line = places[row]
        return {"row": number, "line": line}

    return replace(
        report,
        unlikely=tuple(replace(row, **found(row.row)) for row in report.unlikely),
        checks=tuple(
            check if check.row is None else replace(check, **found(check.row))
            for check in report.checks
        ),
    )
