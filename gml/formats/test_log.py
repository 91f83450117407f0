"""The log of a run of PC, one JSON object a line; `gml explain` reads it.

The field `record` tells the lines apart:

- `run`, the first: schema, command, alpha, names, knowledge;
- `test`: phase (skeleton or colliders), level, x, y, given, statistic, df, log10_p, n, verdict;
- `triple`: an unshielded triple x, k, y, its weight, whether it is a collider in the graph, and
  whether that is against its weight;
- `edge`: source, target, type, and for an arrow the reason and the nodes it is by;
- `end`, the last: whether the run was complete.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gml.errors import DataError, place
from gml.formats.json_graph import SCHEMA, encode
from gml.formats.reports.tests import numbers_of
from gml.graph.knowledge import Knowledge
from gml.learn.pc import PcResult
from gml.learn.skeleton import TestRecord

Record = dict[str, Any]


def line(record: Record) -> bytes:
    """One record as a line of the file."""
    return (encode(record) + "\n").encode("utf-8")


def run_record(names: Iterable[str], alpha: float | None, knowledge: Knowledge) -> Record:
    """What the run was about."""
    return {
        "record": "run",
        "schema": SCHEMA,
        "command": "pc",
        "alpha": alpha,
        "names": list(names),
        "knowledge": {
            "require": [list(arc) for arc in knowledge.require],
            "forbid": [list(arc) for arc in knowledge.forbid],
            "tiers": [list(tier) for tier in knowledge.tiers],
        },
    }


def test_record(test: TestRecord) -> Record:
    """One test."""
    numbers = numbers_of(test.result)
    return {
        "record": "test",
        "phase": test.phase,
        "level": test.level,
        "x": test.x,
        "y": test.y,
        "given": list(test.given),
        "statistic": numbers["statistic"],
        "df": numbers["df"],
        "log10_p": numbers["log10_p"],
        "n": test.result.n,
        "verdict": test.verdict,
    }


def result_records(result: PcResult) -> Iterator[Record]:
    """Triples, edges and the end of a run."""
    for triple in result.triples:
        yield {
            "record": "triple",
            "x": triple.x,
            "k": triple.k,
            "y": triple.y,
            "weight": triple.weight,
            "collider": triple.collider,
            "changed": triple.changed,
        }
    names = result.graph.names
    for edge in result.graph.edges():
        source, target = names[edge.source], names[edge.target]
        reason, by = result.reasons.get((source, target), (None, ()))
        yield {
            "record": "edge",
            "source": source,
            "target": target,
            "type": edge.type,
            "reason": reason,
            "by": list(by),
        }
    yield {"record": "end", "complete": result.complete}


def read_log(path: str | os.PathLike[str]) -> list[Record]:
    """Read a log; anything else is refused."""
    where = place(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        records = [json.loads(text) for text in raw.decode("utf-8").splitlines() if text.strip()]
    except OSError as error:
        raise DataError(f"{where}: {error.strerror}") from None
    except ValueError:
        raise DataError(
            f"{where}: not a log of gml pc --test-log: not a JSON object a line"
        ) from None
    if not records or not isinstance(records[0], dict) or records[0].get("record") != "run":
        raise DataError(f"{where}: not a log of gml pc --test-log: it does not begin with the run")
    if (
        not all(isinstance(record, dict) for record in records)
        or records[-1].get("record") != "end"
    ):
        raise DataError(f"{where}: the log is cut off: its last line is not the end of the run")
    return records
