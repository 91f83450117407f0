"""The keys that objects of constraint files may have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gml.errors import DataError, listing, nearest_name, quote

_NO_HINTS: Mapping[str, str] = {}


def require_keys(
    given: Mapping[Any, Any],
    known: Collection[str],
    where: str,
    hints: Mapping[str, str] = _NO_HINTS,
) -> None:
    """Refuse a key that is not known; `hints` say what to do about some of them.

    Examples
    --------
    >>> require_keys({"sd": 1}, ["mean", "variance"], "x.json", {"sd": "give its square"})
    Traceback (most recent call last):
    gml.errors.DataError: x.json: unknown key 'sd': give its square; the keys are 'mean', 'variance'
    """
    for key in given:
        if key in known:
            continue
        near = nearest_name(str(key), known)
        hint = f"; did you mean {quote(near)}?" if near else ";"
        if str(key).casefold() in hints:
            hint = f": {hints[str(key).casefold()]};"
        raise DataError(f"{where}: unknown key {quote(key)}{hint} the keys are {listing(known)}")
