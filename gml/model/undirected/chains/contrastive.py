"""Maximum likelihood by stochastic approximation: (persistent) contrastive divergence.

The gradient of the log-likelihood per row is the difference of observed and expected moments, and
chains of a Gibbs sampler that follow the parameters stand for the expectation (Younes 1989;
Tieleman 2008: "persistent" contrastive divergence). With chains that start at rows of the data in
every step and make only a few sweeps (Hinton 2002, contrastive divergence), the fixed point is
another one, biased towards models whose chains stay where the data are.

*Schedule.* Step t adds a_t · B · (observed − chains) to the coefficients, a_t = rate · (1 + t/20)
to the power −0.6. The a_t add up to infinity and their squares do not, which is what Robbins &
Monro (1951) ask for; as they fall more slowly than 1/t, the average of the later half of the steps
has the least possible variance whatever B is (Polyak & Juditsky 1992). B is the inverse of the
covariance of the features in the first sweeps (a Newton step), or, for models of many parameters
or with l1, their inverse variances over the largest eigenvalue of their correlations.

*Stop.* Once the average is over fifty times as many states as there are rows, so that chance in the
chains adds little to that in the data, and then after every 100 steps, the moments at the averaged
parameters are compared with the observed ones (moment_checks.py): it is over when all gaps are
small beside the errors of the data. There are at least 500 chains, and one per twenty rows up to
5 000, so that the steps are enough for many rows. The largest gap is in the notes.

Penalties and smoothing are those of fitting.py. Terms that l1 holds at 0 in most of the averaged
steps are 0. Cells that no row is in are excluded (excluded_cells.py). Other maxima at infinity are
refused. A maximum of the pseudo-likelihood rules them out: along a direction in which the
likelihood grows for ever, no factor of the pseudo-likelihood falls. Without one the junction tree
is asked, and where that is too large, the fit has not converged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, UsageError, counted, parameter, require_whole
from gml.model.undirected.boundary.excluded_cells import (
    empty_cells,
    require_finite,
    without_flat_part,
)
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.chains.moment_checks import ChainCheck, ExactMoments, allowed_gaps
from gml.model.undirected.chains.moment_gaps import (
    Average,
    MomentCheck,
    Part,
    largest_margin_gap,
)
from gml.model.undirected.chains.moments import ChainMoments, RowSource, States
from gml.model.undirected.chains.step_scaling import step_scaling
from gml.model.undirected.coefficients import Coefficients, Vector
from gml.model.undirected.fitting import (
    FEWEST_CHAINS,
    NO_PENALTY,
    Fitted,
    Penalty,
    Support,
)
from gml.model.undirected.groups import Groups
from gml.model.undirected.observed import tables_over
from gml.model.undirected.pseudo.start import pseudo_start
from gml.model.undirected.terms import Terms
from gml.progress import Deadline, reporter
from gml.resources import require_memory

CHAINS, SWEEPS, ITERATIONS = 500, 1, 1000
_MOST_CHAINS, _ROWS_PER_CHAIN = 5000, 20
# Moments of single chains that are held at once where many rows ask for many chains.
_MOST_FEATURES = 5_000_000
_BLOCK = 100
_STATES_PER_ROW = 50
_LONGEST = 1.0
_SLOWING, _SLOW_AFTER = 0.6, 20
_FEW_COEFFICIENTS = 1500
# Chains are averaged in about so many groups, whose differences say how large errors are.
_GROUPS = 100


@dataclass(frozen=True)
class ContrastiveStep:
    """One step: what the chains' moments were, and how far from those observed."""

    iteration: int
    """0 has the observed moments."""
    rate: float
    gap: float
    """The largest difference of a moment from the observed one, penalties taken into account."""
    moments: Vector
    """Means of the products of contrasts, in the order of the coefficients."""


StepTrace = Callable[[ContrastiveStep], None]


def fit_contrastive(
    counter: Counter,
    terms: Terms,
    *,
    start: Fitted | None = None,
    penalty: Penalty = NO_PENALTY,
    persistent: bool = True,
    chains: int | None = None,
    sweeps: int = SWEEPS,
    iterations: int = ITERATIONS,
    rate: float | None = None,
    seed: int = 0,
    trace: StepTrace | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> Fitted:
    """Fit by persistent contrastive divergence, or by contrastive divergence.

    Parameters
    ----------
    counter
        The data; contrastive divergence that is not persistent needs rows.
    terms
        The terms of the model.
    start
        Where to begin; by default, the maximum of the pseudo-likelihood.
    penalty
        Penalties and smoothing.
    persistent
        Whether chains go on from step to step.
    chains, sweeps, iterations
        How many chains there are (by default 500, or more if there are more than 10 000 rows), how
        many sweeps they make per step, and the most steps.
    rate
        The first step, as a share of the one that would be right without noise; by default 0.5.
    seed
        Seed of the chains.
    trace
        Called with every step.
    threads, max_memory, deadline
        What the fit may take; at the deadline the best so far is returned, not converged.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> terms = Terms.of(counter.select(["smoke", "lung", "bronc"]).variables,
    ...                  [["smoke", "lung"], ["smoke", "bronc"]])
    >>> found = fit_contrastive(counter, terms, iterations=100)
    >>> [round(float(table[1, 1]), 1) for table in found.tables[-2:]]
    [0.3, 0.6]
    """
    require_whole(FEWEST_CHAINS, chains=chains)
    require_whole(1, sweeps=sweeps, iterations=iterations)
    if rate is not None and not 0 < rate < math.inf:
        raise UsageError(f"{parameter('rate')} must be above 0 and finite, not {rate}")
    coefficients = Coefficients(terms)
    deadline = deadline or Deadline()
    if chains is None:
        affordable = min(_MOST_CHAINS, _MOST_FEATURES // max(1, coefficients.size))
        chains = max(CHAINS, min(affordable, int(counter.n * counter.unit) // _ROWS_PER_CHAIN))
    if start is None:
        start = pseudo_start(counter, terms, penalty, threads, max_memory, deadline)
    is_finite = not penalty.is_likelihood or (start.method == "pl" and start.converged)
    if not is_finite:
        zeros = empty_cells(counter, terms, penalty)
        is_finite = require_finite(counter, terms, zeros, deadline=deadline)
    walk = _Walk(persistent, chains, sweeps, seed, threads, max_memory)
    learner = _Learner(counter, coefficients, penalty, walk, trace)
    found = learner.learn(
        coefficients.vector(start.tables), iterations, 0.5 if rate is None else rate, deadline
    )
    found = replace(found, supports=learner.supports)
    if is_finite:
        return found
    doubt = "the maximum may lie at infinity: no row holds some terms back, and l2 would"
    return replace(found, converged=False, notes=(*found.notes, doubt))


@dataclass(frozen=True)
class _Walk:
    """How chains go, and what they may take."""

    persistent: bool
    n_chains: int
    sweeps: int
    seed: int
    threads: int | None
    max_memory: int | None


class _Learner:
    """The chains, what they are compared with, and how."""

    def __init__(
        self,
        counter: Counter,
        coefficients: Coefficients,
        penalty: Penalty,
        walk: _Walk,
        trace: StepTrace | None,
    ) -> None:
        terms = coefficients.terms
        self._coefficients, self._walk, self._trace = coefficients, walk, trace
        n = counter.n * counter.unit + penalty.smoothing
        if n <= 0:
            raise CannotAnswer("there are no rows to fit")
        margins = [
            (table + penalty.smoothing / table.size) / n
            for table in tables_over(counter, terms, terms.all)
        ]
        self._observed = coefficients.moments(margins)
        self._n = n
        self._l2 = penalty.l2 / n
        self._groups = Groups.of_terms(coefficients, penalty.l1 / n)
        self._zeros = empty_cells(counter, terms, penalty)
        self.supports = tuple(Support(scope, ~zero) for scope, zero in self._zeros.items())
        self._walls = [np.where(zero, -np.inf, 0.0) for zero in self._zeros.values()]
        self._features = ChainMoments(coefficients)
        self._exact = None
        if walk.persistent:
            self._exact = ExactMoments.if_small(coefficients, self._zeros, walk.max_memory)
        self._allowed = allowed_gaps(coefficients, margins, n)
        self._rows = RowSource(counter, terms, walk.seed) if counter.rows() is not None else None
        if not walk.persistent:
            counter.require_rows("contrastive divergence")
        self._n_groups = walk.n_chains // max(1, walk.n_chains // _GROUPS)
        require_memory(
            8 * (6 * walk.n_chains + min(coefficients.size, _FEW_COEFFICIENTS)) * coefficients.size,
            walk.max_memory,
            "the moments of the chains",
        )
        self._chains: GibbsChains | None = None
        self._others: GibbsChains | None = None

    def _at(self, vector: Vector) -> GibbsChains:
        """The chains, with these parameters; they begin at rows where there are any."""
        if self._chains is None:
            self._chains = self._even_chains(vector, self._walk.seed)
            if self._rows is not None:
                self._chains.states[...] = self._rows.draw(self._walk.n_chains)
        else:
            self._chains.set_tables(self._tables(vector))
        return self._chains

    def _others_at(self, vector: Vector) -> GibbsChains:
        """Chains that began at even draws, whatever the data are."""
        if self._others is None:
            self._others = self._even_chains(vector, ~self._walk.seed)
        else:
            self._others.set_tables(self._tables(vector))
        return self._others

    def _tables(self, vector: Vector) -> list[NDArray[np.float64]]:
        return [*self._coefficients.tables(vector), *self._walls]

    def _even_chains(self, vector: Vector, seed: int) -> GibbsChains:
        scopes = (*self._coefficients.terms.all, *self._zeros)
        return GibbsChains(
            self._coefficients.terms,
            scopes,
            self._tables(vector),
            n_chains=self._walk.n_chains,
            seed=seed,
            threads=self._walk.threads,
        )

    def _moved(self, chains: GibbsChains) -> States | None:
        """Move the chains; return where they began, if that was at rows."""
        before = None
        if not self._walk.persistent and self._rows is not None:
            before = self._rows.draw(self._walk.n_chains)
            chains.states[...] = before
        chains.sweep(self._walk.sweeps)
        return before

    def _pull(self, vector: Vector) -> Vector:
        """The derivative of the penalties but for terms at 0."""
        joint = np.where(self._coefficients.is_joint, vector, 0.0)
        return 2 * self._l2 * joint + self._groups.pull(vector)

    def _left(self, vector: Vector, difference: Vector) -> Vector:
        """What is left of the gradient; l1 makes up for some of it where terms are 0."""
        gradient = difference - self._pull(vector)
        if self._groups.l1 == 0:
            return gradient
        zero = self._groups.is_zero(vector)
        return np.where(zero, self._groups.shrunk(gradient, 1.0), gradient)

    def learn(self, vector: Vector, iterations: int, rate: float, deadline: Deadline) -> Fitted:
        """Take steps until a check passes, or there are no more."""
        chains = self._at(vector)
        size = self._coefficients.size
        steps = step_scaling(
            self._features,
            chains,
            lambda: self._moved(chains),
            np.where(self._coefficients.is_joint, 2 * self._l2, 0.0),
            full=size <= _FEW_COEFFICIENTS and self._groups.l1 == 0,
        )
        self._tell(0, rate, self._observed, np.zeros_like(vector))
        done, average, check = 0, Average(vector), None
        enough = _STATES_PER_ROW * self._n / self._walk.n_chains
        while done < iterations:
            part = Part.of(vector)
            for _ in range(min(_BLOCK, iterations - done)):
                vector = self._stepped(vector, done, rate, steps)
                part.add(vector)
                done += 1
                if deadline.passed:
                    break
            average.parts.append(part)
            reporter().advance("fitting", done, iterations)
            if deadline.passed:
                break
            if average.n_steps >= enough or done >= iterations:
                check = self._check(average.point(self._groups), deadline)
                if check is not None and check.passes():
                    break
        return self._fitted(average.point(self._groups), done, check)

    def _stepped(
        self, vector: Vector, done: int, rate: float, steps: Callable[[Vector], Vector]
    ) -> Vector:
        """Take one step."""
        now = rate * (1 + done / _SLOW_AFTER) ** -_SLOWING
        chains = self._at(vector)
        before = self._moved(chains)
        means = self._features.means(chains.states)
        target = self._observed if before is None else self._features.means(before)
        self._tell(done + 1, now, means, self._left(vector, target - means))
        joint = np.where(self._coefficients.is_joint, vector, 0.0)
        move = steps(target - means - 2 * self._l2 * joint)
        # Far away, the covariance of the first sweeps says nothing.
        now /= max(1.0, float(np.abs(move).max(initial=0.0)) / _LONGEST)
        vector = vector + now * move
        return self._shrunk(vector, now, steps) if self._groups.l1 else vector

    def _shrunk(self, vector: Vector, rate: float, steps: Callable[[Vector], Vector]) -> Vector:
        """A proximal step; each term has one length of step, that of its longest coefficient."""
        scales = steps(np.ones_like(vector)) * rate
        inside = self._groups.of >= 0
        longest = np.zeros(int(self._groups.of.max(initial=-1)) + 1)
        np.maximum.at(longest, self._groups.of[inside], scales[inside])
        lengths = self._groups.lengths(vector)
        safe = np.where(lengths > 0, lengths, 1.0)
        return vector * self._groups.spread(
            np.maximum(0.0, 1 - longest * self._groups.l1 / safe), 1.0
        )

    def _check(self, vector: Vector, deadline: Deadline) -> MomentCheck | None:
        """Compare the moments at fixed parameters; None if there was no time."""

        def left(means: Vector) -> tuple[Vector, Vector]:
            difference = self._observed - means if self._walk.persistent else -means
            return self._left(vector, difference), difference

        if self._exact is not None:
            residual, difference = left(self._exact.at(vector))
            return MomentCheck(residual, np.zeros_like(residual), difference, self._allowed)
        sets = [self._at(vector)]
        if self._walk.persistent:
            sets.append(self._others_at(vector))
        check = ChainCheck(
            self._features, self._n_groups, self._allowed, from_start=not self._walk.persistent
        )
        return check.run(sets, self._moved, left, self._n, deadline)

    def _tell(self, iteration: int, rate: float, means: Vector, left: Vector) -> None:
        if self._trace is not None:
            gap = float(np.abs(left).max(initial=0.0))
            self._trace(ContrastiveStep(iteration, rate, gap, means))

    def _fitted(self, vector: Vector, done: int, check: MomentCheck | None) -> Fitted:
        converged = check is not None and check.passes()
        notes = [] if check is None else [check.said()]
        gap = None
        if check is not None and self._walk.persistent:
            gap = largest_margin_gap(self._coefficients, check.difference)
        if not self._walk.persistent:
            notes.append("contrastive divergence is biased, unlike pcd")
        return Fitted(
            tables=self._coefficients.tables(
                without_flat_part(self._coefficients, vector, self._zeros)
            ),
            method="pcd" if self._walk.persistent else "cd",
            algorithm=(
                f"{counted(self._walk.n_chains, 'chain')}, "
                f"{counted(self._walk.sweeps, 'sweep')} per step"
            ),
            converged=converged,
            iterations=done,
            gap=gap,
            log_z=None,
            notes=tuple(notes),
        )
