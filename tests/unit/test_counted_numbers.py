"""Sums of numbers in count files: exact, the same from shards as from the whole, and as rows say."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gml
from gml.counts.cell_sums import NO_POWER, CellSums, place_of_product
from gml.counts.count_file_engine import CountFileCounter
from gml.counts.count_parquet import encode_counts
from gml.counts.countfile import count_sets
from gml.counts.merging import merge_counts
from gml.counts.small_cells import require_large_cells
from gml.errors import CannotAnswer, DataError, MissingTable
from gml.scores.registry import SCORES

NUMBERS = ["age", "far", "pay"]
NAMES = ["town", *NUMBERS, "sex"]


def frame(n=300, seed=0, decimals=None):
    """Two columns of labels and three of numbers, one of them 10⁹ away."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["ash", "elm", "oak"], n, p=[0.6, 0.3, 0.1])
    sex = rng.choice(["f", "m"], n)
    age = rng.integers(18, 90, n).astype(float)
    pay = 40 * age + 900 * (town == "ash") + rng.integers(-800, 800, n)
    far = 1e9 + rng.normal(size=n) + (sex == "m")
    if decimals is not None:
        pay = np.round(pay / 7, decimals)
    return pd.DataFrame({"town": town, "age": age, "far": far, "pay": pay, "sex": sex})


def read(table, **options):
    return gml.read(table, numeric=NUMBERS, **options)


def bytes_of(counts):
    return encode_counts(replace(counts, data=()))


COLUMNS = [
    np.array([0.1, -3.75, 1e9, 2.0]),
    np.array([5e-324, 1.7e308, -1e-300, 0.0]),
    np.array([0.0, -0.0, 0.0, 0.0]),
    np.array([-7.0, 12.0, 2.0**60, 1.0]),
]


@pytest.mark.parametrize("weights", [None, np.array([3, 1, 1 << 40, 7])])
def test_sums_are_exact(weights):
    cell = np.array([0, 1, 0, 1])
    found = CellSums.of(COLUMNS, cell, 2, weights)
    times = [1] * 4 if weights is None else weights.tolist()
    assert found.powers[1:] == (-1074, NO_POWER, 0)
    for g in range(2):
        rows = np.flatnonzero(cell == g).tolist()
        for i, x in enumerate(COLUMNS):
            unit = Fraction(2) ** found.powers[i]
            assert found.sums[g, i] * unit == sum(times[r] * Fraction(x[r]) for r in rows)
            for j, y in enumerate(COLUMNS):
                units = unit * Fraction(2) ** found.powers[j]
                total = sum(times[r] * Fraction(x[r]) * Fraction(y[r]) for r in rows)
                assert found.sums[g, place_of_product(4, i, j)] * units == total


def test_parts_of_sums_are_those_of_some_columns():
    whole = CellSums.of(COLUMNS, np.array([0, 1, 0, 1]), 2)
    some = CellSums.of([COLUMNS[3], COLUMNS[0]], np.array([0, 1, 0, 1]), 2)
    chosen = whole.over([3, 0])
    assert chosen.powers == some.powers
    assert chosen.sums.tolist() == some.sums.tolist()
    assert chosen.high.tolist() == some.high.tolist()


SETS = [NAMES, ["age"], ["sex", "pay"], ["town", "sex"], ["age", "far"]]


@pytest.mark.parametrize("missing", ["drop", "available"])
@pytest.mark.parametrize("seed", range(3))
def test_shards_in_any_order_are_the_whole(missing, seed):
    table = frame(seed=seed, decimals=2)
    rng = np.random.default_rng(seed)
    for name in ("age", "pay", "sex"):
        table.loc[rng.random(len(table)) < 0.01, name] = None
    how = {"sets": SETS, "missing": missing, "numeric": NUMBERS}
    whole = gml.count(table, **how)
    which = rng.integers(0, 5, len(table))
    parts = [gml.count(table[which == k], **how) for k in range(5)]
    assert bytes_of(gml.merge(*parts)) == bytes_of(whole)
    assert bytes_of(gml.merge(*parts[::-1])) == bytes_of(whole)
    stepwise = gml.merge(parts[3], gml.merge(parts[1], parts[4]), gml.merge(parts[2], parts[0]))
    assert bytes_of(stepwise) == bytes_of(whole)
    if missing == "available":
        assert len(set(whole.rows.tolist())) > 2


def test_written_and_read_back(tmp_path):
    whole = gml.count(read(frame()), sets=SETS)
    gml.write_counts(whole, tmp_path / "c.parquet")
    again = gml.read_counts(tmp_path / "c.parquet")
    assert bytes_of(again) == bytes_of(whole)
    assert again.columns == whole.columns
    kinds = {column.name: (column.type, column.settled) for column in again.columns}
    assert kinds["age"] == ("numeric", "declared")
    # All labels and numbers of one set, numbers alone in another.
    assert sorted(len(of_set) for of_set in again.sums.values()) == [1, 1, 2, 6]


def test_streams_count_the_same(tmp_path):
    frame(decimals=3).to_csv(tmp_path / "d.csv", index=False)
    first, second = (
        gml.count(tmp_path / "d.csv", sets=SETS, numeric=NUMBERS, engine=engine)
        for engine in ("memory", "stream")
    )
    assert encode_counts(first) == encode_counts(second)


# ---------------------------------------------------------------------- as rows say


def engines(table, sets, **options):
    data = read(table, **options)
    return gml.MemoryCounter(data), CountFileCounter(gml.count(data, sets=sets))


FAMILIES = [(1, ()), (3, (1,)), (3, (1, 2, 0)), (2, (4,)), (3, (0, 4)), (1, (3, 0, 4))]


def test_numbers_of_few_digits_give_the_same_bits():
    rows, counts = engines(frame(), [NAMES])
    for given in ((), (0,), (4, 0)):
        found, known = counts.moments((3, 1, 2), given), rows.moments((3, 1, 2), given)
        for mine, theirs in zip(
            getattr(found, "moments", [found]), getattr(known, "moments", [known]), strict=True
        ):
            assert mine == theirs
    mine, theirs = (engine.residuals(FAMILIES) for engine in (counts, rows))
    assert mine.log_sum.tolist() == theirs.log_sum.tolist()
    assert mine.fewest.tolist() == theirs.fewest.tolist()
    mine, theirs = (engine.expanded_moments(range(5)) for engine in (counts, rows))
    assert mine.owners.tolist() == theirs.owners.tolist()
    assert mine.correlation.tolist() == theirs.correlation.tolist()
    assert mine.log_variances.tolist() == theirs.log_variances.tolist()


def test_a_far_column_keeps_its_digits():
    table = frame(n=1000)
    whole = gml.count(read(table), sets=[["far", "age"]])
    moments = CountFileCounter(whole).moments((1,))
    exact = [Fraction(value) for value in table.far]
    mean = sum(exact) / 1000
    variance = sum((value - mean) ** 2 for value in exact) / 1000
    assert Fraction(moments.cross[0][0], 1000**2) / Fraction(4) ** moments.scales[0] == variance
    assert 1 < variance < 1.5


def test_other_numbers_differ_by_rounding_alone():
    rows, counts = engines(frame(decimals=2), [NAMES])
    mine, theirs = (engine.residuals(FAMILIES) for engine in (counts, rows))
    np.testing.assert_allclose(mine.log_sum, theirs.log_sum, rtol=1e-12)
    mine, theirs = (engine.expanded_moments(range(5)) for engine in (counts, rows))
    np.testing.assert_allclose(mine.correlation, theirs.correlation, rtol=1e-12)


def test_tables_that_leave_rows_out():
    table = frame(decimals=1)
    table.loc[::7, "age"] = None
    table.loc[3::11, "sex"] = None
    sets = [["town", "age", "pay"], ["age", "sex"], ["age", "pay"], ["far", "pay"], ["town", "sex"]]
    rows, counts = engines(table, sets, missing="available")
    mine, theirs = (engine.residuals([(3, (1, 0)), (1, (4,))]) for engine in (counts, rows))
    np.testing.assert_allclose(mine.log_sum, theirs.log_sum, rtol=1e-12)
    assert mine.n.tolist() == theirs.n.tolist()
    for columns in ((0, 1, 3), (1, 4), (0, 4)):
        mine, theirs = (engine.expanded_moments(columns) for engine in (counts, rows))
        assert mine.n == theirs.n
        np.testing.assert_allclose(mine.correlation, theirs.correlation, rtol=1e-12)
    # Another table has other rows.
    with pytest.raises(MissingTable, match="no table of 'far', 'pay', 'town'; count it"):
        counts.moments((2, 3), (0,))
    with pytest.raises(MissingTable, match="leave out rows with missing values"):
        counts.moments((1,), (0,))


def test_pairs_tell_of_all_columns():
    data = read(frame(decimals=2))
    pairs, whole = (
        CountFileCounter(gml.count(data, **what)) for what in ({"pairs": True}, {"sets": [NAMES]})
    )
    assert pairs.moments((1, 2, 3)) == whole.moments((1, 2, 3))
    mine, theirs = (engine.expanded_moments(range(5)) for engine in (pairs, whole))
    assert mine.correlation.tolist() == theirs.correlation.tolist()
    with pytest.raises(MissingTable, match="'age', 'far', 'town'"):
        pairs.moments((1, 2), (0,))
    score, same = (SCORES["bic-dg"](engine) for engine in (pairs, whole))
    assert score.local(0, (1, 3)) == same.local(0, (1, 3))


def test_levels_that_are_joined():
    whole = CountFileCounter(gml.count(read(frame()), sets=[NAMES]))
    table = frame()
    table["town"] = table.town.replace({"elm": "oak"})
    joined = whole.recoded({"town": (("ash", "oak"), np.array([0, 1, 1]))})
    rows = gml.MemoryCounter(read(table))
    assert joined.moments((1, 3), (0,)).moments == rows.moments((1, 3), (0,)).moments


def test_columns_that_follow_from_others_are_refused_alike():
    table = frame()
    table["pay"] = table.age * 3 + table.far
    rows, counts = engines(table, [NAMES])
    for engine in (rows, counts):
        assert not engine.residuals([(3, (1, 2))]).sufficient[0]


def test_no_rows():
    data = read(frame()).rows(np.zeros(300, dtype=bool))
    counts = count_sets(gml.MemoryCounter(data), [NAMES, ["age"]])
    assert encode_counts(counts) == encode_counts(merge_counts([counts, counts]))
    rows, engine = gml.MemoryCounter(data), CountFileCounter(counts)
    assert engine.moments((1,)).n == 0
    assert len(engine.moments((1,), (0,)).moments) == 0
    assert engine.residuals([(1, (3,))]).n.tolist() == rows.residuals([(1, (3,))]).n.tolist()


# ---------------------------------------------------------------------- refused


def test_differing_kinds_are_not_added_up():
    table = frame()
    labels = gml.count(
        gml.read(table.drop(columns=["far", "pay"]), labels="age"), sets=[["town", "age"]]
    )
    numbers = gml.count(
        gml.read(table.drop(columns=["far", "pay"]), numeric="age"), sets=[["town", "age"]]
    )
    with pytest.raises(DataError, match=r"'age' as different kinds: nominal \(.*\) and numeric"):
        merge_counts([numbers, labels], ["a.parquet", "b.parquet"])
    with pytest.raises(DataError, match="with the same `levels` schema.json"):
        merge_counts([labels, numbers])


def test_how_kinds_were_settled(tmp_path):
    frame().to_csv(tmp_path / "d.csv", index=False)
    how = {"sets": [["sex", "age"]], "numeric": "age"}
    some = gml.count(tmp_path / "d.csv", **how)
    schema = {"sex": ["f", "m"]}
    declared = gml.count(tmp_path / "d.csv", levels=schema, **how)
    assert [column.settled for column in some.columns] == ["declared", "rule"]
    assert [column.settled for column in declared.columns] == ["declared", "declared"]
    merged = merge_counts([some, some])
    assert [column.settled for column in merged.columns] == ["declared", "rule"]


def test_memory_is_asked_for_first():
    data = read(frame())
    with pytest.raises(CannotAnswer, match="the sums of numbers up to those of 'sex'.*max_memory"):
        count_sets(gml.MemoryCounter(data), [NAMES], max_memory=4000)
    with pytest.raises(CannotAnswer, match="adding up the tables"):
        merge_counts([gml.count(data, sets=[NAMES])] * 2, max_memory=4000)


def test_numbers_of_single_rows_are_left_out_for_small_cells(tmp_path):
    data = read(frame(n=3000))
    known = gml.count(data, sets=[["age", "pay", "sex"]])
    hidden = gml.count(data, sets=[["age", "pay", "sex"]], min_cell=20)
    assert known.sums[0].has_extremes
    assert not hidden.sums[0].has_extremes
    gml.write_counts(hidden, tmp_path / "c.parquet")
    table = pq.read_table(tmp_path / "c.parquet")
    assert table.column_names == ["set", "codes", "count", "sums"]
    again = gml.read_counts(tmp_path / "c.parquet")
    assert bytes_of(again) == bytes_of(hidden)
    assert bytes_of(gml.merge(known, hidden)) == bytes_of(gml.merge(hidden, known))
    mine, theirs = (CountFileCounter(counts) for counts in (again, known))
    one, other = (engine.residuals([(0, (1, 2))]).log_sum for engine in (mine, theirs))
    np.testing.assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(CannotAnswer, match="has a cell below"):
        gml.count(data, sets=[["age", "pay", "sex"]], min_cell=2000)


def test_few_rows_that_two_tables_of_numbers_do_not_share():
    table = frame(n=400)
    table.loc[:2, "age"] = None
    counts = gml.count(read(table, missing="available"), sets=[["age", "far"]])
    with pytest.raises(CannotAnswer, match="below `min_cell` 5"):
        require_large_cells(counts, 5)


def test_tables_of_numbers_are_refused():
    engine = CountFileCounter(gml.count(read(frame()), sets=[NAMES]))
    for ask in (
        lambda: list(engine.tables([gml.TableSet((0, 1))])),
        lambda: engine.statistics([(0, 1, ())]),
        lambda: engine.pair_statistics(np.array([[0, 1]])),
    ):
        with pytest.raises(DataError, match="'age' is numeric"):
            ask()
    assert next(engine.tables([gml.TableSet((0, 4))])).n == 300


def damaged(counts, table=None, **changes):
    found = pq.read_table(pa.BufferReader(encode_counts(counts)))
    about = json.loads(found.schema.metadata[b"gml/1"])
    about.update(changes)
    for name, cells in (table or {}).items():
        place = found.column_names.index(name)
        field = found.schema.field(name)
        found = found.set_column(place, field, pa.array(cells, type=field.type))
    sink = pa.BufferOutputStream()
    pq.write_table(found.replace_schema_metadata({"gml/1": json.dumps(about)}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"powers": [[0]]}, "the powers of numbers"),
        ({"powers": [[0, 2000]]}, "the powers of numbers"),
        ({"powers": None}, "'powers' is of type NoneType"),
        ({"table": {"sums": [[b"\1"] * 4] * 2}}, "fewer or more sums"),
        ({"table": {"sums": [[b"\1" * 541] * 5] * 2}}, "a sum is too large"),
        ({"table": {"sums": [[b"\7", b"\7", b"\0", b"\7", b"\7"]] * 2}}, "squares is too small"),
        ({"table": {"low": [[9e9, 0.0]] * 2}}, "the extremes of a cell"),
    ],
)
def test_damage(tmp_path, changes, message):
    counts = gml.count(read(frame()), sets=[["age", "pay", "sex"]])
    path = tmp_path / "c.parquet"
    path.write_bytes(damaged(counts, **changes))
    with pytest.raises(DataError, match=f"a damaged count file: .*{message}"):
        gml.read_counts(path)


def test_files_that_say_nothing_of_kinds_hold_labels(tmp_path):
    counts = gml.count(gml.read(frame()[["sex", "town"]]), pairs=True)
    columns = [
        {"name": c.name, "levels": list(c.levels), "source": c.source, "na": c.na}
        for c in counts.columns
    ]
    (tmp_path / "c.parquet").write_bytes(damaged(counts, columns=columns))
    again = gml.read_counts(tmp_path / "c.parquet")
    assert [column.type for column in again.columns] == ["nominal", "nominal"]
    assert again.cells(0)[1].tolist() == counts.cells(0)[1].tolist()
