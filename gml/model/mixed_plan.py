"""Plans of ancestral sampling over labels and numbers: the labels first, then the numbers.

No label depends on a number, so that the labels are a plan of tables of their own. A number is
intercept + Σ coefficients · parents + sd · error, with figures that depend on the configuration of
some labels; the error is the standard normal number that a network of numbers draws for the same
seed, row and name. Steps may be those of a network or of its posterior given evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.row_groups import configurations_at
from gml.kernel.plan import GaussianPlan, GaussianStep, TablePlan, TableStep
from gml.model.regressions import ConditionalGaussian

if TYPE_CHECKING:
    from gml.kernel.interface import Sampler

Columns = list[NDArray[Any]]


@dataclass(frozen=True)
class ConditionalStep:
    """Draw a number from the regression of the configuration that `labels` have in a row.

    `intercepts` and `sds` have one entry per configuration, the last label fastest, `coefficients`
    a row of them, one column per parent. Without labels there is one configuration.
    """

    target: int
    labels: tuple[int, ...]
    parents: tuple[int, ...]
    intercepts: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    sds: NDArray[np.float64]


def conditional_step(
    target: int, labels: tuple[int, ...], parents: tuple[int, ...], cpd: ConditionalGaussian
) -> ConditionalStep:
    """Return the step that draws a node, whose parents are columns at these positions."""
    lines = cpd.regressions
    slopes = [line.coefficients for line in lines]
    return ConditionalStep(
        target,
        labels,
        parents,
        np.array([line.intercept for line in lines], dtype=np.float64),
        np.array(slopes, dtype=np.float64).reshape(len(lines), len(parents)),
        np.array([line.sd for line in lines], dtype=np.float64),
    )


@dataclass(frozen=True)
class MixedPlan:
    """Steps that fill columns of codes and of numbers; `n_levels` is None for a column of numbers.

    `fixed` has the codes, or numbers, of the columns that were observed, and `keys` one row of two
    64-bit numbers per column.
    """

    n_levels: tuple[int | None, ...]
    steps: tuple[TableStep | GaussianStep | ConditionalStep, ...]
    keys: NDArray[np.uint64]
    fixed: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = set(self.fixed)
        for step in self.steps:
            given = {*step.parents, *(step.labels if isinstance(step, ConditionalStep) else ())}
            if step.target in known or not known >= given:
                raise ValueError(f"column {step.target} is drawn twice, or before a parent of it")
            known.add(step.target)
        if known != set(range(len(self.n_levels))) or self.keys.shape != (len(self.n_levels), 2):
            raise ValueError("the plan is not for each column")

    def sampler(self) -> Sampler:
        """Return what draws rows."""
        return _MixedSampler(self)


class _MixedSampler:
    """Draws the labels and the errors in the kernel, and adds up the numbers from them."""

    def __init__(self, plan: MixedPlan) -> None:
        self._plan = plan
        self._labels = [j for j, size in enumerate(plan.n_levels) if size is not None]
        self._tables = kernel.active().TableSampler(_label_plan(plan, self._labels))
        self._numbers = [step for step in plan.steps if not isinstance(step, TableStep)]
        drawn = [step.target for step in self._numbers]
        errors = tuple(GaussianStep(k, (), 0.0, (), 1.0) for k in range(len(drawn)))
        self._errors = kernel.active().GaussianSampler(
            GaussianPlan(len(drawn), errors, np.ascontiguousarray(plan.keys[drawn]))
        )

    def draw(self, first_row: int, columns: Columns) -> None:
        """Fill the columns with the rows from first_row on."""
        plan = self._plan
        for column, value in plan.fixed.items():
            columns[column][:] = value
        if self._labels:
            self._tables.draw(first_row, [columns[j] for j in self._labels])
        drawn = [columns[step.target] for step in self._numbers]
        if drawn:
            self._errors.draw(first_row, drawn)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in self._numbers:
                drawn_values = self._number(step, columns)
                # A NaN means missing, and this is a number that no float holds.
                columns[step.target][:] = np.where(np.isnan(drawn_values), np.inf, drawn_values)

    def _number(
        self, step: GaussianStep | ConditionalStep, columns: Columns
    ) -> NDArray[np.float64]:
        """The values of a column that holds its errors; one order of summation for any rows."""
        parents = [columns[j] for j in step.parents]
        error = columns[step.target]
        if isinstance(step, GaussianStep):
            found = np.full(len(error), step.intercept)
            for slope, parent in zip(step.coefficients, parents, strict=True):
                found += slope * parent
            return found + step.sd * error
        at = configurations_at(
            [self._plan.n_levels[j] or 1 for j in step.labels],
            [columns[j] for j in step.labels],
            len(error),
        )
        found = step.intercepts[at]
        for k, parent in enumerate(parents):
            found += step.coefficients[at, k] * parent
        found += step.sds[at] * error
        return found


def _label_plan(plan: MixedPlan, labels: Sequence[int]) -> TablePlan:
    """The plan of the labels alone."""
    place = {j: k for k, j in enumerate(labels)}
    return TablePlan(
        tuple(plan.n_levels[j] or 0 for j in labels),
        tuple(
            TableStep(place[step.target], tuple(place[j] for j in step.parents), step.table)
            for step in plan.steps
            if isinstance(step, TableStep)
        ),
        np.ascontiguousarray(plan.keys[list(labels)]).reshape(-1, 2),
        {place[j]: int(code) for j, code in plan.fixed.items() if j in place},
    )
