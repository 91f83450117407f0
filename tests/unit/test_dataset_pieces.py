"""Pieces of a table of one's own: the same answers as in memory, whatever the pieces are."""

from __future__ import annotations

import errno
import itertools
import os
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts.memory import MemoryCounter
from gml.data.block_file import BlockFile
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, OutputError, UsageError
from gml.independence.registry import TESTS
from gml.learners.chowliu import chow_liu
from gml.learners.exact import exact
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.learners.imap import minimal_imap
from gml.learners.pc import pc
from gml.model.fit import fit
from gml.scores.registry import SCORES
from tests.unit.test_engines import content

ROWS = 2000
HEADER = "size,colour,n,w,x\n"


@pytest.fixture(scope="module")
def lines():
    """Labels some of which come late, gaps, weights and numbers, as lines of a CSV file."""
    rng = np.random.default_rng(5)
    found = []
    for k in range(ROWS):
        size = "SMLX"[min(rng.integers(0, 2 + k // 600), 3)]
        colour = rng.choice(
            ["red", "blue", "grey", "" if k > 900 else "red"], p=[0.3, 0.3, 0.3, 0.1]
        )
        n = rng.integers(0, 3 if k < 1200 else 12)
        found.append(f"{size},{colour},{n},{rng.integers(0, 4)},{rng.normal() + len(colour):.3f}")
    return found


def in_pieces(lines, folder, cuts, **reading):
    """The pieces of a table, read one by one."""
    ends = [0, *cuts, len(lines)]
    for first, last in itertools.pairwise(ends):
        path = folder / f"{first}.csv"
        path.write_text(HEADER + "".join(f"{line}\n" for line in lines[first:last]))
        yield gml.read(path, **reading)


def whole(lines, folder, **reading):
    (data,) = in_pieces(lines, folder, [], **reading)
    return data


READINGS = {
    "available": {"missing": "available", "numeric": ["x"]},
    "weights": {"missing": "available", "numeric": ["x"], "weights": "w"},
    "drop": {"missing": "drop", "exclude": ["x"]},
    "level": {"missing": "level", "exclude": ["x", "w"]},
    "declared": {
        "missing": "available",
        "columns": ["size", "n"],
        "levels": {"size": ["S", "M", "L", "X", "XL"]},
    },
}


@pytest.mark.parametrize("kind", READINGS)
@pytest.mark.parametrize("cuts", [[], [1, 700, 1500], [0, 650]])
def test_pieces_are_one_table(lines, tmp_path, kind, cuts):
    reading = READINGS[kind]
    memory = MemoryCounter(whole(lines, tmp_path, **reading))
    with gml.open_stream(in_pieces(lines, tmp_path, cuts, **reading), spool=tmp_path) as stream:
        assert stream.variables == memory.variables
        assert (stream.n, stream.missing) == (memory.n, memory.missing)
        assert stream.missing_treatment == memory.missing_treatment
        assert stream.decimal == memory.decimal
        labels = [j for j, v in enumerate(memory.variables) if not v.is_continuous]
        sets = [gml.TableSet((i,), (j,)) for i in labels for j in labels if i != j]
        assert content(list(stream.tables(sets))) == content(list(memory.tables(sets)))
        numbers = [j for j in range(len(memory.variables)) if j not in labels]
        if numbers:
            mine, theirs = (e.moments(numbers, labels[:1]) for e in (stream, memory))
            assert content(mine) == content(theirs)


@pytest.mark.parametrize("threads", [1, 3])
def test_learners_and_fits(tmp_path, threads):
    data = gml.read("sample_data/asia.csv")
    memory = MemoryCounter(data)
    stream = gml.open_stream(data.blocks(700), spool=tmp_path, threads=threads)
    made = []
    for engine in (memory, stream):
        score = SCORES["bdeu"](engine)
        graph = hill_climb(score).graph
        made.append(
            [
                chow_liu(engine),
                pc(TESTS["g"](engine)).graph,
                graph,
                ges(score).graph,
                exact(score).graph,
                minimal_imap(TESTS["g"](engine), memory.order.names).graph,
                fit(graph, engine, intervals=0.9),
            ]
        )
    assert content(made[0]) == content(made[1])
    rows = stream.require_rows("a bootstrap")
    assert content(rows.columns) == content(data.columns) and rows.variables == data.variables
    stream.close()


def test_frames_are_read_one_by_one(lines, tmp_path):
    path = tmp_path / "whole.csv"
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines))
    reading = {"missing": "available", "numeric": ["x"], "weights": "w"}
    memory = MemoryCounter(gml.read(path, **reading))
    with gml.open_stream(pd.read_csv(path, dtype=str, chunksize=600), **reading) as stream:
        assert stream.variables == memory.variables
        assert stream.missing_treatment == memory.missing_treatment
        sets = [gml.TableSet((0,), (1, 2)), gml.TableSet((1,))]
        assert content(list(stream.tables(sets))) == content(list(memory.tables(sets)))


@pytest.mark.parametrize("policy", ["drop", "level", "available"])
def test_blocks_of_a_table_have_its_gaps_together(lines, tmp_path, policy):
    data = whole(lines, tmp_path, missing=policy, weights="w", exclude=["x"])
    assert data.origin.missing["colour"] > 0
    with gml.open_stream(data.blocks(300)) as stream:
        assert stream.missing_treatment == MemoryCounter(data).missing_treatment
        assert stream.missing_treatment.rows == data.origin.n
    twice = [
        *data.blocks(300),
        *whole(lines, tmp_path, missing=policy, weights="w", exclude=["x"]).blocks(),
    ]
    with gml.open_stream(twice) as stream:
        assert stream.missing_treatment.rows == 2 * data.origin.n


def test_a_dataset_is_one_piece(lines, tmp_path):
    data = whole(lines, tmp_path, missing="available", weights="w", exclude=["x"])
    with gml.open_stream(data) as stream:
        rows = stream.rows_as_they_stand()
    assert rows.weights.tolist() == data.weights.tolist()
    assert content(rows.columns) == content(data.columns)


def test_the_file_has_no_name(tmp_path):
    data = gml.read("sample_data/asia.csv")
    with gml.open_stream([data], spool=tmp_path):
        # So whatever ends the process, a kill among it, the room is free again.
        assert os.listdir(tmp_path) == []
    assert os.listdir(tmp_path) == []


def test_a_piece_that_fails_frees_the_file(tmp_path):
    def pieces():
        yield gml.read("sample_data/asia.csv")
        raise KeyboardInterrupt

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyboardInterrupt):
        gml.open_stream(pieces(), spool=tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OutputError) as refused:
        gml.open_stream([gml.read("sample_data/asia.csv")], spool=tmp_path)
    assert str(refused.value) == f"cannot write to the spool in '{tmp_path}': " + os.strerror(
        errno.ENOSPC
    )


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no folder '/nowhere'"):
        gml.open_stream([gml.read("sample_data/asia.csv")], spool="/nowhere")
    with pytest.raises(OutputError, match="cannot make a spool in '/nowhere': No such file"):
        BlockFile("/nowhere")


def descriptors_in(folder):
    """The descriptors of files in a folder, with or without a name."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return [number for number, path in found.items() if path.startswith(f"{folder}/")]


def test_damage_is_found(tmp_path):
    data = gml.read("sample_data/asia.csv")
    with gml.open_stream([data], spool=tmp_path) as stream:
        (descriptor,) = descriptors_in(tmp_path)
        os.pwrite(descriptor, b"\x01\x00\x07", 5)
        with pytest.raises(CannotAnswer, match="is damaged"):
            list(stream.tables([gml.TableSet((0,))]))
        os.ftruncate(descriptor, 10)
        with pytest.raises(CannotAnswer, match="is damaged"):
            list(stream.tables([gml.TableSet((3,))]))


def codes(*cells):
    return np.array(cells, dtype=np.uint8)


A = Dataset((Variable("A", ("x", "y")),), (codes(0, 1, 1),))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Dataset((Variable("B", ("x",)),), (codes(0),)), "same columns"),
        (Dataset((Variable("A", None),), (np.array([1.0]),)), "numbers in another"),
        (Dataset((Variable("A", ("x",)),), (codes(0),), np.array([2])), "weights"),
    ],
)
def test_pieces_of_other_tables_are_refused(second, message):
    with pytest.raises(DataError, match=message):
        gml.open_stream([A, second])


def test_pieces_that_were_read_in_other_ways_are_refused(lines, tmp_path):
    data = whole(lines, tmp_path, missing="available", exclude=["x"])
    with pytest.raises(DataError, match="some were not"):
        gml.open_stream([data, replace(data, origin=None)])
    other = whole(lines, tmp_path, missing="drop", exclude=["x"])
    with pytest.raises(UsageError, match="same options"):
        gml.open_stream([data, other])
    fractional = whole(lines, tmp_path, missing="available", weights_fractional="w", exclude="x")
    with pytest.raises(UsageError, match="not fractions"):
        gml.open_stream([fractional])
    with pytest.raises(UsageError, match="`bins` is about reading, and the data is a Dataset"):
        gml.open_stream([data], bins=3)
    with pytest.raises(UsageError, match="`spool_keep` is for files"):
        gml.open_stream([data], spool_keep=True)


def test_pieces_that_were_cut_elsewhere_are_refused(lines, tmp_path):
    pieces = in_pieces(lines, tmp_path, [900], columns=["n", "x"], bins=3)
    with pytest.raises(UsageError, match="give the cut points"):
        gml.open_stream(pieces)


def test_no_pieces_and_what_is_none():
    with pytest.raises(DataError, match="no pieces"):
        gml.open_stream([])
    with pytest.raises(UsageError, match="must be a Dataset or a DataFrame, not a str"):
        gml.open_stream(["asia.csv"])
    empty = A.rows(np.zeros(3, dtype=bool))
    with gml.open_stream([empty]) as stream:
        assert [c.table.tolist() for c in stream.tables([gml.TableSet((0,))])] == [[]]
