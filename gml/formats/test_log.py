"""The log of a run of PC, one JSON object a line; `gml explain` reads it.

The field `record` tells the lines apart:

- `run`, the first: schema, command, version, test, alpha, colliders, on_insufficient, max_cond,
  names, knowledge;
- `test`: phase (skeleton or colliders), level, x, y, given, statistic, df, log10_p, n, verdict;
- `triple`: an unshielded triple x, k, y, its weight, whether it is a collider in the graph,
  whether that is against its weight, and whether knowledge decides it;
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

from gml import __version__
from gml.errors import DataError, place
from gml.formats.json_text import SCHEMA, encode
from gml.formats.knowledge import as_json
from gml.formats.reports.tests import numbers_of
from gml.graph.knowledge import Knowledge
from gml.learn.pc import PcResult
from gml.learn.skeleton import TestRecord
from gml.ledger import note_bytes

Record = dict[str, Any]

# What `gml explain` reads of each.
_FIELDS = {
    "run": {"names", "test", "alpha", "colliders", "knowledge"},
    "test": {"phase", "level", "x", "y", "given", "statistic", "df", "log10_p", "n", "verdict"},
    "triple": {"x", "k", "y", "weight", "collider", "changed", "by_knowledge"},
    "edge": {"source", "target", "type", "reason", "by"},
    "end": {"complete"},
}


def line(record: Record) -> bytes:
    """One record as a line of the file."""
    return (encode(record) + "\n").encode("utf-8")


def run_record(names: Iterable[str], settings: Record, knowledge: Knowledge) -> Record:
    """What the run was about."""
    return {
        "record": "run",
        "schema": SCHEMA,
        "command": "pc",
        "version": __version__,
        **settings,
        "names": list(names),
        "knowledge": as_json(knowledge),
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
            "by_knowledge": triple.by_knowledge,
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
    not_a_log = f"{where}: not a log of gml pc --test-log"
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        # Only a line feed ends a line: names may hold other characters that Python takes for one.
        records = [json.loads(text) for text in raw.split(b"\n") if text.strip()]
    except OSError as error:
        raise DataError(f"{where}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{not_a_log}: not a JSON object a line") from None
    note_bytes(path, raw)
    if not all(isinstance(record, dict) for record in records):
        raise DataError(f"{not_a_log}: not a JSON object a line")
    if not records or records[0].get("record") != "run":
        raise DataError(f"{not_a_log}: it does not begin with the run")
    if records[-1].get("record") != "end":
        raise DataError(f"{where}: the log is cut off: its last line is not the end of the run")
    for number, record in enumerate(records, start=1):
        missing = sorted(_FIELDS.get(record.get("record", ""), {"record"}) - record.keys())
        if missing:
            raise DataError(f'{not_a_log}: line {number} has no "{missing[0]}"')
    return records
