"""Reading tables: every data option, and the message of every error."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import missing_mask
from gml.data.discretize import parse_binning
from gml.data.options import ReadOptions
from gml.data.reading import read_dataset
from gml.data.schema import Schema, parse_schema
from gml.errors import DataError, GmlWarning, UsageError


@pytest.fixture
def table(tmp_path):
    """Write bytes or text to a file and read it, with all columns categorical."""

    def read(content, name="t.csv", *, kinds="labels", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return gml.read(path, kinds=kinds, **options)

    return read


def labels(dataset, j=0):
    """Labels of a column, None for missing."""
    levels = dataset.variables[j].levels
    gone = missing_mask(dataset.columns[j])
    return [None if m else levels[c] for c, m in zip(dataset.columns[j], gone, strict=True)]


def test_levels_and_codes(table):
    data = table("A,B\n10,x\n9,y\n10,x\n")
    assert data.names == ("A", "B")
    assert data.variables[0].levels == ("9", "10")
    assert data.columns[0].tolist() == [1, 0, 1]
    assert data.columns[0].dtype == np.uint8
    assert data.n == data.n_rows == 3


@pytest.mark.parametrize(
    "compress",
    [lambda b: b, gzip.compress, bz2.compress, lzma.compress],
    ids=["", "gz", "bz2", "xz"],
)
def test_compression_is_recognised_by_content(table, compress):
    content = compress(b"A,B\n" + b"x,1\ny,2\n" * 200_000)
    assert table(content, name="anything").n == 400_000


def test_zstd(table):
    zstandard = pytest.importorskip("zstandard")
    assert table(zstandard.compress(b"A\nx\ny\n")).n == 2
    with pytest.raises(DataError, match="damaged compressed data"):
        table(
            zstandard.compress(b"A\n" + np.random.default_rng(0).bytes(9999).hex().encode())[:-99]
        )


def test_damaged_compression(table):
    whole = gzip.compress(b"A\n" + bytes(range(48, 58)) * 10_000)
    with pytest.raises(DataError, match="damaged compressed data"):
        table(whole[: len(whole) // 2])


def test_tsv_by_suffix_and_delimiter_by_option(table):
    assert table("A\tB\nx\ty\n", name="t.tsv").names == ("A", "B")
    assert table("A;B\nx;y\n", delimiter=";").names == ("A", "B")


def test_wrong_delimiter_earns_a_hint(table):
    with pytest.raises(DataError, match=r"one column, 'A;B'; say `delimiter=';'` to split it, or"):
        table("A;B\nx;y\n")
    with pytest.raises(DataError, match="say `delimiter='tab'` to split it, or `delimiter=','` if"):
        table("A\tB\nx\ty\n")
    with pytest.raises(DataError, match="say `delimiter=';'` to split it, or `delimiter='tab'` if"):
        table("A;B\nx;y\n", name="t.tsv")
    assert table("A;B\nx;y\n", delimiter=",").names == ("A;B",)
    with pytest.warns(GmlWarning, match="did you mean `delimiter=','`"):
        table("A,B\nx,y\n", name="t.tsv")


@pytest.mark.parametrize(
    "encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-8", "utf-8-sig", "shift_jis"]
)
def test_encodings(table, encoding):
    text = "A,B\n" + ("é,x\n" if "jis" not in encoding else "日本,x\n") * 50_000
    data = table(text.encode(encoding), encoding=encoding)
    assert data.n == 50_000
    assert data.variables[0].levels == (("é",) if "jis" not in encoding else ("日本",))


def test_encoding_errors_name_the_line(table):
    with pytest.raises(DataError, match="line 3: byte 0x81 is not"):
        table(b"A\r\nx\r\ny\x81\r\n", encoding="cp1252")
    big = "A\r\n" + "x\r\n" * 700_000
    with pytest.raises(DataError, match="line 700002: byte"):
        table(big.encode("shift_jis") + b"\x80", encoding="shift_jis")
    with pytest.raises(UsageError, match="unknown encoding"):
        table("A\nx\n", encoding="klingon")
    with pytest.raises(UsageError, match="unknown encoding"):
        table("A\nx\n", encoding="zlib_codec")


def test_bom_and_crlf(table):
    data = table(b"\xef\xbb\xbfA,B\r\nx,1\r\ny,2\r\n")
    assert data.names == ("A", "B")
    assert labels(data) == ["x", "y"]


def test_header_with_quotes_newlines_and_blank_lines_before(table):
    data = table('\n\r\n"A,1","B\n2"\nx,y\n')
    assert data.names == ("A,1", "B\n2")
    with pytest.raises(DataError, match="line 5: 1 field, but the header has 2"):
        table('\n\r\n"A,1","B\n2"\nx\n')


@pytest.mark.parametrize(
    "content,message",
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b'A,"B\nx,y\n', "a quote in the header is never closed"),
        (b"A\xff,B\nx,y\n", "line 1: byte 0xff in the header is not UTF-8"),
        (b"A,B\nx,y\nx\n", "line 3: 1 field, but the header has 2"),
        (b"A,B\nx,y\nx,y,z\n", "line 3: 3 fields, but the header has 2"),
        (b'A,B\n"x\ny",1\nz\n', "line 4: 1 field"),
        (b'A,B\nx,"y\n\n\n', "line 2: column 'B': a quote opens here and is never closed"),
        (b"A,B\nx,y\n\xff,y\n", "line 3: column 'A': byte 0xff in .* is not UTF-8"),
        (b"A,A\nx,y\n", "the header has 'A' more than once"),
        (b"A,\nx,y\n", "a column without a name"),
        (b"PK\x03\x04....", "zip or Excel"),
        ("A,B\nx,y\n".encode("utf-16"), "looks like UTF-16"),
        (b'A,B\n"' + b"x" * (5 << 20), "line 2: column 'A': a field of more than 1 MiB"),
        (b"A\n" + b"x" * (2 << 20) + b"\ny\n", "line 2: column 'A': a field of more than 1 MiB"),
    ],
)
def test_broken_files(table, content, message):
    with pytest.raises(DataError, match=message) as caught:
        table(content)
    assert "\n" not in str(caught.value)


def test_columns_and_exclude(table):
    text = "A,B,C\nx,y,z\n"
    assert table(text, columns=("C", "A")).names == ("C", "A")
    assert table(text, exclude=("B",)).names == ("A", "C")
    assert table("A,B,B\nx,y,z\n", columns=("A",)).names == ("A",)
    assert table("A,,\nx,y,z\n", exclude=("",)).names == ("A",)
    for bad in (
        {"columns": ("D",)},
        {"exclude": ("D",)},
        {"weights": "D"},
        {"columns": ("A", "A")},
    ):
        with pytest.raises(UsageError):
            table(text, **bad)
    with pytest.raises(UsageError, match="no columns are left"):
        table(text, exclude=("A", "B", "C"))
    with pytest.raises(UsageError, match="did you mean 'Colour'"):
        table("Colour,B\nx,y\n", columns=("colour",))


def test_broken_cells_of_unused_columns_do_not_matter(table):
    text = b"A,B\nx,\xff\ny,NA\n"
    assert labels(table(text, columns=("A",))) == ["x", "y"]


def test_default_missing_tokens(table):
    text = "A,B\n" + "".join(
        f"{t},x\n"
        for t in ["", '""', "NA", "N/A", "NaN", "nan", "null", "NULL", "?", " ? ", '" NA"']
    )
    data = table(text + "None,x\nna,x\n", missing="available")
    assert labels(data) == [None] * 11 + ["None", "na"]


def test_own_missing_tokens_replace_the_list(table):
    data = table("A,B\nNA,x\n-9,x\n -9 ,x\n", na=("-9",), missing="available")
    assert labels(data) == ["NA", None, None]


def test_labels_keep_their_spaces(table):
    said = r"differ only in the blanks .*: column 'A' has ' x' and 'x' and 'x '; `strip` takes blanks off$"
    with pytest.warns(GmlWarning, match=said):
        assert labels(table("A,B\n x,1\nx ,1\nx,1\n")) == [" x", "x ", "x"]
    # Blanks alone, or those of declared levels, are nothing to worry about.
    assert labels(table("A\n x\ny\n")) == [" x", "y"]
    declared = schema(A={"levels": ["x", " x"]})
    assert labels(table("A\n x\nx\n", levels=declared)) == [" x", "x"]


def test_missing_error_counts_by_column(table):
    with pytest.raises(DataError, match="'A' 2, 'C' 1; choose `missing='drop'`"):
        table("A,B,C\n,x,1\nNA,x,?\n")


def test_missing_drop_looks_at_used_columns_only(table):
    text = "A,B,C\n,x,1\na,x,?\nb,x,2\n"
    with pytest.warns(
        GmlWarning,
        match=r"2 of 3 rows dropped for missing values \(66.7%\), 1 of them missing 'A'",
    ):
        assert table(text, missing="drop", min_complete=1).n == 1
    with pytest.warns(GmlWarning, match="1 of 3 rows dropped"):
        assert labels(table(text, missing="drop", columns=("A", "B"))) == ["a", "b"]
    few = "A\n" + "x\n" * 9 + '""\n'
    assert table(few, missing="drop").n == 9


def test_missing_level(table):
    data = table("A,B\n,x\na,x\n", missing="level")
    assert data.variables[0].levels == ("a", "NA")
    assert labels(data) == ["NA", "a"]
    assert data.variables[1].levels == ("x",)
    with pytest.raises(DataError, match="already a label"):
        table("A,B\n,x\nNA,x\n", missing="level", na=("",))


def test_missing_level_beyond_255(table):
    text = "A\n" + "".join(f"v{i}\n" for i in range(255)) + "NA\n"
    data = table(text, missing="level")
    assert data.columns[0].dtype == np.uint16
    assert labels(data)[-1] == "NA"
    assert labels(data)[0] == "v0"


def test_weights(table):
    with pytest.warns(GmlWarning, match="only rows of weight 0 have: 'y' of column 'A'$"):
        data = table("A,w\nx,2\ny,0\nx,1\n", weights="w")
    assert data.names == ("A",)
    assert data.weights.tolist() == [2, 1]
    assert data.variables[0].levels == ("x", "y")
    assert data.n == 3
    for bad, said in (
        ("-1", "'-1', but weights must be whole numbers, 0 or more$"),
        ("1.5", "'1.5', but weights must be whole numbers, 0 or more .*`weights_fractional`"),
        ("NA", "the weight is missing; give 0 for a row that does not count"),
    ):
        with pytest.raises(DataError, match=f"line 3: column 'w': {said}"):
            table(f"A,w\nx,2\ny,{bad}\n", weights="w")
    for large in ("1e30", "9007199254740992", "9007199254740993"):
        with pytest.raises(
            DataError, match=rf"line 3: .*'{large}', but weights must be below 2\^53"
        ):
            table(f"A,w\nx,2\ny,{large}\n", weights="w")
    assert table("A,w\nx,9007199254740990\ny,1\n", weights="w").n == 2**53 - 1
    with pytest.raises(DataError, match=r"add up to 2\^53 or more, which float64 cannot count"):
        table("A,w\nx,9007199254740991\ny,1\n", weights="w")
    with pytest.raises(DataError, match="line 3: column 'w': 'two' is not a number"):
        table("A,w\nx,2\ny,two\n", weights="w")


@pytest.mark.parametrize("kind", ["weights", "weights_fractional"])
def test_rows_without_a_weight_are_dropped_with_those_that_lack_a_value(table, kind):
    text = "A,w\nx,2\ny,\nz,NA\n,1\nx,0\nx,1\n"
    said = "3 of 5 rows dropped for missing values \\(60%\\), 2 of them missing 'w'"
    with pytest.warns(GmlWarning, match=said):
        data = table(text, missing="drop", min_complete=3, **{kind: "w"})
    assert labels(data) == ["x", "x"]
    assert data.in_rows(data.n) == 3
    with pytest.raises(DataError, match="weights must .*data row 2 has -1"):
        table("A,w\nx,2\ny,-1\nx,\n", missing="drop", **{kind: "w"})


@pytest.mark.parametrize("kind", ["weights", "weights_fractional"])
def test_weights_that_a_frame_lacks_are_counted(kind):
    frame = pd.DataFrame({"A": ["x", "y", "x"], "w": [1.0, np.nan, np.nan]})
    with pytest.raises(DataError, match="the weight of 2 rows is missing, first in data row 2; "):
        gml.Dataset.from_frame(frame, **{kind: "w"})


def test_max_levels(table):
    text = "id,A\n" + "".join(f"{i},x\n" for i in range(300))
    with pytest.raises(DataError, match="more than 255 levels, like an identifier, in column 'id'"):
        table(text)
    assert table(text, exclude=("id",)).n == 300
    wide = table(text, max_levels=300)
    assert wide.columns[0].dtype == np.uint16
    assert wide.variables[0].levels[:3] == ("0", "1", "2")
    with pytest.raises(UsageError, match="max_levels"):
        table(text, max_levels=70_000)


def test_bins_cut_columns_with_more_values_than_bins(table):
    text = "A,B,C\n" + "".join(f"{i},{i % 3},{'xyz'[i % 3]}\n" for i in range(10))
    data = table(text, bins=3)
    assert data.variables[0].levels == ("[-inf,3)", "[3,6)", "[6,inf)")
    assert np.bincount(data.columns[0]).tolist() == [3, 3, 4]
    assert data.variables[1].levels == ("0", "1", "2")
    assert data.variables[2].levels == ("x", "y", "z")
    by_width = table(text, bins=2, discretize="width")
    assert by_width.variables[0].levels == ("[-inf,4.5)", "[4.5,inf)")


def test_bins_see_weights_and_not_row_order(table):
    one = table("A,w\n1,8\n2,1\n3,1\n", bins=2, weights="w")
    # more than half of the rows have the smallest value: the rest is kept apart
    assert one.variables[0].levels == ("[-inf,2)", "[2,inf)")
    expanded = table("A\n" + "1\n" * 8 + "2\n3\n", bins=2)
    assert one.variables == expanded.variables
    shuffled = table("A,w\n3,1\n1,8\n2,1\n", bins=2, weights="w")
    assert shuffled.variables == one.variables
    assert sorted(labels(shuffled)) == sorted(labels(one))


def test_bins_on_many_distinct_numbers(table):
    rng = np.random.default_rng(0)
    values = rng.normal(size=80_000)
    data = table("A\n" + "".join(f"{float(v)!r}\n" for v in values), bins=4)
    assert np.bincount(data.columns[0]).tolist() == [20_000] * 4


def test_cut_by_column(table):
    text = "A,B\n" + "".join(f"{i},{i}\n" for i in range(6))
    data = table(text, cut={"A": parse_binning("2,4"), "B": parse_binning("quantile:3")})
    assert data.variables[0].levels == ("[-inf,2)", "[2,4)", "[4,inf)")
    assert data.columns[0].tolist() == [0, 0, 1, 1, 2, 2]
    assert data.columns[1].tolist() == [0, 0, 1, 1, 2, 2]
    # declared cuts keep intervals without a value
    assert len(table(text, cut={"A": parse_binning("2,4,100,200")}).variables[0].levels) == 5
    with pytest.raises(DataError, match="line 2: column 'A': 'x' is not a number"):
        table("A\nx\n1\n", cut={"A": parse_binning("2")})
    for bad in ("3,2", "quantile:1", "thirds:3", "a,b", "nan"):
        with pytest.raises(UsageError):
            parse_binning(bad)


def test_missing_values_of_cut_columns(table):
    data = table("A\n1\n2\nNA\n3\n4\n", bins=2, missing="available")
    assert labels(data) == ["[-inf,3)", "[-inf,3)", None, "[3,inf)", "[3,inf)"]


def test_decimal_comma(table):
    data = table("A;B\n1,5;x\n2,5;x\n3,5;x\n10,5;x\n", delimiter=";", decimal=",", bins=2)
    assert data.variables[0].levels == ("[-inf,3.5)", "[3.5,inf)")
    plain = table("A;B\n10,5;x\n9,5;x\n", delimiter=";", decimal=",")
    assert plain.variables[0].levels == ("9,5", "10,5")


def schema(**columns):
    return parse_schema({"schema": "gml/1", "columns": columns}, "schema")


def test_declared_levels(table):
    declared = schema(A={"levels": ["low", "high", "NA", "never"]})
    data = table("A,B\nhigh,1\nNA,2\nlow,1\n", levels=declared)
    assert data.variables[0].levels == ("low", "high", "NA", "never")
    assert data.columns[0].tolist() == [1, 2, 0]
    with pytest.raises(DataError, match="line 3: column 'A': level 'mid' not found; .*'low'"):
        table("A\nlow\nmid\n", levels=declared)


def test_declared_cuts_and_missing_tokens(table):
    declared = parse_schema(
        {"schema": "gml/1", "columns": {"A": {"cuts": [0, 10]}}, "na": ["-"]}, "schema"
    )
    data = table("A\n-5\n5\n-\n15\n", levels=declared, missing="available")
    assert labels(data) == ["[-inf,0)", "[0,10)", None, "[10,inf)"]


@pytest.mark.parametrize(
    "content",
    [
        [], {}, {"schema": "gml/2"}, {"schema": "gml/1", "columns": []},
        {"schema": "gml/1", "columns": {"A": 1}},
        {"schema": "gml/1", "columns": {"A": {"levels": ["a", "a"]}}},
        {"schema": "gml/1", "columns": {"A": {"levels": [1]}}},
        {"schema": "gml/1", "columns": {"A": {"cuts": [2, 1]}}},
        {"schema": "gml/1", "columns": {"A": {"cuts": ["x"]}}},
        {"schema": "gml/1", "columns": {"A": {"levels": ["a"], "cuts": [1]}}},
        {"schema": "gml/1", "na": "x"},
    ],
)  # fmt: skip
def test_bad_schemas(content):
    with pytest.raises(DataError):
        parse_schema(content, "schema.json")


def test_numeric_reading(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("A,B\n1.5,2\n NA,3\n-1e3,.5\n")
    data = read_dataset(path, ReadOptions(missing="available", kinds="numbers"))
    assert data.variables[0].is_continuous
    np.testing.assert_array_equal(data.columns[0], [1.5, np.nan, -1000.0])
    path.write_text("A,B\n1.5,2\nx,3\n")
    with pytest.raises(DataError, match="line 3: column 'A': 'x' is not a number"):
        read_dataset(path, ReadOptions(kinds="numbers"))
    path.write_text('A,B\n"1,5",2\n')
    with pytest.raises(DataError, match="`decimal=','`"):
        read_dataset(path, ReadOptions(kinds="numbers"))


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    content = pa.table(
        {
            "A": ["x", "y", None, "NA"],
            "n": [1, 2, 10, 1],
            "f": [0.5, 1.5, 2.5, None],
            "b": [True, False, True, True],
            "d": pa.array(["p", "q", "p", "p"]).dictionary_encode(),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(content, path, row_group_size=2)
    data = gml.read(path, missing="available", kinds="labels")
    assert labels(data) == ["x", "y", None, None]
    assert data.variables[1].levels == ("1", "2", "10")
    assert data.variables[2].levels == ("0.5", "1.5", "2.5")
    assert labels(data, 3) == ["true", "false", "true", "true"]
    assert labels(data, 4) == ["p", "q", "p", "p"]
    assert gml.read(path, weights="n", columns=("b",)).n == 14
    folder = tmp_path / "many"
    folder.mkdir()
    pq.write_table(content, folder / "1.parquet")
    pq.write_table(content, folder / "2.parquet")
    assert gml.read(folder, missing="available").n == 8
    with pytest.raises(UsageError, match="column 'Z' not found"):
        gml.read(path, columns=("Z",))
    numbers = pa.table({"v": np.arange(100_000) / 7})
    pq.write_table(numbers, path)
    assert np.bincount(gml.read(path, bins=4).columns[0]).tolist() == [25_000] * 4
    with pytest.raises(DataError, match="like an identifier"):
        gml.read(path, kinds="labels")


def test_frames(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(
        {
            "A": ["10", "9", None, "10"],
            "B": pd.Categorical(["x", "y", "x", "x"], categories=["y", "x", "z"]),
            "w": [1, 2, 3, 4],
            "f": [0.5, np.nan, 1.0, 2.0],
        }
    )
    data = gml.Dataset.from_frame(frame, weights="w", numeric=["f"], missing="available")
    assert data.variables[0].levels == ("9", "10")
    assert labels(data) == ["10", "9", None, "10"]
    assert data.variables[1].levels == ("y", "x", "z")
    assert data.n == 10
    back = data.to_frame()
    assert back["A"].tolist()[:2] == ["10", "9"]
    assert back["A"].isna().tolist() == [False, False, True, False]
    assert list(back["B"].cat.categories) == ["y", "x", "z"]
    again = gml.Dataset.from_frame(back, numeric=["f"], missing="available")
    assert again.variables == data.variables
    for one, other in zip(again.columns, data.columns, strict=True):
        np.testing.assert_array_equal(one, other)


def test_frame_and_file_agree(tmp_path, sample_data):
    import pandas as pd

    frame = pd.read_csv(sample_data / "cancer.csv", dtype=str, keep_default_na=False)
    one, other = gml.Dataset.from_frame(frame), gml.read(sample_data / "cancer.csv")
    assert one.variables == other.variables
    for a, b in zip(one.columns, other.columns, strict=True):
        np.testing.assert_array_equal(a, b)


def test_columns_are_immutable(sample_data):
    data = gml.read(sample_data / "cancer.csv")
    with pytest.raises(ValueError, match="read-only"):
        data.columns[0][0] = 1


def test_blocks_are_the_whole(sample_data):
    data = gml.read(sample_data / "cancer.csv")
    blocks = list(data.blocks(300))
    assert [block.n_rows for block in blocks] == [300] * 6 + [200]
    joined = np.concatenate([block.columns[2] for block in blocks])
    np.testing.assert_array_equal(joined, data.columns[2])


def test_digest_is_of_the_stored_bytes(tmp_path):
    import hashlib

    content = gzip.compress(b"A\n" + b"x\ny\n" * 100_000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    assert gml.read(path, digest=True).digest == hashlib.sha256(content).hexdigest()
    assert gml.read(path).digest is None


def test_schema_file(tmp_path):
    from gml.data.schema import read_schema

    path = tmp_path / "s.json"
    path.write_text(json.dumps({"schema": "gml/1", "columns": {"A": {"levels": ["b", "a"]}}}))
    assert read_schema(path).levels == {"A": ("b", "a")}
    path.write_text("{")
    with pytest.raises(DataError, match="not a JSON file"):
        read_schema(path)
    with pytest.raises(DataError, match="No such file"):
        read_schema(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("text", "first_line"),
    [
        ("a,b\n1,2\n3,4\n", 2),
        ("a,b\n1,2\n3,4", 2),
        ('"a\n",b\r\n1,2\r\n3,4\r\n', 3),
        ("a,b\n1,2\n\n3,4\n", None),
        ('a,b\n1,"2\n"\n3,4\n', None),
        ("a,b\n", 2),
    ],
)
def test_the_line_of_the_first_row_if_rows_are_lines(tmp_path, text, first_line):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode())
    data = gml.read(path)
    assert data.first_line == first_line
    assert data.rows(np.zeros(data.n_rows, dtype=bool)).first_line is None


def test_expected_levels_come_first_and_others_may_follow(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\nNA,10\nz,9\nq,?\n")
    schema = Schema(expected={"a": ("z", "NA", "y"), "b": ("9",)})
    data = gml.read(path, levels=schema, missing="available")
    assert data.variables[0].levels == ("z", "NA", "y", "q")
    assert data.columns[0].tolist() == [1, 0, 3]
    assert data.variables[1].levels == ("9", "10")
    assert data.columns[1].tolist() == [1, 0, 255]
    with pytest.raises(DataError, match="more than 1 levels"):
        gml.read(path, levels=Schema(expected={"a": ("z",)}), max_levels=1, missing="available")


def test_blanks_are_taken_off_if_that_is_asked_for(tmp_path):
    import pandas as pd

    path = tmp_path / "t.csv"
    path.write_text('city , n\n Rome, 1\n"Oslo ", 2\nRome , 1\n NA , 2\n')
    with (
        pytest.warns(GmlWarning, match="labels that differ only in the blanks around them"),
        pytest.warns(GmlWarning, match="all labels begin with a blank in 1 column: ' n'; `strip`"),
    ):
        data = gml.read(path, missing="available")
    assert data.names == ("city ", " n")
    assert data.variables[0].levels == (" Rome", "Oslo ", "Rome ")
    data = gml.read(path, missing="available", strip=True)
    assert data.names == ("city", "n")
    assert labels(data) == ["Rome", "Oslo", "Rome", None]
    assert data.variables[1].levels == ("1", "2")
    with gml.open_stream(path, missing="available", strip=True) as stream:
        assert stream.variables == data.variables
    declared = {"city": ["Oslo", "Rome"]}
    assert labels(gml.read(path, missing="available", strip=True, levels=declared))[0] == "Rome"
    frame = pd.DataFrame({"city": [" Rome", "Oslo ", "Rome "]})
    assert labels(gml.read(frame, strip=True)) == ["Rome", "Oslo", "Rome"]
    as_categories = frame.astype("category")
    assert labels(gml.read(as_categories, strip=True)) == ["Rome", "Oslo", "Rome"]
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    assert labels(gml.read(tmp_path / "t.parquet", strip=True)) == ["Rome", "Oslo", "Rome"]
