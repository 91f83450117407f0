"""Chow–Liu trees (Chow & Liu 1968, IEEE Trans. Inf. Theory 14:462–467) and their relatives.

The maximum-likelihood tree is the spanning tree of largest total mutual information: for a tree T,
loglik(T) − loglik(empty) = n Σ_{(x,y) ∈ T} I(x; y) (their equation 10). TAN (Friedman, Geiger &
Goldszmidt 1997) is the same with I(x; y | class), plus edges from the class to every attribute.

`prune="bic"` maximises Σ (I − df·ln n/2n) over forests: Kruskal on the penalised weights, positive
ones only; df counts the levels seen, as the tests do. `prune="g"` keeps only pairs that the G test
calls dependent. Miller–Madow corrects each entropy by (K−1)/2n, K the cells seen, hence I by
−(K_xy − K_x − K_y + 1)/2n.

Weights are compared as n·I rounded to 2⁻²⁰ nats; ties go to the pair of names that comes first in
code point order. A column in which only one level occurs stays isolated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, TableStatistics, TripleArray, pair_block
from gml.errors import CannotAnswer, UsageError, parameter, require_one_of, unknown_name
from gml.graph.graph import Graph, require_marks
from gml.graph.spanning import direct_away, spanning_forest
from gml.independence.contingency import full_df
from gml.independence.mutual_information import information
from gml.scores.base import rounded

ESTIMATORS = ("ml", "miller-madow")
PRUNINGS = ("none", "bic", "g")
# The statistics of a block take some 30 MB.
_BLOCK_PAIRS = 1 << 16


@dataclass(frozen=True)
class ChowLiuResult:
    """The tree or forest, its total mutual information in nats, and the number of pairs weighed."""

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
        Direct the tree away from this variable; by default the first name in code point order.
    directed
        Whether to direct the tree at all.
    estimator
        Estimator of the mutual information: `ml` or `miller-madow`.
    prune
        `none` for a tree; `bic` or `g` (at `alpha`, with the degrees of freedom `df`) for a forest.
    class_variable
        Learn a tree-augmented naive Bayes model around this variable.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv", columns=("smoke", "lung", "either"))
    >>> tree = chow_liu(gml.MemoryCounter(data)).graph
    >>> [(tree.names[e.source], tree.names[e.target]) for e in tree.edges()]
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
    attributes = [j for j in counter.order.positions.tolist() if names[j] != class_variable]
    given = () if class_variable is None else (names.index(class_variable),)
    nodes = np.array(attributes, dtype=np.int32)
    tree = _best_tree(counter, nodes, given, _Weighing(estimator, prune, alpha, df))
    order = list(range(len(nodes)))
    if root is not None:
        order.insert(0, attributes.index(names.index(root)))
    oriented = direct_away(len(nodes), list(tree), order) if directed else list(tree)
    edges = [
        (
            names[attributes[a]],
            "-->" if directed else "---",
            names[attributes[b]],
            {"mi": tree[min(a, b), max(a, b)]},
        )
        for a, b in oriented
    ]
    n_pairs = len(nodes) * (len(nodes) - 1) // 2
    if class_variable is not None:
        edges += _class_edges(counter, class_variable, attributes, names, estimator)
        n_pairs += len(attributes)
    graph = Graph.from_edges(
        names,
        edges,
        kind="dag" if directed else "undirected",
        levels={v.name: v.levels for v in counter.variables if v.levels is not None},
    )
    return ChowLiuResult(graph, math.fsum(edge[3]["mi"] for edge in edges), n_pairs)


class _Weighing(NamedTuple):
    """How pairs are weighed, and which of them may be edges."""

    estimator: str
    prune: str
    alpha: float
    df: str


def _best_tree(
    counter: Counter, nodes: NDArray[np.int32], given: tuple[int, ...], how: _Weighing
) -> dict[tuple[int, int], float]:
    """Return the edges, as positions among the nodes, and the mutual information of each.

    Pairs come in blocks, each of which leaves the edges of the forest so far, so that memory grows
    with the number of nodes, not of pairs.
    """
    rows = columns = np.empty(0, dtype=np.int64)
    mi = keys = np.empty(0)
    n_pairs = len(nodes) * (len(nodes) - 1) // 2
    for start in range(0, max(1, n_pairs), _BLOCK_PAIRS):
        x, y = pair_block(len(nodes), start, min(start + _BLOCK_PAIRS, n_pairs))
        found = _statistics(counter, nodes[x], nodes[y], given)
        block_mi = _information(found, how.estimator)
        block_keys = rounded(_weights(found, block_mi, how.prune) * counter.n)
        usable = (found.seen_x > 1) & (found.seen_y > 1)
        if how.prune == "bic":
            usable &= block_keys > 0
        elif how.prune == "g":
            usable &= _dependent(found, how.alpha, how.df)
        rows, columns = np.append(rows, x[usable]), np.append(columns, y[usable])
        mi, keys = np.append(mi, block_mi[usable]), np.append(keys, block_keys[usable])
        picked = spanning_forest(len(nodes), rows, columns, keys)
        rows, columns, mi, keys = rows[picked], columns[picked], mi[picked], keys[picked]
    return {
        (a, b): value
        for a, b, value in zip(rows.tolist(), columns.tolist(), mi.tolist(), strict=True)
    }


def _statistics(
    counter: Counter, x: NDArray[np.int32], y: NDArray[np.int32], given: tuple[int, ...]
) -> TableStatistics:
    if not given:
        return counter.pair_statistics(np.column_stack([x, y]))
    z = (np.full(len(x), j, dtype=np.int32) for j in given)
    return counter.statistics(TripleArray(np.column_stack([x, y, *z])))


def _information(found: TableStatistics, estimator: str) -> NDArray[np.float64]:
    mi = information(found)
    if estimator == "ml":
        return mi
    require_one_of("estimator", estimator, ESTIMATORS)
    surplus = found.cells_xyz - found.cells_xz - found.cells_yz + found.seen_strata
    corrected: NDArray[np.float64] = mi - surplus / (2 * np.maximum(found.n, 1))
    return corrected


def _weights(found: TableStatistics, mi: NDArray[np.float64], prune: str) -> NDArray[np.float64]:
    require_one_of("prune", prune, PRUNINGS)
    if prune != "bic":
        return mi
    n = np.maximum(found.n, 1)
    penalised: NDArray[np.float64] = mi - full_df(found) * np.log(n) / (2 * n)
    return penalised


def _dependent(found: TableStatistics, alpha: float, df: str) -> NDArray[np.bool_]:
    degrees = full_df(found) if df == "full" else found.df_adjusted.astype(np.float64)
    log_p = kernel.active().log_chi2_upper(np.ascontiguousarray(found.g), degrees)
    significant: NDArray[np.bool_] = (log_p <= np.log(alpha)) & (found.df_adjusted > 0)
    return significant


def _class_edges(
    counter: Counter, class_variable: str, attributes: list[int], names: list[str], estimator: str
) -> list[tuple[str, str, str, dict[str, float]]]:
    around = names.index(class_variable)
    pairs = np.array([(around, j) for j in attributes], dtype=np.int32)
    found = counter.pair_statistics(pairs)
    mi = _information(found, estimator)
    return [
        (class_variable, "-->", names[j], {"mi": float(mi[k])})
        for k, j in enumerate(attributes)
        if found.seen_x[k] > 1 and found.seen_y[k] > 1
    ]
