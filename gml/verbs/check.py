"""Check: does a model still hold on new data?"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack, overload

from gml.data.options import ReadingKeywords
from gml.errors import (
    UsageError,
    counted,
    parameter,
    place,
    require_one_of,
    require_whole,
    unknown_name,
)
from gml.gate.check import FAMILIES as FAMILIES
from gml.gate.check import SEVERITIES, WARN
from gml.gate.deliveries import ALPHA_PER, RUN
from gml.gate.deliveries import CheckReports as CheckReports
from gml.gate.families import CheckedModel
from gml.gate.result import CheckReport as CheckReport
from gml.gate.settings import CheckSettings
from gml.model.baseline import Baseline
from gml.verbs.shared.check_run import CheckRun
from gml.verbs.shared.data_input import Data, is_path, name_of, options_for
from gml.verbs.shared.deliveries import deliveries_in, tables_in
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.model_input import ModelSource
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.swapped import answers_swapped

Effects = float | Mapping[str, float]
Several = list[Any] | tuple[Any, ...]
"""Several deliveries, each of them data."""

# Whatever the model is of, the effects of these are shares; in a model of levels, of tables too.
_SHARES = (None, "schema")


class CheckKeywords(ReadingKeywords, total=False):
    """The keywords of `check`."""

    alpha: float
    alpha_per: str
    min_effect: Effects | None
    families: str | Iterable[str] | None
    severity: Mapping[str, str] | None
    warn_only: bool
    baseline: str | os.PathLike[str] | Baseline | None
    unlikely_rows: int
    seed: int
    threads: int | None


@overload
def check(data: Data, model: ModelSource, **keywords: Unpack[CheckKeywords]) -> CheckReport: ...
@overload
def check(data: Several, model: ModelSource, **keywords: Unpack[CheckKeywords]) -> CheckReports: ...
@front_door()
@plannable("check")
@answers_swapped("model")
def check(
    data: Data | Several,
    model: ModelSource,
    *,
    alpha: float = 0.01,
    alpha_per: str = RUN,
    min_effect: Effects | None = None,
    families: str | Iterable[str] | None = None,
    severity: Mapping[str, str] | None = None,
    warn_only: bool = False,
    baseline: str | os.PathLike[str] | Baseline | None = None,
    unlikely_rows: int = 5,
    seed: int = 0,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> CheckReport | CheckReports:
    """Check whether a model still holds on new data, and say which relation broke.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or an engine (a count file has no rows, so that its fit is
        not looked at). It may lack columns of the model, and have values that it does not know.
        A list or tuple has several deliveries; in it, a folder stands for its files, by name,
        unless all of them are Parquet, which is one table.
    model
        A path, a BayesNet or a MarkovNet.
    alpha
        Chance of a false alarm in the whole run.
    alpha_per
        "run", or "file": the chance of a false alarm in each of several deliveries.
    min_effect
        Fail only if the effect is at least this: one number, or numbers by family. It is the
        share of rows for the schema, and the total variation for the drift of its numbers; the
        total variation for tables; nats for the structure; nats per row for the fit. For the
        tables of a model of numbers, it is the change of a prediction in sd of the errors, that of
        ln sd of the errors, and the total variation of where these lie, so that it may exceed 1.
    families
        What to check: "schema", "tables", "structure", "fit"; all by default.
    severity
        "warn" or "fail" by family: whether a failure fails or only warns; "fail" by default.
    warn_only
        Whether failures only warn, so that the answer is yes.
    baseline
        What was accepted before: a file, or what `CheckReport.accepted` returned; by default what
        the model itself holds.
    unlikely_rows
        Show this many of the least likely rows.
    seed
        Seed of the random numbers.
    threads
        Threads; all cores by default.
    **reading
        How to read the data, as in `gml.read`; not with a Dataset or an engine. What is not given
        is as when the model was fitted: delimiter, decimal mark, missing values.

    Returns
    -------
    CheckReport or CheckReports
        The same that the command writes; `failed` is its answer. For several deliveries, its
        `reports` has one for each; that on a delivery that cannot be read has an `error`.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> gml.check("sample_data/asia.csv", net)
    CheckReport(pass: 4 insufficient, 73 pass)
    """
    require_whole(0, unlikely_rows=unlikely_rows)
    require_one_of("alpha_per", alpha_per, ALPHA_PER)
    settings = CheckSettings(
        alpha=alpha,
        min_effect=_effects(min_effect),
        families=_families(families),
        warn=FAMILIES if warn_only else _only_warning(severity or {}),
        seed=seed,
        threads=threads,
        unlikely_rows=unlikely_rows,
    )
    one = not isinstance(data, list | tuple)
    deliveries: list[Data] = [data] if one else deliveries_in(data)  # type: ignore[arg-type]
    for delivery in deliveries:
        options_for(delivery, reading, threads=threads)
    if one:
        require_one_table(data)
    run = CheckRun.of(model, settings, baseline)
    _require_reachable(settings.min_effect, run.net)
    reading = run.agreed(reading)
    found = [
        run.examined(
            delivery,
            run.reading(delivery, name_of(delivery, "data" if one else f"data[{k}]"), reading),
            raises=one,
        )
        for k, delivery in enumerate(deliveries)
    ]
    reports = run.reports(found, together=alpha_per == RUN)
    notes = run.notes(found)
    if one:
        return replace(reports[0], notes=(*reports[0].notes, *notes))
    return CheckReports(tuple(reports), alpha, run.model, alpha_per, notes)


# ---------------------------------------------------------------------- what was asked for


def problem_with_effect(effect: float, family: str | None = None) -> str | None:
    """Say what is wrong with an effect that is asked for, in one family or in all of them.

    That of tables depends on the model.
    """
    if not 0 <= effect < math.inf:
        return f"the effect must be 0 or more, not {effect:g}"
    return _too_large(effect) if effect > 1 and family in _SHARES else None


def _too_large(effect: float) -> str:
    return f"{effect:g} is too large: total variation and shares of rows are at most 1"


def _require_reachable(effects: Mapping[str, float], net: CheckedModel) -> None:
    """Refuse an effect that no table of a model of levels can have."""
    effect = effects.get("tables", 0.0)
    if effect > 1 and not any(variable.is_continuous for variable in net.variables):
        _refuse("min_effect", f"tables: {_too_large(effect)}")


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
    given: object = severity
    if not isinstance(given, Mapping):
        _refuse("severity", f"say it by family, as {{'fit': 'warn'}}, not {given!r}")
    for family, found in severity.items():
        _refuse("severity", problem_with_family(family))
        if found not in SEVERITIES:
            _refuse("severity", f"{family} must be 'warn' or 'fail', not {found!r}")
    return [family for family, found in severity.items() if found == WARN]


# ---------------------------------------------------------------------- data


def require_one_table(data: Data | Several) -> None:
    """Refuse a folder of several tables, whose answer would be of another type."""
    if not is_path(data) or (files := tables_in(data)) == [os.fspath(data)]:
        return
    held = counted(len(files), "table")
    raise UsageError(f"{place(data)}: a folder of {held}; give it in a list, to check each")
