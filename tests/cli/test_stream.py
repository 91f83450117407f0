"""--engine stream: the same bytes as in memory, from every command that takes it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gml as library
from gml.counts import open_stream
from gml.data import row_spool
from tests.command_line import GML, error_line

LABELS = [
    "chowliu DATA",
    "chowliu DATA --prune bic --class lung",
    "pc DATA --test g -f json",
    "pc DATA --test auto --max-cond 2",
    "pc DATA --bootstrap 3 --max-cond 1 -c smoke,lung,bronc,dysp,xray",
    "hc DATA --score bdeu -f json",
    "hc DATA --restarts 1",
    "ges DATA",
    "exact DATA -c smoke,lung,bronc,dysp,either",
    "imap DATA --order smoke,lung,bronc,dysp -c smoke,lung,bronc,dysp",
    "indtest DATA smoke dysp -z bronc,either -f json",
    "indtest DATA --all-pairs --test chi2 --adjust holm -f csv",
    "indtest DATA smoke lung --test permutation --permutations 100",
    "indtest DATA smoke smoking",
    "score DATA GRAPH --score bic,aic,loglik,bdeu,k2,qnml --per-node -f json",
    "score DATA GRAPH --folds 3 -f csv",
    "score DATA GRAPH --holdout DATA",
    "fit-params DATA GRAPH",
    "fit-params DATA GRAPH --method bayes --intervals 0.9 -f text",
    "check DATA MODEL",
    "check DATA MODEL -f json --unlikely-rows 3",
    "average DATA --by hc --bootstrap 4 -f json",
    "average DATA --by pc --bootstrap 4 --max-cond 1 -c smoke,lung,bronc,dysp",
    "count DATA --triples",
    "count DATA --implied GRAPH",
]
SURVEY = [
    "chowliu DATA --missing drop",
    "pc DATA --missing drop",
    "pc DATA --missing level",
    "pc DATA --missing available",
    "hc DATA --missing drop --score bic",
    "ges DATA --missing level",
    "indtest DATA --all-pairs --missing available -f json",
    "count DATA --pairs --missing drop",
    "count DATA --pairs --missing level",
    "count DATA --pairs --missing available",
    "pc DATA",
]
MIXED = [
    "chowliu DATA --bins 3",
    "chowliu DATA --bins 4 --discretize width",
    "chowliu DATA --cut a=0,1 --cut b=quantile:3 --cut c=width:2 --missing drop",
    "chowliu DATA --cut a=0,1 --cut b=-1,1 --cut c=0 --missing level --weights w",
    "pc DATA --test fisher-z -c a,b,c --missing drop",
    "pc DATA --test fisher-z -c a,b,c --missing available",
    "pc DATA --test dg --numeric a,b,c --missing drop --exclude w",
    "pc DATA --test cg --numeric a,b,c --missing drop --exclude w",
    "hc DATA --score bic-g -c a,b,c --missing drop",
    "hc DATA --score bic-cg --numeric a,b,c --missing drop --weights w",
    "ges DATA --score bge -c a,b,c --missing drop --weights w",
    "score DATA NUMBERS --score bic-g,loglik-g -c a,b,c --missing drop",
    "fit-params DATA NUMBERS --gaussian -c a,b,c --missing drop",
    "fit-params DATA LABELS --cut a=0,1 --missing drop --weights w",
    "fit-params DATA LABELS --bins 3 --missing level",
    "fit-params DATA LABELS --bins 3 --missing available",
    "indtest DATA a b -z c --test fisher-z --missing drop",
    "count DATA --pairs --bins 3 --missing drop --weights w",
    "count DATA --pairs --cut a=0,1 --cut b=0 --cut c=1 --missing level",
    "chowliu DATA --weights w --bins 2 --missing drop",
    "chowliu DATA",
    "chowliu DATA --numeric a --missing level",
]


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces and blocks of a few rows, so that a small table has many."""
    monkeypatch.setattr(open_stream, "_LEAST_PIECE", 1 << 11)
    monkeypatch.setattr(open_stream, "_MOST_PIECE", 1 << 11)
    monkeypatch.setattr(row_spool, "LEAST_ROWS", 16)
    monkeypatch.setattr(row_spool, "MOST_ROWS", 16)


def both(gml, tmp_path, command, **files):
    """Run a command in memory and on a stream; what it wrote and said must be the same."""
    words = [files.get(word, word) for word in command.split()]
    counts = words[0] == "count"
    runs = []
    for engine in ("memory", "stream"):
        output = tmp_path / f"{engine}.parquet"
        more = ["-o", output] if counts else []
        done = gml(*words, "--engine", engine, *more)
        written = output.read_bytes() if counts and done.returncode == 0 else b""
        runs.append((done.returncode, done.stdout, done.stderr, written))
    assert runs[0] == runs[1]
    return runs[0]


def mixed_lines(n=400, seed=3):
    """Numbers, labels that come late, weights of 0, and gaps."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = np.round(b - a + rng.normal(size=n), 1)
    yield "a,b,c,l,m,w"
    for k in range(n):
        label = "xyz"[rng.integers(0, 2 + (k > n // 2))]
        other = ["", "u", "v", "10", "9"][rng.integers(0 if k > n // 3 else 1, 5)]
        number = "" if rng.random() < 0.05 else f"{a[k]:.4g}"
        yield f"{number},{b[k]:.4g},{c[k]},{label},{other},{rng.integers(0, 4)}"


@pytest.fixture
def files(gml, sample_data, tmp_path):
    """The files that commands name."""
    graph = tmp_path / "g.dot"
    graph.write_bytes((sample_data / "asia.dot").read_bytes())
    (tmp_path / "mixed.csv").write_text("\n".join(mixed_lines()) + "\n")
    (tmp_path / "numbers.dot").write_text("digraph { a -> b; b -> c }")
    (tmp_path / "labels.dot").write_text("digraph { a -> l; l -> m }")
    return {"GRAPH": graph, "NUMBERS": tmp_path / "numbers.dot", "LABELS": tmp_path / "labels.dot"}


@pytest.mark.parametrize("command", LABELS)
def test_labels(gml, tmp_path, sample_data, files, small_pieces, command):
    data = sample_data / "asia.csv"
    if "MODEL" in command:
        files["MODEL"] = tmp_path / "m.json"
        assert gml("fit-params", data, files["GRAPH"], "-o", files["MODEL"]).returncode == 0
    both(gml, tmp_path, command, DATA=data, **files)


@pytest.mark.parametrize("command", SURVEY)
def test_missing_values(gml, tmp_path, sample_data, files, small_pieces, command):
    code, *_ = both(gml, tmp_path, command, DATA=sample_data / "survey_missing.csv", **files)
    assert code == (3 if command == "pc DATA" else 0)


@pytest.mark.parametrize("command", MIXED)
def test_numbers_weights_and_gaps(gml, tmp_path, files, small_pieces, command):
    both(gml, tmp_path, command, DATA=tmp_path / "mixed.csv", **files)


def test_cuts_by_other_columns_need_memory(gml, tmp_path, files):
    command = ["chowliu", tmp_path / "mixed.csv", "--engine", "stream", "--missing", "drop"]
    how = ["--bins", 3, "--discretize", "mdlp", "--discretize-class", "l"]
    assert "takes the rows in memory" in error_line(gml(*command, *how), 4)


def test_fractions_need_memory(gml, tmp_path, files):
    done = gml(
        *("hc", tmp_path / "mixed.csv", "--bins", 2, "--missing", "drop"),
        *("--weights-fractional", "w", "--engine", "stream"),
    )
    assert "--weights-fractional needs to know the sum" in error_line(done, 4)


def test_a_wide_table(gml, tmp_path, small_pieces):
    """So many pairs that they are asked about in two batches."""
    n_columns = 370
    assert n_columns * (n_columns - 1) // 2 > 65_536
    rng = np.random.default_rng(1)
    path = tmp_path / "wide.csv"
    rows = rng.integers(0, 3, (60, n_columns))
    names = [f"v{j}" for j in range(n_columns)]
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    both(gml, tmp_path, "chowliu DATA", DATA=path)
    some = ",".join(names[:120])
    both(gml, tmp_path, f"hc DATA --max-parents 1 --score bic -c {some}", DATA=path)


@pytest.mark.parametrize("kind", ["gz", "parquet", "-", "tsv"])
def test_other_inputs(gml, tmp_path, sample_data, small_pieces, kind):
    asia = sample_data / "asia.csv"
    stdin = b""
    path = tmp_path / f"d.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(asia.read_bytes()))
    elif kind == "parquet":
        library.read(asia).to_frame().to_parquet(path)
    elif kind == "tsv":
        path.write_text(asia.read_text().replace(",", "\t"))
    else:
        path, stdin = "-", asia.read_bytes()
    runs = [
        gml("hc", path, "-f", "json", "--engine", engine, stdin=stdin)
        for engine in ("memory", "stream")
    ]
    assert runs[0].returncode == 0
    assert runs[0].stdout == runs[1].stdout


# ---------------------------------------------------------------------- the choice by itself


@pytest.fixture
def little_memory(monkeypatch):
    """A limit that a small table passes."""
    monkeypatch.setattr(open_stream, "cells_limit", lambda: 10_000)


@pytest.mark.parametrize("data", ["asia.csv", "-"])
def test_rows_that_do_not_fit_go_to_a_file(gml, sample_data, small_pieces, little_memory, data):
    asia = sample_data / "asia.csv"
    path, stdin = (asia, b"") if data != "-" else ("-", asia.read_bytes())
    expected = gml("pc", asia, "-f", "json", "--engine", "memory")
    done = gml("pc", path, "-f", "json", stdin=stdin)
    assert done.stdout == expected.stdout
    where = b"standard input" if data == "-" else os.fsencode(asia)
    assert where + b": the rows take more than --max-memory allows" in done.stderr
    assert b"(--engine stream)" in done.stderr


def test_rows_that_fit_stay_in_memory(gml, sample_data, small_pieces, monkeypatch):
    asia = sample_data / "asia.csv"
    expected = gml("fit-params", asia, sample_data / "asia.dot")
    # So large that it is read in pieces, and then not too large after all.
    monkeypatch.setattr(open_stream, "cells_limit", lambda: 100_000)
    done = gml("fit-params", asia, sample_data / "asia.dot")
    assert (done.stdout, done.stderr) == (expected.stdout, expected.stderr)


def test_parquet_that_does_not_fit(gml, tmp_path, sample_data):
    path = tmp_path / "d.parquet"
    frame = library.read(sample_data / "asia.csv").to_frame()
    frame.loc[np.tile(np.arange(len(frame)), 60)].to_parquet(path)
    expected = gml("chowliu", path, "--engine", "memory")
    done = gml("chowliu", path, "--max-memory", "2M")
    assert done.stdout == expected.stdout
    assert b"the rows take more than --max-memory allows" in done.stderr
    refused = gml("chowliu", path, "--max-memory", "2M", "--engine", "memory")
    assert "more than --max-memory allows" in error_line(refused, 4)


# ---------------------------------------------------------------------- files that are kept


def spools(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_kept_file_is_used_again(gml, tmp_path, sample_data, small_pieces):
    folder = tmp_path / "spool"
    folder.mkdir()
    data = tmp_path / "d.csv"
    data.write_text("\n".join(mixed_lines()) + "\n")
    keep = ["--engine", "stream", "--spool", folder, "--spool-keep", "-v"]
    how = ["--bins", 3, "--missing", "drop", "--weights", "w", "-f", "json"]
    expected = gml("chowliu", data, *how)
    first = gml("chowliu", data, *how, *keep)
    (kept,) = spools(folder)
    second = gml("chowliu", data, *how, *keep)
    assert first.stdout == second.stdout == expected.stdout
    assert b"codes of an earlier run" not in first.stderr
    assert b"codes of an earlier run" in second.stderr
    assert b"dropped for missing values" in second.stderr
    assert spools(folder) == [kept]
    gml("chowliu", data, *how, "--exclude", "c", *keep)
    assert len(spools(folder)) == 2
    data.write_text(data.read_text() + "1,1,1,x,u,1\n")
    third = gml("chowliu", data, *how, *keep)
    assert b"codes of an earlier run" not in third.stderr
    assert third.stdout == gml("chowliu", data, *how).stdout


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_larger_budget_is_not_refused_where_a_smaller_one_is_not(gml, tmp_path, engine):
    rng = np.random.default_rng(1)
    rows = [
        f"{rng.choice(['u', 'v'])},{rng.choice(['p', ''])},{rng.normal():.4f}" for _ in range(3000)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,x", *rows]) + "\n")
    (tmp_path / "g.dot").write_text("digraph { a -> x; b }")
    words = ["fit-params", "d.csv", "g.dot", "--numeric", "x", "--missing", "drop"]
    kept = []
    for budget in ("10K", "30K", "100K", "1M"):
        done = gml(*words, "--engine", engine, "--max-memory", budget)
        assert done.returncode == 0, done.stderr
        node = next(n for n in json.loads(done.stdout)["nodes"] if n["id"] == "x")
        kept.append("rows" in node["regressions"][0])
        assert kept[-1] == (b"the model keeps nothing of" not in done.stderr)
    assert kept == [False, False, False, True]


def test_the_delimiter_of_a_suffix_tells_kept_files_apart(gml, tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    one, other = tmp_path / "one.csv", tmp_path / "one.tsv"
    rows = "a\n1\n2\t3\n2\t3\n1\n"
    one.write_text(rows)
    other.write_text(rows)
    keep = ["--engine", "stream", "--spool", folder, "--spool-keep", "-v"]
    assert gml("chowliu", one, *keep).returncode == 0
    assert "line 3" in error_line(gml("chowliu", other, "-q", *keep[:-1]), 3)
    # That which the suffix implies is the same as if it were asked for.
    again = gml("chowliu", one, "-d", ",", *keep)
    assert b"codes of an earlier run" in again.stderr
    asked = gml("chowliu", other, "-d", ",", *keep)
    assert b"codes of an earlier run" in asked.stderr
    assert asked.stdout == again.stdout


@pytest.mark.parametrize("at", [0, 5000, -200, -3])
def test_a_damaged_file_is_made_again(gml, tmp_path, sample_data, at):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep", "-v"]
    asia = sample_data / "asia.csv"
    # A table of counts shows rows that come twice, which a tree would not.
    asked = ["fit-params", asia, sample_data / "asia.dot", *keep]
    expected = gml(*asked).stdout
    (kept,) = tmp_path.glob("gml-spool-*")
    whole = bytearray(kept.read_bytes())
    whole[at] ^= 1
    kept.write_bytes(whole)
    again = gml(*asked)
    assert b"codes of an earlier run" not in again.stderr
    assert again.stdout == expected
    used = gml(*asked)
    assert b"codes of an earlier run" in used.stderr
    assert used.stdout == expected


def test_threads_share_a_kept_file(gml, tmp_path, sample_data):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep", "-v"]
    gml("chowliu", sample_data / "asia.csv", *keep, "--threads", 1)
    again = gml("pc", sample_data / "asia.csv", *keep, "--threads", 2)
    assert b"codes of an earlier run" in again.stderr
    assert len(spools(tmp_path)) == 1


def test_a_file_that_changes_while_it_is_read_is_not_kept(gml, tmp_path, sample_data, monkeypatch):
    from gml.counts import open_stream

    # As if other bytes had been there when the file was looked up.
    monkeypatch.setattr(open_stream, "input_digest", lambda path: "0" * 64)
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep"]
    words = ["chowliu", sample_data / "asia.csv", *keep]
    assert "changed while it was read" in error_line(gml(*words), 3)
    assert spools(tmp_path) == []


def test_a_file_cut_short_is_made_again(gml, tmp_path, sample_data):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep", "-v"]
    asia = sample_data / "asia.csv"
    expected = gml("chowliu", asia, *keep).stdout
    (kept,) = tmp_path.glob("gml-spool-*")
    kept.write_bytes(kept.read_bytes()[:1000])
    again = gml("chowliu", asia, *keep)
    assert (b"earlier run" in again.stderr, again.stdout) == (False, expected)


@pytest.mark.parametrize("leads_to", ["victim.txt", "nothing", "folder", "/dev/null"])
def test_a_link_in_place_of_a_kept_file_is_replaced(gml, tmp_path, sample_data, leads_to):
    folder = tmp_path / "spool"
    folder.mkdir()
    (tmp_path / "folder").mkdir()
    victim = tmp_path / "victim.txt"
    victim.write_text("as it was")
    victim.chmod(0o666)
    keep = ["--engine", "stream", "--spool", folder, "--spool-keep", "-v"]
    words = ["chowliu", sample_data / "asia.csv", *keep]
    expected = gml(*words).stdout
    (kept,) = folder.iterdir()
    mode = kept.stat().st_mode
    kept.unlink()
    kept.symlink_to(tmp_path / leads_to)
    again = gml(*words)
    assert (again.returncode, again.stdout) == (0, expected)
    assert victim.read_text() == "as it was"
    assert not (tmp_path / "nothing").exists()
    assert not kept.is_symlink()
    assert kept.stat().st_mode == mode
    assert spools(folder) == [kept.name]
    used = gml(*words)
    assert b"codes of an earlier run" in used.stderr
    assert used.stdout == expected


def test_a_pipe_in_place_of_a_kept_file_is_not_waited_for(gml, tmp_path, sample_data):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep"]
    words = ["chowliu", sample_data / "asia.csv", *keep]
    gml(*words)
    (kept,) = tmp_path.glob("gml-spool-*")
    kept.unlink()
    os.mkfifo(kept)
    assert "neither to a device nor a pipe" in error_line(gml(*words), 2)


def test_what_a_killed_run_left_is_removed(gml, tmp_path, sample_data):
    left = tmp_path / ".gml-spool-0123.codes.gml-0123456789abcdef.tmp"
    left.write_bytes(b"half a file")
    other = tmp_path / ".other.gml-0123456789abcdef.tmp"
    other.write_bytes(b"of another target")
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep"]
    assert gml("chowliu", sample_data / "asia.csv", *keep).returncode == 0
    assert not left.exists() and other.exists()


def test_nothing_is_left_without_keeping(gml, tmp_path, sample_data):
    folder = tmp_path / "spool"
    folder.mkdir()
    assert (
        gml("hc", sample_data / "asia.csv", "--engine", "stream", "--spool", folder).returncode == 0
    )
    assert spools(folder) == []


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--engine", "memory", "--spool", "."], 2, "--spool goes with --engine stream"),
        (["--engine", "memory", "--spool-keep"], 2, "--spool-keep goes with --engine stream"),
        (["--engine", "stream", "--master", "local"], 2, "--master goes with --engine spark"),
        (["--engine", "fast"], 2, "fast"),
        (["--engine", "stream", "--spool", "no-such-folder"], 2, "no folder 'no-such-folder'"),
        (["--spool", "no-such-folder"], 2, "no folder 'no-such-folder'"),
        (["--spool", "no-such-folder", "--spool-keep"], 2, "no folder 'no-such-folder'"),
    ],
)
def test_options_that_contradict(gml, sample_data, words, code, said):
    assert said in error_line(gml("chowliu", sample_data / "asia.csv", *words), code)


@pytest.mark.parametrize("engine", ["stream", "auto"])
def test_a_pipe_cannot_be_kept(gml, sample_data, engine):
    words = ["chowliu", "-", "--engine", engine, "--spool-keep"]
    done = gml(*words, stdin=(sample_data / "asia.csv").read_bytes())
    assert "--spool-keep is for files" in error_line(done, 2)


@pytest.mark.parametrize("command", ["profile", "rake", "crf", "mixture", "report", "draw"])
def test_commands_that_need_rows_have_no_engine(command):
    from gml.cli.main import cli

    found = cli.get_command(None, command)
    assert "--engine" not in {flag for parameter in found.params for flag in parameter.opts}


def test_a_full_disk_is_one_line(gml, sample_data, monkeypatch):
    def no_room(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", no_room)
    done = gml("chowliu", sample_data / "asia.csv", "--engine", "stream")
    line = error_line(done, 4)
    assert "cannot write to the spool in" in line and "No space left on device" in line


def test_rows_that_no_memory_holds(gml, tmp_path, monkeypatch):
    from gml.counts import streamed

    monkeypatch.setattr(streamed, "_SHARE_OF_ROWS", 1 << 60)
    path = tmp_path / "d.csv"
    path.write_text("a,b\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(700)))
    for words, what in [
        (["average", path, "--by", "hc", "--bootstrap", 3], "a bootstrap"),
        (["indtest", path, "a", "b", "--test", "kci", "--numeric", "a,b"], "kci"),
    ]:
        line = error_line(gml(*words, "--engine", "stream"), 4)
        assert "needs the rows in memory" in line, (what, line)


def test_the_model_is_the_same_without_rows_in_memory(gml, tmp_path, monkeypatch, small_pieces):
    from gml.counts import streamed
    from gml.data import row_multiplicities

    data, graph = tmp_path / "d.csv", tmp_path / "g.dot"
    data.write_text("\n".join(mixed_lines()) + "\n")
    graph.write_text("digraph { a -> l; l -> m }")
    command = ["fit-params", data, graph, "--bins", 3, "--missing", "drop", "--weights", "w"]
    expected = gml(*command)
    monkeypatch.setattr(streamed, "_SHARE_OF_ROWS", 1 << 60)
    assert gml(*command, "--engine", "stream").stdout == expected.stdout
    # And if equal rows are looked for in partitions of a file.
    monkeypatch.setattr(streamed, "_SHARE_OF_GROUPS", 1 << 22)
    monkeypatch.setattr(row_multiplicities, "_BYTES_PER_ROW", 1 << 10)
    assert gml(*command, "--engine", "stream", "--max-memory", "100M").stdout == expected.stdout


# ---------------------------------------------------------------------- signals and pipes


def test_an_interrupt_ends_it_soon(tmp_path):
    words = [sys.executable, "-m", "gml.cli", "hc", "-", "--engine", "stream", "--spool", tmp_path]
    streams = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*map(str, words)], **streams) as run:
        run.stdin.write(b"a,b\n" + b"x,y\n" * 300_000)
        run.stdin.flush()
        # The rest of the table never comes; the file of codes has no name but is open.
        opened = Path("/proc") / str(run.pid) / "fd"
        while not any(os.readlink(one).startswith(str(tmp_path)) for one in opened.iterdir()):
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
        said = run.stderr.read()
    assert run.returncode == 130, said
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_ends_it_quietly(sample_data, tmp_path):
    words = ["indtest", sample_data / "asia.csv", "--all-pairs", "-f", "csv"]
    stream = ["--engine", "stream", "--spool", tmp_path]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*GML, *map(str, words + stream)], **streams) as run:
        run.stdout.close()
        said = run.stderr.read()
    assert (run.returncode, said) == (0, b"")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_between_passes(tmp_path):
    """Restarts ask for tables again and again, so that there is always a next pass."""
    rng = np.random.default_rng(0)
    data = tmp_path / "d.csv"
    header = ",".join(f"v{j}" for j in range(12))
    np.savetxt(data, rng.integers(0, 3, (2000, 12)), "%d", ",", header=header, comments="")
    spool = tmp_path / "spool"
    spool.mkdir()
    words = ["hc", data, "--score", "aic", "--restarts", 10_000, "--engine", "stream", "-v"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*GML, *map(str, [*words, "--spool", spool])], **streams) as run:
        assert any(b"pass 3:" in line for line in run.stderr)
        run.send_signal(signal.SIGINT)
        written, said = run.communicate(timeout=60)
    assert (run.returncode, written) == (130, b"")
    assert said.splitlines()[-1] == b"gml: error: interrupted"
    assert list(spool.iterdir()) == []
