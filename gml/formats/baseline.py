"""Baseline files: what was accepted with a model, as JSON.

    {"schema": "gml/1", "kind": "baseline", "rows": 5000,
     "accepted": [{"id": "structure:a->b"}, …],
     "references": {"structure:a independent of b": {"statistic": 1.2, "df": 1, "n": 5000}, …}}

`accepted` names the checks whose violation is known; `references` holds the statistic that every
other independence had at that time. A model that was accepted has the same fields as "baseline"
within its "graph".
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gml.atomic import write_whole
from gml.calls import public
from gml.data.json_text import parse_json
from gml.data.text_file import read_text
from gml.errors import DataError, GraphError, parameter, place, quote, raising
from gml.formats.content_hash import NO_INPUTS, Hashes, is_changed, recorded_hash
from gml.formats.json_document import SCHEMA, document_text
from gml.model.baseline import Baseline, Reference
from gml.path_kinds import is_there
from gml.progress import reporter

KIND = "baseline"
_MOST = 2.0**62


def dump_baseline(baseline: Baseline, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a baseline file, one item per line, so that diffs can be read."""
    return document_text(
        {
            "schema": SCHEMA,
            "kind": KIND,
            **baseline_object(baseline),
        },
        inputs,
    )


def baseline_object(baseline: Baseline) -> dict[str, Any]:
    """Return what a file of a baseline, or of a model that has one, holds of it."""
    return {
        "rows": baseline.rows,
        "accepted": [{"id": name} for name in sorted(baseline.accepted)],
        "references": {
            name: {"statistic": r.statistic, "df": r.df, "n": r.n}
            for name, r in sorted(baseline.references.items())
        },
    }


@public
def write_baseline(
    baseline: Baseline, path: str | os.PathLike[str], *, inputs: Hashes = NO_INPUTS
) -> None:
    """Write a baseline file, whole or not at all.

    Parameters
    ----------
    baseline
        What was accepted; see `CheckReport.accepted`.
    path
        The file.
    inputs
        Hashes of what it was made from, by role.

    Examples
    --------
    >>> import gml, tempfile
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     accepted = gml.check("sample_data/asia.csv", net).accepted()
    ...     write_baseline(accepted, f"{folder}/baseline.json")
    ...     gml.check("sample_data/asia.csv", net, baseline=f"{folder}/baseline.json").failed
    False
    """
    write_whole(path, dump_baseline(baseline, inputs=inputs).encode())


@public
def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline file, or the baseline that a model file holds.

    Parameters
    ----------
    path
        The file; `gml check --write-baseline` and `write_baseline` make one, and so does
        `gml.fit(..., accept=True)` with a model around it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_baseline(Baseline(frozenset(["fit"]), rows=10), f"{folder}/baseline.json")
    ...     read_baseline(f"{folder}/baseline.json")
    Baseline(1 accepted, 0 references, rows=10)
    """
    where = place(path)
    try:
        text = read_text(path, hashed=True)
    except DataError as error:
        if is_there(path):
            raise
        raise DataError(
            f"{error}; {parameter('write_baseline')} {where} makes a baseline"
        ) from None
    return _parsed(parse_json(text, where), where)


def _parsed(content: Any, where: str) -> Baseline:
    about = content.get("graph") if isinstance(content, dict) else None
    if isinstance(about, dict) and isinstance(about.get("baseline"), dict):
        return baseline_in(about["baseline"], where)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise DataError(f'{where}: not a baseline: "kind" is not "{KIND}"')
    recorded = recorded_hash(content)
    model = None if recorded is None else recorded.inputs.get("model")
    if is_changed(content):
        reporter().warn(f"{where}: changed since it was written (its hash differs)")
    return replace(baseline_in(content, where), model=model if isinstance(model, str) else None)


def baseline_in(content: dict[str, Any], where: str) -> Baseline:
    """Return the baseline that an object of a file holds."""
    accepted = content.get("accepted", [])
    if not isinstance(accepted, list) or not all(
        isinstance(item, dict) and isinstance(item.get("id"), str) for item in accepted
    ):
        raise DataError(f'{where}: "accepted" is not a list of objects with the "id" of a check')
    given = content.get("references", {})
    if not isinstance(given, dict):
        raise DataError(f'{where}: "references" is not an object')
    references = {name: _reference(value, name, where) for name, value in given.items()}
    rows = content.get("rows")
    whole = isinstance(rows, int) and not isinstance(rows, bool)
    if rows is not None and not (whole and _is_amount(rows)):
        raise DataError(f'{where}: "rows" is not a number of rows')
    return Baseline(frozenset(item["id"] for item in accepted), references, rows)


def held_baseline(about: dict[str, Any]) -> Baseline | None:
    """Return what the "graph" of a model file says was accepted with it."""
    held = about.get("baseline")
    if held is None:
        return None
    if not isinstance(held, dict):
        raise GraphError('the "baseline" is not an object')
    with raising(GraphError):
        return baseline_in(held, 'the "baseline"')


def _reference(value: Any, name: str, where: str) -> Reference:
    found: list[float] = []
    for key in ("statistic", "df", "n"):
        number = value.get(key) if isinstance(value, dict) else None
        if (
            not isinstance(number, int | float)
            or isinstance(number, bool)
            or not _is_amount(number)
        ):
            raise DataError(f"{where}: the reference of {quote(name)} has no number {key!r}")
        found.append(float(number))
    return Reference(found[0], found[1], int(found[2]))


def _is_amount(number: float) -> bool:
    # Not through a float, as JSON has whole numbers that no float can hold.
    return 0 <= number < _MOST
