"""How numbers are cut at quantiles: mass points have intervals of their own, and fewer are told."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gml
from gml.data.discretize import Binning
from gml.errors import GmlWarning


def quantile(rows, i, bins):
    """The smallest value v with #{rows ≤ v} > i·n/K, by its definition."""
    return next(
        v for v in sorted(rows) if sum(x <= v for x in rows) > Fraction(i * len(rows), bins)
    )


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=40), st.integers(2, 9))
def test_mass_points_are_alone_in_their_intervals(rows, bins):
    values, counts = np.unique(np.array(rows, dtype=np.float64), return_counts=True)
    cuts = Binning("quantile", bins).cut_points(values, counts)
    quantiles = [quantile(rows, i, bins) for i in range(bins)]
    members = {}
    for v in values.tolist():
        members.setdefault(int(np.searchsorted(cuts, v, side="right")), set()).add(v)
    for v in set(quantiles):
        if quantiles.count(v) > 1:
            assert {v} in members.values()
    # Cuts are quantiles, or follow a mass point; no interval is empty, and none is split in vain.
    after = dict(zip(values.tolist(), values.tolist()[1:], strict=False))
    wanted = set(quantiles) | {after[v] for v in quantiles if quantiles.count(v) > 1 and v in after}
    assert set(cuts) == wanted - {min(rows)}
    assert len(members) == len(cuts) + 1 <= bins


SOURCES = ("csv", "parquet", "frame", "weights")


def read_as(source, rows, tmp_path, **options):
    frame = pd.DataFrame({"rain": rows, "x": ["a", "b"] * (len(rows) // 2)})
    if source == "frame":
        return gml.read(frame, **options)
    if source == "parquet":
        frame.to_parquet(tmp_path / "d.parquet")
        return gml.read(tmp_path / "d.parquet", **options)
    if source == "weights":
        frame = frame.groupby(["rain", "x"]).size().reset_index(name="w")
        return gml.read(frame, weights="w", **options)
    frame.to_csv(tmp_path / "d.csv", index=False)
    return gml.read(tmp_path / "d.csv", **options)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("how", [{"bins": 4}, {"cut": {"rain": "quantile:4"}}])
def test_a_column_that_is_mostly_zero(tmp_path, source, how):
    rows = [0] * 6 + [1, 2, 3, 4]
    said = "fewer intervals than asked for, .*: 'rain' 3, not 4$"
    with pytest.warns(GmlWarning, match=said):
        data = read_as(source, rows, tmp_path, **how)
    assert data.variables[0].levels == ("[-inf,1)", "[1,2)", "[2,inf)")


@pytest.mark.parametrize("source", SOURCES)
def test_a_mass_point_in_the_middle(tmp_path, source):
    rows = [1, 2, 3, 3.5, 5, 5, 5, 5, 5, 8, 9, 10]
    data = read_as(source, rows, tmp_path, bins=4)
    assert data.variables[0].levels == ("[-inf,3.5)", "[3.5,5)", "[5,8)", "[8,inf)")


def test_all_columns_with_fewer_intervals_in_one_line(gml, tmp_path):
    lines = [f"{max(0, i - 70)},{max(0, i - 90)},{i}" for i in range(100)]
    (tmp_path / "d.csv").write_text("a,b,c\n" + "\n".join(lines) + "\n")
    done = gml("hc", "d.csv", "--bins", "4", "--cut", "b=quantile:5", "-f", "json")
    assert done.returncode == 0
    assert done.stderr.decode().splitlines()[0] == (
        "gml: warning: fewer intervals than asked for, as several quantiles fall on one value: "
        "'a' 3, not 4, 'b' 2, not 5"
    )
    assert done.stderr.count(b"fewer intervals") == 1
    assert gml("hc", "d.csv", "--bins", "4", "-q").stderr == b""
