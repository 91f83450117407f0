"""Every command on tables of few rows and on numbers at the ends of what floats hold.

Each has an answer, or an error in one line: no bug, no traceback, no word of NumPy (whose warnings
are errors here), no NaN or infinity in JSON.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gml.cli.main import COMMANDS

# From constant over nearly constant to everything that floats hold; the kth of 20 rows.
COLUMNS: dict[str, Callable[[int], str]] = {
    "constant": lambda k: "7",
    "all_but_constant": lambda k: repr(1 + 2.3e-16 * (k % 3)),
    "one_differs": lambda k: "2" if k == 11 else "1",
    "far_from_zero": lambda k: repr(1e15 + k % 2),
    "smallest": lambda k: "5e-324" if k % 2 else "0",
    "tiny": lambda k: repr((k + 1) * 1e-308),
    "small": lambda k: repr(1e-160 * (k - 9.3)),
    "large": lambda k: repr(1e160 * (k - 9.3)),
    "huge": lambda k: repr((-1) ** k * (1 + k / 100) * 1e308),
    "huge_on_one_side": lambda k: repr(1e308 + k * 1e306),
    "all_sizes": lambda k: repr(10.0 ** (-308 + k * 616 // 19)),
    "all_missing": lambda k: "",
    "huge_with_gaps": lambda k: "" if k % 5 == 1 else repr((-1) ** k * (1 + k / 100) * 1e308),
    "tiny_with_gaps": lambda k: "" if k % 5 == 1 else repr((k % 7 + 1) * 1e-308),
}
SIZES = (1, 2, 3, 5, 20)
EXTREME_AND_SHORT = (("huge", 3), ("all_sizes", 2), ("constant", 3), ("tiny_with_gaps", 5))

NUMERIC = "--numeric x,y,z"
TESTS = ("fisher-z", "dg", "cg", "hsic", "dcor", "kci", "rcit")
LINES = [
    f"hc t.csv {NUMERIC}",
    f"hc t.csv {NUMERIC} --missing em",
    f"hc t.csv {NUMERIC} --missing drop",
    f"hc t.csv {NUMERIC} --missing available",
    "hc t.csv -c a,b --missing level",
    f"hc t.csv {NUMERIC} --score bic-cg",
    *(f"hc t.csv -c x,y,z --score {score}" for score in ("loglik-g", "aic-g", "bic-g", "bge")),
    "hc t.csv --bins 3",
    "hc t.csv --bins 3 --discretize width",
    "hc t.csv -c a,b,y --bins 3 --weights-fractional x",
    f"hc t.csv {NUMERIC} --engine stream",
    f"ges t.csv {NUMERIC}",
    f"ges t.csv {NUMERIC} --missing em",
    f"exact t.csv {NUMERIC}",
    "exact t.csv -c x,y,z --score bge",
    f"imap t.csv --order x,y,z {NUMERIC}",
    "imap t.csv --order x,y,z --score bic-g",
    f"average t.csv --by hc --bootstrap 2 --threads 1 {NUMERIC}",
    "average t.csv --by pc --bootstrap 2 --threads 1 -c x,y,z --test fisher-z",
    "average t.csv --by order-mcmc -c x,y,z --score bge --threads 1",
    f"pc t.csv {NUMERIC} --test-log log.jsonl",
    "pc t.csv --test fisher-z -c x,y,z",
    f"pc t.csv {NUMERIC} --test cg",
    f"pc t.csv {NUMERIC} --missing available",
    f"pc t.csv {NUMERIC} --engine stream",
    "explain log.jsonl x y",
    "chowliu t.csv -c a,b",
    f"chowliu t.csv {NUMERIC}",
    f"indtest t.csv a x -f json {NUMERIC}",
    f"indtest t.csv a x -z b,y -f json {NUMERIC}",
    f"indtest t.csv --all-pairs -f json {NUMERIC}",
    *(f"indtest t.csv x y --test {test} -f json {NUMERIC}" for test in TESTS),
    *(f"indtest t.csv x y -z z --test {test} -f json {NUMERIC}" for test in TESTS),
    *(f"indtest t.csv x y --transform {how} -f json {NUMERIC}" for how in ("rank", "normal")),
    f"score t.csv g.dot -f json {NUMERIC}",
    f"score t.csv g.dot --missing em -f json {NUMERIC}",
    "score t.csv n.dot --score loglik-g,aic-g,bic-g,bge -f json",
    "score t.csv n.dot --score bic-g --folds 2 --threads 1 -f json",
    f"fit-params t.csv g.dot -o m.json {NUMERIC}",
    f"fit-params t.csv g.dot --method bayes -f json {NUMERIC}",
    f"fit-params t.csv g.dot --missing em -f json {NUMERIC}",
    "fit-params t.csv n.dot --gaussian -o n.json",
    "fit-params t.csv n.dot --gaussian --intervals 0.95 -f json",
    *(f"check t.csv {model} -f json" for model in ("m.json", "n.json", "old.json", "old_n.json")),
    "query m.json --target y -f json",
    "query m.json --target a --evidence x=1e308 -f json",
    "query old.json --target a --evidence x=1e308,y=-1e308 -f json",
    "query old_n.json --target y --evidence x=1e308 -f json",
    "query old.json --predict a --batch t.csv",
    "query old_n.json --predict y --batch t.csv",
    "sample m.json -n 5",
    "sample n.json -n 5",
    "impute t.csv m.json",
    "impute t.csv old.json",
    "report t.csv m.json -o r.html",
    "draw m.json -o m.svg",
    "draw --kind cpt m.json --node x -o x.svg",
    f"draw --kind matrix t.csv -o matrix.svg {NUMERIC}",
    "compare m.json old.json -f json",
    "convert m.json m.dot",
    f"mixture t.csv --components 1..2 --em-restarts 2 --threads 1 -f json {NUMERIC}",
    "mixture t.csv --gaussian -c x,y,z --components 2 --covariance EEE,VVI --em-restarts 2 "
    "--threads 1 -f json",
    "mrf t.csv -c a,b -f json",
    "maxent c.json -f text",
    "rake t.csv --targets targets.csv",
    "rake t.csv --targets targets.csv --weights-fractional x",
    "crf t.csv -c a,b --target a -f json",
    "crf t.csv --bins 3 --target a -f json",
    "glasso t.csv -c x,y,z -f json",
    "glasso t.csv -c x,y,z --l1 0.1 --raw -f json",
    "notears t.csv -c x,y,z -f json",
    "notears t.csv -c x,y,z --raw -f json",
    "profile t.csv -f json",
    "profile t.csv --missing-patterns -f json",
    "count t.csv -c a,b --pairs -o c.parquet",
    "count t.csv --bins 3 --pairs -o d.parquet",
    "merge c.parquet c.parquet -o e.parquet",
    "verify m.json",
    f"plan pc t.csv --test dg {NUMERIC}",
]


def test_every_command_is_among_them():
    there = {line.split()[0] for line in LINES}
    assert set(COMMANDS) - there == {"help", "completion"}


def rows(n: int, x: Callable[[int], str] | None) -> Iterator[str]:
    """Rows of two numbers and two labels that depend on one another, and of the column x."""
    draw = random.Random(3)
    for k in range(n):
        y, z = draw.gauss(0, 1), draw.gauss(5, 2)
        own = repr(y + draw.gauss(0, 1)) if x is None else x(k)
        yield f"{own},{y!r},{z!r},{'pq'[draw.random() < 0.5]},{'uvw'[draw.randrange(3)]}\n"


def tables() -> Iterator[tuple[str, list[str]]]:
    """The tables by name."""
    for n in SIZES:
        yield f"{n}_rows", [*rows(n, None)]
    for name, x in COLUMNS.items():
        yield name, [*rows(20, x)]
    for name, n in EXTREME_AND_SHORT:
        yield f"{name}_in_{n}_rows", [*rows(n, COLUMNS[name])]
    # All columns at once, the second and third with the sizes of the first.
    huge = [COLUMNS["huge"](k) for k in range(20)]
    yield "all_huge", [f"{huge[k]},{huge[7 * k % 20]},{huge[3 * k % 20]},p,u\n" for k in range(20)]


TABLES = dict(tables())


@pytest.mark.parametrize("name", TABLES)
def test_an_answer_or_one_line(name, gml, tmp_path):
    header = "x,y,z,a,b\n"
    (tmp_path / "old.csv").write_text(header + "".join(TABLES["20_rows"]))
    (tmp_path / "t.csv").write_text(header + "".join(TABLES[name]))
    (tmp_path / "g.dot").write_text("digraph { b -> a; a -> x; x -> y; z -> y; }")
    (tmp_path / "n.dot").write_text("digraph { x -> y; z -> y; }")
    (tmp_path / "c.json").write_text('{"numeric": {"x": {"range": [0, 10]}}, "constraints": []}')
    (tmp_path / "targets.csv").write_text("a,share\np,0.4\nq,0.6\n")
    for line in (
        f"fit-params old.csv g.dot -o old.json {NUMERIC}",
        "fit-params old.csv n.dot --gaussian -o old_n.json",
    ):
        assert gml(*line.split()).returncode == 0
    faults = [fault for line in LINES for fault in faults_of(line, gml, tmp_path)]
    assert not faults


def faults_of(line: str, gml, folder: Path) -> Iterator[str]:
    """What is wrong with the answer to a command line."""
    done = gml(*line.split())
    said, out = done.stderr.decode().splitlines(), done.stdout.decode()
    shown = f"gml {line}: "
    if done.returncode not in (0, 1, 2, 3, 4):
        yield f"{shown}{done.returncode} {said[-1:]}"
    if any(not text.startswith("gml: ") for text in said):
        yield f"{shown}{said}"
    errors = [text for text in said if text.startswith("gml: error: ")]
    if len(errors) != (done.returncode in (2, 3, 4)):
        yield f"{shown}{done.returncode} with {errors}"
    texts = {path.name: path.read_text() for path in folder.glob("*.json")}
    if out and "-f json" in line:
        texts["standard output"] = out
    elif re.search(r"(?<![\w\[-])nan(?!\w)", out):
        yield f"{shown}nan in {out[:200]}"
    for where, text in texts.items():
        try:
            json.loads(text, parse_constant=lambda constant: constant + 1)
        except (ValueError, TypeError) as error:
            yield f"{shown}{where}: {error}"


def test_a_process_is_silent_about_what_libraries_warn_of(gml_process, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "def late():\n"
        "    import numpy as np, warnings\n"
        "    np.float64(1e308) * np.float64(1e308)\n"
        "    warnings.warn('a library has something to say', UserWarning)\n"
        "atexit.register(late)\n"
    )
    (tmp_path / "t.csv").write_text("a,b\n" + "p,u\nq,w\n" * 10)
    done = gml_process("chowliu", "t.csv", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_library_is_silent_about_its_formulas_alone():
    code = (
        "import numpy as np, gml.progress\n"
        "source = 'np.float64(1e308) * np.float64(1e308)'\n"
        "for name in ('gml.model.formula', 'somebody.s.own'):\n"
        "    exec(source, {'__name__': name, 'np': np})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("RuntimeWarning: overflow") == 1
    asked = [sys.executable, "-W", "error::RuntimeWarning", "-c", code]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "line 4" in done.stderr
