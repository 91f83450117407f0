"""The report of `gml profile`: one row per column, or a schema as JSON."""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Callable, Mapping
from typing import Any

from gml.data.dialect import NAMES
from gml.data.missing_patterns import McarTest, MissingPatterns
from gml.data.profile import ColumnProfile, Profile
from gml.data.schema import NUMERIC
from gml.errors import Note, counted, listing, parameter, quote, with_flags
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text
from gml.formats.reports.rows import as_csv, as_jsonl, as_markdown, as_text

# The tokens that mean missing are always there, below.
_READING = tuple(name for name in NAMES if name != "na")
_SHOWN = 8
_SHOWN_PATTERNS = 20
_SHOWN_QUANTILES = ("0.25", "0.5", "0.75")

# At this level Little's test says no.
_MCAR_LEVEL = 0.05


def as_document(profile: Profile) -> dict[str, Any]:
    """Return the JSON object of a schema; columns that no name stands for are a list beside it."""
    times = Multiset(column.name for column in profile.columns)
    named = [column for column in profile.columns if column.name and times[column.name] == 1]
    others = [
        {"position": k, "name": column.name, **_as_object(column)}
        for k, column in enumerate(profile.columns, 1)
        if not column.name or times[column.name] > 1
    ]
    return {
        "schema": SCHEMA,
        "rows": profile.rows,
        **{name: profile.dialect[name] for name in _READING if name in profile.dialect},
        "columns": {column.name: _as_object(column) for column in named},
        **({"others": others} if others else {}),
        "na": list(profile.na),
        **({} if profile.patterns is None else {"missing_patterns": profile.patterns.written()}),
    }


def _as_object(column: ColumnProfile) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if column.type is not None:
        found["type"] = column.type
    if column.guess is not None:
        found["guess"] = column.guess
    if column.why is not None:
        found |= {"levels": None, "why": column.why, "option": column.option}
    elif column.levels is not None:
        found |= {"levels": list(column.levels), "order": column.order}
    elif column.cuts is not None:
        found["cuts"] = [_shortest(cut) for cut in column.cuts]
    elif column.type != NUMERIC:
        found["levels"] = []
    if column.counts:
        found["counts"] = list(column.counts)
    found["distinct"] = column.distinct
    if column.missing is not None:
        found |= {"missing": column.missing, "rate": column.rate}
    if column.numbers is not None:
        found["numbers"] = _with_shortest(column.numbers)
    if column.information is not None:
        found["information"] = dict(column.information)
    return found


def _with_shortest(numbers: Mapping[str, Any]) -> dict[str, Any]:
    ends = {key: _shortest(numbers[key]) for key in ("min", "max")}
    quantiles = {q: _shortest(value) for q, value in numbers["quantiles"].items()}
    return {**numbers, **ends, "quantiles": quantiles}


def _shortest(cut: float) -> int | float:
    """Return a whole number as an int, except −0, whose sign is in the name of its interval."""
    whole = cut.is_integer() and abs(cut) < 2**53 and str(cut) != "-0.0"
    return int(cut) if whole else cut


def _rows(profile: Profile, most: int | None = None) -> list[dict[str, Any]]:
    """One row per column; for people, with `most` values, what is around a label is seen."""
    rows = []
    any_cut = any(column.information is not None for column in profile.columns)
    for column in profile.columns:
        kind, values = _kind_and_values(column)
        left = 0 if most is None else len(values) - most
        if left > 0:
            values[most:] = [f"{left} more"]
        if most is not None:
            values = [_seen(value) for value in values]
        rows.append(
            {
                "column": column.name,
                "guess": column.guess,
                "kind": kind,
                "order": column.order,
                "values": values,
                "distinct": column.distinct,
                "missing": column.missing,
                "rate": column.rate,
                **({"lost": (column.information or {}).get("lost")} if any_cut else {}),
                "note": _note(column),
            }
        )
    return rows


def _kind_and_values(column: ColumnProfile) -> tuple[str | None, list[Any]]:
    """What a schema has of a column, and otherwise the extremes and quartiles of numbers."""
    if column.levels or column.cuts:
        return ("cuts" if column.cuts else "levels"), list(column.levels or column.cuts or ())
    kind = "numbers" if column.type == NUMERIC else None
    if column.numbers is None:
        return kind, []
    quantiles = column.numbers["quantiles"]
    ends = {"min": column.numbers["min"], "max": column.numbers["max"]}
    shown = {
        "min": ends["min"],
        **{f"{float(q):.0%}": quantiles[q] for q in _SHOWN_QUANTILES},
        "max": ends["max"],
    }
    return kind, [f"{name} {value:.6g}" for name, value in shown.items()]


def _seen(value: Any) -> Any:
    """A label in quotes where blanks around it would not be seen."""
    return repr(value) if isinstance(value, str) and value != value.strip() else value


def _note(column: ColumnProfile) -> str | None:
    if column.why is None:
        if column.levels and column.distinct is not None and column.distinct < len(column.counts):
            seen = sum(count > 0 for count in column.counts)
            if column.distinct < seen:
                return f"{seen} levels are spellings of {counted(column.distinct, 'number')}"
        return None
    if column.option is None:
        return f"not in the schema: {column.why}"
    options = " ".join(with_flags(parameter(name, v)) for name, v in column.option.items())
    return f"not in the schema: {column.why} ({options})"


def _with_patterns(
    profile: Profile, table: Callable[[list[dict[str, Any]]], str], before: str = ""
) -> str:
    """The columns, and below them the patterns of missing values, if they were asked for."""
    text = table(_rows(profile, _SHOWN))
    found = profile.patterns
    if found is None:
        return text
    shown = rows_of_patterns(found)[:_SHOWN_PATTERNS]
    left = len(found.patterns) - _SHOWN_PATTERNS
    more = f"{left} more patterns\n" if left > 0 else ""
    gaps = _gaps(profile)
    parts = [text, *([table(gaps)] if gaps else []), table(shown)]
    said = f"\n{before}".join(map(with_flags, words_of_test(found)))
    return "\n".join(parts) + f"{before}{more}{before}{said}\n"


def rows_of_patterns(patterns: MissingPatterns) -> list[dict[str, Any]]:
    """One row per pattern, the commonest first."""
    return [
        {
            "rows": one.rows,
            "share": one.rows / patterns.rows,
            "missing": list(one.missing) if one.missing else None,
        }
        for one in patterns.patterns
    ]


def words_of_test(patterns: MissingPatterns) -> list[str]:
    """What Little's test was made of, and what it says; with parameters as messages name them."""
    return [*_columns_of_test(patterns.mcar), _of_mcar(patterns.mcar)]


def _gaps(profile: Profile) -> list[dict[str, Any]]:
    """The columns that lack values, that with the most first; of equals the first."""
    lacking = [column for column in profile.columns if column.missing]
    lacking.sort(key=lambda column: -(column.missing or 0))
    return [
        {"missing": column.missing, "rate": column.rate, "column": column.name}
        for column in lacking
    ]


def _columns_of_test(mcar: McarTest | None) -> list[str]:
    """How the test took columns that are not numbers, and which it left out."""
    if mcar is None:
        return []
    found = []
    if mcar.numbers:
        found.append(f"taken as numbers in Little's test: {listing(mcar.numbers)}")
    for name, why in mcar.left_out.items():
        found.append(f"left out of Little's test, but for its gaps: {quote(name)} {why}")
    return found


def _of_mcar(mcar: McarTest | None) -> str:
    if mcar is None:
        return "nothing is missing"
    if mcar.p_value is None:
        why = mcar.why.marked if isinstance(mcar.why, Note) else mcar.why
        return f"no test of whether values are missing completely at random: {why}"
    test = f"Little's test: chi2 {mcar.statistic:.6g}, df {mcar.df}, p {mcar.p_value:.6g}"
    if mcar.p_value <= _MCAR_LEVEL:
        return (
            f"not missing completely at random ({test}): where values are missing depends on "
            f"others; {parameter('missing', 'em')} needs only that these others are there"
        )
    return f"nothing speaks against missing completely at random ({test})"


def _as_json(profile: Profile, *, inputs: Hashes = NO_INPUTS) -> str:
    return document_text(as_document(profile), inputs)


def _as_csv(profile: Profile, *, safe_csv: bool = False) -> str:
    return as_csv(_rows(profile), safe_csv=safe_csv)


FORMATS: dict[str, Callable[..., str]] = {
    "json": _as_json,
    "text": lambda profile: _with_patterns(profile, as_text),
    "jsonl": lambda profile: as_jsonl(_rows(profile)),
    "csv": _as_csv,
    "markdown": lambda profile: _with_patterns(profile, as_markdown, "\n"),
}
"""From a profile to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
