"""What `gml maxent` says about a model of labels, for people: entropy, constraints, multipliers.

It is read from the "maxent" of the model's `learning`, which may come from a file that somebody
changed: what is not as gml writes it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gml.formats.reports.terms import INDENT, cell_in_words, number
from gml.model.markovnet import MarkovNet
from gml.printable_text import visible
from gml.text_table import aligned

_MOST_CELLS = 12
_MOST_ROWS = 60
_LEAST_RESIDUAL = 1e-12


def maxent_in_words(net: MarkovNet) -> list[list[str]]:
    """Return figures, then paragraphs about the constraints; nothing if there were none."""
    found = net.learning.get("maxent")
    if not isinstance(found, dict):
        return []
    facts = [
        [name, figure]
        for name, figure in (
            ("entropy", _figure(found.get("entropy"), digits=10)),
            ("divergence from the reference", _figure(found.get("divergence"), digits=10)),
            ("largest residual", _residual(found.get("residual"))),
            ("method", _method(found)),
        )
        if figure
    ]
    zeros = [cell for cell in _list(found.get("zeros")) if _is_cell(cell)]
    paragraphs = [aligned(facts, indent=INDENT)]
    if zeros:
        n_zeros = found.get("n_zeros")
        more = n_zeros - len(zeros) if isinstance(n_zeros, int) else 0
        shown = [f"{INDENT}{cell_in_words(cell)}" for cell in zeros]
        shown += [f"{INDENT}and {more:,} more"] if more > 0 else []
        paragraphs.append(["impossible under the constraints", *shown])
    rows: list[list[str]] = []
    for k, one in enumerate(_list(found.get("constraints"))):
        if isinstance(one, dict):
            rows += _rows(one, k, net)
    more = len(rows) - _MOST_ROWS
    if rows:
        header = ["constraint", "", "multiplier", "slack"]
        lines = aligned([header, *rows[:_MOST_ROWS]], right={2, 3}, indent=INDENT)
        lines += [f"{INDENT}and {more:,} more"] if more > 0 else []
        paragraphs.append(["constraints", *lines])
    return paragraphs


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, dict) and all(isinstance(level, str) for level in cell.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _figure(value: Any, *, digits: int = 6) -> str:
    if not _is_number(value):
        return ""
    return f"{value:.{digits}g}" if digits != 6 else number(float(value))


def _residual(value: Any) -> str:
    if not _is_number(value):
        return ""
    return f"{value:.3g}" if value >= _LEAST_RESIDUAL else f"below {_LEAST_RESIDUAL:g}"


def _method(found: Mapping[str, Any]) -> str:
    algorithm, steps = found.get("algorithm"), found.get("iterations")
    if not isinstance(algorithm, str):
        return ""
    return algorithm + (f", {steps} steps" if isinstance(steps, int) and steps else "")


def _rows(one: Mapping[str, Any], k: int, net: MarkovNet) -> list[list[str]]:
    """The lines of a constraint: those of a margin have one per cell, cut after a few."""
    called = one.get("name") or one.get("place") or f"constraint {k + 1}"
    title = visible(str(called))
    names = one.get("margin")
    if isinstance(names, list):
        return _margin_rows(title, names, _list(one.get("multipliers")), net)
    about = _about(one)
    relation, value = str(one.get("relation", "")), _figure(one.get("value"))
    slack: Any = one.get("slack")
    shown = "" if not _is_number(slack) else "0" if abs(slack) < 1e-9 else _figure(slack)
    # Null, unlike nothing at all, says that there is none.
    unpriced = "multiplier" in one and one["multiplier"] is None
    known = one.get("multiplier_known", True) is not False
    none = "infinite" if known else "not known"
    price = none if unpriced else _multiplier(one.get("multiplier"))
    return [[title, f"{about} {relation} {value}", price, shown]]


def _about(one: Mapping[str, Any]) -> str:
    expected = one.get("expectation")
    if isinstance(expected, list):
        return f"E[{', '.join(visible(str(name)) for name in expected)}]"
    event, given = one.get("probability"), one.get("given")
    if not _is_cell(event):
        return ""
    shown = cell_in_words(event or {})
    return f"P({shown} | {cell_in_words(given)})" if given and _is_cell(given) else f"P({shown})"


def _margin_rows(
    title: str, names: list[Any], multipliers: list[Any], net: MarkovNet
) -> list[list[str]]:
    known = {variable.name: variable for variable in net.variables}
    if not all(isinstance(name, str) and name in known for name in names):
        return []
    levels = [known[name].levels or () for name in names]
    rows = []
    for at, value in enumerate(multipliers[:_MOST_CELLS]):
        labels, rest = [], at
        for own in reversed(levels):
            rest, code = divmod(rest, len(own))
            labels.append(own[code])
        cell = dict(zip(names, reversed(labels), strict=True))
        said = "impossible" if value is None else _multiplier(value)
        rows.append([title if at == 0 else "", f"P({cell_in_words(cell)})", said])
    more = len(multipliers) - _MOST_CELLS
    return [*rows, *([["", f"and {more:,} more cells", ""]] if more > 0 else [])]


def _multiplier(value: Any) -> str:
    if not _is_number(value):
        return ""
    # What rounding leaves of 0 says nothing.
    return "0" if abs(value) < 1e-12 else _figure(value)
