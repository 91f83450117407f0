"""d-separation in a known DAG as a test: the answers of an infinite, faithful sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gml.counts.counter import Triple
from gml.graph.graph import Graph
from gml.graph.separation import Separation
from gml.independence.base import CIResult, IndependenceTest, ResultArrays


class OracleTest(IndependenceTest):
    """Independent (p = 1) iff d-separated, else dependent (p = 0).

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> oracle = OracleTest(chain)
    >>> oracle.verdict(oracle(0, 2), 0.05), oracle.verdict(oracle(0, 2, [1]), 0.05)
    ('dependent', 'independent')
    """

    name = "oracle"

    def __init__(self, dag: Graph) -> None:
        self.names = dag.names
        self._separation = Separation(dag)

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Answer many queries."""
        return ResultArrays.of([self._test(*triple) for triple in triples])

    def _test(self, x: int, y: int, given: tuple[int, ...]) -> CIResult:
        separated = self._separation.separated(x, y, given)
        return CIResult(
            0.0 if separated else math.inf, None, 0.0 if separated else -math.inf, None, 0
        )
