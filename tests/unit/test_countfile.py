"""Count files: what is written, read back, refused, added up and given other levels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gml
from gml.counts.count_file_engine import CountFileCounter
from gml.counts.count_parquet import encode_counts, read_counts, write_counts
from gml.counts.counter import TableSet
from gml.counts.countfile import (
    CUT,
    DECLARED,
    CountedColumn,
    CountFile,
    CountOptions,
    count_sets,
)
from gml.counts.memory import MemoryCounter
from gml.counts.merging import merge_counts
from gml.counts.recoding import declared_recoding
from gml.counts.small_cells import require_large_cells
from gml.data.dataset import Dataset, Variable
from gml.data.options import ReadOptions
from gml.data.schema import Schema, with_levels
from gml.errors import CannotAnswer, DataError, UsageError
from gml.formats.column_sets import parse_column_sets


def dataset(**columns):
    """Columns of labels, levels in the order of their code points."""
    variables, coded = [], []
    for name, cells in columns.items():
        levels = tuple(sorted(set(cells)))
        variables.append(Variable(name, levels))
        coded.append(np.array([levels.index(cell) for cell in cells], dtype=np.uint8))
    return Dataset(tuple(variables), tuple(coded))


def counted(data, *sets, **options):
    return count_sets(MemoryCounter(data, threads=1), sets, **options)


def made_of(column, *cells):
    """A count file of one column."""
    codes = np.array([code for code, _ in cells], dtype=np.uint16)
    counts = np.array([count for _, count in cells], dtype=np.int64)
    starts = np.array([0, len(cells)])
    return CountFile((column,), CountOptions(), int(counts.sum()), ((0,),), codes, counts, starts)


@pytest.fixture
def small():
    return dataset(B="xxyy", A="1212", C="abab")


def test_layout(tmp_path, small):
    counts = counted(small, ("B", "A"), ("C",))
    write_counts(counts, tmp_path / "c.parquet")
    table = pq.read_table(tmp_path / "c.parquet")
    assert table.to_pydict() == {
        "set": [0, 0, 1, 1, 1, 1],
        "codes": [[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]],
        "count": [2, 2, 1, 1, 1, 1],
    }
    about = json.loads(table.schema.metadata[b"gml/1"])
    assert about["sets"] == [["C"], ["A", "B"]]
    assert [column["name"] for column in about["columns"]] == ["B", "A", "C"]
    again = read_counts(tmp_path / "c.parquet")
    assert again.columns == counts.columns
    assert again.sets == counts.sets
    assert encode_counts(again) == encode_counts(counts)


def test_other_columns_order_the_same_cells(small):
    one = counted(small, ("B", "A"))
    other = counted(small.select(["C", "A", "B"]), ("A", "B"))
    for a, b in zip(one.cells(0), other.cells(0), strict=True):
        assert np.array_equal(a, b)


def test_large_sets_hold_the_cells_that_occur():
    rng = np.random.default_rng(0)
    levels = tuple(f"{k:02}" for k in range(30))
    columns = tuple(rng.integers(0, 30, 500).astype(np.uint8) for _ in range(16))
    data = Dataset(tuple(Variable(f"v{j:02}", levels) for j in range(16)), columns)
    counts = counted(data, data.names)
    assert counts.counts.sum() == 500
    mine, theirs = CountFileCounter(counts, threads=1), MemoryCounter(data, threads=1)
    for wanted in (TableSet((0, 3), (1, 2)), TableSet((5,), (7, 8, 9))):
        (a,), (b,) = (list(counter.tables([wanted])) for counter in (mine, theirs))
        assert np.array_equal(a.table, b.table)
        assert np.array_equal(a.configs, b.configs)
    triples = [(0, 3, (1, 2)), (4, 2, (0, 1, 3, 5, 6, 7)), (1, 0, ())]
    found, expected = (counter.statistics(triples) for counter in (mine, theirs))
    assert found.floats.tobytes() == expected.floats.tobytes()
    assert found.ints.tobytes() == expected.ints.tobytes()
    with pytest.raises(CannotAnswer, match="counting 'v00'"):
        counted(data, data.names, max_memory=10_000)


def test_what_cannot_be_counted(small):
    with pytest.raises(UsageError, match="fractional"):
        counted(replace(small, weights=np.ones(4, dtype=np.int64), unit=0.5), ("A",))
    with pytest.raises(UsageError, match="column 'D' not found"):
        counted(small, ("A", "D"))
    with pytest.raises(CannotAnswer, match="`max_memory`"):
        counted(small, ("A", "B"), max_memory=40)


def test_small_cells(small):
    counts = counted(small, ("A",), ("A", "B"))
    require_large_cells(counts, 1)
    with pytest.raises(CannotAnswer, match="1 of 2 tables .*: 'A', 'B' has 1"):
        require_large_cells(counts, 2)


def test_values_of_rows_that_were_left_out():
    column = CountedColumn("A", ("rare", "x", "y"))
    with pytest.raises(CannotAnswer, match="left out have the values 'rare' of column 'A'"):
        require_large_cells(made_of(column, (1, 20), (2, 20)), 5)
    declared = replace(column, source=DECLARED)
    require_large_cells(made_of(declared, (1, 20), (2, 20)), 5)


def test_tables_that_leave_out_few_rows_of_what_they_share():
    """A, B and a column without gaps tell of A and B, which no table is of."""
    gaps = {"xu": 50, "yu": 50, "xv": 50, "yv": 1}
    cells = [(a, b, k < gaps[a + b]) for a in "xy" for b in "uv" for k in range(100)]
    data = dataset(A=[a for a, _, _ in cells], B=[b for _, b, _ in cells], D="d" * 400)
    column = np.where([gap for _, _, gap in cells], 255, 0).astype(np.uint8)
    data = Dataset((*data.variables, Variable("C", ("c",))), (*data.columns, column))
    require_large_cells(counted(data, ("A", "C"), ("B", "C")), 10)
    for other in (("A", "B"), ("A", "B", "D")):
        both = counted(data, other, ("A", "B", "C"))
        with pytest.raises(CannotAnswer, match="and of 'A', 'B', 'C' differ by 1 row in a cell"):
            require_large_cells(both, 10)


def test_no_numbers_among_labels_that_were_counted(small):
    counter = CountFileCounter(counted(small, ("A", "B")), columns=("A", "B"))
    with pytest.raises(UsageError, match="'A' has labels, not numbers"):
        counter.moments([0])
    with pytest.raises(UsageError, match="column 'D' not found"):
        CountFileCounter(counted(small, ("A", "B")), columns=("A", "D"))
    assert counter.unit == 1
    assert counter.digest is None


# ---------------------------------------------------------------------- damage


def damaged(counts, **changes):
    """The bytes of a file whose description or table was tampered with."""
    table = pq.read_table(pa.BufferReader(encode_counts(counts)))
    about = json.loads(table.schema.metadata[b"gml/1"])
    for name, value in changes.items():
        if name in about:
            about[name] = value
        else:
            j = table.schema.get_field_index(name)
            kind = pa.list_(pa.uint16()) if name == "codes" else table.schema.field(j).type
            table = table.set_column(j, name, pa.array(value, type=kind))
    table = table.replace_schema_metadata({b"gml/1": json.dumps(about).encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"count": [2, 0]}, "positive"),
        ({"count": [2, 3]}, "fewer or more rows"),
        ({"set": [0, 1]}, "in order of their sets"),
        ({"set": [0, -1]}, "in order of their sets"),
        pytest.param(
            {"codes": [[0], [2]]}, "not the code of a level", id="changes4-not that of a level"
        ),
        ({"codes": [[0], [0, 1]]}, "fewer or more codes"),
        ({"codes": [[0], None]}, "null"),
        ({"codes": [[0], [None]]}, "null"),
        ({"rows": -4}, "number of rows"),
        ({"rows": "4"}, "number of rows"),
        ({"columns": []}, "'C'"),
        ({"columns": 7}, "int"),
        pytest.param({"sets": [["C", "C"]]}, "names in order", id="changes12-names in their order"),
        pytest.param(
            {"sets": [["A", "B"], ["C"]]}, "not in order", id="changes13-not in their order"
        ),
        pytest.param({"sets": [[]]}, "names in order", id="changes14-names in their order"),
        ({"options": {"missing": "often"}}, "often"),
        ({"options": {}}, "missing"),
        ({"data": [3]}, "not text"),
    ],
)
def test_damaged_files(tmp_path, small, changes, what):
    path = tmp_path / "c.parquet"
    path.write_bytes(damaged(counted(small, ("C",)), **changes))
    with pytest.raises(DataError, match="damaged count file") as caught:
        read_counts(path)
    assert what in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_are_no_count_files(tmp_path, small):
    (tmp_path / "text.csv").write_text("A,B\n1,2\n")
    pq.write_table(pa.table({"A": [1]}), tmp_path / "rows.parquet")
    whole = encode_counts(counted(small, ("C",)))
    (tmp_path / "cut.parquet").write_bytes(whole[:-40] + b"PAR1")
    for name in ("text.csv", "rows.parquet", "cut.parquet", "none.parquet"):
        with pytest.raises(DataError, match=name):
            read_counts(tmp_path / name)
    write_counts(counted(small, ("C",)), tmp_path / "c.parquet")
    with pytest.raises(CannotAnswer, match="`max_memory`"):
        read_counts(tmp_path / "c.parquet", max_memory=10)


# ---------------------------------------------------------------------- merging


def test_levels_are_united_in_their_order():
    parts = [counted(dataset(A=cells), ("A",)) for cells in (["10", "9"], ["1", "9", "9"])]
    merged = merge_counts(parts)
    assert merged.columns[0].levels == ("1", "9", "10")
    assert merged.cells(0)[1].tolist() == [1, 3, 1]
    comma = CountOptions(decimal=",")
    parts = [
        counted(dataset(A=cells), ("A",), options=comma) for cells in (["1,5", "10"], ["2", "1,25"])
    ]
    assert merge_counts(parts).columns[0].levels == ("1,25", "1,5", "2", "10")


def test_the_level_of_missing_values_stays_last():
    with_na = made_of(CountedColumn("A", ("x", "NA"), na=True), (0, 1), (1, 2))
    without = made_of(CountedColumn("A", ("a", "x", "z")), (0, 1), (1, 1), (2, 1))
    for files in ([with_na, without], [without, with_na]):
        merged = merge_counts(files)
        assert merged.columns[0] == CountedColumn("A", ("a", "x", "z", "NA"), na=True)
        assert merged.cells(0)[1].tolist() == [1, 2, 1, 2]
    label = made_of(CountedColumn("A", ("NA", "x")), (0, 1))
    with pytest.raises(DataError, match="'NA' is a label in one file"):
        merge_counts([with_na, label])


def test_declared_levels_agree():
    declared = made_of(CountedColumn("A", ("x", "y"), DECLARED), (0, 1))
    others = made_of(CountedColumn("A", ("y", "x"), DECLARED), (0, 1))
    from_data = made_of(CountedColumn("A", ("x",)), (0, 1))
    chosen = made_of(CountedColumn("A", ("[-inf,1)", "[1,inf)"), CUT), (0, 1))
    assert merge_counts([declared, declared]).columns == declared.columns
    assert merge_counts([chosen]).columns == chosen.columns
    with pytest.raises(DataError, match="second and first declare different levels of column 'A'"):
        merge_counts([declared, others], ["first", "second"])
    with pytest.raises(DataError, match="declared in one of them only"):
        merge_counts([declared, from_data])
    with pytest.raises(DataError, match="chosen from the data of this file"):
        merge_counts([chosen, chosen])


def test_labels_that_would_have_been_cut():
    def numbers(*labels):
        cells = ((code, 1) for code in range(len(labels)))
        file = made_of(CountedColumn("A", labels), *cells)
        return replace(file, options=CountOptions(bins=3))

    assert merge_counts([numbers("1", "2"), numbers("2", "3")]).n == 4
    assert merge_counts([numbers("1", "2"), numbers("a", "b")]).n == 4
    with pytest.raises(DataError, match="4 different numbers in all files, more than `bins` 3"):
        merge_counts([numbers("1", "2"), numbers("3", "4")])


def test_too_many_rows_or_levels():
    huge = made_of(CountedColumn("A", ("x",)), (0, 2**52))
    with pytest.raises(DataError, match="more than a count file can hold"):
        merge_counts([huge, huge])
    parts = [
        made_of(CountedColumn("A", tuple(f"{which}{k}" for k in range(40_000))), (0, 1))
        for which in "ab"
    ]
    with pytest.raises(DataError, match="more than 65535 levels"):
        merge_counts(parts)


# ---------------------------------------------------------------------- other levels


def test_declared_recodings():
    file = made_of(
        CountedColumn("A", ("1", "2", "30", "NA"), na=True), (0, 1), (1, 1), (2, 1), (3, 1)
    )

    def new(**schema):
        found = declared_recoding(file, "A", ReadOptions(levels=Schema(**schema)), "c.parquet")
        return None if found is None else (found[0], found[1].tolist())

    assert new() is None
    assert new(levels={"B": ("1",)}) is None
    assert new(levels={"A": ("30", "2", "1", "0")}) == (("30", "2", "1", "0", "NA"), [2, 1, 0, 4])
    assert new(levels={"A": ("NA", "30", "2", "1")}) == (("NA", "30", "2", "1"), [3, 2, 1, 0])
    intervals = ("[-inf,2)", "[2,20)", "[20,inf)")
    assert new(cuts={"A": (2.0, 20.0)}) == ((*intervals, "NA"), [0, 1, 2, 3])
    assert new(intervals={"A": intervals}) == ((*intervals, "NA"), [0, 1, 2, 3])
    with pytest.raises(DataError, match="c.parquet: column 'A': level '30' not found"):
        new(levels={"A": ("1", "2")})
    with pytest.raises(DataError, match="not a number within them"):
        new(intervals={"A": intervals[:2]})


def test_levels_without_rows_need_no_declaration():
    file = made_of(CountedColumn("A", ("a", "b", "c"), DECLARED), (0, 1), (2, 1))
    schema = with_levels(Schema(), {"A": ("c", "a")})
    found = declared_recoding(file, "A", ReadOptions(levels=schema), "c.parquet")
    assert found is not None
    counter = CountFileCounter(file, recodings={"A": found})
    (counts,) = counter.tables([TableSet((0,))])
    assert counts.table.tolist() == [[1, 1]]


def test_intervals_that_join_levels(small):
    counts = counted(dataset(A=["1", "2", "3", "3"], B="xyxy"), ("A", "B"))
    joined = (("[-inf,3)", "[3,inf)"), np.array([0, 0, 1]))
    counter = CountFileCounter(counts, recodings={"A": joined})
    (table,) = counter.tables([TableSet((0, 1))])
    assert table.table.tolist() == [[[1, 1], [1, 1]]]
    assert counter.pair_statistics(np.array([[0, 1]])).g.tolist() == [0.0]


def test_given_more_levels():
    counter = CountFileCounter(counted(dataset(A=["1", "2", "2"]), ("A",)))
    more = counter.with_levels({"A": ("0", "1", "2")}).with_levels({"A": ("2", "1", "0")})
    (table,) = more.family_tables([(0, ())])
    assert table.tolist() == [[2, 1, 0]]


def test_some_of_the_columns():
    rows = dataset(A="xyxy", B="0101", C="aabb")
    gaps = rows.columns[1].copy()
    gaps[0] = 255
    data = Dataset(rows.variables, (rows.columns[0], gaps, rows.columns[2]))
    counter = CountFileCounter(counted(data, ("A",), ("B",), ("C",), ("A", "C")), where="c.parquet")
    assert counter.missing
    recoded = counter.with_levels({"C": ("b", "a")})
    chosen = recoded.select(["C", "A"])
    assert isinstance(chosen, CountFileCounter)
    assert not chosen.missing
    assert (chosen.where, chosen.n) == ("c.parquet", 4)
    assert [(v.name, v.levels) for v in chosen.variables] == [("C", ("b", "a")), ("A", ("x", "y"))]
    (table,) = chosen.tables([TableSet((0, 1))])
    assert table.table.tolist() == [[[1, 1], [1, 1]]]
    assert chosen.select(["A"]).select([]).variables == ()
    with pytest.raises(UsageError, match="column 'B' not found"):
        chosen.select(["B"])


@pytest.mark.parametrize("policy", ["error", "level", "available"])
def test_rows_that_were_chosen_are_all_that_is_counted(tmp_path, policy):
    rows = [
        f"{'xyz'[k % 3]},{'?' if k % 7 == 0 and policy != 'error' else 'pq'[k % 2]}"
        for k in range(90)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["A,B", *rows]) + "\n")
    data = gml.read(tmp_path / "d.csv", missing=policy)
    part = np.arange(90) < 40
    counts = [
        gml.count(some, sets=[("A", "B")]) for some in (data, data.rows(part), data.rows(~part))
    ]
    assert [(found.n, found.dropped) for found in counts] == [(90, 0), (40, 0), (50, 0)]
    assert [found.missing.get("B", 0) for found in counts] == (
        [0] * 3 if policy == "error" else [13, 6, 7]
    )
    assert encode_counts(gml.merge(*counts[1:])) == encode_counts(counts[0])


def test_counts_of_rows_that_were_dropped_when_read(tmp_path):
    (tmp_path / "d.csv").write_text("A,B\n" + ("x,p\n" * 9 + "NA,q\n" + "y,q\n" * 9 + "x,-\n") * 5)
    reading = {"missing": "drop", "na": ["NA", "-"]}
    of_file, of_rows = (
        gml.count(data, sets=[("A", "B")], **how)
        for data, how in (
            (tmp_path / "d.csv", reading),
            (gml.read(tmp_path / "d.csv", **reading), {}),
        )
    )
    assert (of_rows.n, of_rows.dropped, of_rows.missing) == (90, 10, {"A": 5, "B": 5})
    assert encode_counts(replace(of_rows, data=of_file.data)) == encode_counts(of_file)


# ---------------------------------------------------------------------- sets by name


def test_column_sets():
    text = '\ufeffa,b\r\n# c,d\n\n  # e\n"x,y","#z"\n'.removeprefix("\ufeff")
    sets = parse_column_sets(text, "s.csv")
    assert [found.names for found in sets] == [("a", "b"), ("x,y", "#z")]
    assert sets[1].where == "s.csv: line 5"
    for bad, what in (('a,"b', "line 1: not a list"), ("a,b,a", "'a' twice"), ("# a\n", "no set")):
        with pytest.raises(DataError, match=what):
            parse_column_sets(bad, "s.csv")
