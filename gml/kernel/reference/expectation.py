"""Expected counts of what incomplete rows leave open, by enumeration (expectation.c)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gml.kernel.family_layout import Expectation, FamilyLayout, MissingParts
from gml.stopping import check_stopped


def shape_offsets(layout: FamilyLayout, parts: MissingParts, shape: int) -> NDArray[np.int64]:
    """How far from its first cell each state of a shape's missing nodes is: families × states."""
    nodes = parts.nodes[parts.node_starts[shape] : parts.node_starts[shape + 1]].tolist()
    families = parts.families[parts.family_starts[shape] : parts.family_starts[shape + 1]].tolist()
    found = np.zeros((len(families), 1), dtype=np.int64)
    for node in nodes:
        levels = np.arange(layout.sizes[node])
        steps = np.zeros((len(families), 1, len(levels)), dtype=np.int64)
        for k, family in enumerate(families):
            run = slice(int(layout.member_starts[family]), int(layout.member_starts[family + 1]))
            at = np.flatnonzero(layout.members[run] == node)
            if len(at):
                steps[k, 0] = levels * layout.strides[run][at[0]]
        found = (found[:, :, None] + steps).reshape(len(families), -1)
    return found


def posteriors(
    layout: FamilyLayout, parts: MissingParts, shape: int, tables: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Cells (questions × families × states), P(state | question), and ln P of each question."""
    offsets = shape_offsets(layout, parts, shape)
    run = slice(int(parts.base_starts[shape]), int(parts.base_starts[shape + 1]))
    bases = parts.bases[run].reshape(-1, len(offsets)).astype(np.int64)
    cells = bases[:, :, None] + offsets[None]
    with np.errstate(divide="ignore"):
        logs = np.log(tables[cells]).sum(axis=1)
    highest = logs.max(axis=1, keepdims=True)
    highest[np.isneginf(highest)] = 0.0
    shares = np.exp(logs - highest)
    total = shares.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return cells, shares / total[:, None], np.log(total) + highest[:, 0]


def _in_shapes(parts: MissingParts, first: int, last: int) -> Iterator[tuple[int, slice]]:
    """The shapes of some questions, and which of each one's questions are among them."""
    starts = parts.question_starts.tolist()
    for shape, (begin, end) in enumerate(pairwise(starts)):
        if begin < last and end > first:
            yield shape, slice(max(first, begin) - begin, min(last, end) - begin)


def expected_counts(
    layout: FamilyLayout,
    parts: MissingParts,
    first: int,
    last: int,
    tables: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> Expectation:
    """Add the expected counts of the questions first..last-1 to `counts`."""
    total = 0.0
    for shape, some in _in_shapes(parts, first, last):
        check_stopped()
        begin = int(parts.question_starts[shape])
        cells, shares, logs = (part[some] for part in posteriors(layout, parts, shape, tables))
        if np.isneginf(logs).any():
            return Expectation(-math.inf, begin + some.start + int(np.argmax(np.isneginf(logs))))
        weights = parts.weights[begin + some.start : begin + some.stop].astype(np.float64)
        total += float(weights @ logs)
        weighed = np.broadcast_to((weights[:, None] * shares)[:, None], cells.shape)
        np.add.at(counts, cells.astype(np.int64).reshape(-1), weighed.reshape(-1))
    return Expectation(total, -1)


def count_covariances(
    layout: FamilyLayout,
    parts: MissingParts,
    first: int,
    last: int,
    tables: NDArray[np.float64],
    places: NDArray[np.int32],
    matrix: NDArray[np.float64],
) -> None:
    """Add Σ w Cov(counts of two cells | what is observed) to the matrix over the placed cells."""
    n = len(matrix)
    for shape, some in _in_shapes(parts, first, last):
        check_stopped()
        begin = int(parts.question_starts[shape])
        cells, shares, _ = (part[some] for part in posteriors(layout, parts, shape, tables))
        weights = parts.weights[begin + some.start : begin + some.stop]
        for where, p, weight in zip(places[cells], shares, weights.tolist(), strict=True):
            # Families × states: which cell each state is in, as a matrix of states × places.
            counts = np.zeros((len(p), n + 1))
            for family in where:
                counts[np.arange(len(p)), family] = 1.0
            counts = counts[:, :n]
            mean = p @ counts
            matrix += weight * (counts.T @ (p[:, None] * counts) - np.outer(mean, mean))
