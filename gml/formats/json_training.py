"""What a model file keeps of the rows behind it: "numbers" of nodes, "training" of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gml.data.number_summary import parse_summary
from gml.errors import DataError, quote, unknown_name
from gml.model.bayesnet import BayesNet
from gml.model.conditional.field import ConditionalField
from gml.model.markovnet import MarkovNet
from gml.model.training import Repeats, Training

_MOST_ROWS = 2**53
_KEYS = ("repeats", "uncut_repeats")


def kept_of(net: BayesNet | MarkovNet | ConditionalField) -> dict[str, Any]:
    """What the graph of a model says of where it comes from: "learning" and "training"."""
    found: dict[str, Any] = {}
    if net.learning:
        found["learning"] = net.learning.written()
    if net.training is not None and (training := net.training.written()):
        found["training"] = training
    return found


def training_of(
    content: Any, nodes: Mapping[str, Mapping[str, Any]], names: Iterable[str]
) -> Training | None:
    """Read what a file says of its training rows; None if it says nothing."""
    numbers = {
        name: parse_summary(nodes[name]["numbers"], f"node {quote(name)}")
        for name in names
        if "numbers" in nodes[name]
    }
    if content is None:
        return Training(numbers) if numbers else None
    if not isinstance(content, dict):
        raise DataError('"training" is not an object')
    for key in content:
        if key not in _KEYS:
            raise DataError(f'"training": {unknown_name("key", key, _KEYS)}')
    rows, uncut = (_repeats(content[key], key) if key in content else None for key in _KEYS)
    return Training(numbers, rows, uncut)


def _repeats(content: Any, key: str) -> Repeats:
    problem = f'"{key}" of "training" must say how many rows occur how often: '
    problem += '{"1": 900, "2": 50}'
    if not isinstance(content, dict) or not content:
        raise DataError(problem)
    found: dict[int, int] = {}
    for times, rows in content.items():
        whole = isinstance(rows, int) and not isinstance(rows, bool) and rows > 0
        plain = times.isascii() and times.isdecimal() and len(times) < 17 and times[0] != "0"
        if not (whole and plain):
            raise DataError(problem)
        found[int(times)] = rows
    if sum(times * rows for times, rows in found.items()) >= _MOST_ROWS:
        raise DataError(problem)
    return Repeats(dict(sorted(found.items())))
