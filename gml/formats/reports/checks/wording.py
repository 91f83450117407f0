"""What all reports for people share: the verdict, the figures of a check, a row, a name.

Names and labels may hold anything; `printable` makes text that every format can carry on one line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from gml.errors import counted, place
from gml.formats.reports.tests import log10
from gml.gate.check import BASELINED, FAIL, FAMILIES, INSUFFICIENT, WARN, Check, Figure, UnlikelyRow
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport
from gml.independence.base import tiny_p
from gml.printable_text import printable

Reported = CheckReport | CheckReports
"""What a run of checks found: on one delivery, or on several."""

_SHOWN_ITEMS = 8
_SMALL_P = -4


def verdict(report: Reported) -> str:
    """PASS, FAIL or ERROR, for a heading, as the exit code says."""
    return {0: "PASS", 1: "FAIL"}.get(report.exit_code, "ERROR")


def verdict_sentence(report: Reported) -> str:
    """How many checks fail, of which families, and what was left undecided; or the error."""
    if isinstance(report, CheckReports):
        return _run_sentence(report)
    if report.error is not None:
        return f"not checked: {printable(report.error.message)}"
    return _counted_checks(report.counts, report.ranked(FAIL), f"at alpha {report.alpha:g}")


def _run_sentence(reports: CheckReports) -> str:
    """How many deliveries fail, and by how many checks."""
    total = f"{len(reports)} {'delivery' if len(reports) == 1 else 'deliveries'}"
    failing = sum(report.exit_code == 1 for report in reports)
    rejected = sum(report.error is not None for report in reports)
    if rejected == len(reports) > 0:
        return f"none of {total} can be checked"
    said = f"{failing or 'none'} of {total} {'fail' if failing > 1 else 'fails'}"
    if rejected:
        said += f", {rejected} cannot be checked"
    alpha = f"at alpha {reports.alpha:g} per {reports.alpha_per}"
    failures = [check for report in reports for check in report.ranked(FAIL)]
    if not sum(reports.counts.values()):
        return said
    return f"{said}: {_counted_checks(reports.counts, failures, alpha)}"


def _counted_checks(counts: Mapping[str, int], failures: Sequence[Check], alpha: str) -> str:
    total = sum(counts.values())
    if failures:
        by_family = (
            f"{sum(check.family == family for check in failures)} {family}"
            for family in _families(failures)
        )
        verb = "fails" if counts[FAIL] == 1 else "fail"
        said = f"{counts[FAIL]} of {counted(total, 'check')} {verb} {alpha}: {', '.join(by_family)}"
    elif 2 * counts[INSUFFICIENT] > total:
        made = counted(total - counts[INSUFFICIENT], "check")
        said = f"none of the {made} that could be made fails {alpha}, but most could not"
    else:
        said = f"none of {counted(total, 'check')} fails {alpha}"
    asides = [counted(counts[WARN], "warning")] if counts[WARN] else []
    asides += [
        f"{counts[status]} {status}" for status in (BASELINED, INSUFFICIENT) if counts[status]
    ]
    return said + (f" ({', '.join(asides)})" if asides else "")


def _families(checks: Iterable[Check]) -> list[str]:
    found = {check.family for check in checks}
    return [family for family in FAMILIES if family in found] + sorted(found - {*FAMILIES})


def subjects(report: CheckReport) -> tuple[str, str]:
    """The data and the model, each with its number of rows, where these are known."""
    data = printable(place(report.data))
    if report.error is None:
        data += f" ({counted(report.rows, 'row')})"
    return data, _model(report.model, report.model_rows)


def run_model(reports: CheckReports) -> str:
    """The model that several deliveries were held against, with its number of rows."""
    rows = next((r.model_rows for r in reports if r.model_rows is not None), None)
    return _model(reports.model, rows)


def _model(path: str, rows: int | None) -> str:
    model = printable(place(path))
    return model if rows is None else f"{model} ({counted(rows, 'row')})"


def whose_settings(report: Reported) -> str | None:
    """Where the settings of the run come from, if not from the caller."""
    return None if report.settings is None else f"settings from {printable(place(report.settings))}"


def culprits_shown(report: CheckReport) -> list[str]:
    """What is behind the failures, a line per cause; one failure that names it needs no other."""
    failures, culprits = report.ranked(FAIL, WARN), report.culprits
    if len(failures) == 1 and all(c.columns == failures[0].variables for c in culprits):
        return []
    return [f"culprit: {printable(culprit.message)}" for culprit in culprits]


def sentence(check: Check) -> str:
    """The message of a check on one line."""
    return printable(check.message or check.id)


def p_shown(log_p: float | None) -> str:
    """A p-value of three digits, from its logarithm if it would be 0 as a float.

    Examples
    --------
    >>> p_shown(math.log(0.02)), p_shown(-2000.0), p_shown(-math.inf), p_shown(None)
    ('0.02', '2.58e-869', '0', '-')
    """
    if log_p is None or math.isnan(log_p):
        return "-"
    exponent = log10(log_p)
    if exponent is None:
        return "0"
    return f"{math.exp(log_p):.3g}" if exponent > _SMALL_P else tiny_p(exponent, 3)


def figure_shown(figure: Figure) -> str:
    """A figure of the old or the new data."""
    if figure is None:
        return "-"
    if isinstance(figure, str):
        return printable(figure)
    if isinstance(figure, Sequence):
        some = ", ".join(figure_shown(item) for item in figure[:_SHOWN_ITEMS])
        left = len(figure) - _SHOWN_ITEMS
        return f"[{some}" + (f" and {left} more]" if left > 0 else "]")
    return f"{figure:.4g}" if isinstance(figure, float) else str(figure)


def effect_shown(check: Check) -> str:
    """The effect with its unit."""
    if check.effect is None:
        return "-"
    unit = f" {printable(check.effect_unit)}" if check.effect_unit else ""
    return f"{check.effect:.3g}{unit}"


def comparisons(check: Check) -> list[str]:
    """Each figure that was compared, as `name old → new`; those of levels level by level."""
    if _is_of_levels(check):
        return _by_level(check)
    return [
        _compared(name, check.old, check.new) for name in dict.fromkeys([*check.old, *check.new])
    ]


def _compared(name: str, old: Mapping[str, Figure], new: Mapping[str, Figure]) -> str:
    if name not in old:
        return f"{printable(name)} {figure_shown(new[name])}"
    if name not in new:
        return f"{printable(name)} {figure_shown(old[name])} before"
    return f"{printable(name)} {figure_shown(old[name])} → {figure_shown(new[name])}"


def _is_of_levels(check: Check) -> bool:
    """Whether both sides have the same levels and a probability for each."""
    levels = check.old.get("levels")
    return (
        isinstance(levels, Sequence)
        and levels == check.new.get("levels")
        and all(_is_list(side.get("p"), len(levels)) for side in (check.old, check.new))
    )


def level_shown(level: str) -> str:
    """A level, in quotes where its blanks would not be seen."""
    return repr(level) if not level or any(c.isspace() for c in level) else printable(level)


def _is_list(figure: Figure, length: int) -> bool:
    return isinstance(figure, Sequence) and not isinstance(figure, str) and len(figure) == length


def _by_level(check: Check) -> list[str]:
    """Probabilities, and rows where both sides have them; the level that changed most first."""
    levels, before, after = (
        cast(Sequence[Any], figures)
        for figures in (check.old["levels"], check.old["p"], check.new["p"])
    )
    rows_before, rows_after = check.old.get("counts"), check.new.get("counts")
    with_rows = _is_list(rows_before, len(levels)) and _is_list(rows_after, len(levels))
    order = sorted(range(len(levels)), key=lambda k: -abs(after[k] - before[k]))
    items = []
    for k in order[:_SHOWN_ITEMS]:
        item = f"{level_shown(levels[k])} {figure_shown(before[k])} → {figure_shown(after[k])}"
        if with_rows:
            rows = (cast(Sequence[Any], figures)[k] for figures in (rows_before, rows_after))
            item += " (rows {} → {})".format(*map(figure_shown, rows))
        items.append(item)
    left = len(levels) - _SHOWN_ITEMS
    return [*items, f"and {counted(left, 'more level')}"] if left > 0 else items


def rows_shown(check: Check) -> str:
    """How many rows are behind the figures, as `old → new`."""
    return f"{figure_shown(check.rows_old)} → {figure_shown(check.rows_new)}"


def numbers(check: Check) -> list[str]:
    """The numbers of a check, each with its name; what does not apply is left out."""
    items = []
    if check.log_p == -math.inf:
        items.append("not by chance")
    elif check.log_p is not None:
        if check.log_p_adjusted is not None:
            items.append(f"adjusted p {p_shown(check.log_p_adjusted)}")
        items.append(f"p {p_shown(check.log_p)}")
    if check.effect is not None:
        items.append(f"effect {effect_shown(check)}")
    if check.statistic is not None:
        test = f" ({printable(check.test)})" if check.test else ""
        items.append(f"statistic {check.statistic:.6g}{test}")
    if check.df is not None:
        items.append(f"df {check.df:g}")
    rows = {"rows": check.rows_old}, {"rows": check.rows_new}
    sides = [{name: n for name, n in side.items() if n is not None} for side in rows]
    if any(sides):
        items.append(_compared("rows", *sides))
    if check.row is not None:
        items.append(f"first at {place_of_row(check)}")
    return items


def place_of_row(row: UnlikelyRow | Check) -> str:
    """The line of a row, or its number if lines are not known."""
    return f"row {row.row}" if row.line is None else f"line {row.line}"


def why_unlikely(row: UnlikelyRow) -> str:
    """The value that is least likely, given what, and how unlikely."""
    given = ", ".join(f"{name}={level}" for name, level in row.given)
    text = printable(f"{row.column}={row.value}" + (f" given {given}" if given else ""))
    return f"{text}: p {row.probability:.3g}, whole row {p_shown(row.log_probability)}"
