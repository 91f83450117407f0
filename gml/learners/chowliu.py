"""Chow–Liu trees (Chow & Liu 1968, IEEE Trans. Inf. Theory 14:462–467) and their relatives.

The maximum-likelihood tree is the spanning tree of largest total mutual information: for a tree T,
loglik(T) − loglik(empty) = n Σ_{(x,y) ∈ T} I(x; y) (their equation 10). TAN (Friedman, Geiger &
Goldszmidt 1997) is the same with I(x; y | class), plus edges from the class to every attribute.

`prune="bic"` maximises Σ (I − df·ln n/2n) over forests: Kruskal on the penalised weights, positive
ones only; df counts the levels seen, as the tests do. `prune="g"` keeps only pairs that the G test
calls dependent. Miller–Madow corrects each entropy by (K−1)/2n, K the cells seen, hence I by
−(K_xy − K_x − K_y + 1)/2n.

With numeric columns, I is the gain of a pair in log-likelihood (`gml.independence.pair_gains`):
that of normal columns, of columns that are normal in each level, or of tables; for TAN, within the
levels of the class. As these gains differ in degrees of freedom, edges are then ranked by the
penalised weights of `prune="bic"`, whatever is pruned. An edge carries the gain (`mi`), its degrees
of freedom (`df`) and what it was ranked by (`weight`); between a categorical and a numeric column
also whether `variances` are "equal" or "by level". `prune="g"` compares 2n·gain with χ².

A conditional Gaussian density has no arrow from a numeric column to a categorical one, so that no
path between two categorical columns may run through numeric ones only (Edwards, de Abreu &
Labouriau 2010, BMC Bioinformatics 11:18). The best tree under this constraint is found by Kruskal
among the categorical columns, then among the numeric ones and one node that stands for all
categorical columns, to which a numeric one is joined by its best edge to any of these. Both are one
spanning forest here, over disjoint sets of nodes. Arrows run away from a categorical column where a
tree has one. Infinite gains, where one column determines the other, come first. Pairs that rows do
not suffice to weigh are not joined, and named in a warning.

Weights are compared as n·I rounded to 2⁻²⁰ nats; ties go to the pair of names that comes first in
code point order. A column in which only one level or number occurs stays isolated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, TableStatistics, TripleArray, pair_block
from gml.data.column_kinds import require_kinds
from gml.errors import (
    CannotAnswer,
    UsageError,
    agreeing,
    counted,
    parameter,
    quote,
    require_one_of,
    unknown_name,
)
from gml.graph.equivalence import as_chosen
from gml.graph.graph import Graph, require_marks
from gml.graph.spanning import direct_away, spanning_forest
from gml.independence.contingency import full_df
from gml.independence.mutual_information import information
from gml.independence.pair_gains import NumericGains, bic_weights
from gml.parameters import LABELS
from gml.progress import reporter
from gml.scores.base import rounded
from gml.synonyms import AnswersSynonyms

ESTIMATORS = ("ml", "miller-madow")
PRUNINGS = ("none", "bic", "g")
# The statistics of a block take some 30 MB.
_BLOCK_PAIRS = 1 << 16
_SHOWN = 3
# A statistic beyond all tables of χ², but finite.
_LARGEST = 1e300


@dataclass(frozen=True)
class ChowLiuResult(AnswersSynonyms):
    """The tree or forest, its total mutual information in nats, and the number of pairs weighed.

    The total is infinite where a numeric column is determined by its neighbour.
    """

    graph: Graph
    total_mi: float
    n_pairs: int


def chow_liu(
    counter: Counter,
    *,
    root: str | None = None,
    directed: bool = True,
    estimator: str = "ml",
    prune: str = "none",
    class_variable: str | None = None,
    alpha: float = 0.05,
    df: str = "full",
) -> ChowLiuResult:
    """Learn the maximum-likelihood tree.

    Parameters
    ----------
    counter
        The engine over the data.
    root
        Direct the tree away from this variable; by default from the first name in code point order,
        that of a categorical column where a tree has one.
    directed
        Whether to direct the tree at all.
    estimator
        Estimator of the mutual information: `ml`, or `miller-madow` for categorical columns.
    prune
        `none` for a tree; `bic` or `g` (at `alpha`, with the degrees of freedom `df`) for a forest.
    class_variable
        Learn a tree-augmented naive Bayes model around this categorical variable.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv", columns=("smoke", "lung", "either"))
    >>> tree = chow_liu(gml.MemoryCounter(data)).graph
    >>> [(e.source, e.target) for e in tree.edges]
    [('lung', 'smoke'), ('either', 'lung')]
    """
    names = [variable.name for variable in counter.variables]
    for name in (root, class_variable):
        if name is not None and name not in names:
            raise UsageError(unknown_name("column", name, names))
    if class_variable is not None and root == class_variable:
        raise UsageError("the root must be one of the attributes, not the class")
    if class_variable is not None and not directed:
        raise UsageError("a TAN model is always directed")
    if counter.missing:
        raise UsageError(
            "pairs counted on different rows cannot be compared: use "
            f"{parameter('missing', 'drop')} or level"
        )
    if counter.n == 0:
        raise CannotAnswer("no rows are left")
    # Refused now rather than after all pairs have been weighed.
    require_marks(len(names))
    given = () if class_variable is None else (names.index(class_variable),)
    _require_categorical(counter, given, estimator)
    attributes = [j for j in counter.order.positions.tolist() if j not in given]
    weighing = _Weighing(counter, given, estimator, prune, alpha, df)
    tree = _best_tree(weighing, attributes)
    pairs = list(tree)
    if directed:
        pairs = _directed(counter, attributes, pairs, None if root is None else names.index(root))
    edges = [(a, b, tree.get((a, b)) or tree[b, a]) for a, b in pairs]
    n_pairs = len(attributes) * (len(attributes) - 1) // 2
    lacking = weighing.lacking
    if given:
        around = _Weighing(counter, (), estimator, "none", alpha, df)
        edges += _star(around, given[0], attributes)
        n_pairs += len(attributes)
        lacking += around.lacking
    _warn_of_lacking(lacking)
    ends = [(a, b) for a, b, edge in edges if math.isinf(edge["mi"])]
    boundless = [(a, b) if counter.variables[b].is_continuous else (b, a) for a, b in ends]
    _warn_of_infinite([(names[a], names[b]) for a, b in boundless])
    type_ = "-->" if directed else "---"
    graph = Graph.from_edges(
        names,
        [(names[a], type_, names[b], edge) for a, b, edge in edges],
        kind="dag" if directed else "undirected",
        levels={v.name: v.levels for v in counter.variables if v.levels is not None},
    )
    graph = as_chosen(graph) if directed else graph
    return ChowLiuResult(graph, math.fsum(edge["mi"] for _, _, edge in edges), n_pairs)


def _require_categorical(counter: Counter, given: tuple[int, ...], estimator: str) -> None:
    """Refuse a numeric class, and an estimator for tables where columns are numeric."""
    require_one_of("estimator", estimator, ESTIMATORS)
    for variable in (counter.variables[j] for j in given):
        if variable.is_continuous:
            raise UsageError(
                f"the class must be categorical, and {quote(variable.name)} is numeric; cut it "
                f"into intervals ({parameter('bins', 4)}), or say that its values are categories "
                f"({parameter('labels', [variable.name])})"
            )
    if estimator != "ml":
        require_kinds(parameter("estimator", estimator), (LABELS,), counter.variables)


class _Weights(NamedTuple):
    """Of some pairs, what each tells, what it is ranked by, and whether it may be an edge."""

    mi: NDArray[np.float64]
    df: NDArray[np.float64]
    weight: NDArray[np.float64]
    by_level: NDArray[np.bool_]
    usable: NDArray[np.bool_]

    def at(self, chosen: NDArray[Any]) -> _Weights:
        """Those of some of the pairs."""
        return _Weights(*(values[chosen] for values in self))

    def and_those(self, of: _Weights) -> _Weights:
        """Those of these pairs, and of others after them."""
        return _Weights(*(np.append(mine, theirs) for mine, theirs in zip(self, of, strict=True)))


class _Weighing:
    """How pairs are weighed, and which of them may be edges."""

    def __init__(
        self,
        counter: Counter,
        given: tuple[int, ...],
        estimator: str,
        prune: str,
        alpha: float,
        df: str,
    ) -> None:
        require_one_of("prune", prune, PRUNINGS)
        self.counter = counter
        self.is_number = np.array([v.is_continuous for v in counter.variables], dtype=bool)
        self.lacking: list[tuple[str, str, str]] = []
        """The names of pairs that rows do not suffice to weigh, and what they lack."""
        self._given = given
        self._estimator = estimator
        self._prune = prune
        self._alpha = alpha
        self._df = df
        self._has_numbers = bool(self.is_number.any())
        self._gains = NumericGains(counter, given) if self._has_numbers else None

    def of(self, x: NDArray[np.int32], y: NDArray[np.int32]) -> _Weights:
        """Weigh pairs of columns."""
        numbers = self.is_number[x] | self.is_number[y]
        if not numbers.any():
            return self._of_labels(x, y)
        of_numbers = self._of_numbers(x[numbers], y[numbers])
        if numbers.all():
            return of_numbers
        of_labels = self._of_labels(x[~numbers], y[~numbers])
        place = np.argsort(np.argsort(~numbers, kind="stable"), kind="stable")
        return of_numbers.and_those(of_labels).at(place)

    def edge(self, x: int, y: int, weights: _Weights, k: int) -> dict[str, Any]:
        """What the edge of the k-th pair carries."""
        found: dict[str, Any] = {"mi": float(weights.mi[k])}
        if self._has_numbers:
            found |= {"df": int(weights.df[k]), "weight": float(weights.weight[k])}
        if self.is_number[x] != self.is_number[y]:
            found["variances"] = "by level" if weights.by_level[k] else "equal"
        return found

    def _of_labels(self, x: NDArray[np.int32], y: NDArray[np.int32]) -> _Weights:
        found = self._statistics(x, y)
        usable = (found.seen_x > 1) & (found.seen_y > 1)
        if self._prune == "g":
            full = self._df == "full"
            degrees = full_df(found) if full else found.df_adjusted.astype(np.float64)
            usable &= self._dependent(found.g, degrees) & (found.df_adjusted > 0)
        mi = _information(found, self._estimator)
        return self._weights(mi, full_df(found), np.zeros(len(mi), dtype=bool), usable)

    def _of_numbers(self, x: NDArray[np.int32], y: NDArray[np.int32]) -> _Weights:
        assert self._gains is not None
        found = self._gains.of(list(zip(x.tolist(), y.tolist(), strict=True)))
        for k, lacks in enumerate(found.lacks):
            if lacks is not None:
                one, other = sorted(self.counter.variables[j[k]].name for j in (x, y))
                self.lacking.append((one, other, lacks))
        df = found.df.astype(np.float64)
        usable = df > 0
        if self._prune == "g":
            usable &= self._dependent(2 * self.counter.n * found.mi, np.maximum(df, 1.0))
        return self._weights(found.mi, df, found.by_level, usable)

    def _weights(
        self,
        mi: NDArray[np.float64],
        df: NDArray[np.float64],
        by_level: NDArray[np.bool_],
        usable: NDArray[np.bool_],
    ) -> _Weights:
        is_penalised = self._has_numbers or self._prune == "bic"
        weight = bic_weights(mi, df, self.counter.n) if is_penalised else mi
        if self._prune == "bic":
            usable = usable & (rounded(weight * self.counter.n) > 0)
        return _Weights(mi, df, weight, by_level, usable)

    def _statistics(self, x: NDArray[np.int32], y: NDArray[np.int32]) -> TableStatistics:
        if not self._given:
            return self.counter.pair_statistics(np.column_stack([x, y]))
        z = (np.full(len(x), j, dtype=np.int32) for j in self._given)
        return self.counter.statistics(TripleArray(np.column_stack([x, y, *z])))

    def _dependent(
        self, statistic: NDArray[np.float64], df: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        finite = np.ascontiguousarray(np.minimum(statistic, _LARGEST))
        log_p = kernel.active().log_chi2_upper(finite, df)
        significant: NDArray[np.bool_] = log_p <= np.log(self._alpha)
        return significant


def _best_tree(weighing: _Weighing, nodes: Sequence[int]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the edges, as columns in order of their names, and what each carries.

    Pairs come in blocks, each of which leaves the edges of the forest so far, so that memory grows
    with the number of nodes, not of pairs.
    """
    columns = np.array(nodes, dtype=np.int32)
    is_number = weighing.is_number[columns]
    x = y = np.empty(0, dtype=np.int64)
    kept: _Weights | None = None
    n_pairs = len(nodes) * (len(nodes) - 1) // 2
    for start in range(0, max(1, n_pairs), _BLOCK_PAIRS):
        i, j = pair_block(len(nodes), start, min(start + _BLOCK_PAIRS, n_pairs))
        found = weighing.of(columns[i], columns[j])
        x, y = np.append(x, i[found.usable]), np.append(y, j[found.usable])
        found = found.at(found.usable)
        if kept is not None:
            found = kept.and_those(found)
        # To a numeric column, all categorical ones are one node.
        mixed = is_number[x] != is_number[y]
        a, b = (np.where(mixed & ~is_number[one], len(nodes), one) for one in (x, y))
        keys = rounded(found.weight * weighing.counter.n)
        picked = spanning_forest(len(nodes) + 1, a, b, keys)
        x, y, kept = x[picked], y[picked], found.at(picked)
    assert kept is not None
    pairs = zip(columns[x].tolist(), columns[y].tolist(), strict=True)
    return {pair: weighing.edge(*pair, kept, k) for k, pair in enumerate(pairs)}


def _directed(
    counter: Counter, nodes: Sequence[int], pairs: list[tuple[int, int]], root: int | None
) -> list[tuple[int, int]]:
    """Direct edges away from the root, in other trees from the first column by kind and name."""
    is_numeric = [variable.is_continuous for variable in counter.variables]
    # Nodes are in order of their names.
    roots = sorted(nodes, key=lambda j: is_numeric[j])
    if root is not None:
        roots.insert(0, root)
    directed = direct_away(len(is_numeric), pairs, roots)
    for a, b in directed:
        if is_numeric[a] and not is_numeric[b]:
            raise UsageError(
                f"the root {quote(counter.variables[roots[0]].name)} is numeric, and its tree has "
                "categorical columns, to which a conditional Gaussian network has no arrow from a "
                f"numeric one; choose {parameter('root', counter.variables[b].name)}"
            )
    return directed


def _information(found: TableStatistics, estimator: str) -> NDArray[np.float64]:
    mi = information(found)
    if estimator == "ml":
        return mi
    surplus = found.cells_xyz - found.cells_xz - found.cells_yz + found.seen_strata
    corrected: NDArray[np.float64] = mi - surplus / (2 * np.maximum(found.n, 1))
    return corrected


def _star(
    weighing: _Weighing, centre: int, nodes: Sequence[int]
) -> list[tuple[int, int, dict[str, Any]]]:
    """The edges from the class to the other columns that vary."""
    others = np.array(nodes, dtype=np.int32)
    found = weighing.of(np.full(len(others), centre, dtype=np.int32), others)
    return [
        (centre, j, weighing.edge(centre, j, found, k))
        for k, j in enumerate(nodes)
        if found.usable[k]
    ]


def _warn_of_lacking(lacking: Sequence[tuple[str, str, str]]) -> None:
    if not lacking:
        return
    shown = "; ".join(f"{quote(x)} and {quote(y)}, {why}" for x, y, why in lacking[:_SHOWN])
    more = f"; and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
    reporter().warn(
        f"{counted(len(lacking), 'pair')} of columns cannot be weighed, and so "
        f"{agreeing(len(lacking), 'is', 'are')} not joined: {shown}{more}"
    )


def _warn_of_infinite(pairs: Sequence[tuple[str, str]]) -> None:
    """Name columns, and numeric ones that follow from them."""
    if not pairs:
        return
    pairs = sorted(pairs)
    shown = "; ".join(f"{quote(y)} from {quote(x)}" for x, y in pairs[:_SHOWN])
    more = f"; and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    exclude = parameter("exclude", sorted({y for _, y in pairs}))
    reporter().warn(
        f"{counted(len(pairs), 'edge')} {agreeing(len(pairs), 'has', 'have')} an infinite mi, as "
        f"one column follows from the other: {shown}{more}; to fit a model, leave "
        f"{agreeing(len(pairs), 'one', 'some')} out, as by {exclude}"
    )
