"""Train a chain field: the maximum of the penalised conditional log-likelihood.

What is minimised is Σ_sequences −ln p(y | x) + l2 · Σ w² + l1 · Σ |w|, over the weights of all
features, `bias` and transitions among them: the c2 and c1 of CRFsuite (Okazaki 2007), without ½.
The function is convex; the way down is L-BFGS (first_order.py), or with l1 its variant for absolute
values (orthants.py), from 0.

With l2 the function is strongly convex, so that at gradient g it is at most |g|²/(4·l2) above its
minimum (Boyd & Vandenberghe 2004, 9.1.2). Without it there may be no minimum: a word that only ever
has one label pulls its weight to infinity. Whether there is one a linear programme decides
(separation.py), and where there is none, an error names weights that grow without end. For chains
that are too many for it, weights are watched: they grow when a slight penalty is made a hundred
times slighter, and going on in that direction until one has grown by 10 costs nothing, while at a
minimum it would contradict some row. Then, and where training does not end, the error says that
nothing was decided; otherwise a warning does.

A derivative is the number of times that a feature was seen less the number expected, so that what
is small for a frequent feature may be all there is of a rare one: training ends where none is
larger than the tolerance times the number of rows, nor than 100 times the tolerance of what the
feature was seen, the curvature 2·l2 of its penalty added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.sequences import SequenceRows
from gml.errors import UsageError, listing, parameter
from gml.kernel.blas import one_blas_thread
from gml.model.conditional.numeric_inputs import Scale
from gml.model.sequences.attributes import Attributes, RowAttributes, require_window
from gml.model.sequences.chain_field import ChainField, NoFiniteMaximum
from gml.model.sequences.feature_table import FeatureTable
from gml.model.sequences.names import centred, feature_names
from gml.model.sequences.objective import ChainObjective
from gml.model.sequences.orthants import minimise_absolute, pseudo_gradient
from gml.model.sequences.separation import ChainSeparation, Verdict, incomplete_attributes
from gml.model.undirected.first_order import Descent, minimise
from gml.model.undirected.fitting import Penalty
from gml.progress import Deadline, reporter
from gml.resources import available_threads, require_memory

Numbers = NDArray[np.float64]

TOLERANCE = 1e-6
"""The largest derivative per row at which training has converged."""
TOLERANCE_L1 = 1e-5
"""The same with l1, where the last digits take long: signs of small weights still change."""
# Penalties on the sum over sequences, and a direction that leads to infinity: how far it is gone,
# and what that may cost.
_SLIGHT = (1e-2, 1e-4, 1e-6)
_FAR, _FREE = 10.0, 0.1
# How much more of a feature's own number may be left than of the number of rows.
_RARE = 1e2
# Vectors that L-BFGS keeps.
_VECTORS = 80
_NAMED = 5
# The digits of a direction that are compared, and the share of its largest number that is none.
_DIGITS, _STILL = 6, 1e-6


@dataclass(frozen=True)
class ChainFit:
    """A chain field and how its training ended."""

    field: ChainField
    l1: float
    l2: float
    objective: float
    """What was minimised, at the end."""
    log_likelihood: float
    """ln p(labels | rows), summed over the sequences."""
    n_sequences: int
    n_rows: int
    n_features: int
    """Those that training saw; with l1 the field keeps those with a weight other than 0."""
    iterations: int
    gradient: float
    """The largest derivative that is left, per row."""
    gap: float | None
    """No more than this, the objective is above its minimum; None without l2, or with l1."""
    converged: bool


def train_chain(
    rows: SequenceRows,
    *,
    window: int = 1,
    l1: float = 0.0,
    l2: float = 1.0,
    tolerance: float | None = None,
    max_iterations: int = 5000,
    threads: int | None = None,
    deadline: Deadline | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> ChainFit:
    """Learn a chain field from sequences whose labels are known.

    Parameters
    ----------
    rows
        What `read_sequences` returns; every row has a label.
    window
        How many rows before and after a row its attributes come from.
    l1, l2
        The penalties, on the sum over sequences.
    tolerance, max_iterations
        Training ends where no derivative per row is larger (by default 1e-6, with l1 1e-5), or
        after so many steps.
    threads, deadline
        What it may take; at the deadline, what was reached is returned, not converged.
    scales
        What standardises numeric inputs; by default their mean and sd in these rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from gml.data.options import ReadOptions
    >>> from gml.data.sequences import read_sequences
    >>> frame = pd.DataFrame({"id": [1, 1, 2, 2, 3], "word": ["the", "dog", "a", "cat", "dog"],
    ...                       "tag": ["D", "N", "D", "N", "N"]})
    >>> rows = read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    >>> fit = train_chain(rows, window=0)
    >>> fit.converged, fit.n_features, round(fit.objective, 6)
    (True, 10, 2.3984)
    """
    require_window(window)
    penalty = Penalty(l1=l1, l2=l2)
    if rows.target is None or len(rows.target.levels or ()) < 2:
        raise UsageError("the rows have no labels to learn from")
    tolerance = tolerance or (TOLERANCE_L1 if l1 else TOLERANCE)
    deadline, threads = deadline or Deadline(), threads or available_threads()
    labels = rows.labels[rows.order]
    with reporter().phase("finding features"):
        attributes = Attributes.seen_in(rows, window, scales)
        of_rows = attributes.of_rows(rows)
        table = FeatureTable.seen_in(
            of_rows,
            labels,
            rows.starts,
            n_labels=len(rows.target.levels or ()),
            n_attributes=len(attributes),
        )
    require_memory(8 * _VECTORS * len(table), None, f"the weights of {len(table)} features")
    objective = ChainObjective(table, of_rows, labels, rows.starts, threads=threads)
    times = table.times_seen(of_rows, labels, rows.starts)
    # What a derivative per row may be at most, as a multiple of the tolerance.
    units = np.minimum(1.0, _RARE * (times + 2 * penalty.l2) / rows.n_rows)
    way = _Way(objective, units, penalty, tolerance, max_iterations, deadline)
    # The products are of vectors, and between them the kernel works in threads.
    with one_blas_thread():
        if penalty.is_likelihood:
            verdict = _verdict(attributes, table, of_rows, labels, rows, objective, deadline)
            names = _Names(attributes, table, rows)
            if verdict.direction is not None:
                raise names.no_maximum(verdict.direction, verdict.why)
            if verdict.exists is None and not deadline.passed:
                found = _undecided(way, names, verdict.why)
            else:
                found = way.down()
        else:
            found = way.down()
    return _fit(rows, window, attributes, table, objective, penalty, found)


def _verdict(
    attributes: Attributes,
    table: FeatureTable,
    of_rows: RowAttributes,
    labels: NDArray[np.int64],
    rows: SequenceRows,
    objective: ChainObjective,
    deadline: Deadline,
) -> Verdict:
    """Decide whether the likelihood has a maximum."""
    endless = incomplete_attributes(table, attributes.are_numbers)
    if endless is not None:
        return Verdict(False, endless, "as for a value that some label never goes with")
    _, gradient = objective.likelihood(np.zeros(len(table)))
    return ChainSeparation(table, of_rows, labels, rows).verdict(-gradient, deadline)


def _undecided(way: _Way, names: _Names, why: str) -> Descent:
    """Go down where nobody knows whether there is a bottom."""
    growth = way.endless()
    found = way.down()
    if way.deadline.passed:
        return found
    if growth is not None or not found.converged:
        raise names.undecided(found.point if growth is None else growth, why)
    reporter().warn(
        f"that the likelihood has a maximum was not proved ({why}); if weights are large, give "
        f"{parameter('l2')} above 0"
    )
    return found


class _Way(NamedTuple):
    """The way down to the minimum, and how far it may go."""

    objective: ChainObjective
    units: Numbers
    penalty: Penalty
    tolerance: float
    max_iterations: int
    deadline: Deadline

    def down(self) -> Descent:
        """Minimise what is to be minimised."""
        if not self.penalty.l1:
            return self._by_ridge(self.penalty.l2, self.tolerance)
        return minimise_absolute(
            self.objective.penalised(self.penalty.l2),
            np.zeros(len(self.units)),
            l1=self.penalty.l1 / self.objective.n_rows,
            tolerance=self.tolerance,
            units=self.units,
            max_iterations=self.max_iterations,
            deadline=self.deadline,
        )

    def endless(self) -> Numbers | None:
        """A direction in which the likelihood grows without end, if there is one."""
        near = None
        for l2 in _SLIGHT:
            tolerance = min(self.tolerance, 0.1 * l2 / self.objective.n_rows)
            far = self._by_ridge(l2, tolerance, near).point
            growth = np.zeros_like(far) if near is None else far - near
            size = float(np.abs(growth).max(initial=0.0))
            if self.deadline.passed:
                return None
            if size > 0:
                ahead, _ = self.objective.likelihood(far + _FAR / size * growth)
                if ahead - self.objective.likelihood(far)[0] < _FREE:
                    return growth
            near = far
        return None

    def _by_ridge(self, l2: float, tolerance: float, start: Numbers | None = None) -> Descent:
        return minimise(
            self.objective.penalised(l2),
            np.zeros(len(self.units)) if start is None else start,
            tolerance=tolerance,
            units=self.units,
            max_iterations=self.max_iterations,
            deadline=self.deadline,
        )


def _fit(
    rows: SequenceRows,
    window: int,
    attributes: Attributes,
    table: FeatureTable,
    objective: ChainObjective,
    penalty: Penalty,
    found: Descent,
) -> ChainFit:
    weights = found.point
    loss, gradient = objective.likelihood(weights)
    gradient += 2 * penalty.l2 * weights
    value = loss + penalty.l2 * math.fsum(weights**2) + penalty.l1 * math.fsum(np.abs(weights))
    pull = pseudo_gradient(weights, gradient, penalty.l1) if penalty.l1 else gradient
    gap = None
    if penalty.l2 and not penalty.l1:
        gap = float(gradient @ gradient) / (4 * penalty.l2)
    kept = weights != 0 if penalty.l1 else np.ones(len(weights), dtype=np.bool_)
    assert rows.target is not None
    field = ChainField(
        rows.sequence,
        rows.target,
        tuple(sorted(rows.inputs.names)),
        window,
        attributes,
        table.some(kept),
        weights[kept].copy(),
    )
    return ChainFit(
        field,
        penalty.l1,
        penalty.l2,
        value,
        -loss,
        rows.n_sequences,
        rows.n_rows,
        len(table),
        found.iterations,
        float(np.abs(pull).max(initial=0.0)) / rows.n_rows,
        gap,
        found.converged,
    )


class _Names(NamedTuple):
    """The features by name, for what is said of those that grow."""

    attributes: Attributes
    table: FeatureTable
    rows: SequenceRows

    def no_maximum(self, growth: Numbers, why: str) -> NoFiniteMaximum:
        """The error where the likelihood has no maximum."""
        return NoFiniteMaximum(
            f"the likelihood has no maximum: the weights of {self._fastest(growth)} grow without "
            f"end{why and f', {why}'}; give a penalty, such as {parameter('l2', 1)}"
        )

    def undecided(self, growth: Numbers, why: str) -> NoFiniteMaximum:
        """The error where weights grow, and nobody knows whether they end."""
        return NoFiniteMaximum(
            "whether the likelihood has a maximum could not be decided, and none was reached: "
            f"{why}, and the weights of {self._fastest(growth)} still grow; give a penalty, such "
            f"as {parameter('l2', 1)}"
        )

    def _fastest(self, growth: Numbers) -> str:
        assert self.rows.target is not None
        # What all labels of an attribute share changes no probability, however fast it grows.
        speeds = np.abs(centred(self.table, growth))
        least = _STILL * np.abs(growth).max(initial=0.0)
        if not (speeds > least).any():
            speeds = np.abs(growth)
        # Digits that the programme did not settle are no order.
        order = np.argsort(-np.round(speeds, _DIGITS), kind="stable")
        fastest = np.zeros(len(growth), dtype=np.bool_)
        fastest[order[:_NAMED]] = True
        fastest &= speeds > least
        labels = self.rows.target.levels or ()
        return listing(
            " → ".join(name)
            for name in feature_names(self.attributes, self.table.some(fastest), labels)
        )
