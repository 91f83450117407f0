"""JSON that anybody may have written, parsed within limits so that later code can trust it.

No NaN or infinity, no number that a float64 cannot hold (which bounds the digits of integers too),
no half of a surrogate pair, which no file could hold, and no nesting beyond `DEEPEST`. The budget
is asked for what the text will become. If a key occurs twice, the last one counts, as usual.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from gml.errors import DataError, quote, raising
from gml.resources import FEW_BYTES, require_memory

DEEPEST = 100
# The digits of the largest float64.
_MOST_DIGITS = 309
# Bytes per item of a list or an object, measured on lists and objects of one item each, the worst
# case per byte of text.
_ITEM_BYTES = 80
_TEXT_FACTOR = 3
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?', re.DOTALL)
# A pair, half of one, or any other escape.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(document: Any) -> bytes:
    """Return the one form of a document, or of a part of it, that is hashed.

    Examples
    --------
    >>> canonical({"b": [1.50, "é"], "a": None}).decode()
    '{"a":null,"b":[1.5,"é"]}'
    """
    # Others may have written what we would not: 1e999, or half a surrogate pair.
    return _CANONICAL.encode(document).encode("utf-8", "surrogatepass")


class _BadNumber(Exception):
    """A number that no float64 can hold."""


def parse_json(
    text: str, where: str, *, once: bool = False, error: type[DataError] = DataError
) -> Any:
    """Return what JSON text says; with `once`, a key that occurs twice is refused.

    What is wrong is raised as `error`.

    Examples
    --------
    >>> parse_json('{"a": [1, 2.5]}', "a.json")
    {'a': [1, 2.5]}
    >>> parse_json('{"a": [1, 1e999]}', "x.json")
    Traceback (most recent call last):
    gml.errors.DataError: x.json: not a JSON file: number beyond 1.8e308: line 1 column 11 (char 10)
    """
    with raising(error):
        return _parsed(text, where, once)


def _parsed(text: str, where: str, once: bool) -> Any:
    if len(text) > FEW_BYTES:
        n_bytes = _TEXT_FACTOR * len(text) + _ITEM_BYTES * sum(map(text.count, ",:[{"))
        require_memory(n_bytes, None, f"{where}: its content")
    try:
        found = json.loads(
            text,
            parse_float=_float,
            parse_int=_int,
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_twins if once else None,
        )
        _require_pairs(text)
    except _BadNumber:
        error = json.JSONDecodeError("number beyond 1.8e308", text, _bad_number(text))
        raise DataError(f"{where}: not a JSON file: {error}") from None
    except ValueError as error:
        raise DataError(f"{where}: not a JSON file: {error}") from None
    except RecursionError:
        raise DataError(f"{where}: nested too deeply") from None
    if _is_too_deep(found):
        raise DataError(f"{where}: nested too deeply: more than {DEEPEST} levels")
    return found


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _BadNumber
    return value


def _int(text: str) -> int:
    if len(text) >= _MOST_DIGITS:
        _float(text)
    return int(text)


def _bad_number(text: str) -> int:
    """Return the position of the first number that no float64 can hold."""
    for token in _TOKEN.finditer(text):
        if token[0][0] != '"' and math.isinf(float(token[0])):
            return token.start()
    return 0


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"{quote(twice)} is there twice")
    return found


def _require_pairs(text: str) -> None:
    """Refuse half of a surrogate pair, which only an escape can make."""
    if "\\ud" not in text and "\\uD" not in text:
        return
    for escape in _ESCAPE.finditer(text):
        if escape[1]:
            raise json.JSONDecodeError(
                "half of a surrogate pair is not valid text", text, escape.start()
            )


def _is_too_deep(found: Any) -> bool:
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)
