"""How often PC on incomplete rows errs, with and without the correction of MVPC.

    python benchmarks/missing_correction.py tests 600 [KIND...]   levels and power of single tests
    python benchmarks/missing_correction.py edges 40 [KIND...]    edges and graphs that PC finds

c is a cause of x, d of y; k is an effect of x and y, and a of k. Either x and y are independent, or
y depends on x. Values are missing in one of these ways:

    mcar        y by chance
    mar         y, the more often the smaller k is
    mnar        the same, and k by a
    crosswise   y by k, and k by y
    self        y by x and by y itself, which no method can tell

Labels have three levels; numbers are normal, with values that are missing by a logistic curve
(numbers) or by a step at the median (numbers, step). Seeds are fixed: the same figures every time.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import gml
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.independence.presence import IncompleteRows
from gml.learners.missingness_correction import CorrectedTest

KINDS = ("labels", "numbers", "numbers, step")
WAYS = ("mcar", "mar", "mnar", "crosswise", "self")
SIZES = (500, 2000, 10000)
GRAPH_SIZES = (1000, 5000)
ALPHA = 0.01
NAMES = ("a", "c", "d", "k", "x", "y")
CAUSES = {
    "mar": {"y": ["k"]},
    "mnar": {"y": ["k"], "k": ["a"]},
    "crosswise": {"y": ["k"], "k": ["y"]},
    "self": {"y": ["x"]},
}
TRUTH = ("cx", "dy", "xk", "yk", "ka")


class Table(NamedTuple):
    """Whole rows, and the same with gaps."""

    whole: Dataset
    gaps: Dataset


def table(kind: str, way: str, n: int, dependent: bool, rng: np.random.Generator) -> Table:
    """Draw rows, and make some values missing."""
    draw = _labels if kind == "labels" else _numbers
    columns = draw(n, dependent, rng)
    there = {name: np.ones(n, dtype=bool) for name in NAMES}

    def hide(name: str, *causes: str) -> None:
        height = sum(_scaled(columns[cause]) for cause in causes)
        if kind == "numbers":
            probability = 1 / (1 + np.exp(-0.4 - 1.2 * height))
        else:
            probability = np.where(height > 0, 0.85, 0.3)
        there[name] = rng.random(n) < probability

    if way == "mcar":
        there["y"] = rng.random(n) < 0.6
    elif way == "self":
        hide("y", "x", "y")
    else:
        hide("y", "k")
    if way == "mnar":
        hide("k", "a")
    elif way == "crosswise":
        hide("k", "y")
    levels = None if kind != "labels" else ("0", "1", "2")
    variables = tuple(Variable(name, levels) for name in NAMES)
    gap = np.nan if levels is None else 255
    code = np.float64 if levels is None else np.uint8
    return Table(
        Dataset(variables, tuple(columns[name].astype(code) for name in NAMES)),
        Dataset(
            variables,
            tuple(np.where(there[name], columns[name], gap).astype(code) for name in NAMES),
        ),
    )


def _scaled(column: np.ndarray) -> np.ndarray:
    return (column - column.mean()) / column.std()


def _numbers(n: int, dependent: bool, rng: np.random.Generator) -> dict[str, np.ndarray]:
    noise = rng.normal(size=(6, n))
    c, d = noise[0], noise[1]
    x = 0.7 * c + noise[2]
    y = 0.7 * d + (0.25 * x if dependent else 0) + noise[3]
    k = x + y + noise[4]
    return {"a": k + noise[5], "c": c, "d": d, "k": k, "x": x, "y": y}


def _labels(n: int, dependent: bool, rng: np.random.Generator) -> dict[str, np.ndarray]:
    def child(*heights: np.ndarray) -> np.ndarray:
        height = sum(heights) + rng.logistic(size=n)
        return np.digitize(height, [-0.8, 0.8])

    c, d = rng.integers(0, 3, n), rng.integers(0, 3, n)
    x = child(c - 1)
    y = child(d - 1, 0.6 * (x - 1) if dependent else np.zeros(n))
    k = child(np.where(x + y > 2, 2.0, -1.0))
    return {"a": child(1.5 * (k - 1)), "c": c, "d": d, "k": k, "x": x, "y": y}


def single_tests(replicates: int, kinds: Sequence[str]) -> None:
    """The test of x and y given c and d: how often it rejects."""
    print(
        "| columns | missing | rows | null: whole | available | weighted | "
        "dependent: whole | available | weighted |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for kind in kinds:
        for way in WAYS[1:-1]:
            for n in SIZES:
                shares = [_rejections(kind, way, n, some, replicates) for some in (False, True)]
                cells = " | ".join(f"{share:.3f}" for part in shares for share in part)
                print(f"| {kind} | {way} | {n} | {cells} |", flush=True)


def _rejections(kind: str, way: str, n: int, dependent: bool, replicates: int) -> np.ndarray:
    known = gml.TESTS["auto" if kind == "labels" else "fisher-z"]
    x, y, c, d = (NAMES.index(name) for name in "xycd")
    rng = np.random.default_rng([n, WAYS.index(way), KINDS.index(kind), dependent])
    rejected = np.zeros(3)
    for _ in range(replicates):
        rows = table(kind, way, n, dependent, rng)
        plain = known(MemoryCounter(rows.gaps, threads=1))
        weighted = CorrectedTest(plain, IncompleteRows(rows.gaps), CAUSES[way])
        weighted.adjacent[:] = True
        whole = known(MemoryCounter(rows.whole, threads=1))
        for k, test in enumerate((whole, plain, weighted)):
            rejected[k] += test.verdict(test(x, y, (c, d)), ALPHA) == "dependent"
    return rejected / replicates


def found_edges(replicates: int, kinds: Sequence[str]) -> None:
    """PC: how often it joins x and y, how far its graph is from the truth, causes found."""
    warnings.simplefilter("ignore", gml.GmlWarning)
    print(
        "| columns | missing | rows | x --- y, not there: whole | available | mvpc | "
        "there: whole | available | mvpc | SHD, not there: whole | available | mvpc | causes |"
    )
    print("|---" * 13 + "|")
    for kind in kinds:
        for way in WAYS:
            for n in GRAPH_SIZES:
                joined, shd, right = _graphs(kind, way, n, False, replicates)
                kept, _, _ = _graphs(kind, way, n, True, replicates)
                cells = [f"{share:.2f}" for share in (*joined, *kept)]
                cells += [f"{distance:.2f}" for distance in shd]
                print(f"| {kind} | {way} | {n} | {' | '.join(cells)} | {right:.2f} |", flush=True)


def _graphs(
    kind: str, way: str, n: int, dependent: bool, replicates: int
) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng([n, WAYS.index(way), KINDS.index(kind), dependent, 1])
    options = {"test": "auto" if kind == "labels" else "fisher-z", "threads": 1}
    arcs = [(one, "-->", other) for one, other in (*TRUTH, *(["xy"] if dependent else []))]
    truth = equivalence_class(Graph.from_edges(NAMES, arcs))
    joined, distances, right = np.zeros(3), np.zeros(3), 0
    for _ in range(replicates):
        rows = table(kind, way, n, dependent, rng)
        found = [
            gml.pc(rows.whole, **options),
            gml.pc(rows.gaps, **options),
            gml.pc(rows.gaps, missing_correction="mvpc", **options),
        ]
        for k, result in enumerate(found):
            marks = result.graph.marks
            joined[k] += bool(marks[NAMES.index("x"), NAMES.index("y")])
            differ = marks != truth.marks
            distances[k] += np.count_nonzero(np.triu(differ | differ.T))
        corrected = found[2].corrected
        causes = {} if corrected is None else corrected.causes.of
        right += {name: list(some) for name, some in causes.items() if some} == CAUSES.get(way, {})
    return joined / replicates, distances / replicates, right / replicates


if __name__ == "__main__":
    what, replicates, *kinds = sys.argv[1:]
    {"tests": single_tests, "edges": found_edges}[what](int(replicates), kinds or KINDS)
