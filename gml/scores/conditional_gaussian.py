"""Scores of conditional Gaussian families: tables of labels, and a regression per group of rows.

Lauritzen & Wermuth (1989, Ann. Stat. 17:31). A label with labels for parents is worth its loglik. A
number is regressed on the numbers among its parents in each group of rows, one per configuration of
the labels among them: loglik-cg = −½ Σⱼ nⱼ(ln 2πσⱼ² + 1) with σⱼ² = SSEⱼ/nⱼ (maximum likelihood;
bnlearn divides by nⱼ less the coefficients, pgmpy by nⱼ − 1). A group without rows is worth 0, and
counts in the dimension (c + 2)·q of a number with c numbers and q declared configurations for
parents. A group whose rows are fewer than its coefficients (the intercept counted) + 2, or in which
a number is a linear function of the others, says nothing about a variance: the family is worth −∞,
and `remarks` names it.

No number may be a parent of a label (`labels_first`). Among the DAGs without such an edge,
equivalent ones have the same score. Let h(S) be the likelihood of the numbers C of a set S within
the groups of its labels D, each with a normal distribution of its own, times that of the labels,
each configuration with a probability of its own. The score of a family is h(x ∪ pa) − h(pa), so
that the reversal of a covered edge changes nothing; and equivalent DAGs without edges from numbers
to labels differ by such reversals, none of which makes such an edge (Chickering 1995, UAI, theorem
2: only edges that differ are reversed). The difference is also taken for a label with numbers among
its parents, which GES asks for on its way between classes that have a DAG without such edges.

More parents never make a family that is worth −∞ worth anything, so that −∞ is its ceiling. A
label has the ceiling of loglik; other numbers have none, as more groups may always fit better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family, FamilyArray
from gml.counts.poor_groups import poor_group
from gml.errors import listing, quote
from gml.graph.knowledge import Knowledge
from gml.kernel.layout import LIKELIHOOD, FamilyRule
from gml.scores.base import require_varying
from gml.scores.label_order import labels_before_numbers
from gml.scores.penalised import AicPrice, BicPrice, LikelihoodScore
from gml.scores.registry import KnownScore

_LOG_DENSITY = math.log(2 * math.pi) + 1
_SHOWN = 3

Columns = tuple[int, ...]


class LogLikelihoodCg(LikelihoodScore):
    """The maximised log-likelihood of tables and of regressions by group."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._is_number = np.array([v.is_continuous for v in counter.variables], dtype=bool)
        require_varying(counter)
        self._excluded: set[tuple[int, Columns]] = set()

    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        found = np.empty(len(families))
        is_number = self._is_number[_children(families)]
        numbers, labels = np.flatnonzero(is_number), np.flatnonzero(~is_number)
        if len(numbers):
            chosen = _chosen(families, numbers)
            found[numbers] = values = self._of_numbers(chosen)
            for k in np.flatnonzero(values == -math.inf).tolist():
                child, parents = chosen[k]
                self._excluded.add((child, self._counter.order.sorted(parents)))
        if len(labels):
            found[labels] = self._of_labels(_chosen(families, labels))
        return found

    def _of_numbers(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The likelihoods of numbers, −∞ where a group does not determine its regression."""
        left = self._counter.residuals(families)
        rows = left.n.astype(np.float64)
        values = -0.5 * self._counter.unit * (rows * _LOG_DENSITY + left.log_sum)
        return np.where(left.sufficient, values, -math.inf)

    def _of_labels(self, families: Sequence[Family]) -> NDArray[np.float64]:
        split = [self._split(parents) for _, parents in families]
        alone = [(child, labels) for (child, _), (labels, _) in zip(families, split, strict=True)]
        found = self._counter.family_values(alone, FamilyRule(LIKELIHOOD))
        # What a label adds to the likelihood of numbers by making more groups of them.
        for k, (labels, numbers) in enumerate(split):
            if numbers:
                finer = self._of_joint((*labels, families[k][0]), numbers)
                found[k] += finer if finer == -math.inf else finer - self._of_joint(labels, numbers)
        return found

    def _split(self, parents: Sequence[int]) -> tuple[Columns, Columns]:
        """The labels and the numbers of some columns, in order of their names."""
        ordered = self._counter.order.sorted(parents)
        return (
            tuple(j for j in ordered if not self._is_number[j]),
            tuple(j for j in ordered if self._is_number[j]),
        )

    def _of_joint(self, labels: Columns, numbers: Columns) -> float:
        """The likelihood of numbers within groups, each regressed on those before it."""
        chain = [(child, (*labels, *numbers[:k])) for k, child in enumerate(numbers)]
        return float(self._of_numbers(chain).sum())

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """Free parameters over declared levels, of a label's table or a number's regressions."""
        numbers = sum(bool(self._is_number[j]) for j in parents)
        configurations = math.prod(self._levels[j] for j in parents)
        if self._is_number[child]:
            return configurations * (numbers + 2)
        # With numbers among its parents: what it adds to the parameters of all of them together.
        return (self._levels[child] - 1) * configurations * (1 + numbers * (numbers + 3) / 2)

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The same for many families."""
        if not isinstance(families, FamilyArray):
            return np.array([self.dimension(*family) for family in families], dtype=float)
        levels, is_number = np.array(self._levels)[families.rows], self._is_number[families.rows]
        numbers = is_number[:, 1:].sum(axis=1)
        of_number = numbers + 2.0
        of_label = (levels[:, 0] - 1) * (1 + numbers * (numbers + 3) / 2)
        own = np.where(is_number[:, 0], of_number, of_label)
        sizes: NDArray[np.float64] = own * levels[:, 1:].prod(axis=1)
        return sizes

    def _most(
        self, families: Sequence[Family], likelihoods: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        of_number = np.where(likelihoods == -math.inf, -math.inf, math.inf)
        children = _children(families)
        is_label = ~self._is_number[children]
        of_label = {child: self._most_of_label(child) for child in set(children[is_label].tolist())}
        of_number[is_label] = [of_label[child] for child in children[is_label].tolist()]
        return of_number

    def _most_of_label(self, child: int) -> float:
        """The log-likelihood of a label given all others, which no labels can exceed."""
        if child not in self._most_known:
            others = np.flatnonzero(~self._is_number)
            family = (child, tuple(j for j in others.tolist() if j != child))
            value = self._counter.family_values([family], FamilyRule(LIKELIHOOD))[0]
            self._most_known[child] = float(value)
        return self._most_known[child]

    def limited(self, knowledge: Knowledge) -> Knowledge:
        """Let no number be a parent of a label."""
        return labels_before_numbers(knowledge, self._counter.variables, self.name)

    def remarks(self) -> list[str]:
        """Name the families that are worth −∞."""
        if not self._excluded:
            return []
        names = self.names
        by_size = sorted(
            self._excluded,
            key=lambda family: (len(family[1]), names[family[0]], [names[j] for j in family[1]]),
        )
        shown = ", ".join(self._described(*family) for family in by_size[:_SHOWN])
        more = f" and {len(by_size) - _SHOWN} more" if len(by_size) > _SHOWN else ""
        families = "1 family is" if len(by_size) == 1 else f"{len(by_size)} families are"
        return [
            f"{self.name}: {families} worth −∞, as a group has too few rows or no variance left: "
            f"{shown}{more}"
        ]

    def noted(self) -> set[tuple[int, Columns]]:
        """The families that are worth −∞."""
        return self._excluded

    def take_noted(self, noted: set[tuple[int, Columns]]) -> None:
        """Add those of another process."""
        self._excluded |= noted

    def _described(self, child: int, parents: Columns) -> str:
        """A family that is worth −∞, and one of the groups that are to blame."""
        family = quote(self.names[child])
        if parents:
            family += f" given {listing([self.names[j] for j in parents])}"
        return f"{family} ({poor_group(self._counter, child, parents)})"


class AicCg(AicPrice, LogLikelihoodCg):
    """loglik-cg − dimension."""


class BicCg(BicPrice, LogLikelihoodCg):
    """loglik-cg − ½ ln n · dimension."""


def _children(families: Sequence[Family]) -> NDArray[np.int64]:
    if isinstance(families, FamilyArray):
        return families.rows[:, 0].astype(np.int64)
    return np.array([child for child, _ in families], dtype=np.int64)


def _chosen(families: Sequence[Family], at: NDArray[np.int64]) -> Sequence[Family]:
    if isinstance(families, FamilyArray):
        return FamilyArray(families.rows[at])
    return [families[k] for k in at.tolist()]
