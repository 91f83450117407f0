"""A chain field as plain values for a JSON file, and back: the same field to the last bit.

Features are by name: for each input and each row of the window the levels, and for each level the
labels with their weights; the marks and the transitions likewise. A numeric input has a scale, and
one weight for each label at each row of the window, those of the level "per sd".

    {"sequence": "id", "target": {"name": "tag", "levels": ["D", "N"]},
     "inputs": ["word"], "window": 1,
     "bias": {"D": 0.1, "N": -0.1}, "first": {"D": 0.4}, "last": {"N": 0.4},
     "scales": {"length": {"mean": 4.2, "sd": 1.9}},
     "states": [{"column": "word", "offset": 0, "weights": {"the": {"D": 0.5}}},
                {"column": "length", "offset": 0, "weights": {"per sd": {"D": -0.8, "N": 0.8}}}],
     "transitions": {"D": {"N": 0.7}}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gml.data.dataset import MAX_LEVELS, Variable
from gml.errors import DataError, GraphError, quote
from gml.formats.checked_objects import scale_of
from gml.model.conditional.numeric_inputs import Scale
from gml.model.sequences.attributes import MARKS, MOST_WINDOW, AttributeBlock, Attributes
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.feature_table import FeatureTable, require_pairs_of_labels

_Weights = dict[str, float]

_PER_SD = "per sd"

# Its square, and sums of as many squares as there are features, are still doubles.
_LARGEST = 1e150


def payload_of(model: ChainField) -> dict[str, Any]:
    """Return a chain field as plain values.

    Examples
    --------
    >>> import pandas as pd
    >>> from gml.data.options import ReadOptions
    >>> from gml.data.sequences import read_sequences
    >>> from gml.model.sequences.training import train_chain
    >>> frame = pd.DataFrame({"id": [1, 1], "word": ["the", "dog"], "tag": ["D", "N"]})
    >>> rows = read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    >>> found = payload_of(train_chain(rows).field)
    >>> found["target"], list(found["transitions"])
    ({'name': 'tag', 'levels': ['D', 'N']}, ['D'])
    >>> field_of(found, "crf.json") == train_chain(rows).field
    True
    """
    labels, n_labels = model.labels, model.features.n_labels
    by_attribute: list[_Weights] = [{} for _ in range(len(model.attributes))]
    for number, weight in zip(
        model.features.states.tolist(), model.state_weights.tolist(), strict=True
    ):
        by_attribute[number // n_labels][labels[number % n_labels]] = weight
    marks: dict[str, _Weights] = {}
    states: list[dict[str, Any]] = []
    for block, start in zip(model.attributes.blocks, model.attributes.starts[:-1], strict=True):
        if block.column is None:
            marks[block.levels[0]] = by_attribute[start]
            continue
        levels = block.levels if block.scale is None else (_PER_SD,)
        weights = {level: by_attribute[start + k] for k, level in enumerate(levels)}
        states.append({"column": block.column, "offset": block.offset, "weights": weights})
    scales = {name: scale._asdict() for name, scale in model.scales.items()}
    transitions: dict[str, _Weights] = {}
    for number, weight in zip(
        model.features.transitions.tolist(),
        model.weights[len(model.features.states) :].tolist(),
        strict=True,
    ):
        transitions.setdefault(labels[number // n_labels], {})[labels[number % n_labels]] = weight
    return {
        "sequence": model.sequence,
        "target": {"name": model.target.name, "levels": list(labels)},
        "inputs": list(model.inputs),
        "window": model.window,
        **marks,
        **({"scales": scales} if scales else {}),
        "states": states,
        "transitions": transitions,
    }


def field_of(payload: Any, where: str) -> ChainField:
    """Return the chain field that plain values stand for; `where` names the file in messages."""
    return _Reader(where).field(payload)


class _Reader:
    """Takes a payload apart, and refuses what is not one."""

    def __init__(self, where: str) -> None:
        self._where = where

    def field(self, payload: Any) -> ChainField:
        """Return the field."""
        found = self._object(payload, "the field")
        named = self._object(found.get("target"), "target")
        target = Variable(
            self._text(named.get("name"), "the name of the target"),
            self._texts(named.get("levels"), "the levels of the target"),
        )
        labels = target.levels or ()
        if not 2 <= len(labels) <= MAX_LEVELS:
            raise self._bad(f"the target must have 2 to {MAX_LEVELS} levels, not {len(labels)}")
        # The transitions, and as much again for what is asked of them.
        require_pairs_of_labels(len(labels), 2)
        window = found.get("window")
        if (
            isinstance(window, bool)
            or not isinstance(window, int)
            or not 0 <= window <= MOST_WINDOW
        ):
            raise self._bad(f"the window must be between 0 and {MOST_WINDOW}, not {window!r}")
        inputs = self._texts(found.get("inputs"), "inputs")
        code = {label: k for k, label in enumerate(labels)}
        numbers: dict[int, float] = {}
        blocks: list[AttributeBlock] = []
        start = 0
        for mark in MARKS:
            self._add(numbers, start, found.get(mark), code, mark)
            blocks.append(AttributeBlock(None, 0, (mark,)))
            start += 1
        scales = self._scales(found.get("scales", {}), inputs)
        for block, weights in self._blocks(found.get("states"), inputs, window, scales):
            for k, level in enumerate(weights):
                self._add(numbers, start + k, weights[level], code, block.names[k])
            blocks.append(block)
            start += block.size
        pairs: dict[int, float] = {}
        given = self._object(found.get("transitions"), "transitions")
        for label, weights in given.items():
            self._add(pairs, self._code(label, code, "transitions"), weights, code, "transitions")
        states, transitions = sorted(numbers), sorted(pairs)
        return ChainField(
            self._text(found.get("sequence"), "sequence"),
            target,
            inputs,
            window,
            Attributes(tuple(blocks)),
            FeatureTable(
                len(labels),
                start,
                np.array(states, dtype=np.int64),
                np.array(transitions, dtype=np.int64),
            ),
            np.array(
                [*(numbers[k] for k in states), *(pairs[k] for k in transitions)], dtype=np.float64
            ),
        )

    def _scales(self, given: Any, inputs: tuple[str, ...]) -> dict[str, Scale]:
        found = {}
        for name, said in self._object(given, "scales").items():
            if name not in inputs:
                raise self._bad(f"column {quote(name)} of 'scales' is no input")
            try:
                found[name] = scale_of(said, f"the scale of {quote(name)}")
            except GraphError as error:
                raise self._bad(str(error)) from None
        return found

    def _blocks(
        self, given: Any, inputs: tuple[str, ...], window: int, scales: Mapping[str, Scale]
    ) -> list[tuple[AttributeBlock, Mapping[str, Any]]]:
        if not isinstance(given, list):
            raise self._bad("'states' must be a list")
        found: list[tuple[AttributeBlock, Mapping[str, Any]]] = []
        seen: set[tuple[str, int]] = set()
        for item in given:
            block = self._object(item, "an item of 'states'")
            column = self._text(block.get("column"), "the column of a state")
            offset = block.get("offset")
            if isinstance(offset, bool) or not isinstance(offset, int) or abs(offset) > window:
                raise self._bad(f"column {quote(column)}: offset {offset!r} is not in the window")
            if column not in inputs or (column, offset) in seen:
                raise self._bad(f"column {quote(column)} is no input, or has offset {offset} twice")
            seen.add((column, offset))
            weights = self._object(block.get("weights"), f"the weights of {quote(column)}")
            scale = scales.get(column)
            if scale is not None and tuple(weights) != (_PER_SD,):
                raise self._bad(f"column {quote(column)} is numeric: its weights are {_PER_SD!r}")
            levels = tuple(weights) if scale is None else ()
            found.append((AttributeBlock(column, offset, levels, scale), weights))
        return found

    def _add(
        self, numbers: dict[int, float], first: int, given: Any, code: dict[str, int], name: str
    ) -> None:
        for label, weight in self._object(given, f"the weights of {quote(name)}").items():
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not is_number or not math.isfinite(weight):
                raise self._bad(f"{quote(name)}: the weight of {quote(label)} is not a number")
            if abs(weight) > _LARGEST:
                raise self._bad(f"{quote(name)}: the weight of {quote(label)} is too large")
            numbers[first * len(code) + self._code(label, code, name)] = float(weight)

    def _code(self, label: str, code: dict[str, int], name: str) -> int:
        if label not in code:
            raise self._bad(f"{quote(name)}: {quote(label)} is no level of the target")
        return code[label]

    def _object(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._bad(f"{name} must be an object")
        return value

    def _text(self, value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise self._bad(f"{name} must be text")
        return value

    def _texts(self, value: Any, name: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self._bad(f"{name} must be a list of text")
        if len(set(value)) < len(value):
            raise self._bad(f"{name} must not repeat")
        return tuple(value)

    def _bad(self, what: str) -> DataError:
        return DataError(f"{self._where}: not a chain field: {what}")
