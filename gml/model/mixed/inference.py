"""Exact inference in networks of labels and numbers, for one set of evidence at a time.

Given the labels, all numbers are jointly normal. Numbers are eliminated first (strong_order.py,
elimination.py), in the form of regressions as Cowell (2005, "Local propagation in conditional
Gaussian Bayesian networks", JMLR 6:1517) has them: it has the stability of Lauritzen & Jensen
(2001) without their matrices, whose pseudo-inverses blur what follows exactly from what nearly
does. What is left is a model of tables over the labels, in logarithms where these lie far apart,
and that is asked as any other (inference.py of the room above).

- A label has its posterior probabilities; several their joint table.
- A number is a mixture: it is eliminated last, so that its line depends on labels only, and these
  have a joint posterior.
- The most probable values of all nodes maximise the joint density. Given the labels, that is
  highest at the means, and as high as ∏ 1/(sd √2π) over the lines, whatever they depend on: so the
  labels maximise their weight times this. Ties go to the first level, as for tables. Where a number
  varies in some configurations and not in others, densities cannot be compared, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gml.errors import CannotAnswer, UsageError, parameter, quote, unknown_name
from gml.model.evidence import coded
from gml.model.inference import PosteriorStep
from gml.model.junction_tree import NoRoom
from gml.model.mixed.elimination import (
    Eliminated,
    Weight,
    eliminate,
    log_height,
    require_finite,
)
from gml.model.mixed.label_model import LabelInference, label_model
from gml.model.mixed.lines import Array, Line, spread, whole
from gml.model.mixed.mixture import NumberDistribution
from gml.model.mixed.moments import ConditionalMoments, conditional_moments, posterior_moments
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.steps import LineStep
from gml.model.mixed.strong_order import StrongPlan, strong_plan
from gml.model.network import Network
from gml.resources import require_memory


class BestMixed(NamedTuple):
    """Values of nodes, ln of their density (probability, if all are labels), and ln P(evidence)."""

    values: dict[str, str | float]
    log_density: float
    log_evidence: float


class MixedInference:
    """Answers questions about one network of labels and numbers.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> from gml.model.network import CPT
    >>> from gml.model.regressions import ConditionalGaussian, LinearGaussian
    >>> sex, mass = Variable("sex", ("f", "m")), Variable("mass", None)
    >>> lines = tuple(LinearGaussian(mass, (), mean, (), 8.0) for mean in (62.0, 78.0))
    >>> cpds = CPT(sex, (), np.array([[0.5, 0.5]])), ConditionalGaussian(mass, (sex,), lines)
    >>> asked = MixedInference(Network(cpds))
    >>> given = asked.given({"mass": 70.0})
    >>> given.label("sex").tolist()
    [0.5, 0.5]
    >>> found = asked.given({}).number("mass")
    >>> found.mean, round(found.sd, 4), round(found.quantile(0.5), 12)
    (70.0, 11.3137, 70.0)
    """

    def __init__(self, net: Network, *, max_memory: int | None = None) -> None:
        self.net = net
        self.ranked = RankedNetwork(net)
        self.max_memory = max_memory

    def given(self, evidence: Mapping[str, Any] | None = None) -> MixedPosterior:
        """Return what is known once some nodes are observed; CannotAnswer if that is impossible."""
        return MixedPosterior(self, coded(self.net.variables, evidence or {}))

    def __repr__(self) -> str:
        return f"MixedInference({self.net!r})"


class MixedPosterior:
    """What evidence says about all other nodes."""

    def __init__(self, asked: MixedInference, evidence: Mapping[int, float]) -> None:
        self._net = net = asked.ranked
        self._max_memory = asked.max_memory
        by_rank = {net.rank[asked.net.names[j]]: value for j, value in evidence.items()}
        self.observed = frozenset(by_rank)
        # What has one level is known, too.
        self._codes = {k: 0 for k in net.labels if net.sizes[k] == 1}
        self._codes |= {k: int(value) for k, value in by_rank.items() if k in net.tables}
        self._values = {k: float(value) for k, value in by_rank.items() if k in net.regressions}
        found = self._eliminate(self._plan())
        self._labels = self._label_inference(found.weights)

    @property
    def log_evidence(self) -> float:
        """ln of the probability of the evidence; of its density, if there are numbers in it."""
        return self._labels.log_evidence

    # ------------------------------------------------------------------ elimination

    def _plan(self, **how: Any) -> StrongPlan:
        plan = strong_plan(self._net, [*self._codes, *self._values], **how)
        plan.require_room(self._net, self._max_memory)
        return plan

    def _eliminate(self, plan: StrongPlan) -> Eliminated:
        values = {k: np.array([value]) for k, value in self._values.items()}
        codes = {k: np.array([code], dtype=np.int64) for k, code in self._codes.items()}
        found = eliminate(self._net, plan, values, codes)
        require_finite(self._net, found)
        return found

    def _label_inference(self, weights: Sequence[Weight]) -> LabelInference:
        return LabelInference(label_model(self._net, self._codes, weights), self._max_memory)

    def _rank(self, name: str) -> int:
        if name not in self._net.rank:
            raise UsageError(unknown_name("node", name, self._net.names))
        rank = self._net.rank[name]
        if rank in self.observed:
            raise UsageError(f"{quote(name)} is both observed and asked for")
        return rank

    def _check(self, targets: Sequence[str]) -> list[int]:
        if len(set(targets)) != len(targets):
            raise UsageError(f"{parameter('target')} lists a node twice")
        return [self._rank(name) for name in targets]

    # ------------------------------------------------------------------ labels

    def label(self, name: str) -> Array:
        """P(label | evidence)."""
        return self.label_marginals([name])[name]

    def label_marginals(self, names: Sequence[str]) -> dict[str, Array]:
        """P(label | evidence) of each label."""
        ranks = self._check(names)
        asked = [self._net.names[k] for k in ranks if k not in self._codes]
        found = self._labels.tables.marginals({}, asked) if asked else {}
        return {name: found.get(name, np.ones(1)) for name in names}

    def joint(self, names: Sequence[str]) -> Array:
        """P(labels | evidence), with one axis per label."""
        ranks = self._check(names)
        varying = [self._net.names[k] for k in ranks if k not in self._codes]
        return self._labels.joint(varying).reshape([self._net.sizes[k] for k in ranks])

    # ------------------------------------------------------------------ numbers

    def number(self, name: str) -> NumberDistribution:
        """The distribution of a number given the evidence, or its moments if that has no room."""
        rank = self._rank(name)
        try:
            line = self._eliminate(self._plan(last=[rank], only_around=True)).lines[rank]
            weight = self._labels.joint([self._net.names[k] for k in line.labels]).reshape(-1)
        except NoRoom as error:
            return self._moments_only(name, rank, str(error))
        mean, _, sd = whole(line, self._net.sizes, 1)
        chosen = np.flatnonzero(weight > 0)
        levels = [self._net.variables[k].levels or () for k in line.labels]
        places = np.unravel_index(chosen, [len(own) for own in levels] or (1,))
        codes = [place.tolist() for place in places[: len(levels)]]
        columns = [[own[code] for code in row] for own, row in zip(levels, codes, strict=True)]
        return NumberDistribution(
            name,
            tuple(self._net.names[k] for k in line.labels),
            tuple(zip(*columns, strict=True)) if columns else ((),) * len(chosen),
            weight[chosen],
            mean.reshape(-1)[chosen],
            sd.reshape(-1)[chosen],
        )

    def _moments_only(self, name: str, rank: int, reason: str) -> NumberDistribution:
        moments = posterior_moments(self._net, self.steps(), rank, self._max_memory)
        nothing = np.empty(0)
        reason = f"the mixture of {quote(name)} is not known, only its mean and sd: {reason}"
        return NumberDistribution(name, (), (), None, nothing, nothing, moments, reason)

    def numbers_given_labels(
        self, numbers: Sequence[str], labels: Sequence[str] = ()
    ) -> ConditionalMoments:
        """Moments of numbers given each configuration of labels, and how probable these are."""
        ranks, beside = self._check(numbers), self._check(labels)
        self._check([*numbers, *labels])
        beside = [k for k in beside if k not in self._codes]
        plan = self._plan(last=ranks, only_around=True)
        found = self._eliminate(plan)
        order = [k for k in reversed(plan.order) if k in ranks]
        over = (*beside, *sorted({j for k in ranks for j in found.lines[k].labels} - {*beside}))
        cells = math.prod(self._net.sizes[k] for k in over)
        size = 8 * cells * len(ranks) * (2 * len(ranks) + 2)
        require_memory(size, self._max_memory, "the moments of the targets in all configurations")
        weight = self._labels.joint([self._net.names[k] for k in over])
        mean, factor = _stacked(found.lines, order, over, self._net.sizes)
        at = [order.index(k) for k in ranks]
        shape = [self._net.sizes[self._net.rank[name]] for name in labels]
        return conditional_moments(
            weight.reshape(math.prod(shape), -1), mean[..., at], factor[..., at, :], shape
        )

    # ------------------------------------------------------------------ all nodes together

    def steps(self) -> tuple[list[PosteriorStep], list[LineStep]]:
        """A network of the nodes that are not observed given the evidence, parents first, by rank.

        It has the labels, and then the numbers.
        """
        hidden = [k for k in self._net.labels if k not in self._codes]
        tables = [
            PosteriorStep(hidden[step.node], tuple(hidden[k] for k in step.parents), step.table)
            for step in self._labels.tables.posterior_steps({})
        ]
        certain = [k for k in self._codes if k not in self.observed]
        tables = [*(PosteriorStep(k, (), np.ones((1, 1))) for k in certain), *tables]
        plan = self._plan(everything=True)
        lines = self._eliminate(plan).lines
        return tables, [self._line_step(k, lines[k]) for k in reversed(plan.order)]

    def _line_step(self, rank: int, line: Line) -> LineStep:
        intercept, slopes, sd = whole(line, self._net.sizes, 1)
        parents = tuple(sorted(slopes))
        columns = [slopes[k].reshape(-1) for k in parents]
        return LineStep(
            rank,
            line.labels,
            parents,
            intercept.reshape(-1),
            np.column_stack(columns) if columns else np.empty((intercept.size, 0)),
            sd.reshape(-1),
        )

    def best(self) -> BestMixed:
        """The values of all nodes that are not observed whose joint density is highest."""
        plan = self._plan(everything=True)
        found = self._eliminate(plan)
        heights = []
        for k in plan.order:
            line = found.lines[k]
            still = line.sd == 0
            if still.any() and not still.all():
                raise CannotAnswer(
                    f"{quote(self._net.names[k])} varies in some configurations of labels and not "
                    f"in others, so their densities cannot be compared; ask for {parameter('map')} "
                    "of the labels"
                )
            heights.append(Weight(line.labels, log_height(line)))
        labels = self._label_inference([*found.weights, *heights])
        names = [self._net.names[k] for k in self._net.labels if k not in self._codes]
        assigned = labels.tables.map(names)
        codes = dict(self._codes)
        for name, level in assigned.levels.items():
            k = self._net.rank[name]
            codes[k] = (self._net.variables[k].levels or ()).index(level)
        values: dict[int, float] = {}
        for k in reversed(plan.order):
            line = found.lines[k]
            at = (0, *(codes[j] for j in line.labels))
            intercept, slopes, _ = whole(line, self._net.sizes, 1)
            terms = [float(slope[at]) * values[j] for j, slope in sorted(slopes.items())]
            values[k] = math.fsum([float(intercept[at]), *terms])
        return BestMixed(
            self._assignment(codes, values),
            assigned.log_probability + labels.log_evidence - self.log_evidence,
            self.log_evidence,
        )

    def _assignment(
        self, codes: Mapping[int, int], values: Mapping[int, float]
    ) -> dict[str, str | float]:
        found: dict[str, str | float] = {}
        for k, code in codes.items():
            found[self._net.names[k]] = (self._net.variables[k].levels or ())[code]
        found |= {self._net.names[k]: value for k, value in values.items()}
        return {
            name: value
            for name, value in found.items()
            if self._net.rank[name] not in self.observed
        }

    def _only_level(self, rank: int) -> str:
        return (self._net.variables[rank].levels or ("",))[0]

    def best_labels(self, names: Sequence[str]) -> BestMixed:
        """The most probable levels of labels together, everything else summed out."""
        ranks = self._check(names)
        for name, k in zip(names, ranks, strict=True):
            if k in self._net.regressions:
                raise UsageError(
                    f"{parameter('map')} is for labels, and {quote(name)} has numbers; for all "
                    f"nodes together there is {parameter('mpe')}"
                )
        varying = [self._net.names[k] for k in ranks if k not in self._codes]
        assigned = self._labels.tables.map(varying)
        levels: dict[str, str | float] = {
            name: assigned.levels[name] if name in varying else self._only_level(k)
            for name, k in zip(names, ranks, strict=True)
        }
        return BestMixed(levels, min(0.0, assigned.log_probability), self.log_evidence)


def _stacked(
    lines: Mapping[int, Line], order: Sequence[int], over: tuple[int, ...], sizes: Sequence[int]
) -> tuple[Array, Array]:
    """Means and errors of numbers by configuration: x = mean + factor · N(0, I).

    A number of the order depends on those before it.
    """
    shape = tuple(sizes[k] for k in over)
    mean = np.zeros((*shape, len(order)))
    factor = np.zeros((*shape, len(order), len(order)))
    by_rank = tuple(sorted(over))
    turn = [by_rank.index(k) for k in over]
    for place, k in enumerate(order):
        line = lines[k]

        def laid_out(array: Array, line: Line = line) -> Array:
            spread_out = spread(array, line.labels, by_rank)[0].transpose(turn)
            return np.broadcast_to(spread_out, shape)

        mean[..., place] = laid_out(line.intercept)
        for j, slope in sorted(line.slopes.items()):
            figures, other = laid_out(slope), order.index(j)
            mean[..., place] += figures * mean[..., other]
            factor[..., place, :] += figures[..., None] * factor[..., other, :]
        factor[..., place, place] = laid_out(line.sd)
    n = math.prod(shape)
    return mean.reshape(n, -1), factor.reshape(n, len(order), len(order))
