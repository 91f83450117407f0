"""Means, deviations and correlations of numbers, mixed over labels.

Where a mixture has too many components, its first two moments may still be had: in the network of
the posterior (labels given labels, numbers given labels and numbers) nodes are added one by one,
parents first, and kept only until their last child is there. To drop a label is to mix the means
and covariances of the numbers that are kept (the weak marginals of Lauritzen 1992, which have the
right first two moments). Nothing is conditioned on after that, and regressions are linear, so that
all moments are exact. The next number is the one that leaves the smallest table, ties by name; the
labels that it needs come just before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gml.errors import listing
from gml.model.inference import PosteriorStep
from gml.model.mixed.lines import Array
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.steps import LineStep
from gml.resources import require_memory
from gml.stopping import check_stopped


class ConditionalMoments(NamedTuple):
    """For each configuration of some labels: its probability, and moments of numbers given it.

    Those of a configuration of probability 0 are NaN, and so is the correlation with a number that
    does not vary.
    """

    probability: Array
    mean: Array
    """Configurations, then numbers."""
    sd: Array
    r: Array
    """Configurations, then numbers × numbers."""


def conditional_moments(
    weight: Array, mean: Array, factor: Array, shape: Sequence[int]
) -> ConditionalMoments:
    """Mix x = mean + factor · N(0, I) over the second axis of the weights.

    `mean` is (cells of the weights) × numbers, `factor` has a last axis of errors beside that.
    """
    groups, within = weight.shape
    n = mean.shape[1]
    total = weight.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = weight / total[:, None]
        means = mean.reshape(groups, within, n)
        centre = np.einsum("gw,gwn->gn", share, means)
        errors = factor.reshape(groups, within, n, -1)
        away = (means - centre[:, None])[..., None]
        rooted = np.sqrt(share)[..., None, None] * np.concatenate([errors, away], axis=-1)
        rows = rooted.transpose(0, 2, 1, 3).reshape(groups, n, -1)
        largest = np.abs(rows).max(axis=2, initial=0.0)
        scaled = rows / np.where(largest > 0, largest, 1.0)[..., None]
        length = np.sqrt((scaled * scaled).sum(axis=2))
        unit = scaled / length[..., None]
        r = np.einsum("gik,gjk->gij", unit, unit)
    sd = np.where(np.isnan(total)[:, None], np.nan, largest * length)
    diagonal = np.arange(n)
    r[:, diagonal, diagonal] = np.where(sd > 0, 1.0, np.nan)
    return ConditionalMoments(
        total.reshape(shape),
        centre.reshape(*shape, n),
        sd.reshape(*shape, n),
        np.clip(r, -1.0, 1.0).reshape(*shape, n, n),
    )


class _Front:
    """A table of labels, and means and covariances of numbers for each of its cells."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self.labels: list[int] = []
        self.numbers: list[int] = []
        self._p = np.ones(())
        self._mean = np.zeros((0,))
        self._covariance = np.zeros((0, 0))

    def cells(self, labels: set[int], numbers: set[int]) -> int:
        """Figures of a front with these nodes."""
        return math.prod(self._sizes[k] for k in labels) * (1 + len(numbers) + len(numbers) ** 2)

    def _spread(self, figures: Array, labels: Sequence[int]) -> Array:
        """Figures over configurations of some labels of the front, with its axes."""
        shape = [self._sizes[k] for k in labels]
        tail = figures.shape[1:]
        order = sorted(range(len(labels)), key=lambda at: self.labels.index(labels[at]))
        turned = figures.reshape((*shape, *tail)).transpose(
            [*order, *range(len(shape), len(shape) + len(tail))]
        )
        own = set(labels)
        sizes = [self._sizes[k] if k in own else 1 for k in self.labels]
        return turned.reshape((*sizes, *tail))

    def add_label(self, step: PosteriorStep) -> None:
        self.labels.append(step.node)
        self._p = self._p[..., None] * self._spread(
            step.table.reshape(-1), [*step.parents, step.node]
        )
        self._mean = np.broadcast_to(
            self._mean[..., None, :], (*self._p.shape, len(self.numbers))
        ).copy()
        size = len(self.numbers)
        self._covariance = np.broadcast_to(
            self._covariance[..., None, :, :], (*self._p.shape, size, size)
        ).copy()

    def add_number(self, step: LineStep) -> None:
        at = [self.numbers.index(k) for k in step.parents]
        slopes = self._spread(step.coefficients, step.labels)
        mean = self._spread(step.intercepts, step.labels) + (slopes * self._mean[..., at]).sum(-1)
        across = (slopes[..., None, :] * self._covariance[..., :, at]).sum(-1)
        own = self._spread(step.sds, step.labels) ** 2 + (slopes * across[..., at]).sum(-1)
        shape, size = self._p.shape, len(self.numbers)
        covariance = np.empty((*shape, size + 1, size + 1))
        covariance[..., :size, :size] = self._covariance
        covariance[..., :size, size] = across
        covariance[..., size, :size] = across
        covariance[..., size, size] = own
        self._covariance = covariance
        mean = np.broadcast_to(mean, shape)[..., None]
        self._mean = np.concatenate([self._mean, mean], axis=-1)
        self.numbers.append(step.node)

    def drop(self, node: int) -> None:
        if node in self.numbers:
            kept = [k for k, other in enumerate(self.numbers) if other != node]
            self._mean = self._mean[..., kept]
            self._covariance = self._covariance[..., kept, :][..., kept]
            self.numbers.remove(node)
            return
        axis = self.labels.index(node)
        self._p, self._mean, self._covariance = _mixed(
            self._p, self._mean, self._covariance, (axis,)
        )
        self.labels.remove(node)

    def moments(self, numbers: Sequence[int], labels: Sequence[int]) -> tuple[Array, Array, Array]:
        """The table of the labels that are left, with means and covariances of numbers."""
        at = [self.numbers.index(k) for k in numbers]
        axes = [self.labels.index(k) for k in labels]
        n = len(axes)
        return (
            self._p.transpose(axes),
            self._mean[..., at].transpose([*axes, n]),
            self._covariance[..., at, :][..., at].transpose([*axes, n, n + 1]),
        )


def _mixed(
    p: Array, mean: Array, covariance: Array, axes: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """Mix over some axes of the table."""
    total = p.sum(axis=axes, keepdims=True)
    share = p / np.where(total > 0, total, 1.0)
    centre = (share[..., None] * mean).sum(axis=axes, keepdims=True)
    away = mean - centre
    spread = covariance + away[..., :, None] * away[..., None, :]
    mixed = (share[..., None, None] * spread).sum(axis=axes)
    return np.squeeze(total, axes), np.squeeze(centre, axes), mixed


Steps = tuple[Sequence[PosteriorStep], Sequence[LineStep]]


def posterior_moments(
    net: RankedNetwork, steps: Steps, number: int, max_memory: int | None
) -> tuple[float, float]:
    """Return the mean and the standard deviation of a number in a network of the posterior."""
    _, mean, covariance = moments_given(net, steps, [number], [], max_memory)
    return float(mean[0]), math.sqrt(max(0.0, float(covariance[0, 0])))


def moments_given(
    net: RankedNetwork,
    steps: Steps,
    numbers: Sequence[int],
    labels: Sequence[int],
    max_memory: int | None,
) -> tuple[Array, Array, Array]:
    """Return the table of labels, and means and covariances of numbers in each of its cells."""
    pinned = {*numbers, *labels}
    tables, lines = steps
    step_of: dict[int, PosteriorStep | LineStep] = {step.node: step for step in tables}
    step_of |= {step.node: step for step in lines}
    parents, children = _families(steps, pinned)
    front, done = _Front(net.sizes), set[int]()
    labels_in_order = [step.node for step in tables if step.node in children]

    def added_with(node: int) -> list[int]:
        """A node, and before it all labels that it depends on and that are not there yet."""
        wanted: set[int] = set()
        waiting = [node]
        while waiting:
            new = parents[waiting.pop()] - done - wanted
            wanted |= new
            waiting += new
        return [*(k for k in labels_in_order if k in wanted), node]

    def price(node: int) -> tuple[int, int]:
        new = added_with(node)
        then = done.union(new)
        there = (*front.labels, *front.numbers, *new)
        kept = {k for k in there if k in pinned or children[k] - then}
        of_labels = {k for k in kept if k in net.tables}
        return front.cells(of_labels, kept - of_labels), node

    while pinned - done:
        ready = [
            k
            for k in children.keys() - done
            if k in net.regressions and all(j in done or j in net.tables for j in parents[k])
        ]
        # Labels that no number needs come last.
        for node in added_with(min(ready or pinned - done, key=price)):
            check_stopped()
            _require_room(net, front, node, max_memory)
            step = step_of[node]
            if isinstance(step, LineStep):
                front.add_number(step)
            else:
                front.add_label(step)
            done.add(node)
            for k in [*front.numbers, *front.labels]:
                if k not in pinned and not children[k] - done:
                    front.drop(k)
    return front.moments(numbers, labels)


def _families(
    steps: Steps, wanted: Iterable[int]
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """The parents of each node, and the children of those that are needed to know some nodes."""
    tables, lines = steps
    parents = {step.node: set(step.parents) for step in tables}
    parents |= {step.node: {*step.labels, *step.parents} for step in lines}
    needed: set[int] = set()
    waiting = list(wanted)
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += parents[node]
    children: dict[int, set[int]] = {node: set() for node in needed}
    for node in needed:
        for parent in parents[node]:
            children[parent].add(node)
    return parents, children


def _require_room(net: RankedNetwork, front: _Front, node: int, max_memory: int | None) -> None:
    labels, numbers = {*front.labels}, {*front.numbers}
    (labels if node in net.tables else numbers).add(node)
    names = listing(net.names[k] for k in sorted(labels))
    what = f"moments given {names} together" if labels else "the moments of the numbers"
    require_memory(3 * 8 * front.cells(labels, numbers), max_memory, what)
