"""Rows that do not fit: the engine of a stream chosen by itself, and what it does without them."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import gml as library
from gml.counts import open_stream
from tests.command_line import error_line
from tests.late_labels import mixed_text


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
    frame.loc[np.tile(np.arange(len(frame)), 120)].to_parquet(path, index=False)
    expected = gml("chowliu", path, "--engine", "memory")
    done = gml("chowliu", path, "--max-memory", "10M")
    assert (expected.returncode, done.returncode) == (0, 0)
    assert done.stdout == expected.stdout
    assert b"the rows take more than --max-memory allows" in done.stderr
    refused = gml("chowliu", path, "--max-memory", "10M", "--engine", "memory")
    assert "more than --max-memory allows" in error_line(refused, 4)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_no_budget_shows_in_what_regressions_keep(gml, tmp_path, engine):
    rng = np.random.default_rng(1)
    rows = [
        f"{rng.choice(['u', 'v'])},{rng.choice(['p', ''])},{rng.normal():.4f}" for _ in range(3000)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,x", *rows]) + "\n")
    (tmp_path / "g.dot").write_text("digraph { a -> x; b }")
    words = ["fit-params", "d.csv", "g.dot", "--numeric", "x", "--missing", "drop"]
    found = set()
    for budget in ("10K", "30K", "100K", "1M"):
        done = gml(*words, "--engine", engine, "--max-memory", budget)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    (model,) = found
    node = next(n for n in json.loads(model)["nodes"] if n["id"] == "x")
    assert "rows" in node["regressions"][0]


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
    data.write_text(mixed_text())
    graph.write_text("digraph { a -> l; l -> m }")
    command = ["fit-params", data, graph, "--bins", 3, "--missing", "drop", "--weights", "w"]
    expected = gml(*command)
    monkeypatch.setattr(streamed, "_SHARE_OF_ROWS", 1 << 60)
    assert gml(*command, "--engine", "stream").stdout == expected.stdout
    # And if equal rows are looked for in partitions of a file.
    monkeypatch.setattr(streamed, "_SHARE_OF_GROUPS", 1 << 22)
    monkeypatch.setattr(row_multiplicities, "_BYTES_PER_ROW", 1 << 10)
    assert gml(*command, "--engine", "stream", "--max-memory", "100M").stdout == expected.stdout
