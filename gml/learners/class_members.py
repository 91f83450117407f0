"""The member of an equivalence class that a score likes best, for scores that tell members apart.

Equivalent DAGs differ by reversals of covered edges, x → y whose parents are the same but for x
(Chickering 1995, UAI, theorem 2). From a DAG of the class the reversal that gains most is made,
again and again, until none gains: a member that no single reversal improves, which need not be the
best of all. Gains are rounded to 2⁻²⁰ nats; ties go to the first source, then target, by name.
"""

from __future__ import annotations

import numpy as np

from gml.counts.counter import Family
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.search import dag_of
from gml.scores.base import Score, add_up, as_score, families_of, rounded
from gml.stopping import check_stopped


def best_member(
    score: Score, dag: Graph, knowledge: Knowledge | None = None
) -> tuple[Graph, float]:
    """Return a DAG equivalent to a DAG that no reversal of an edge improves, and its score.

    With knowledge, which the DAG obeys, only reversals that it allows are made.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/flats.csv", numeric=["size", "rent", "heating"])
    >>> score = gml.SCORES["bic-glm"](gml.MemoryCounter(data))
    >>> arc = Graph.from_edges(data.names, [("heating", "-->", "condition")])
    >>> [(edge.source, edge.target) for edge in best_member(score, arc)[0].edges()]
    [(1, 5)]
    """
    names = tuple(sorted(dag.names))
    at = [score.names.index(name) for name in names]
    rank = {j: k for k, j in enumerate(at)}
    parents = [0] * len(names)
    for child, given in families_of(score, dag):
        parents[rank[child]] = sum(1 << rank[j] for j in given)
    allowed = np.ones((len(names),) * 2, dtype=bool)
    if knowledge:
        allowed = ~(knowledge.forbidden(names) | knowledge.required(names).T)
    worth: dict[tuple[int, int], float] = {}
    scored = as_score(score)

    def family(child: int, given: int) -> Family:
        return at[child], tuple(at[j] for j in range(len(names)) if given >> j & 1)

    def require(wanted: list[tuple[int, int]]) -> None:
        new = sorted(set(wanted) - set(worth))
        values = scored.batch([family(*one) for one in new])
        worth.update(zip(new, values.tolist(), strict=True))

    while True:
        check_stopped()
        covered = [
            (x, y)
            for x in range(len(names))
            for y in range(len(names))
            if parents[y] >> x & 1 and parents[x] == parents[y] & ~(1 << x) and allowed[y, x]
        ]
        reversals = [
            (
                (x, parents[x]),
                (y, parents[y]),
                (x, parents[x] | 1 << y),
                (y, parents[y] & ~(1 << x)),
            )
            for x, y in covered
        ]
        require([one for four in reversals for one in four])
        gains = [
            rounded(worth[new_x] + worth[new_y] - worth[x] - worth[y])
            for x, y, new_x, new_y in reversals
        ]
        if max(gains, default=0.0) <= 0:
            break
        x, y = covered[gains.index(max(gains))]
        parents[y] &= ~(1 << x)
        parents[x] |= 1 << y
    require([*enumerate(parents)])
    families = [family(child, given) for child, given in enumerate(parents)]
    values = np.array([worth[one] for one in enumerate(parents)])
    return dag_of(parents, names, dag.names), add_up(score.names, families, values)
