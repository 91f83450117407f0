"""Many columns: what there is of each pair must neither be held at once nor go beyond the budget."""

from __future__ import annotations

import random

import pytest

from tests.hostile.conftest import MIB

# The interpreter, NumPy, and a block of whatever is computed in blocks.
_MOST = 220 * MIB


def table(folder, n_columns, n_rows=3):
    """Write a table of random labels and return its path."""
    rng = random.Random(n_columns)
    path = folder / "wide.csv"
    with path.open("w") as file:
        file.write(",".join(f"v{j}" for j in range(n_columns)) + "\n")
        for _ in range(n_rows):
            file.write(",".join(rng.choices("abc", k=n_columns)) + "\n")
    return path


@pytest.mark.parametrize(
    "options", [(), ("--prune", "g"), ("--class", "v7", "--estimator", "miller-madow")]
)
def test_chowliu_holds_no_pairs(watched, tmp_path, options):
    done = watched("chowliu", table(tmp_path, 2000), *options, "--max-memory", "100M", "-q")
    assert done.code == 0
    assert done.peak < _MOST


def test_chowliu_refuses_a_graph_beyond_the_budget_at_once(watched, tmp_path):
    done = watched("chowliu", table(tmp_path, 6000), "--max-memory", "30M")
    assert done.code == 4
    assert "a graph of 6000 nodes would take 34.3 MiB" in done.error
    assert done.peak < _MOST


def test_reports_of_all_pairs_are_streamed(watched, tmp_path):
    path = table(tmp_path, 400)
    done = watched("indtest", path, "--all-pairs", "--adjust", "bh", "-f", "json", "-q")
    assert done.code == 0
    assert done.stdout.count(b'{"x": ') == 400 * 399 // 2
    assert done.peak < 120 * MIB


def test_implied_independences_are_not_held_either(watched, tmp_path):
    path = table(tmp_path, 400)
    (tmp_path / "chain.dot").write_text(
        "digraph {" + ";".join(f"v{j} -> v{j + 1}" for j in range(399)) + "}"
    )
    done = watched("indtest", path, "--implied", "chain.dot", "-f", "jsonl", "-q")
    assert done.code == 0
    assert len(done.stdout.splitlines()) == 400 * 399 // 2 - 399
    assert done.peak < 120 * MIB


def test_results_of_more_tests_than_the_budget_holds_are_refused_at_once(watched, tmp_path):
    path = table(tmp_path, 2000)
    done = watched("indtest", path, "--all-pairs", "--max-memory", "50M", "-q")
    assert done.code == 4
    assert "the results of 1999000 tests would take 111 MiB" in done.error
    assert done.stdout == b""
    assert done.peak < _MOST


@pytest.mark.parametrize(
    "command,what",
    [
        (("hc",), "a search over 2000 columns would take 191 MiB"),
        (("ges",), "a search over 2000 columns would take 191 MiB"),
        (("pc",), "what tests say of 1999000 pairs would take 286 MiB"),
        # The budget holds in the threads of a command too.
        (("pc", "--bootstrap", "2", "--threads", "2"), "what tests say of 1999000 pairs"),
    ],
)
def test_learners_that_hold_pairs_ask_first(watched, tmp_path, command, what):
    first, *options = command
    done = watched(first, table(tmp_path, 2000), *options, "--max-memory", "100M", "-q")
    assert done.code == 4
    assert what in done.error
    assert done.peak < 100 * MIB


def test_moments_of_many_columns_are_refused(watched, tmp_path):
    path = tmp_path / "numbers.csv"
    names = ",".join(f"v{j}" for j in range(900))
    rng = random.Random(1)
    rows = [",".join(f"{rng.random():.6f}" for _ in range(900)) for _ in range(8)]
    path.write_text("\n".join([names, *rows]) + "\n")
    done = watched("indtest", path, "v1", "v2", "--test", "fisher-z", "--max-memory", "20M")
    assert done.code == 0
    done = watched("indtest", path, "--all-pairs", "--test", "fisher-z", "--max-memory", "25M")
    assert done.code == 4
    assert "the moments of 900 columns would take 254 MiB" in done.error


def test_checks_of_many_pairs_are_refused_with_a_way_out(watched, tmp_path):
    path = table(tmp_path, 400)
    (tmp_path / "chain.dot").write_text(
        "digraph {" + ";".join(f"v{j} -> v{j + 1}" for j in range(399)) + "}"
    )
    assert watched("fit-params", path, "chain.dot", "-o", "model.json", "-q").code == 0
    done = watched("check", path, "model.json", "--max-memory", "50M", "-q")
    assert done.code == 4
    assert "checks of 79800 pairs would take 98.9 MiB" in done.error
    assert done.error.endswith("; leave the structure out with --families schema,tables,fit")
    given = ("--max-memory", "50M", "-q", "--families", "schema,tables,fit")
    done = watched("check", path, "model.json", *given)
    assert done.code in (0, 1)


def test_shares_of_many_pairs_are_streamed(watched, tmp_path):
    given = ("--by", "pc", "--bootstrap", "2", "--max-cond", "0", "--probabilities", "pairs.jsonl")
    done = watched("average", table(tmp_path, 500), *given, "-o", "graph.json", "-q")
    assert done.code == 0
    assert len((tmp_path / "pairs.jsonl").read_text().splitlines()) == 500 * 499 // 2
    assert done.peak < 150 * MIB
