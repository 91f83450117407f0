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
chains adds little to that in the data, and then after every 100 steps, the chains run on with the
averaged parameters fixed, and their moments are compared with the observed ones: it is over when
no difference is significant at 5 % in all, by Bonferroni's bound over moments, with the errors of
independent chains. So `converged` says what these chains can see; the largest gap and its error are
in the notes.

Penalties and smoothing are those of fitting.py. Terms that l1 holds at 0 in most of the averaged
steps are 0. Cells that no row is in are excluded (excluded_cells.py); other maxima at infinity show
as parameters that have not converged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, UsageError, counted, parameter, require_whole
from gml.model.undirected.chain_moments import ChainMoments, RowSource, States
from gml.model.undirected.coefficients import Coefficients, Vector
from gml.model.undirected.excluded_cells import empty_cells, without_flat_part
from gml.model.undirected.fitting import NO_PENALTY, Fitted, Penalty, Support
from gml.model.undirected.gibbs import GibbsChains
from gml.model.undirected.groups import Groups
from gml.model.undirected.moment_gaps import (
    Average,
    MomentCheck,
    Part,
    bonferroni_bound,
    largest_eigenvalue,
    largest_margin_gap,
)
from gml.model.undirected.observed import tables_over
from gml.model.undirected.pseudo_likelihood import fit_pseudo
from gml.model.undirected.terms import Terms
from gml.progress import Deadline, reporter
from gml.resources import require_memory

CHAINS, SWEEPS, ITERATIONS = 500, 1, 1000
_BLOCK = 100
_BURN_IN, _SAMPLES = 30, 30
_CHECK_SWEEPS = 100
_STATES_PER_ROW = 50
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
    chains: int = CHAINS,
    sweeps: int = SWEEPS,
    iterations: int = ITERATIONS,
    rate: float | None = None,
    seed: int = 0,
    trace: StepTrace | None = None,
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
        How many chains there are, how many sweeps they make per step, and the most steps.
    rate
        The first step, as a share of the one that would be right without noise; by default 0.5.
    seed
        Seed of the chains.
    trace
        Called with every step.
    deadline
        When to stop; what is returned then has not converged.

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
    require_whole(2, chains=chains)
    require_whole(1, sweeps=sweeps, iterations=iterations)
    if rate is not None and not 0 < rate < math.inf:
        raise UsageError(f"{parameter('rate')} must be above 0 and finite, not {rate}")
    coefficients = Coefficients(terms)
    if start is None:
        start = _pseudo_start(counter, terms, penalty, deadline)
    learner = _Learner(counter, coefficients, penalty, persistent, chains, sweeps, seed, trace)
    found = learner.learn(
        coefficients.vector(start.tables), iterations, 0.5 if rate is None else rate, deadline
    )
    return replace(found, supports=learner.supports)


def _pseudo_start(
    counter: Counter, terms: Terms, penalty: Penalty, deadline: Deadline | None
) -> Fitted:
    """The maximum of the pseudo-likelihood, or of one with a ridge where there is none."""
    try:
        return fit_pseudo(counter, terms, penalty=penalty, deadline=deadline)
    except CannotAnswer:
        ridge = Penalty(l1=penalty.l1, l2=max(1.0, penalty.l2))
        return fit_pseudo(counter, terms, penalty=ridge, deadline=deadline)


class _Learner:
    """The chains, what they are compared with, and how."""

    def __init__(
        self,
        counter: Counter,
        coefficients: Coefficients,
        penalty: Penalty,
        persistent: bool,
        n_chains: int,
        sweeps: int,
        seed: int,
        trace: StepTrace | None,
    ) -> None:
        terms = coefficients.terms
        self._coefficients, self._sweeps, self._persistent = coefficients, sweeps, persistent
        self._trace = trace
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
        self._rows = RowSource(counter, terms, seed) if counter.rows() is not None else None
        if not persistent:
            counter.require_rows("contrastive divergence")
        self._seed, self._n_chains = seed, n_chains
        self._n_groups = n_chains // max(1, n_chains // _GROUPS)
        require_memory(
            8 * (6 * n_chains + min(coefficients.size, _FEW_COEFFICIENTS)) * coefficients.size,
            None,
            "the moments of the chains",
        )
        self._chains: GibbsChains | None = None

    def _at(self, vector: Vector) -> GibbsChains:
        """The chains, with these parameters; they begin at rows where there are any."""
        tables = [*self._coefficients.tables(vector), *self._walls]
        if self._chains is None:
            scopes = (*self._coefficients.terms.all, *self._zeros)
            self._chains = GibbsChains(
                self._coefficients.terms, scopes, tables, n_chains=self._n_chains, seed=self._seed
            )
            if self._rows is not None:
                self._chains.states[...] = self._rows.draw(self._n_chains)
        else:
            self._chains.set_tables(tables)
        return self._chains

    def _moved(self, chains: GibbsChains) -> States | None:
        """Move the chains; return where they began, if that was at rows."""
        before = None
        if not self._persistent and self._rows is not None:
            before = self._rows.draw(self._n_chains)
            chains.states[...] = before
        chains.sweep(self._sweeps)
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

    def learn(
        self, vector: Vector, iterations: int, rate: float, deadline: Deadline | None
    ) -> Fitted:
        """Take steps until a check passes, or there are no more."""
        deadline = deadline or Deadline()
        chains = self._at(vector)
        steps = self._scaling(chains)
        self._tell(0, rate, self._observed, np.zeros_like(vector))
        bound = bonferroni_bound(self._coefficients.size, self._n_groups)
        done, average, check = 0, Average(vector), None
        enough = _STATES_PER_ROW * self._n / self._n_chains
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
                check = self._check(average.point(self._groups))
                if check.passes(bound):
                    break
        return self._fitted(average.point(self._groups), done, check, bound)

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
        vector = vector + now * steps(target - means - 2 * self._l2 * joint)
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

    def _scaling(self, chains: GibbsChains) -> Callable[[Vector], Vector]:
        """Return what turns a difference of moments into a step, from sweeps at the start."""
        size = self._coefficients.size
        full = size <= _FEW_COEFFICIENTS and self._groups.l1 == 0
        n_samples = _SAMPLES if full else 2
        means, squares = np.zeros(size), np.zeros(size)
        second = np.zeros((size, size)) if full else None
        samples = []
        for sweep in range(_BURN_IN + n_samples):
            self._moved(chains)
            if sweep < _BURN_IN:
                continue
            each = self._features.each(chains.states)
            means += each.mean(axis=0) / n_samples
            squares += (each**2).mean(axis=0) / n_samples
            if second is not None:
                second += each.T @ each / (len(each) * n_samples)
            else:
                samples.append(each)
        variances = np.maximum(squares - means**2, 1e-3)
        if second is not None:
            covariance = second - np.outer(means, means)
            # Few samples make small eigenvalues too small; steps along them would be too long.
            share = min(0.5, size / (n_samples * self._n_chains) + 0.01)
            covariance = (1 - share) * covariance + share * np.diag(variances)
            inverse = np.linalg.inv(covariance)
            return lambda difference: inverse @ difference
        largest = largest_eigenvalue([(each - means) / np.sqrt(variances) for each in samples])
        return lambda difference: difference / (variances * largest)

    def _check(self, vector: Vector) -> MomentCheck:
        """Run the chains at fixed parameters, and compare moments; chains are independent."""
        chains = self._at(vector)
        n_groups = self._n_groups
        averages = np.zeros((n_groups, self._coefficients.size))
        for _ in range(_CHECK_SWEEPS):
            before = self._moved(chains)
            averages += self._features.group_means(chains.states, n_groups)
            if before is not None:
                averages -= self._features.group_means(before, n_groups)
        averages /= _CHECK_SWEEPS
        errors = averages.std(axis=0, ddof=1) / math.sqrt(n_groups)
        target = self._observed if self._persistent else 0.0
        difference = target - averages.mean(axis=0)
        return MomentCheck(self._left(vector, difference), errors, difference)

    def _tell(self, iteration: int, rate: float, means: Vector, left: Vector) -> None:
        if self._trace is not None:
            gap = float(np.abs(left).max(initial=0.0))
            self._trace(ContrastiveStep(iteration, rate, gap, means))

    def _fitted(self, vector: Vector, done: int, check: MomentCheck | None, bound: float) -> Fitted:
        converged = check is not None and check.passes(bound)
        notes = [] if check is None else [check.said(bound)]
        gap = None
        if check is not None and self._persistent:
            gap = largest_margin_gap(self._coefficients, check.difference)
        if not self._persistent:
            notes.append("contrastive divergence is biased, unlike pcd")
        return Fitted(
            tables=self._coefficients.tables(
                without_flat_part(self._coefficients, vector, self._zeros)
            ),
            method="pcd" if self._persistent else "cd",
            algorithm=(
                f"{counted(self._n_chains, 'chain')}, {counted(self._sweeps, 'sweep')} per step"
            ),
            converged=converged,
            iterations=done,
            gap=gap,
            log_z=None,
            notes=tuple(notes),
        )
