"""--if-changed and --depfile: what a Makefile needs of a command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time

import pytest

ROWS = "a,b,c\n" + "x,0,p\nx,1,q\ny,1,q\ny,0,p\ny,1,p\nx,0,q\n" * 10


@pytest.fixture
def folder(tmp_path):
    """Data and a graph."""
    (tmp_path / "d.csv").write_text(ROWS)
    (tmp_path / "g.dot").write_text("digraph { a -> b; c }")
    return tmp_path


def stamps(folder):
    """Inode and time of every file."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def age(folder):
    for path in folder.rglob("*"):
        os.utime(path, (1000, 1000))


WRITERS = [
    "chowliu d.csv -o t.json",
    "chowliu d.csv -o t.dot",
    "pc d.csv --sepsets s.csv --test-log l.jsonl -o t.dot",
    "hc d.csv --trace t.csv -o t.dot",
    "fit-params d.csv g.dot --cpt-dir tables -o m.json",
    "average d.csv --by hc --bootstrap 2 --probabilities p.csv -o a.dot -q",
    "indtest d.csv a b -o i.csv",
    "convert g.dot g.json",
    "score d.csv g.dot -o s.txt",
    "count d.csv --pairs -o c.parquet",
]


@pytest.mark.parametrize("args", WRITERS)
def test_unchanged_files_keep_time_and_place(gml, folder, args):
    assert gml(*args.split(), "--if-changed").returncode == 0
    age(folder)
    before = stamps(folder)
    assert gml(*args.split(), "--if-changed").returncode == 0
    assert stamps(folder) == before
    assert gml(*args.split()).returncode == 0
    after = stamps(folder)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == before.keys() - {"d.csv", "g.dot"}


def test_what_changed_is_replaced(gml, folder):
    args = ["chowliu", "d.csv", "-o", "t.json", "--if-changed"]
    gml(*args)
    (folder / "t.json").chmod(0o640)
    before = stamps(folder)
    text = (folder / "t.json").read_bytes()
    for content in (ROWS + "x,0,p\n", ROWS.replace("p", "r")):
        (folder / "d.csv").write_text(content)
        assert gml(*args).returncode == 0
        assert stamps(folder)["t.json"] != before["t.json"]
        assert (folder / "t.json").read_bytes() != text
    assert (folder / "t.json").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(folder)) == ["d.csv", "g.dot", "t.json"]
    # A file of the same length that is not the same.
    (folder / "d.csv").write_text(ROWS)
    (folder / "t.json").write_bytes(text.replace(b"gml/1", b"gml/9"))
    gml(*args)
    assert (folder / "t.json").read_bytes() == text


def test_streamed_rows(gml, folder):
    gml("fit-params", "d.csv", "g.dot", "-o", "m.json")
    args = ["sample", "m.json", "-n", "1000", "-o", "rows.csv", "--if-changed"]
    gml(*args)
    age(folder)
    before = stamps(folder)
    assert gml(*args).returncode == 0
    assert stamps(folder) == before
    assert gml(*args, "--seed", "1").returncode == 0
    assert stamps(folder)["rows.csv"] != before["rows.csv"]


def test_links_are_followed_and_failures_change_nothing(gml, folder):
    (folder / "link.json").symlink_to("t.json")
    gml("chowliu", "d.csv", "-o", "link.json", "--if-changed")
    before = stamps(folder)
    gml("chowliu", "d.csv", "-o", "link.json", "--if-changed")
    assert stamps(folder) == before
    assert (folder / "link.json").is_symlink()
    assert gml("chowliu", "nowhere.csv", "-o", "t.json", "--if-changed").returncode == 3
    assert stamps(folder) == before


def test_the_options_leave_no_trace_in_the_file(gml, folder):
    gml("chowliu", "d.csv", "-o", "a.json")
    gml("chowliu", "d.csv", "-o", "b.json", "--if-changed", "--depfile", "b.d")
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


@pytest.mark.parametrize(
    "args,rule",
    [
        ("chowliu d.csv -o t.json", "t.json: d.csv"),
        ("chowliu - -o t.json", "t.json:"),
        ("pc d.csv --knowledge k.json --sepsets s.csv --test-log l.jsonl", "s.csv l.jsonl: d.csv k.json"),
        ("pc d.csv --levels s.json -o sub/p.dot", "sub/p.dot: d.csv s.json"),
        ("hc d.csv --start g.dot --trace t.csv -o h.dot", "h.dot t.csv: d.csv g.dot"),
        ("exact d.csv --against g.dot --against h.dot -o x.dot", "x.dot: d.csv g.dot h.dot"),
        (
            "fit-params ./d.csv g.dot --cpt-dir tab -o m.json",
            "tab/a.csv tab/b.csv tab/c.csv m.json: ./d.csv g.dot",
        ),
        ("score d.csv g.dot h.dot --holdout e.csv -o s.txt", "s.txt: d.csv g.dot h.dot e.csv"),
        ("score d.csv g.dot --compare-to d.dot -o s.txt", "s.txt: d.csv g.dot d.dot"),
        ("indtest d.csv --implied g.dot -o i.csv", "i.csv: d.csv g.dot"),
        ("compare g.dot g.dot h.dot -o c.txt", "c.txt: g.dot h.dot"),
        ("convert g.dot g2.json", "g2.json: g.dot"),
        ("count d.csv --graph g.dot -o c2.parquet", "c2.parquet: d.csv g.dot"),
        ("merge c.parquet e.parquet -o c2.parquet", "c2.parquet: c.parquet e.parquet"),
        ("check d.csv model.json --report json=r.json -o r.txt", "r.json r.txt: d.csv model.json"),
        ("check d.csv model.json --report json=r.json", "r.json: d.csv model.json"),
        ("check d.csv model.json --write-baseline b.json", "b.json: d.csv model.json"),
        ("sample model.json -n 3 -o r.csv", "r.csv: model.json"),
        ("query model.json --target a --batch new.csv -o q.csv", "q.csv: model.json new.csv"),
    ],
)  # fmt: skip
def test_targets_and_prerequisites(gml, folder, args, rule):
    (folder / "sub").mkdir()
    (folder / "e.csv").write_text(ROWS)
    (folder / "new.csv").write_text("b\n0\n")
    (folder / "h.dot").write_text("digraph { a -> b -> c }")
    (folder / "d.dot").write_text("digraph { a; b; c }")
    (folder / "k.json").write_text('{"forbid": [["a", "c"]]}')
    (folder / "s.json").write_text('{"schema": "gml/1"}')
    if "model.json" in args:
        gml("fit-params", "d.csv", "g.dot", "-o", "model.json")
    for name in ("c", "e"):
        if args.startswith("merge"):
            gml("count", "d.csv", "--pairs", "-o", f"{name}.parquet")
    done = gml(*args.split(), "--depfile", "x.d", "-q", stdin=ROWS.encode())
    assert done.returncode in (0, 1), done.stderr
    lines = (folder / "x.d").read_text().split("\n\n")
    targets, prerequisites = (part.split() for part in lines[0].split(":"))
    expected = [part.split() for part in rule.split(":")]
    assert (sorted(targets), prerequisites) == (sorted(expected[0]), expected[1])
    assert [line.strip() for line in lines[1:]] == [f"{name}:" for name in prerequisites]


def test_a_parquet_folder_is_its_files(gml, folder):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": ["x", "y", "x", "y"], "b": ["0", "1", "0", "0"]})
    for name in ("y=2", "y=1"):
        (folder / "t" / name).mkdir(parents=True)
        pq.write_table(table, folder / "t" / name / "p.parquet")
    assert gml("chowliu", "t", "-c", "a,b", "-o", "t.dot", "--depfile", "t.d").returncode == 0
    equals = "$(if ,,=)"
    expected = f"t.dot: t/y{equals}1/p.parquet t/y{equals}2/p.parquet\n"
    assert (folder / "t.d").read_text().startswith(expected)


def test_written_when_the_answer_is_no_and_not_after_an_error(gml, folder):
    args = ["indtest", "d.csv", "a", "b", "-o", "i.csv", "--depfile", "i.d"]
    assert gml(*args, "--expect", "independent").returncode == 1
    assert (folder / "i.d").read_text() == "i.csv: d.csv\n\nd.csv:\n"
    (folder / "i.d").write_text("old")
    (folder / "d.csv").write_text("a,b\nx\n")
    assert gml(*args).returncode == 3
    assert (folder / "i.d").read_text() == "old"


@pytest.mark.parametrize(
    "args",
    [
        "chowliu d.csv --depfile x.d",
        "chowliu d.csv -o - --depfile x.d",
        "chowliu d.csv -o /dev/null --depfile x.d",
        "chowliu d.csv -o t.dot --depfile -",
        "chowliu d.csv -o t.dot --depfile t.dot",
        "chowliu d.csv -o t.dot --depfile ./t.dot",
        "chowliu d.csv -o t.dot --depfile d.csv",
        "chowliu d.csv -o t.dot --depfile no/where.d",
        "chowliu d.csv -o a;b.dot --depfile x.d",
        "chowliu a|b.csv -o t.dot --depfile x.d",
    ],
)
def test_refused_before_the_work(gml, folder, args):
    (folder / "a|b.csv").write_text(ROWS)
    done = gml(*args.split())
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(b"\n") == 1
    assert sorted(os.listdir(folder)) == ["a|b.csv", "d.csv", "g.dot"]


def test_process_substitution_is_no_file(folder):
    command = (
        f"{shlex.quote(sys.executable)} -m gml.cli chowliu <(cat d.csv) -o t.dot --depfile t.d"
    )
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "t.d").read_text() == "t.dot:\n"


MAKEFILE = """\
all: report.txt
graph.json:
\t{gml} chowliu d.csv --levels schema.json -o $@ --depfile $@.d --if-changed
\techo learned >> log
report.txt: graph.json
\t{gml} score d.csv graph.json -o $@
\techo scored >> log
-include graph.json.d
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_rebuilds_what_changed_and_no_more(folder):
    (folder / "schema.json").write_text('{"schema": "gml/1"}')
    (folder / "Makefile").write_text(
        MAKEFILE.format(gml=f"{shlex.quote(sys.executable)} -m gml.cli")
    )

    def make():
        (folder / "log").write_text("")
        done = subprocess.run(["make", "-s"], cwd=folder, capture_output=True)
        assert done.returncode == 0, done.stderr
        return (folder / "log").read_text().split()

    def touch(name, seconds):
        os.utime(folder / name, (now + seconds, now + seconds))

    now = time.time() - 1000
    touch("d.csv", 0)
    touch("schema.json", 0)
    assert make() == ["learned", "scored"]
    assert make() == []
    # Touched, but the same: learned again, and nothing comes of it.
    touch("graph.json", 10)
    touch("report.txt", 20)
    touch("schema.json", 15)
    assert make() == ["learned"]
    assert (folder / "graph.json").stat().st_mtime == pytest.approx(now + 10)
    # Another schema gives another file, as its hash is in it.
    (folder / "schema.json").write_text('{"schema": "gml/1", "na": ["-"]}')
    assert make() == ["learned", "scored"]
    assert make() == []
    # An input that is gone is no obstacle until the command looks for it.
    (folder / "schema.json").unlink()
    makefile = (folder / "Makefile").read_text().replace("--levels schema.json ", "")
    (folder / "Makefile").write_text(makefile)
    assert make() == ["learned", "scored"]
    assert (folder / "graph.json.d").read_text() == "graph.json: d.csv\n\nd.csv:\n"
