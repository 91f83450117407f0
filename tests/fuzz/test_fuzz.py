"""A short run of the fuzzer over every kind of input; `make fuzz SECONDS=3600` runs for longer.

The cases are the same each time. What a run finds is written to tests/fuzz/findings/, and
`python -m tests.fuzz --repeat FOLDER` shows it again.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from gml.cli.main import COMMANDS
from tests.fuzz import mutators as m
from tests.fuzz import readers, seeds
from tests.fuzz.case import Case, case_of, options_of
from tests.fuzz.kinds import KINDS, OPTIONS
from tests.fuzz.oracle import Outcome, bottom, judge

pytest.importorskip("pyarrow")
pytest.importorskip("zstandard")

ROOT = Path(__file__).resolve().parents[2]
CASES = 100
FEWER_CASES = {"undirected": 40}
GROUPS = {
    "tables": ("csv", "delimited", "compressed", "parquet", "parquet-folder", "counts"),
    "graphs": ("dot", "graph-json", "graphml", "column-sets", "test-log", "report-json"),
    "models": ("bif", "xmlbif", "net", "model-json", "gaussian-json", "conditional-json", "names"),
    "undirected": ("undirected-json", "uai"),
    "fields": ("crf-json",),
    "settings": (
        "schema",
        "knowledge",
        "targets",
        "constraints",
        "tetrad",
        "baseline",
        "toml",
        "pyproject",
        "options",
        "environment",
    ),
}


@pytest.mark.parametrize("group", GROUPS)
def test_no_finding(group):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.fuzz",
            "--kinds",
            ",".join(GROUPS[group]),
            "--cases",
            str(FEWER_CASES.get(group, CASES)),
            "--no-minimise",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stderr


def test_readers_agree():
    pytest.importorskip("gml.kernel._kernel")
    done, found = readers.compare(0, cases=2000)
    assert done == 2000
    assert found == []


def test_every_kind_is_in_a_group():
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(KINDS)


def test_every_command_reads_damaged_input():
    used = {line.split()[0] for kind in KINDS.values() for line in kind.commands}
    assert set(COMMANDS) <= used


def test_every_option_that_takes_free_text_is_damaged():
    """Numbers and choices are checked by click; the rest is ours."""
    import click

    free = set()
    for name in COMMANDS:
        for option in options_of(name):
            checked = (click.Choice, click.types.IntParamType, click.types.FloatParamType)
            if not option.is_flag and not isinstance(option.type, checked):
                free.add(max(option.opts, key=len))
    in_files = {line for kind in KINDS.values() for line in kind.commands}
    text = " ".join([*in_files, *(line for line, _ in OPTIONS)])
    short = {"--columns": "-c", "--delimiter": "-d", "--output": "-o", "--given": "-z"}
    assert (
        sorted(flag for flag in free if flag not in text and short.get(flag, flag) not in text)
        == []
    )


@pytest.mark.parametrize("name", ["csv", "dot", "options", "column-sets"])
def test_cases_are_the_same_each_time(name):
    assert [case_of(KINDS[name], 5, k) for k in range(20)] == [
        case_of(KINDS[name], 5, k) for k in range(20)
    ]


def test_mutators_keep_to_their_limit():
    rng = random.Random(0)
    pool = m.Pool([seeds.table(), b""], [b"x" * 100])
    for data in (b"", b"a", seeds.table(), b"(" * m.LIMIT):
        for mutator in (*m.TEXT, m.change_json, m.change_json_line, m.change_xml):
            for _ in range(20):
                assert len(mutator(data, rng, pool)) <= m.LIMIT


CLEAN = Outcome(0, b"x\n", b"", {"in.csv": b"a"})
CASE = Case("csv", ("profile", "in.csv"), {"in.csv": b"a"})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"code": 70}, "code"),
        ({"code": 1}, "code"),
        ({"code": 5}, "code"),
        ({"code": None, "raised": "Traceback\nValueError: x"}, "exception"),
        ({"stderr": b"Traceback (most recent call last):\n"}, "stderr"),
        ({"stderr": b"gml: warning: \x1b[31m\n"}, "control"),
        ({"code": 3, "stdout": b""}, "silent"),
        ({"code": 3, "stderr": b"gml: error: x\n"}, "stdout"),
        (
            {
                "code": 3,
                "stdout": b"",
                "stderr": b"gml: error: x\n",
                "files": {"in.csv": b"a", "out.json": b""},
            },
            "partial",
        ),
        ({"files": {"in.csv": b"b"}}, "input"),
        ({"files": {"in.csv": b"a", ".out.json.x": b""}}, "left"),
        ({"temporary": ["x"]}, "left"),
        ({"growth": 1 << 30}, "memory"),
        ({"code": 4, "stdout": b"", "stderr": b"gml: error: out of memory\n"}, "memory"),
        ({"threads": 1}, "thread"),
    ],
)
def test_what_is_judged(change, what):
    assert judge(CASE, CLEAN) == []
    outcome = Outcome(**{**CLEAN.__dict__, **change})
    assert [finding.what for finding in judge(CASE, outcome)] == [what]


def test_a_traceback_has_its_bottom_in_gml():
    trace = 'File "/x/gml/cli/main.py", line 3, in run\n  File "/x/gml/data/source.py", line 9, in read\nValueError: 3'
    assert bottom(trace) == "ValueError in data/source.py:read"
