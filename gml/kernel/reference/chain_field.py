"""Chains of labels over rows with attributes, in NumPy and in logarithms; see chain_field.h."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gml.kernel.chain_layout import ChainLayout
from gml.stopping import check_stopped

_TIE = 1e-12

Numbers = NDArray[np.float64]
Positions = NDArray[np.int32]


class ChainRows:
    """Sequences of rows with attributes (a ChainLayout), and a chain of labels over each."""

    def __init__(self, layout: ChainLayout) -> None:
        self._layout = layout

    def gradient(
        self,
        cells: Numbers,
        transitions: Numbers,
        targets: Positions,
        span: tuple[int, int],
        out: tuple[Numbers, Numbers],
    ) -> float:
        """Σ −ln p(targets) over the sequences of a span; its derivatives are added to `out`."""
        value = 0.0
        for start, end in self._sequences(span):
            scores = self._scores(cells, start, end)
            alpha, beta, totals = _forward_backward(scores, transitions)
            of_row = targets[start:end]
            value += float(totals.sum() - scores[np.arange(end - start), of_row].sum())
            value -= float(transitions[of_row[:-1], of_row[1:]].sum())
            residuals = np.exp(alpha + beta)
            residuals[np.arange(end - start), of_row] -= 1
            for row in range(start, end):
                places, values = self._places(row)
                residual = residuals[row - start, self._layout.labels[places]]
                np.add.at(out[0], places, values * residual)
            for t in range(1, end - start):
                ahead = scores[t] + beta[t] - totals[t]
                out[1][...] += np.exp(alpha[t - 1][:, None] + transitions + ahead)
            np.subtract.at(out[1], (of_row[:-1], of_row[1:]), 1)
        return value

    def marginals(
        self, cells: Numbers, transitions: Numbers, span: tuple[int, int], out: Numbers
    ) -> None:
        """Fill in the probability of each label of each row of the sequences of a span."""
        for start, end in self._sequences(span):
            scores = self._scores(cells, start, end)
            alpha, beta, _ = _forward_backward(scores, transitions)
            shares = np.exp(alpha + beta)
            out[start:end] = shares / shares.sum(axis=1, keepdims=True)

    def viterbi(
        self, cells: Numbers, transitions: Numbers, span: tuple[int, int], out: Positions
    ) -> None:
        """Fill in the labels of the highest score; of those that reach it, the lowest."""
        for start, end in self._sequences(span):
            scores = self._scores(cells, start, end)
            came = np.zeros(scores.shape, dtype=np.int32)
            reached = scores[0]
            for t in range(1, end - start):
                before = reached - reached[_first_best(reached)]
                ways = before[:, None] + transitions
                came[t] = [_first_best(way) for way in ways.T]
                reached = ways[came[t], np.arange(len(before))] + scores[t]
            best = _first_best(reached)
            for t in reversed(range(end - start)):
                out[start + t] = best
                best = int(came[t, best])

    def _sequences(self, span: tuple[int, int]) -> Iterator[tuple[int, int]]:
        starts = self._layout.sequences
        for s in range(*span):
            check_stopped()
            if starts[s] < starts[s + 1]:
                yield int(starts[s]), int(starts[s + 1])

    def _places(self, row: int) -> tuple[NDArray[np.int64], Numbers]:
        """The cells of the attributes of a row, and the values of these, those beyond the labels
        left out."""
        layout = self._layout
        inside = slice(int(layout.rows[row]), int(layout.rows[row + 1]))
        of_row = layout.attributes[inside]
        values = np.ones(len(of_row)) if layout.values is None else layout.values[inside]
        parts = [np.arange(layout.cells[a], layout.cells[a + 1]) for a in of_row]
        places = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        of_cell = np.repeat(values, [len(part) for part in parts])
        kept = layout.labels[places] >= 0
        return places[kept], of_cell[kept]

    def _scores(self, cells: Numbers, start: int, end: int) -> Numbers:
        scores = np.zeros((end - start, self._layout.n_labels))
        for row in range(start, end):
            places, values = self._places(row)
            np.add.at(scores[row - start], self._layout.labels[places], values * cells[places])
        return scores


def _forward_backward(scores: Numbers, transitions: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Logarithms of the forward and backward numbers, scaled by the totals of the rows."""
    alpha, beta = scores.copy(), np.zeros_like(scores)
    totals = np.zeros(len(scores))
    for t in range(len(scores)):
        if t:
            alpha[t] += _log_sum(alpha[t - 1][:, None] + transitions)
        totals[t] = _log_sum(alpha[t])
        alpha[t] -= totals[t]
    for t in reversed(range(len(scores) - 1)):
        beta[t] = _log_sum((transitions + scores[t + 1] + beta[t + 1] - totals[t + 1]).T)
    return alpha, beta, totals


def _log_sum(logs: Numbers) -> Numbers:
    """ln Σ e^x over the first axis."""
    largest = logs.max(axis=0)
    found: Numbers = largest + np.log(np.exp(logs - largest).sum(axis=0))
    return found


def _first_best(scores: Numbers) -> int:
    best = 0
    for k in range(1, len(scores)):
        if scores[k] > scores[best] + _TIE * (1 + abs(scores[best])):
            best = k
    return best
