"""gml sample of undirected models: how rows are drawn is said, and chains that do not mix end it."""

from __future__ import annotations

import pytest

from tests.command_line import error_line
from tests.lattices import lattice_net


@pytest.fixture
def run(gml, monkeypatch, tmp_path):
    """Run gml sample on a lattice, whatever the file says."""

    def sample(coupling, *args, size=5):
        (tmp_path / "model.json").write_text("{}")
        net = lattice_net(size, coupling)
        monkeypatch.setattr("gml.formats.models.read_model", lambda path: net)
        return gml("sample", "model.json", *args)

    return sample


def test_exact_rows(run):
    done = run(0.2, "-n", "100", "--seed", "3")
    assert done.returncode == 0
    assert done.stderr == b"gml: rows are drawn exactly, by the junction tree\n"
    header, *rows = done.stdout.decode().splitlines()
    assert header.split(",")[:2] == ["s0000", "s0001"]
    assert len(rows) == 100
    assert run(0.2, "-n", "10", "--seed", "3").stdout == b"".join(
        done.stdout.splitlines(keepends=True)[:11]
    )


def test_evidence_is_kept(run):
    for options in ([], ["--chains", "64"]):
        done = run(0.2, "-n", "50", "--evidence", "s0000=+,s0404=-", *options)
        rows = [line.split(",") for line in done.stdout.decode().splitlines()[1:]]
        assert {(row[0], row[-1]) for row in rows} == {("+", "-")}


def test_without_memory_for_exact_rows_chains_are_run(run):
    done = run(0.15, "-n", "2000", "--max-memory", "8M", size=14)
    assert done.returncode == 0, done.stderr
    said = done.stderr.decode()
    assert said.startswith("gml: rows are drawn by Gibbs sampling: 256 chains after ")
    assert "the worst R̂ is 1.00" in said
    assert "the smallest effective sample size " in said
    assert said.count("\n") == 1


def test_threads_change_no_row_of_chains(run):
    wanted = run(0.2, "-n", "2000", "--chains", "64", "--threads", "1").stdout
    assert wanted.count(b"\n") == 2001
    assert run(0.2, "-n", "2000", "--chains", "64", "--threads", "2").stdout == wanted


def test_chains_that_do_not_mix_are_exit_code_4(run):
    done = run(1.5, "-n", "10", "--burn-in", "200", "--chains", "64")
    line = error_line(done, 4)
    assert "has not converged after 7880 sweeps of 64 chains: the worst R̂ is" in line
    assert "a larger --burn-in may help, or more --max-memory for exact rows" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--do", "s0000=+"], "--do is for directed models"),
        (["--evidence", "s0000=+", "--weighted"], "--weighted is for directed models"),
        (["--chains", "2"], "2 is not in the range 4<=x"),
        (["--thin", "0"], "0 is not in the range 1<=x"),
    ],
)
def test_what_makes_no_sense_is_refused(run, options, said):
    done = run(0.2, "-n", "10", *options)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_options_of_chains_are_not_for_directed_models(gml, sample_data, tmp_path):
    made = gml("fit-params", sample_data / "asia.csv", sample_data / "asia.dot", "-o", "net.json")
    assert made.returncode == 0, made.stderr
    line = error_line(gml("sample", "net.json", "-n", "10", "--burn-in", "5"), 2)
    assert "--burn-in is for undirected models: rows of a directed one are exact" in line
