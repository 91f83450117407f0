"""The report of `gml plan`: what a run would take, for people and as rows of quantities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gml.errors import unmarked, with_flags
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text, encode
from gml.formats.reports.rows import as_csv, as_markdown
from gml.planning.growth import Range
from gml.planning.plan import Plan
from gml.resources import format_size

_SIZES = {
    "tests": "given",
    "families": "parents",
    "bounds": "parents",
    "tables": "columns",
    "moments": "columns",
}


def as_object(plan: Plan) -> dict[str, Any]:
    """Return the JSON object of a plan; what is not known is null."""
    found: dict[str, Any] = {
        "command": plan.command,
        "table": {
            "rows": plan.rows,
            "rows_exact": plan.rows_exact,
            "columns": plan.columns,
            "bytes": plan.stored_bytes,
            "levels": dict(plan.levels),
            "rows_looked_at": plan.looked_at,
        },
        "engine": plan.engine,
        "threads": plan.threads,
        "replicates": plan.replicates,
        "work": [
            {"kind": work.kind, "size": work.size, **_range(work.number)} for work in plan.work
        ],
        "passes": None if plan.passes is None else _range(plan.passes),
        "memory": None if plan.memory is None else vars(plan.memory),
        "seconds": None,
        "pilots": list(plan.pilots),
        "refused": [
            {"exit_code": one.exit_code, "reason": with_flags(one.reason)} for one in plan.refused
        ],
        "notes": list(map(with_flags, plan.notes)),
    }
    if plan.seconds is not None:
        found["seconds"] = {
            "reading": plan.seconds.reading,
            "counting": _range(plan.seconds.counting),
            "other": _range(plan.seconds.other),
            "elapsed": _range(plan.seconds.elapsed),
        }
    return found


def _range(number: Range) -> dict[str, float | None]:
    """A range; what has no bound is null."""
    return {name: value if math.isfinite(value) else None for name, value in _named(number)}


def _named(number: Range) -> list[tuple[str, float]]:
    return list(zip(("low", "likely", "high"), map(_plain, number), strict=True))


def _plain(number: float) -> float:
    return int(number) if math.isfinite(number) and number == int(number) else number


def rows_of_plan(plan: Plan) -> list[dict[str, Any]]:
    """One row per quantity, with a lower bound, the likely number and an upper bound."""
    rows = [
        _row("rows", "", None if not plan.rows_exact else plan.rows, plan.rows, "rows"),
        _row("columns", "", plan.columns, plan.columns, "columns"),
    ]
    for work in plan.work:
        rows.append(_quantity(work.kind, str(work.size), work.number, "questions"))
    if plan.passes is not None:
        rows.append(_quantity("passes", "", plan.passes, "passes"))
    if plan.memory is not None:
        for name, value in vars(plan.memory).items():
            rows.append(_row("memory", name, None, value, "bytes"))
    if plan.seconds is not None:
        rows.append(_row("seconds", "reading", None, plan.seconds.reading, "s"))
        for name in ("counting", "other", "elapsed"):
            rows.append(_quantity("seconds", name, getattr(plan.seconds, name), "s"))
    for refusal in plan.refused:
        reason = with_flags(refusal.reason)
        rows.append(_row("refused", reason, None, refusal.exit_code, "exit code"))
    return rows


def _quantity(name: str, of: str, number: Range, unit: str) -> dict[str, Any]:
    low, likely, high = (value for _, value in _named(number))
    high_or_none = high if math.isfinite(high) else None
    return {"quantity": name, "of": of, "low": low, "likely": likely, "high": high_or_none,
            "unit": unit}  # fmt: skip


def _row(name: str, of: str, bound: Any, value: Any, unit: str) -> dict[str, Any]:
    return {"quantity": name, "of": of, "low": bound, "likely": value, "high": bound, "unit": unit}


# ---------------------------------------------------------------------- for people


def as_text(plan: Plan) -> str:
    """A few lines, each of which begins with what it is about."""
    lines = _lines(plan, with_flags)
    width = max(len(name) for name, _ in lines) + 2
    return "".join(f"{name:<{width}}{text}\n" for name, text in lines)


def lines_of_plan(plan: Plan) -> list[dict[str, str]]:
    """The same as rows, with parameters as Python has them."""
    return [{"what": name, "plan": text} for name, text in _lines(plan, unmarked)]


def _lines(plan: Plan, write: Callable[[str], str]) -> list[tuple[str, str]]:
    lines = [("command", f"gml {plan.command}"), ("table", _table(plan))]
    if plan.levels:
        lines.append(("levels", _levels(plan)))
    if plan.memory is not None:
        lines.append(("memory", _memory(plan)))
    lines += _work(plan)
    if plan.passes is not None:
        lines.append(("passes", f"{_shown(plan.passes)} over the rows, if they are not in memory"))
    if plan.seconds is not None:
        lines += _seconds(plan)
    if plan.pilots:
        sizes = ", ".join(f"{rows:,}" for rows in plan.pilots)
        lines.append(("from", f"pilots on {sizes} rows"))
    lines += [("note", write(note)) for note in plan.notes]
    for refusal in plan.refused:
        lines.append(("refused", f"exit code {refusal.exit_code}: {write(refusal.reason)}"))
    if not plan.refused:
        lines.append(("refused", "nothing"))
    return lines


def _table(plan: Plan) -> str:
    rows = f"{plan.rows:,}" if plan.rows_exact else f"about {plan.rows:,}"
    columns = f" × {plan.columns:,} columns" if plan.levels else ""
    return f"{rows} rows{columns}, {format_size(plan.stored_bytes)}"


def _levels(plan: Plan) -> str:
    counts = [count for count in plan.levels.values() if count]
    numbers = len(plan.levels) - len(counts)
    parts = []
    if counts:
        least, most = min(counts), max(counts)
        widest = next(name for name, count in plan.levels.items() if count == most)
        each = f"{least}" if least == most else f"{least} to {most} ({widest})"
        parts.append(f"{each} per column, {sum(counts):,} in all")
    if numbers:
        parts.append(f"{numbers:,} of numbers")
    seen = "" if plan.looked_at >= plan.rows else f"; in {plan.looked_at:,} rows looked at"
    return "; ".join(parts) + seen


def _memory(plan: Plan) -> str:
    memory = plan.memory
    assert memory is not None
    parts = [f"codes {format_size(memory.codes)}"]
    if memory.masks:
        parts.append(f"bit masks {format_size(memory.masks)}")
    if memory.table:
        parts.append(f"largest table {format_size(memory.table)}")
    peak = f"peak about {format_size(memory.peak)} of {format_size(memory.budget)}"
    return f"{', '.join(parts)}; {peak}; engine: {plan.engine}"


def _work(plan: Plan) -> list[tuple[str, str]]:
    """One line per kind, with the numbers by size."""
    found: dict[str, list[str]] = {}
    for work in plan.work:
        of = _SIZES.get(work.kind)
        label = f"{work.size} {of}: " if of else ""
        found.setdefault(work.kind, []).append(label + _shown(work.number))
    per = f" in each of {plan.replicates:,} replicates" if plan.replicates else ""
    return [(kind, "; ".join(texts) + per) for kind, texts in found.items()]


def _seconds(plan: Plan) -> list[tuple[str, str]]:
    seconds = plan.seconds
    assert seconds is not None
    work = seconds.counting + seconds.other
    threads = "1 thread" if plan.threads == 1 else f"{plan.threads} threads"
    return [
        ("reading", f"about {_time(seconds.reading)}"),
        ("then", f"{_shown(work, _time)} of CPU time"),
        ("in all", f"{_shown(seconds.elapsed, _time)} with {threads}"),
    ]


def _time(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 120:
        return f"{seconds / 60:.3g} min"
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def _number(number: float) -> str:
    return f"{number:,.0f}"


def _shown(number: Range, show: Callable[[float], str] = _number) -> str:
    """A number and its range.

    Examples
    --------
    >>> _shown((3, 4, 4000)), _shown((3, 4, math.inf)), _shown((4, 4, 4))
    ('4 (3 to 4,000)', '4 (3 or more, upper bound unknown)', '4')
    """
    low, likely, high = number
    if low == high:
        return show(likely)
    upper = f"to {show(high)}" if math.isfinite(high) else "or more, upper bound unknown"
    return f"{show(likely)} ({show(low)} {upper})"


def _as_json(plan: Plan, *, inputs: Hashes = NO_INPUTS) -> str:
    return document_text({"schema": SCHEMA, **as_object(plan)}, inputs)


FORMATS: dict[str, Callable[..., str]] = {
    "text": as_text,
    "json": _as_json,
    "jsonl": lambda plan: "".join(encode(row) + "\n" for row in rows_of_plan(plan)),
    "csv": lambda plan, *, safe_csv=False: as_csv(rows_of_plan(plan), safe_csv=safe_csv),
    "markdown": lambda plan: as_markdown(rows_of_plan(plan)),
}
"""From a plan to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
