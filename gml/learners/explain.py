"""Why PC has an edge between two variables or none, and why it points where it does.

Reads the records of a run (`gml.formats.test_log` says what they hold) and answers in sentences;
the facts behind each sentence are kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gml.errors import Note, UsageError, counted, parameter, unknown_name
from gml.independence.base import tiny_p
from gml.independence.registry import TESTS
from gml.printable_text import printable

Record = dict[str, Any]

_RULES = {
    "rule 1": "otherwise {a} -> {x} <- {y} would be a collider, and it is none",
    "rule 2": "otherwise {x} -> {a} -> {y} -> {x} would be a cycle",
    "rule 3": "with {y} -> {x}, {a} and {d} would both have to point at {x}: no collider is there",
    "rule 4": "with {y} -> {x}, {a} -> {d} -> {y} -> {x} would make {a} -> {x} <- {y} a collider",
}


@dataclass(frozen=True)
class Explanation:
    """Sentences for people, and the records that they rest on."""

    sentences: tuple[str, ...]
    edge: Record | None
    tests: tuple[Record, ...]
    triples: tuple[Record, ...]

    def __str__(self) -> str:
        return "\n".join(map(printable, self.sentences))

    def __repr__(self) -> str:
        return f"Explanation({len(self.tests)} tests)\n{self}"


def explain(records: Sequence[Record], a: str, b: str) -> Explanation:
    """Explain the pair a, b of a logged run."""
    run = records[0]
    for name in (a, b):
        if name not in run["names"]:
            raise UsageError(unknown_name("variable", name, run["names"]))
    if a == b:
        raise UsageError("A and B are different variables")
    return Explainer(records).explain(a, b)


class Explainer:
    """The records of a run, by the pair that they are about: explains any number of pairs."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._run = records[0]
        self._complete = records[-1]["complete"]
        self._tests: dict[frozenset[str], list[Record]] = {}
        self._edges: dict[frozenset[str], Record] = {}
        self._triples: dict[frozenset[str], list[Record]] = {}
        """Under each two of their nodes."""
        for record in records:
            if record["record"] == "test":
                self._tests.setdefault(_pair(record["x"], record["y"]), []).append(record)
            elif record["record"] == "edge":
                self._edges.setdefault(_pair(record["source"], record["target"]), record)
            elif record["record"] == "triple":
                x, k, y = record["x"], record["k"], record["y"]
                for pair in dict.fromkeys([_pair(x, k), _pair(k, y), _pair(x, y)]):
                    self._triples.setdefault(pair, []).append(record)

    def explain(self, a: str, b: str) -> Explanation:
        """Explain one pair."""
        pair = _pair(a, b)
        tests = self._tests.get(pair, [])
        skeleton = [test for test in tests if test["phase"] in ("skeleton", "correction")]
        edge = self._edges.get(pair)
        if edge is None:
            sentences = self._no_edge(a, b, skeleton)
            used = [t for t in self._about(a, b) if _pair(t["x"], t["y"]) == pair]
        else:
            sentences = self._edge(a, b, skeleton)
            direction, used = self._direction(edge)
            sentences.append(direction)
        sentences += [self._triple(triple) for triple in used]
        if not self._complete:
            sentences.append("The run was stopped before its end: more tests might change this.")
        return Explanation(tuple(sentences), edge, tuple(tests), tuple(used))

    def _about(self, a: str, b: str) -> list[Record]:
        """The triples that hold both nodes."""
        return self._triples.get(_pair(a, b), [])

    # ------------------------------------------------------------------ adjacency

    def _no_edge(self, a: str, b: str, tests: list[Record]) -> list[str]:
        start = f"{a} and {b} have no edge: "
        if not tests:
            return [start + "knowledge forbids it both ways, so it was not tested."]
        last = tests[-1]
        if last["verdict"] == "insufficient":
            said = (
                f"{start}the data cannot tell whether they are related {_given(last)} "
                f"({self._numbers(last)}){_because(last)}, and {parameter('on_insufficient')} took "
                "that for independence."
            )
            return [Note(said)]
        before = len(tests) - 1
        tried = f", after {counted(before, 'test')} that did not separate them" if before else ""
        numbers = self._numbers(last)
        return [f"{start}they are independent {_given(last)} ({numbers}){self._level()}{tried}."]

    def _edge(self, a: str, b: str, tests: list[Record]) -> list[str]:
        start = f"{a} and {b} have an edge"
        if {a, b} in [set(arc) for arc in self._run["knowledge"]["require"]]:
            return [f"{start} because knowledge requires it; it was not tested."]
        if not tests:
            return [f"{start}: there was no time to test it."]
        largest = max(test["level"] for test in tests)
        judged = [test for test in tests if test["verdict"] == "dependent"]
        sentences = [
            f"{start}: {counted(len(tests), 'test')}, given up to {largest} of their neighbours, "
            f"did not separate them{self._level()}."
        ]
        with_p = [test for test in judged if test["log10_p"] is not None]
        if with_p:
            nearest = max(with_p, key=lambda test: (test["log10_p"], -test["level"]))
            sentences.append(f"The closest was {_given(nearest)}: {self._numbers(nearest)}.")
        if len(judged) < len(tests):
            sentences.append(Note(self._unsure(tests)))
        return sentences

    def _unsure(self, tests: list[Record]) -> str:
        """Say how many tests could not tell, and why the first of them could not."""
        unsure = [test for test in tests if test["verdict"] != "dependent"]
        # Logs of earlier versions do not say why.
        why = _because(unsure[0]) or ", because given those variables one of the two did not vary"
        which = f" (the first of them, {_given(unsure[0])})" if len(unsure) > 1 else ""
        return (
            f"{counted(len(unsure), 'test')} of these could not tell{why}"
            f"{which * bool(_because(unsure[0]))}; {parameter('on_insufficient')} kept the edge."
        )

    # ------------------------------------------------------------------ direction

    def _direction(self, edge: Record) -> tuple[str, list[Record]]:
        """Say why an edge points where it does, and which triples that rests on."""
        x, y, reason = edge["source"], edge["target"], edge["reason"]
        if edge["type"] == "---":
            used = [t for t in self._about(x, y) if t["k"] in (x, y)]
            both = f"{x} -> {y} and {y} -> {x} both fit the same independences"
            return f"Its direction is open: {both}.", used
        head = f"It points from {x} to {y}"
        if reason == "knowledge":
            return f"{head} because knowledge rules out {y} -> {x}.", []
        if reason == "collider":
            used = [t for t in self._about(x, y) if t["collider"] and t["k"] == y]
            return f"{head} because {y} is a collider.", used
        nodes = dict(zip("ad", edge["by"], strict=False))
        used = []
        if reason == "rule 1":
            used = [t for t in self._about(nodes["a"], y) if t["k"] == x]
        return f"{head}: {_RULES[reason].format(x=x, y=y, **nodes)} (Meek's {reason}).", used

    def _triple(self, triple: Record) -> str:
        x, k, y, weight = triple["x"], triple["k"], triple["y"], triple["weight"]
        shape = f"{x} -> {k} <- {y}" if triple["collider"] else f"no collider {x} -> {k} <- {y}"
        if weight == 0:
            why = "the tests leave open"
            if _pair(x, y) not in self._tests:
                why = "no test says, since their edge is forbidden,"
            return f"Whether {k} is a collider between {x} and {y} {why}: taken for {shape}."
        evidence = self._evidence(x, k, y, weight)
        if triple["changed"]:
            to = "knowledge" if triple["by_knowledge"] else "stronger evidence elsewhere"
            return f"{evidence}; that gave way to {to}: {shape}."
        # Logs of earlier versions do not say.
        if triple.get("ambiguous") is True:
            return f"{evidence}, but both separate them, so it is ambiguous: taken for {shape}."
        return f"{evidence}: {shape}."

    def _evidence(self, x: str, k: str, y: str, weight: float) -> str:
        """What the tests say of a triple, by the rule of the run."""
        rule, collider = self._run["colliders"], weight > 0
        if rule == "sepset":
            held = "does not hold" if collider else "holds"
            return f"The set that separated {x} and {y} {held} {k}"
        if rule == "conservative":
            held = "no set" if collider else "every set"
            return f"{k} is in {held} that separates {x} and {y}"
        if rule == "majority":
            held = "fewer" if collider else "more"
            return f"{k} is in {held} than half of the sets that separate {x} and {y}"
        how = "better" if collider else "worse"
        size = f"{abs(weight):.3g} nats of evidence"
        if self._run["alpha"] is not None:
            size = _factor(abs(weight))
        return f"{x} and {y} are separated {how} without {k} than with it, by {size}"

    # ------------------------------------------------------------------ words

    def _numbers(self, test: Record) -> str:
        parts = []
        if test["statistic"] is not None:
            df = "" if test["df"] is None else f", df {test['df']:.6g}"
            parts.append(f"{self._statistic(test)} = {test['statistic']:.6g}{df}")
        if test["log10_p"] is not None:
            parts.append(f"p = {_p_value(test['log10_p'])}")
        elif test["statistic"] is None and test["verdict"] == "dependent":
            parts.append(f"{self._statistic(test)} is infinite, p = 0")
        parts.append(f"n = {test['n']}")
        if test.get("corrected_for"):
            parts.append(f"rows weighted for what {', '.join(test['corrected_for'])} made missing")
            parts[-2] += f", worth {test['effective_n']:.4g}"
        return ", ".join(parts)

    def _statistic(self, test: Record) -> str:
        named = TESTS.get(str(test.get("test", self._run["test"])))
        if "corrected_for" in test and test["df"] is not None:
            return "X²"
        return "statistic" if named is None else named.statistic_at(test["df"])

    def _level(self) -> str:
        alpha = self._run["alpha"]
        return "" if alpha is None else f" at level {alpha:g}"


def _pair(a: str, b: str) -> frozenset[str]:
    return frozenset((a, b))


def _factor(weight: float) -> str:
    decimal = weight / math.log(10)
    if decimal < 4:
        return f"a factor of {math.exp(weight):.3g} in p"
    return f"{decimal:.3g} orders of magnitude in p"


def _given(test: Record) -> str:
    return "given " + ", ".join(test["given"]) if test["given"] else "without conditioning"


def _because(test: Record) -> str:
    """Why a test could not tell, where the log says it."""
    return f", because of this: {test['reason']}" if test.get("reason") else ""


def _p_value(log10_p: float) -> str:
    return f"{10**log10_p:.3g}" if log10_p > -300 else tiny_p(log10_p, 3)
