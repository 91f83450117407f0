"""Why PC has an edge between two variables or none, and why it points where it does.

Reads the records of a run (`gml.formats.test_log` says what they hold) and answers in sentences;
the facts behind each sentence are kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gml.errors import UsageError, unknown_name

Record = dict[str, Any]

_RULES = {
    "rule 1": "otherwise {a} -> {x} <- {y} would be a collider, and it is not one",
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


def explain(records: Sequence[Record], a: str, b: str) -> Explanation:
    """Explain the pair a, b of a logged run."""
    run = records[0]
    for name in (a, b):
        if name not in run["names"]:
            raise UsageError(unknown_name("variable", name, run["names"]))
    if a == b:
        raise UsageError("A and B are different variables")
    pair = {a, b}
    tests = [r for r in records if r["record"] == "test" and {r["x"], r["y"]} == pair]
    skeleton = [test for test in tests if test["phase"] == "skeleton"]
    edge = next(
        (r for r in records if r["record"] == "edge" and {r["source"], r["target"]} == pair), None
    )
    triples = [r for r in records if r["record"] == "triple"]
    if edge is None:
        sentences = _no_edge(a, b, run, skeleton)
        used = [t for t in triples if {t["x"], t["y"]} == pair]
        sentences += [_triple_sentence(triple) for triple in used]
    else:
        sentences = _edge(a, b, run, skeleton)
        direction, used = _direction(edge, triples)
        sentences += direction
    if not records[-1]["complete"]:
        sentences.append("The run was stopped before its end, so more tests might change this.")
    return Explanation(tuple(sentences), edge, tuple(tests), tuple(used))


# ---------------------------------------------------------------------- adjacency


def _no_edge(a: str, b: str, run: Record, tests: list[Record]) -> list[str]:
    if not tests:
        return [f"{a} and {b} have no edge: knowledge forbids it both ways, so it was not tested."]
    last = tests[-1]
    if last["verdict"] == "insufficient":
        return [
            f"{a} and {b} have no edge: the data cannot tell whether they are related "
            f"{_given(last)} ({_numbers(last)}), and --on-insufficient took that for independence."
        ]
    before = len(tests) - 1
    tried = f", after {_count(before, 'test')} that did not separate them" if before else ""
    return [
        f"{a} and {b} have no edge: they are independent {_given(last)} "
        f"({_numbers(last)}){_at_level(run)}{tried}."
    ]


def _edge(a: str, b: str, run: Record, tests: list[Record]) -> list[str]:
    required = {frozenset(arc) for arc in run["knowledge"]["require"]}
    if frozenset((a, b)) in required:
        return [f"{a} and {b} have an edge because knowledge requires it; it was not tested."]
    if not tests:
        return [f"{a} and {b} have an edge: there was no time to test it."]
    largest = max(test["level"] for test in tests)
    judged = [test for test in tests if test["verdict"] == "dependent"]
    unsure = len(tests) - len(judged)
    sentences = [
        f"{a} and {b} have an edge: {_count(len(tests), 'test')}, given up to {largest} of their "
        f"neighbours, did not separate them{_at_level(run)}."
    ]
    with_p = [test for test in judged if test["log10_p"] is not None]
    if with_p:
        nearest = max(with_p, key=lambda test: (test["log10_p"], -test["level"]))
        sentences.append(f"The closest was {_given(nearest)}: {_numbers(nearest)}.")
    if unsure:
        sentences.append(
            f"{_count(unsure, 'test')} of these could not tell, because given those variables one "
            "of the two did not vary; --on-insufficient kept the edge."
        )
    return sentences


# ---------------------------------------------------------------------- direction


def _direction(edge: Record, triples: list[Record]) -> tuple[list[str], list[Record]]:
    x, y, reason = edge["source"], edge["target"], edge["reason"]
    if edge["type"] == "---":
        used = [t for t in triples if t["k"] in (x, y) and {x, y} <= {t["x"], t["k"], t["y"]}]
        sentence = (
            f"Its direction is open: {x} -> {y} and {y} -> {x} both fit the same independences."
        )
        return [sentence, *map(_triple_sentence, used)], used
    head = f"It points from {x} to {y}"
    if reason == "knowledge":
        return [f"{head} because knowledge rules out {y} -> {x}."], []
    if reason == "collider":
        used = [t for t in triples if t["collider"] and t["k"] == y and x in (t["x"], t["y"])]
        return [f"{head} because {y} is a collider.", *map(_triple_sentence, used)], used
    nodes = dict(zip("ad", edge["by"], strict=False))
    return [f"{head}: {_RULES[reason].format(x=x, y=y, **nodes)} (Meek's {reason})."], []


def _triple_sentence(triple: Record) -> str:
    x, k, y, weight = triple["x"], triple["k"], triple["y"], triple["weight"]
    shape = f"{x} -> {k} <- {y}" if triple["collider"] else f"no collider {x} -> {k} <- {y}"
    if weight == 0:
        return f"Whether {k} is a collider between {x} and {y} was left open by the tests: {shape}."
    how = "better" if weight > 0 else "worse"
    evidence = (
        f"{x} and {y} are separated {how} without {k} than with it, by {_factor(abs(weight))}"
    )
    if triple["changed"]:
        return f"{evidence}; that gave way to stronger evidence elsewhere: {shape}."
    return f"{evidence}: {shape}."


# ---------------------------------------------------------------------- words


def _factor(weight: float) -> str:
    decimal = weight / math.log(10)
    if decimal < 4:
        return f"a factor of {math.exp(weight):.3g} in p"
    return f"{decimal:.3g} orders of magnitude in p"


def _given(test: Record) -> str:
    return "given " + ", ".join(test["given"]) if test["given"] else "without conditioning"


def _numbers(test: Record) -> str:
    parts = []
    if test["statistic"] is not None:
        df = "" if test["df"] is None else f", df {test['df']:.6g}"
        parts.append(f"statistic {test['statistic']:.6g}{df}")
    if test["log10_p"] is not None:
        parts.append(f"p = {_p_value(test['log10_p'])}")
    parts.append(f"n = {test['n']}")
    return ", ".join(parts)


def _p_value(log10_p: float) -> str:
    if log10_p > -300:
        return f"{10**log10_p:.3g}"
    exponent = math.floor(log10_p)
    return f"{10 ** (log10_p - exponent):.3g}e{exponent}"


def _at_level(run: Record) -> str:
    return "" if run["alpha"] is None else f" at level {run['alpha']:g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
