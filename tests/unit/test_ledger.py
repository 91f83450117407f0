"""Paths that carry the ledger of their run: what is read and written through them is known there."""

from __future__ import annotations

import copy
import hashlib
import pickle

import pytest

import gml
from gml.atomic import Leftovers, write_whole
from gml.cli.main import cli
from gml.cli.shared.run import run_ledger
from gml.errors import OutputError
from gml.ledger import Input, Ledger, RunPath, note_digest, noted_digest, path_in, wants_digest


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_path_of_a_run_is_a_string():
    path = RunPath("a.csv", Ledger())
    assert path == "a.csv"
    assert {path: 1} == {"a.csv": 1}
    assert repr(path) == "'a.csv'"


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_is_a_plain_path(again):
    assert type(again(RunPath("a.csv", Ledger()))) is str


def test_plain_paths_note_nothing():
    assert not wants_digest("a.csv")
    assert not wants_digest("a.csv", beforehand=True)
    note_digest("a.csv", "12")
    assert noted_digest("a.csv") is None
    assert type(path_in("folder", "a.csv")) is str


def test_a_run_wants_hashes_when_it_says_so_or_beforehand():
    ledger = Ledger()
    path = RunPath("a.csv", ledger)
    assert not wants_digest(path)
    assert wants_digest(path, beforehand=True)
    ledger.wants_digests = True
    assert wants_digest(path)
    note_digest(path, None)
    assert noted_digest(path) is None
    note_digest(path, "12")
    assert noted_digest(path) == "12"
    assert path_in(RunPath("folder", ledger), "b.csv").ledger is ledger


@pytest.mark.parametrize("wanted", [True, False])
def test_verbs_hash_what_the_run_asks_for(sample_data, wanted):
    ledger = Ledger(wants_digests=wanted)
    data = RunPath(str(sample_data / "asia.csv"), ledger)
    graph = RunPath(str(sample_data / "asia.dot"), ledger)
    ledger.inputs += [Input("data", data), Input("graph", graph)]
    gml.score(data, graph)
    expected = {"data": f"sha256:{sha(sample_data / 'asia.csv')}"}
    expected["graph"] = f"sha256:{sha(sample_data / 'asia.dot')}"
    assert ledger.input_hashes() == (expected if wanted else {})


def test_outputs_of_a_run_know_of_one_another(tmp_path):
    ledger = Ledger(keeps_unchanged=True)
    first, link = (RunPath(str(tmp_path / name), ledger) for name in ("a", "b"))
    write_whole(first, b"one")
    before = (tmp_path / "a").stat()
    write_whole(first, b"one")
    assert (tmp_path / "a").stat().st_ino == before.st_ino
    write_whole(str(first), b"one")
    assert (tmp_path / "a").stat().st_ino != before.st_ino
    ledger.plan(link, "--other")
    write_whole(first, b"two")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    with pytest.raises(OutputError, match="just written"):
        write_whole(link, b"three")
    assert ledger.outputs == [first, first, first]


def test_a_folder_is_looked_at_once_for_leftovers(tmp_path):
    leftovers = Leftovers()
    write_whole(tmp_path / "a", b"", leftovers=leftovers)
    late = tmp_path / f".b.gml-{'0' * 16}.tmp"
    late.touch()
    write_whole(tmp_path / "b", b"", leftovers=leftovers)
    assert late.exists()
    write_whole(tmp_path / "b", b"")
    assert not late.exists()


def test_contexts_of_one_run_share_a_ledger():
    def found(context):
        with context:
            return run_ledger()

    outer = cli.make_context("gml", ["pc", "--help"], resilient_parsing=True)
    inner = type(outer)(cli.get_command(outer, "pc"), parent=outer)
    assert found(inner) is found(outer)
    other = cli.make_context("gml", ["pc", "--help"], resilient_parsing=True)
    assert found(other) is not found(outer)
