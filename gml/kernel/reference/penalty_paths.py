"""Paths of penalised logistic regressions, as `src/penalty_path.c` follows them, in plain words.

The columns are spelt out as numbers, rows × dimensions, the Newton steps are over all groups, and
groups are only ever moved one by one: the minima are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.kernel.penalty_paths import GroupedColumns, PathRule, PenaltyPath, Response
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_MOST_STEPS = 200
_MOST_SWEEPS = 1000
_MOST_HALVINGS = 40
_EXPLAINED = 1e-3
_NEGLIGIBLE = 0.01
_ROUNDING = 1e-12


def penalty_path(columns: GroupedColumns, response: Response, rule: PathRule) -> PenaltyPath:
    """Fit a logistic regression for one penalty after the other."""
    state = _Regression(columns, response)
    empty = state.loss
    if rule.penalties is None:
        shares = np.arange(rule.n_penalties) / max(1, rule.n_penalties - 1)
        penalties = state.largest_penalty * rule.ratio**shares
    else:
        penalties = np.asarray(rule.penalties)
    rows: list[tuple[float, float, float, float, int]] = []
    norms: list[Numbers] = []
    best = math.inf
    needed, is_wanted = 0, True
    for k, penalty in enumerate(penalties.tolist()):
        gap, nothing = 0.0, rule.penalties is None and k == 0
        if penalty <= 0 and k > 0:
            break
        if not nothing:
            if state.dimension**2 > rule.room:
                needed = state.dimension**2
                break
            if rule.watch is not None and not rule.watch(k / len(penalties)):
                is_wanted = False
                break
            gap = state.fit(penalty, rule.tolerance)
        parameters = state.parameters
        rows.append((penalty, state.loss, state.held_out_loss, gap, parameters))
        norms.append(state.norms)
        criterion = 2 * state.loss + rule.cost * parameters
        if rule.cost > 0 and not nothing and state.is_over(rule.cost, penalty, criterion, best):
            break
        best = min(best, criterion)
        if state.loss < _EXPLAINED * empty:
            break
    found = np.array(rows, dtype=np.float64).reshape(len(rows), 5).T
    table = np.array(norms).reshape(len(rows), len(columns.ranks))
    return PenaltyPath(
        penalties=found[0],
        losses=found[1],
        held_out=found[2],
        gaps=found[3],
        parameters=found[4].astype(np.int64),
        norms=table,
        needed=needed,
        is_wanted=is_wanted,
    )


@dataclass
class _Regression:
    """The state of a path: coefficients, and what follows from them."""

    columns: GroupedColumns
    response: Response
    design: Numbers = field(init=False)
    """Rows × dimensions, a column of ones first."""
    coefficients: Numbers = field(init=False)
    """Dimensions × scores."""

    def __post_init__(self) -> None:
        columns, response = self.columns, self.response
        n = len(response.classes)
        bits = np.unpackbits(columns.masks, axis=1, count=n, bitorder="little").astype(np.float64)
        blocks = [np.ones((n, 1))]
        self.slices: list[slice] = []
        at = 1
        for g, rank in enumerate(columns.ranks.tolist()):
            own = slice(int(columns.starts[g]), int(columns.starts[g + 1]))
            wide = own.stop - own.start
            first = int(columns.base_starts[g])
            basis = columns.bases[first : first + wide * rank].reshape(wide, rank)
            blocks.append((bits[own] - columns.means[own, None]).T @ basis)
            self.slices.append(slice(at, at + rank))
            at += rank
        self.design = np.hstack(blocks)
        self.two = response.n_classes == 2
        self.targets = (response.classes[:, None] == np.arange(response.n_classes)).astype(float)
        shares = response.weights @ self.targets
        if self.two:
            self.targets = self.targets[:, 1:]
            start = np.log(shares[1:] / shares[:1])
        else:
            start = np.log(shares) - np.log(shares).mean()
        self.coefficients = np.zeros((at, len(start)))
        self.coefficients[0] = start
        self._evaluate()

    @property
    def dimension(self) -> int:
        """Numbers of coefficients."""
        return int(self.coefficients.size)

    @property
    def norms(self) -> Numbers:
        """The norm of each group's coefficients."""
        return np.array([np.linalg.norm(self.coefficients[own]) for own in self.slices])

    @property
    def parameters(self) -> int:
        """Those of the groups that have coefficients."""
        free = self.response.n_classes - 1
        return int(self.columns.ranks[self.norms > 0].sum()) * free

    @property
    def largest_penalty(self) -> float:
        """The smallest penalty at which no group has coefficients."""
        own = [np.linalg.norm(self.gradient[own]) for own in self.slices]
        in_use = self.columns.ranks > 0
        return float(np.max(np.array(own)[in_use] / self.columns.group_weights[in_use], initial=0))

    def _losses(self, coefficients: Numbers) -> tuple[Numbers, Numbers]:
        """The loss and the probabilities of each row."""
        scores = self.design @ coefficients
        if self.two:
            own = np.logaddexp(0, scores[:, 0]) - self.targets[:, 0] * scores[:, 0]
            return own, np.exp(-np.logaddexp(0, -scores))
        top = scores.max(axis=1, keepdims=True)
        logs = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        return -logs[np.arange(len(logs)), self.response.classes], np.exp(logs)

    def _evaluate(self) -> None:
        own, self.probabilities = self._losses(self.coefficients)
        weights, held_out = self.response.weights, self.response.held_out
        self.loss = float(weights @ own)
        self.held_out_loss = 0.0 if held_out is None else float(held_out @ own)
        residuals = weights[:, None] * (self.probabilities - self.targets)
        self.gradient = self.design.T @ residuals

    def _gap(self, penalty: float) -> float:
        """By how much the conditions of a minimum are missed, in shares of the penalty."""
        gap = float(np.linalg.norm(self.gradient[0])) / penalty
        for own, weight in zip(self.slices, self.columns.group_weights.tolist(), strict=True):
            block, slope = self.coefficients[own], self.gradient[own] / (penalty * weight)
            norm = float(np.linalg.norm(block))
            if block.size:
                miss = np.linalg.norm(slope + block / norm) if norm else np.linalg.norm(slope) - 1
                gap = max(gap, float(miss))
        return gap

    def _hessian(self) -> Numbers:
        """The Hessian, its rows and columns in the order of the coefficients laid end to end."""
        d, q = self.coefficients.shape
        found = np.zeros((d, q, d, q))
        for a in range(q):
            for b in range(q):
                pa, pb = self.probabilities[:, a], self.probabilities[:, b]
                curvature = self.response.weights * (pa * (1 - pa) if a == b else -pa * pb)
                found[:, a, :, b] = self.design.T @ (curvature[:, None] * self.design)
        return found.reshape(d * q, d * q)

    def _model_step(self, hessian: Numbers, penalty: float, tolerance: float) -> Numbers:
        """Minimise the quadratic model group by group; returns how the coefficients change."""
        q = self.coefficients.shape[1]
        start, moved = self.coefficients.reshape(-1), np.zeros(self.coefficients.size)
        slope = self.gradient.reshape(-1).copy()
        groups = [(slice(0, q), 0.0)]
        for own, weight in zip(self.slices, self.columns.group_weights.tolist(), strict=True):
            if own.stop > own.start:
                groups.append((slice(own.start * q, own.stop * q), penalty * weight))
        eigen = [np.linalg.eigh(hessian[own, own]) for own, _ in groups]
        for _ in range(_MOST_SWEEPS):
            most = 0.0
            for (own, cost), (values, vectors) in zip(groups, eigen, strict=True):
                here = start[own] + moved[own]
                pull = hessian[own, own] @ here - slope[own]
                to = vectors @ _block_minimum(vectors.T @ pull, values, cost)
                change = to - here
                moved[own] = to - start[own]
                slope += hessian[:, own] @ change
                step = float(np.abs(change) @ np.diag(hessian[own, own]))
                most = max(most, step / (cost or penalty))
            if most <= tolerance:
                break
        return moved.reshape(self.coefficients.shape)

    def _objective(self, coefficients: Numbers, penalty: float) -> float:
        norms = [np.linalg.norm(coefficients[own]) for own in self.slices]
        own, _ = self._losses(coefficients)
        return float(
            self.response.weights @ own + penalty * np.dot(self.columns.group_weights, norms)
        )

    def fit(self, penalty: float, tolerance: float) -> float:
        """Find the minimum for a penalty; returns by how much its conditions are missed."""
        failures = 0
        for _ in range(_MOST_STEPS):
            check_stopped()
            gap = self._gap(penalty)
            if gap <= tolerance or failures > 1:
                return max(0.0, gap)
            self.hessian = self._hessian()
            inner = min(0.01, max(0.1 * tolerance, 0.01 * gap))
            moved = self._model_step(self.hessian, penalty, inner)
            before = self._objective(self.coefficients, penalty)
            share, failures = 1.0, failures + 1
            for _ in range(_MOST_HALVINGS):
                to = self.coefficients + share * moved
                if self._objective(to, penalty) <= before + _ROUNDING * (1 + before):
                    self.coefficients, failures = to, 0
                    break
                share /= 2
            self._evaluate()
        return self._gap(penalty)

    def is_over(self, cost: float, penalty: float, criterion: float, best: float) -> bool:
        """Whether no smaller penalty is worth a look."""
        q = self.coefficients.shape[1]
        hessian = self._hessian()
        spread = float(np.trace(hessian[:q, :q])) / (1 if q == 1 else 2 * (q - 1))
        if 2 * penalty * penalty > cost * spread:
            return False
        kept = np.zeros(self.coefficients.shape, dtype=bool)
        kept[0] = True
        for own in self.slices:
            kept[own] = np.any(self.coefficients[own] != 0)
        at = np.flatnonzero(kept.reshape(-1))
        slope = self.gradient.reshape(-1)[at]
        part = hessian[np.ix_(at, at)] + np.diag(1e-9 * np.diag(hessian)[at])
        gain = float(slope @ np.linalg.solve(part, slope))
        return criterion - gain > best or gain < _NEGLIGIBLE * cost


def _block_minimum(pull: Numbers, values: Numbers, penalty: float) -> Numbers:
    """Where pull · z − Σ values · z² / 2 − penalty · |z| is largest."""
    values = np.where(values > 1e-14 * np.abs(values).sum(), values, 0.0)
    if penalty == 0:
        return np.divide(pull, values, out=np.zeros_like(pull), where=values > 0)
    if np.linalg.norm(pull) <= penalty:
        return np.zeros_like(pull)
    norm = 0.0
    for _ in range(_MOST_STEPS):
        below = values * norm + penalty
        squares = (pull / below) ** 2
        slope = float((squares * values / below).sum())
        more = (math.sqrt(squares.sum()) - 1) * squares.sum() / slope if slope > 0 else 0.0
        norm += max(0.0, more)
        if more <= 1e-15 * norm:
            break
    found: Numbers = pull * norm / (values * norm + penalty)
    return found
