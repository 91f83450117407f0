"""The log of a run of PC, one JSON object per line; `gml explain` reads it.

The field `record` tells the lines apart:

- `run`, the first: schema, command, version, test, alpha, colliders, on_insufficient, max_cond,
  names, knowledge;
- `test`: phase (skeleton, correction or colliders), level, x, y, given, statistic, df, log10_p, n,
  verdict; where the test of the run picks others, which test it was; and, where rows were weighted,
  the causes of missing values that they are corrected_for, and the effective_n; where the verdict
  is insufficient, the reason, null if the test does not know it;
- `triple`: an unshielded triple x, k, y, its weight, whether it is a collider in the graph,
  whether that is against its weight, whether knowledge decides it, and whether it is ambiguous;
- `edge`: source, target, type, and for an arrow the reason and the nodes it is by;
- `end`, the last: whether the run was complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from gml import __version__
from gml.atomic import whole_file
from gml.data.json_text import parse_json
from gml.data.text_file import read_lines
from gml.errors import DataError, place
from gml.formats.json_document import SCHEMA, encode
from gml.formats.knowledge import as_json, knowledge_of
from gml.formats.reports.tests import numbers_of
from gml.graph.knowledge import Knowledge
from gml.independence.base import INSUFFICIENT, CIResult
from gml.learners.pc import COLLIDER_RULES, PcResult
from gml.learners.skeleton import TestRecord
from gml.resources import budget_in_force, require_memory

Record = dict[str, Any]

# The number of nodes behind each rule of orientation; other reasons have any number.
_NODES_OF_RULE = {"rule 1": 1, "rule 2": 1, "rule 3": 2, "rule 4": 2}
_REASONS = (*_NODES_OF_RULE, "collider", "knowledge")
# Memory of a record besides its text: its fields and what they hold.
_RECORD_BYTES = 2000


class _Field(NamedTuple):
    """What a field holds, in words, and whether a value is that; names are those of the run."""

    what: str
    holds: Callable[[Any, frozenset[str]], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_names(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v in names for v in value)


def _are_different(value: Any, _: frozenset[str]) -> bool:
    texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
    return texts and len(set(value)) == len(value)


def _is_knowledge(value: Any, _: frozenset[str]) -> bool:
    try:
        knowledge_of(value, "")
    except DataError:
        return False
    return "require" in value


def _one_of(*known: str) -> _Field:
    return _Field(f"one of {', '.join(known)}", lambda value, _: value in known)


_TEXT = _Field("text", lambda value, _: isinstance(value, str))
_FLAG = _Field("true or false", lambda value, _: isinstance(value, bool))
_COUNT = _Field("a count", lambda value, _: _is_number(value) and value >= 0)
_SIZE = _Field("a whole number", lambda v, _: _is_number(v) and isinstance(v, int) and v >= 0)
_NUMBER = _Field("a number", lambda value, _: _is_number(value))
# One that is rounded may be a little above 0.
_LOGARITHM = _Field("a logarithm, 0 at most", lambda v, _: _is_number(v) and v < 1)
_NAME = _Field("a variable of the run", lambda v, names: isinstance(v, str) and v in names)
_NAMES = _Field("a list of variables of the run", _is_names)


def _or_null(field: _Field) -> _Field:
    return _Field(f"{field.what} or null", lambda v, names: v is None or field.holds(v, names))


# What `gml explain` reads of each.
_FIELDS: dict[str, dict[str, _Field]] = {
    "run": {
        "names": _Field("a list of different names", _are_different),
        "knowledge": _Field("an object of require, forbid and tiers", _is_knowledge),
        "test": _TEXT,
        "alpha": _or_null(_Field("between 0 and 1", lambda v, _: _is_number(v) and 0 <= v <= 1)),
        "colliders": _one_of(*COLLIDER_RULES),
    },
    "test": {
        "phase": _one_of("skeleton", "correction", "colliders"),
        "level": _SIZE,
        "x": _NAME,
        "y": _NAME,
        "given": _NAMES,
        "statistic": _or_null(_NUMBER),
        "df": _or_null(_NUMBER),
        "log10_p": _or_null(_LOGARITHM),
        "n": _COUNT,
        "verdict": _one_of("independent", "dependent", "insufficient"),
    },
    "triple": {
        "x": _NAME,
        "k": _NAME,
        "y": _NAME,
        "weight": _NUMBER,
        "collider": _FLAG,
        "changed": _FLAG,
        "by_knowledge": _FLAG,
    },
    "edge": {
        "source": _NAME,
        "target": _NAME,
        "type": _one_of("-->", "---"),
        "reason": _or_null(_one_of(*_REASONS)),
        "by": _NAMES,
    },
    "end": {"complete": _FLAG},
}


# Fields that only some tests have.
_OF_SOME = {"corrected_for": _NAMES, "effective_n": _COUNT, "reason": _or_null(_TEXT)}


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
        **({} if test.result.test is None else {"test": test.result.test}),
        "statistic": numbers["statistic"],
        "df": numbers["df"],
        "log10_p": numbers["log10_p"],
        "n": test.result.n,
        "verdict": test.verdict,
        **({"reason": test.reason} if test.verdict == INSUFFICIENT else {}),
        **_weighting(test.result),
    }


def _weighting(result: CIResult) -> Record:
    """How rows were weighted, if they were."""
    details = result.details or {}
    if "corrected_for" not in details:
        return {}
    return {"corrected_for": list(details["corrected_for"]), "effective_n": details["effective_n"]}


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
            "ambiguous": triple.ambiguous,
        }
    for edge in result.graph.edges:
        reason, by = result.reasons.get((edge.source, edge.target), (None, ()))
        yield {
            "record": "edge",
            "source": edge.source,
            "target": edge.target,
            "type": edge.type,
            "reason": reason,
            "by": list(by),
        }
    yield {"record": "end", "complete": result.complete}


class TestLog:
    """Writes the tests of a run of PC to a file that appears whole when the block ends well.

    Examples
    --------
    >>> import gml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with TestLog(f"{folder}/log.jsonl") as log:
    ...         result = gml.pc("sample_data/asia.csv", test_log=log)
    ...     gml.explain(f"{folder}/log.jsonl", "tub", "either").sentences[2]
    'It points from tub to either because either is a collider.'
    """

    # Not a test for pytest.
    __test__ = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._opened = whole_file(path)
        self._file: BinaryIO | None = None

    def __enter__(self) -> TestLog:
        self._file = self._opened.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    def begin(self, names: Iterable[str], settings: Record, knowledge: Knowledge) -> None:
        """Write what the run is about."""
        self._write(run_record(names, settings, knowledge))

    def test(self, test: TestRecord) -> None:
        """Write a test."""
        self._write(test_record(test))

    def finish(self, result: PcResult) -> None:
        """Write what came out."""
        for record in result_records(result):
            self._write(record)

    def _write(self, record: Record) -> None:
        assert self._file is not None, "a log is written within its block"
        self._file.write(line(record))


def read_log(path: str | os.PathLike[str], about: tuple[str, str] | None = None) -> list[Record]:
    """Read a log and check all of it; anything else is refused.

    With a pair of variables, only the records that say something `about` them are kept.
    """
    where = place(path)
    budget = budget_in_force()
    records: list[Record] = []
    names: frozenset[str] = frozenset()
    n_bytes = 0
    last: Record = {}
    lines = read_lines(path)
    for number, text in lines:
        if not text.strip():
            continue
        last = _parsed(text, where, number)
        if not records and last.get("record") != "run":
            break
        try:
            _require_fields(last, names, f"{where}: line {number}", is_first=not records)
        except DataError:
            if last.get("record") != "end" and next(lines, None) is None:
                break
            raise
        if not records:
            names = frozenset(last["names"])
        if not records or about is None or _is_about(last, about):
            records.append(last)
            n_bytes += _RECORD_BYTES + 2 * len(text)
            require_memory(n_bytes, budget, f"{where}: its records")
    if not records and last.get("record") != "run":
        raise DataError(f"{_not_a_log(where)}: it does not begin with the run")
    if last.get("record") != "end":
        raise DataError(f"{where}: the log is cut off: its last line is not the end of the run")
    return records


def _not_a_log(where: str) -> str:
    return f"{where}: not a log of gml pc --test-log"


def _parsed(text: bytes, where: str, number: int) -> Record:
    try:
        found = parse_json(text.decode("utf-8"), f"{where}: line {number}")
    except (UnicodeDecodeError, DataError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{_not_a_log(where)}, not a JSON object per line (line {number})")
    return found


def _require_fields(record: Record, names: frozenset[str], spot: str, *, is_first: bool) -> None:
    """Refuse a record that lacks a field, or has the wrong kind of value in one."""
    kind = record.get("record")
    if not isinstance(kind, str):
        raise DataError(f'{spot} has no "record" that says what it is')
    if kind == "run" and not is_first:
        raise DataError(f"{spot}: the run begins a second time")
    fields = _FIELDS.get(kind, {})
    if kind == "test":
        fields = fields | {name: field for name, field in _OF_SOME.items() if name in record}
    missing = sorted(fields.keys() - record.keys())
    if missing:
        raise DataError(f'{spot} has no "{missing[0]}"')
    for name, field in fields.items():
        if not field.holds(record[name], names):
            raise DataError(f'{spot}: the "{name}" of the {kind} is not {field.what}')
    if kind != "edge" or record["type"] == "---":
        return
    if record["reason"] is None:
        raise DataError(f'{spot}: the edge is directed without a "reason"')
    if len(record["by"]) < _NODES_OF_RULE.get(record["reason"], 0):
        raise DataError(f'{spot}: the edge is not "by" as many nodes as {record["reason"]} takes')


def _is_about(record: Record, pair: tuple[str, str]) -> bool:
    """Whether a record says something about a pair of variables, or about one and a third."""
    kind = record["record"]
    if kind == "test":
        # For other pairs it matters whether they were tested: they may be the ends of a triple.
        return record["x"] in pair or record["y"] in pair
    if kind == "triple":
        return {*pair} <= {record["x"], record["k"], record["y"]}
    if kind == "edge":
        return {record["source"], record["target"]} == {*pair}
    return bool(kind == "end")
