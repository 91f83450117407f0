"""Valid inputs whose names and levels are as nasty as can be: what reaches the writers.

`{0}`, `{1}` and `{2}` in a command line are the names of three columns, `{=0}` is an assignment of
a level to the first, and `{list}` is the names as one CSV record.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
from typing import Any

from tests.fuzz.mutators import SPECIAL

_NASTY = (
    "a", "b", "x y", " a", "a ", "a->b", "a--b", 'a"b', "a'b", "a,b", "x=y", "<b>", "a<b", "a:b", "-x", "--", "-", "@x", "#", "NA",
    "1", "01", "1.0", "-3", "[0,1)", "(0,1]", "weight", "p", "count", "node", "graph", "table", "default", "data", "id", "|", "`x`",
    "**x**", "[x](y)", "<script>", "&amp;", "a\\b", "a\\", "\\n", "{", "}", "${x}", "%0A", "::error::x", "a\n::error::x", "a\r\nb",
    "\ttab", "x" * 300, "ä", "a\u0308", "İ", "\U0001f333", "\u202e", "\ufeff", "\u2028", "\x1b[31m", "\x00", "\x7f", "\x85", "=1+1",
    "../x", "a/b", "/", ".", "..", "CON", "a;b", "//x", "/*x*/", "%x", "~",
)  # fmt: skip

COMMANDS = (
    "profile in.csv -f text", "profile in.csv -f markdown", "profile in.csv -o out.json", "chowliu in.csv", "chowliu in.csv -f text",
    "chowliu in.csv -o out.graphml", "chowliu in.csv -o out.json", "chowliu in.csv --root {0} --class {1}", "pc in.csv -f text --require {0}->{1}",
    "pc in.csv --test-log out.jsonl --sepsets out.csv -o out.dot", "indtest in.csv {0} {1}", "indtest in.csv {0} {1} -z {2} -f markdown",
    "indtest in.csv --all-pairs -f csv", "indtest in.csv --implied in.json -f text", "hc in.csv --trace out.csv -f text", "ges in.csv -f json",
    "exact in.csv --against in.json -f csv", "imap in.csv --order {list}", "count in.csv --pairs -o out.parquet", "score in.csv in.json --per-node",
    "score in.csv in.json --explain -f markdown", "fit-params in.csv in.json -f text", "fit-params in.csv in.json --cpt-dir out_tables -o out.json",
    "fit-params in.csv in.json -o out.bif", "fit-params in.csv in.json -o out.net", "check in.csv in.json", "check in.csv in.json -f github",
    "check in.csv in.json -f markdown", "check in.csv in.json -o out.xml -f junit", "check in.csv in.json -f sarif --write-baseline out.json",
    "query in.json", "query in.json --target {0} --evidence {=1}", "query in.json --mpe -f markdown", "query in.json --batch in.csv --target {list}",
    "query in.json --batch in.csv --predict {0} -o out.csv", "sample in.json -n 5", "sample in.json -n 5 --do {=0} -o out.csv",
    "convert in.json out.dot", "convert in.json out.graphml", "convert in.json out.bif", "convert in.json out.xmlbif", "convert in.json out.net",
    "convert in.json out.json", "convert in.json out.txt", "compare in.json in.json", "compare in.json graph.dot -f text", "explain in.jsonl {0} {1}",
    "explain in.jsonl {0} {2} -f json", "verify in.json -f text", "average in.csv --by hc --bootstrap 2 --probabilities out.csv -f text",
    "report in.csv in.json --test-log in.jsonl -o out.html", "pc in.csv --tiers {0}<{1}", "profile in.csv -c {list}", "chowliu in.csv --exclude {0}", "pc in.csv --knowledge knowledge.json",
)  # fmt: skip


def _text(rng: random.Random) -> str:
    if rng.random() < 0.6:
        return rng.choice(("a", "b", "c", "no", "yes", "n1", "n2", "x", "y", "z"))
    if rng.random() < 0.8:
        return rng.choice(_NASTY)
    return rng.choice(_NASTY) + rng.choice(SPECIAL).decode("utf-8", "ignore") + rng.choice("ab")


def _distinct(rng: random.Random, n: int) -> list[str]:
    found: list[str] = []
    while len(found) < n:
        text = _text(rng)
        if text and text not in found:
            found.append(text)
    return found


def files_and_line(rng: random.Random) -> tuple[dict[str, bytes], list[str]]:
    """A table, a model and a log over the same names, and a command line that reads some of them."""
    names = _distinct(rng, 3)
    levels = [_distinct(rng, rng.choice((1, 2, 2, 2, 3))) for _ in names]
    rows = [[rng.choice(of) for of in levels] for _ in range(40)]
    files = {
        "in.csv": _csv(names, rows),
        "in.json": _model(names, levels, rng),
        "in.jsonl": _log(names),
    }
    words = rng.choice(COMMANDS).split()
    values = {"{list}": _record(names)}
    for k, name in enumerate(names):
        values |= {f"{{{k}}}": name, f"{{={k}}}": _assignment(name, levels[k][0])}
    for k, word in enumerate(words):
        for hole, value in values.items():
            # A program cannot be given a NUL.
            word = word.replace(hole, _quoted(value) if "->" in word or "<" in word else value)
        words[k] = word.replace("\x00", "")
    return {name: files[name] for name in files if name in words}, words


def _csv(names: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *rows])
    return text.getvalue().encode()


def _record(names: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _assignment(name: str, level: str) -> str:
    return (
        _quoted(f"{name}={level}")
        if any(c in name + level for c in ',"\r\n')
        else f"{name}={level}"
    )


def _model(names: list[str], levels: list[list[str]], rng: random.Random) -> bytes:
    nodes: list[dict[str, Any]] = []
    for k, name in enumerate(names):
        parents = names[k - 1 : k] if k else []
        n_rows = len(levels[k - 1]) if k else 1
        counts = [[rng.randrange(1, 20) for _ in levels[k]] for _ in range(n_rows)]
        cpt = [[n / sum(row) for n in row] for row in counts]
        nodes.append(
            {"id": name, "levels": levels[k], "parents": parents, "cpt": cpt, "counts": counts}
        )
    edges = [{"source": a, "target": b, "type": "-->"} for a, b in itertools.pairwise(names)]
    graph = {"schema": "gml/1", "kind": "dag"}
    return json.dumps(
        {"directed": True, "multigraph": False, "graph": graph, "nodes": nodes, "edges": edges}
    ).encode()


def _log(names: list[str]) -> bytes:
    a, b, c = names
    knowledge: dict[str, Any] = {"require": [], "forbid": [], "tiers": []}
    run = {"record": "run", "schema": "gml/1", "command": "pc", "version": "0.1.0", "test": "g", "alpha": 0.01, "df": "adjusted",
           "colliders": "max-p", "on_insufficient": "keep", "max_cond": None, "names": names, "knowledge": knowledge}  # fmt: skip
    numbers = {"statistic": 3.5, "df": 1, "log10_p": -1.2, "n": 40}
    records = [
        run,
        {
            "record": "test",
            "phase": "skeleton",
            "level": 0,
            "x": a,
            "y": b,
            "given": [],
            **numbers,
            "verdict": "dependent",
        },
        {
            "record": "test",
            "phase": "skeleton",
            "level": 1,
            "x": a,
            "y": c,
            "given": [b],
            **numbers,
            "verdict": "independent",
        },
        {
            "record": "triple",
            "x": a,
            "k": b,
            "y": c,
            "weight": 0.3,
            "collider": False,
            "changed": False,
            "by_knowledge": False,
        },
        {"record": "edge", "source": a, "target": b, "type": "---", "reason": None, "by": []},
        {"record": "end", "complete": True},
    ]
    return "".join(json.dumps(record) + "\n" for record in records).encode()
