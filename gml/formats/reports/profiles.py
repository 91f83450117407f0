"""The report of `gml profile`: a schema as JSON, or one row per column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gml.data.profile import ColumnProfile, Profile
from gml.data.schema import NUMERIC
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text
from gml.formats.reports.rows import as_csv, as_markdown, as_text

_SHOWN = 8


def as_document(profile: Profile) -> dict[str, Any]:
    """Return the JSON object of a schema."""
    return {
        "schema": SCHEMA,
        "rows": profile.rows,
        "columns": {column.name: _as_object(column) for column in profile.columns},
        "na": list(profile.na),
    }


def _as_object(column: ColumnProfile) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if column.type is not None:
        found["type"] = column.type
    if column.levels is not None:
        found |= {"levels": list(column.levels), "order": column.order}
    if column.cuts is not None:
        found["cuts"] = [_shortest(cut) for cut in column.cuts]
    if column.counts:
        found["counts"] = list(column.counts)
    return found | {"missing": column.missing, "rate": column.rate}


def _shortest(cut: float) -> int | float:
    """Return a whole number as an int, except −0, whose sign is in the name of its interval."""
    whole = cut.is_integer() and abs(cut) < 2**53 and str(cut) != "-0.0"
    return int(cut) if whole else cut


def _rows(profile: Profile, most: int | None = None) -> list[dict[str, Any]]:
    rows = []
    for column in profile.columns:
        kind: str | None = "cuts" if column.cuts is not None else "levels"
        values: list[Any] = list(column.levels or column.cuts or ())
        if not values:
            kind = "numbers" if column.type == NUMERIC else None
        left = 0 if most is None else len(values) - most
        if left > 0:
            values[most:] = [f"{left} more"]
        rows.append(
            {
                "column": column.name,
                "kind": kind,
                "order": column.order,
                "values": values,
                "missing": column.missing,
                "rate": column.rate,
            }
        )
    return rows


def _as_json(profile: Profile, *, inputs: Hashes = NO_INPUTS) -> str:
    return document_text(as_document(profile), inputs)


def _as_csv(profile: Profile, *, safe_csv: bool = False) -> str:
    return as_csv(_rows(profile), safe_csv=safe_csv)


FORMATS: dict[str, Callable[..., str]] = {
    "json": _as_json,
    "text": lambda profile: as_text(_rows(profile, _SHOWN)),
    "csv": _as_csv,
    "markdown": lambda profile: as_markdown(_rows(profile, _SHOWN)),
}
"""From a profile to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
