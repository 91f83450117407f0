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
    done = watched("chowliu", table(tmp_path, 2000), "--max-memory", "3M")
    assert done.code == 4
    assert "a graph of 2000 columns would take 3.81 MiB" in done.error
    assert done.peak < _MOST
