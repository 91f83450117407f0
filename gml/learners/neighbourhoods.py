"""Neighbourhood selection: an undirected graph from penalised regressions of columns on others.

Meinshausen & Bühlmann (2006, Ann. Stat. 34:1436) for numbers; Ravikumar, Wainwright & Lafferty
(2010, Ann. Stat. 38:1287) for two levels; van Borkulo et al. (2014, Sci. Rep. 4:5918, IsingFit)
with the penalty chosen by the extended BIC. Each column has a (multinomial) logistic regression

    minimise −(1/n) ln L + λ · Σ_j w_j ‖B_j‖   over the blocks B_j, one per other column,

the group lasso of Meier, van de Geer & Bühlmann (2008, J. R. Stat. Soc. B 70:53) beyond two levels
and the lasso for two; `grouped_columns` has the standardisation and the weights w_j. The path has
`n_penalties` values from the smallest λ without neighbours, in equal ratios, down to 10⁻⁴ of it
(10⁻² where there are no more rows than indicators), as glmnet's. Intercepts are free.

`ebic` takes the λ of the smallest −2 ln L + k ln n + 2γ k ln(p − 1): L at the penalised estimate, k
the parameters of the blocks that are not 0, p the columns with two or more levels, of which only
those that occur count. Of equal values the larger λ wins. The path ends early where (a) the blocks
found, fitted without a penalty, would by the quadratic model of the likelihood still have a larger
value than the best so far, or one less than a hundredth of a parameter's cost below that here, and
(b) at the slopes left, bounded by λ, no block gains half of what it costs; or where the loss is a
thousandth of that without neighbours. (a) and (b) are no proof, as blocks may leave the path again
(with a dozen columns that depend on one another strongly, 3 choices in 100 would be others), so
paths are walked whole for γ below 0.25 and where all columns have at most 20 indicators.

`folds` takes the largest λ whose held-out loss is within one standard error of the smallest
(Breiman et al. 1984, section 3.4.3): the smallest itself chooses far too many neighbours. Rows with
a level that the rest of their fold lacks are not predicted.

An edge is there when both regressions chose it (`and`) or one did (`or`). The coefficients only
select: weights of edges come from a joint fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter
from gml.data.column_kinds import require_labels
from gml.data.resampling import fold_counts
from gml.errors import (
    CannotAnswer,
    UsageError,
    counted,
    parameter,
    quote,
    require_one_of,
    require_whole,
)
from gml.graph.graph import Graph, require_marks
from gml.kernel.penalty_paths import PathRule, PenaltyPath
from gml.kernel.pool import in_order
from gml.learners.grouped_columns import Predictors, PredictorTable
from gml.progress import Deadline, reporter
from gml.resources import available_threads, budget_in_force, require_memory

# Below, or with few columns, whole paths are walked: they are short, or hold more neighbours.
_SPARSE_GAMMA = 0.25
_FEW_INDICATORS = 20

CRITERIA = ("ebic", "folds")
RULES = ("and", "or")
TOLERANCE = 1e-7
# With more, a step takes seconds, and a path has hundreds.
_MOST_COEFFICIENTS = 2000
# Per number of the Hessian, which grows by doubling: it, its factor and the tables behind it.
_BYTES = 48
# Where rounding ends the search for a minimum before, so much is still no cause for concern.
_NOTABLE_GAP = 1e-5


@dataclass(frozen=True)
class Neighbourhood:
    """The regression of a column on all others at the penalty chosen."""

    name: str
    penalty: float
    """NaN where there was nothing to regress."""
    loss: float
    """The mean of −ln p over the rows."""
    parameters: int
    """Those of the blocks that are not 0, without the intercept."""
    gap: float
    """By how much the conditions of a minimum are missed, in shares of the penalty."""
    norms: dict[str, float]
    """The norms of the blocks that are not 0, by name of the column."""


@dataclass(frozen=True)
class NeighbourhoodResult:
    """The graph, and the regressions behind it in the order of names."""

    graph: Graph
    neighbourhoods: tuple[Neighbourhood, ...]


def neighbourhood_graph(
    counter: Counter,
    *,
    criterion: str = "ebic",
    gamma: float = 0.25,
    rule: str = "and",
    folds: int = 10,
    seed: int = 0,
    n_penalties: int = 100,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> NeighbourhoodResult:
    """Learn an undirected graph by L1-penalised regressions of each column on all others.

    Parameters
    ----------
    counter : Counter
        The engine over the data; it must have rows.
    criterion : str
        How penalties are chosen: `ebic`, or `folds` for held-out loss.
    gamma : float
        How much the extended BIC charges for the number of columns; with 0 it is the BIC.
    rule : str
        Whether both regressions of a pair must choose an edge (`and`) or one suffices (`or`).
    folds, seed : int
        The number of folds, and the seed by which rows are put into them.
    n_penalties : int
        How many penalties are looked at.
    threads : int, optional
        Columns regressed at the same time; by default one per core.
    deadline : Deadline, optional
        When to give up: a graph from some of the columns would be wrong.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> found = neighbourhood_graph(counter, rule="and").graph
    >>> found.kind, found.n_edges
    ('undirected', 6)
    """
    _check(counter, criterion, gamma, rule, folds, n_penalties, threads)
    rows = counter.require_rows("neighbourhood selection")
    if counter.n == 0:
        raise CannotAnswer("no rows are left")
    require_marks(len(counter.variables))
    table = PredictorTable.of(rows)
    search = _Search.over(table, counter, criterion, gamma, folds, seed, n_penalties)
    found = tuple(search.run(threads or available_threads(), deadline or Deadline()))
    chosen = {(one.name, other) for one in found for other in one.norms}
    names = [variable.name for variable in counter.variables]
    need = 2 if rule == "and" else 1
    edges = [
        (a, "---", b)
        for k, a in enumerate(table.names)
        for b in table.names[k + 1 :]
        if ((a, b) in chosen) + ((b, a) in chosen) >= need
    ]
    graph = Graph.from_edges(
        names,
        edges,
        kind="undirected",
        levels={v.name: v.levels for v in counter.variables if v.levels is not None},
    )
    return NeighbourhoodResult(graph, found)


def check_settings(
    criterion: str = "ebic",
    gamma: float = 0.25,
    rule: str = "and",
    folds: int = 10,
    n_penalties: int = 100,
) -> None:
    """Refuse what no data would make right."""
    require_one_of("criterion", criterion, CRITERIA)
    require_one_of("rule", rule, RULES)
    require_whole(2, folds=folds, n_penalties=n_penalties)
    if not 0 <= gamma < math.inf:
        raise UsageError(f"{parameter('gamma')} must be 0 or more and finite, not {gamma}")


def _check(
    counter: Counter,
    criterion: str,
    gamma: float,
    rule: str,
    folds: int,
    n_penalties: int,
    threads: int | None,
) -> None:
    check_settings(criterion, gamma, rule, folds, n_penalties)
    require_whole(1, threads=threads)
    require_labels(counter.variables)
    if criterion == "folds" and counter.unit != 1:
        raise UsageError(
            f"{parameter('criterion', 'folds')} puts whole rows into folds, and "
            f"{parameter('weights_fractional')} leaves none: use {parameter('criterion', 'ebic')}"
        )
    if counter.missing:
        raise UsageError(
            "regressions need rows without missing values: use "
            f"{parameter('missing', 'drop')} or level"
        )


class _Split(NamedTuple):
    """One fold: the predictors as the other rows have them, and the rows to be predicted."""

    predictors: Predictors
    held_out: NDArray[np.float64]
    size: float


@dataclass(frozen=True)
class _Search:
    """What the regressions of all columns have in common."""

    table: PredictorTable
    predictors: Predictors
    splits: tuple[_Split, ...]
    rule: PathRule
    cost: float

    @classmethod
    def over(
        cls,
        table: PredictorTable,
        counter: Counter,
        criterion: str,
        gamma: float,
        folds: int,
        seed: int,
        n_penalties: int,
    ) -> _Search:
        n = float(counter.n * counter.unit)
        varying = sum(seen > 1 for seen in table.n_levels)
        cost = (math.log(max(n, 1)) + 2 * gamma * math.log(max(varying - 1, 1))) / n
        splits = []
        if criterion == "folds":
            require_memory(16 * folds * len(table.counts), None, "the weights of all folds")
            for chosen in fold_counts(table.counts, folds, seed=seed):
                rest, size = table.counts - chosen, int(chosen.sum())
                splits.append(
                    _Split(table.predictors(rest / rest.sum()), chosen / size, float(size))
                )
        indicators = int(table.starts[-1])
        is_cut = not splits and gamma >= _SPARSE_GAMMA and indicators > _FEW_INDICATORS
        rule = PathRule(
            n_penalties,
            1e-4 if n > indicators else 1e-2,
            cost=cost if is_cut else 0.0,
            tolerance=TOLERANCE,
        )
        predictors = table.predictors(table.counts / table.counts.sum())
        return cls(table, predictors, tuple(splits), rule, cost)

    def run(self, threads: int, deadline: Deadline) -> Iterator[Neighbourhood]:
        """Regress each column, several at a time."""
        total, widest = len(self.table.names), max(self.table.n_levels, default=1)
        self._require_few_levels()
        threads = max(1, min(threads, total))
        scores = (8 * (5 * widest + 4) + 4 * total) * (len(self.table.counts) + 8)
        require_memory(threads * scores, None, "the scores of all rows")
        # Vectors of all coefficients, and the room that two levels of a column take.
        vectors = 8 * widest * (8 * (int(self.table.starts[-1]) + 1) + 2 * widest)
        require_memory(threads * vectors, None, "the coefficients of all columns")
        room = min(max(1, budget_in_force() // (_BYTES * threads)), _MOST_COEFFICIENTS**2)
        in_time = takewhile(lambda _: not deadline.passed, range(total))
        done, missed = 0, 0.0
        with reporter().counting("regressions", total) as count:

            def watch(column: int, share: float) -> bool:
                count(done, f"{quote(self.table.names[column])} {share:.0%}")
                return not deadline.passed

            def regress(column: int) -> Neighbourhood | None:
                rule = self.rule._replace(room=room, watch=partial(watch, column))
                return self._neighbourhood(column, rule, threads)

            for one in in_order(regress, in_time, threads, ahead=threads):
                if one is None:
                    break
                done += 1
                missed = max(missed, one.gap)
                count(done)
                yield one
        if done < total:
            raise CannotAnswer(
                f"{parameter('max_seconds')} ran out after the regressions of {done} of "
                f"{counted(total, 'column')}, and a graph needs all of them"
            )
        if missed > _NOTABLE_GAP:
            reporter().warn(
                f"a regression missed the conditions of its minimum by {missed:.1g} of the penalty"
            )

    def _require_few_levels(self) -> None:
        """Refuse a regression that a single neighbour would make too large."""
        seen = self.table.n_levels
        for column, levels in enumerate(seen):
            scores = 1 if levels == 2 else levels
            others = [other for k, other in enumerate(seen) if k != column and other > 1]
            if levels > 1 and others and scores * min(others) > _MOST_COEFFICIENTS:
                raise self._too_many(column)

    def _too_many(self, column: int) -> CannotAnswer:
        return CannotAnswer(
            f"the regression of {quote(self.table.names[column])}, which has "
            f"{counted(self.table.n_levels[column], 'level')}, would have more than "
            f"{_MOST_COEFFICIENTS:,} coefficients at once, which takes too long: leave columns "
            "with many levels out, or join levels"
        )

    def _neighbourhood(self, column: int, rule: PathRule, threads: int) -> Neighbourhood | None:
        """The neighbourhood of a column, or None where time was up."""
        name, seen = self.table.names[column], self.table.n_levels
        if seen[column] < 2 or sum(levels > 1 for levels in seen) < 2:
            shares = np.bincount(self.table.codes[column], weights=self.predictors.weights)
            loss = max(0.0, -float(np.sum(shares * np.log(shares))))
            return Neighbourhood(name, math.nan, loss, 0, 0.0, {})
        path = self._path(self.predictors, column, rule, threads)
        best = None
        if path.is_wanted:
            best = self._best_fold(path, column, rule, threads) if self.splits else self._best(path)
        if best is None:
            return None
        return Neighbourhood(
            name,
            float(path.penalties[best]),
            float(path.losses[best]),
            int(path.parameters[best]),
            float(path.gaps[best]),
            {
                self.table.names[j]: float(path.norms[best, j])
                for j in np.flatnonzero(path.norms[best]).tolist()
            },
        )

    def _best(self, path: PenaltyPath) -> int:
        return int(np.argmin(2 * path.losses + self.cost * path.parameters))

    def _best_fold(
        self, path: PenaltyPath, column: int, rule: PathRule, threads: int
    ) -> int | None:
        """The largest penalty within one standard error of the smallest held-out loss."""
        same = rule._replace(n_penalties=len(path.penalties), penalties=path.penalties)
        found = []
        for split in self.splits:
            part = self._path(split.predictors, column, same, threads, split.held_out)
            if not part.is_wanted:
                return None
            found.append(part.held_out)
        # Where a fold left nothing to explain, its path ended.
        reached = min(len(losses) for losses in found)
        losses = np.array([losses[:reached] for losses in found])
        sizes = np.array([split.size for split in self.splits])
        means = sizes @ losses / sizes.sum()
        least = int(np.argmin(means))
        error = float(losses[:, least].std(ddof=1)) / math.sqrt(len(found))
        return int(np.argmax(means <= means[least] + error))

    def _path(
        self,
        predictors: Predictors,
        column: int,
        rule: PathRule,
        threads: int,
        held_out: NDArray[np.float64] | None = None,
    ) -> PenaltyPath:
        grouped, response = predictors.regression(column, held_out)
        path = kernel.active().penalty_path(grouped, response, rule)
        if path.needed:
            require_memory(
                _BYTES * threads * path.needed,
                None,
                f"the regression of {quote(self.table.names[column])}",
                f"; fewer {parameter('threads')} or columns with fewer levels take less",
            )
            raise self._too_many(column)
        return path
