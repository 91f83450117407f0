"""What commands say about the tables they are given."""

from __future__ import annotations

import json

import pytest

import gml as library
from tests.command_line import error_line

COMMANDS = {
    "pc": ("pc", "d.csv"),
    "hc": ("hc", "d.csv"),
    "chowliu": ("chowliu", "d.csv"),
    "indtest": ("indtest", "d.csv", "a", "b"),
    "count": ("count", "d.csv", "--pairs", "-o", "c.parquet"),
    "score": ("score", "d.csv", "g.dot"),
    "fit-params": ("fit-params", "d.csv", "g.dot"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_rows_dropped_are_always_told(gml, tmp_path, command):
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    (tmp_path / "d.csv").write_text("a,b\n" + "x,u\ny,v\nx,v\ny,u\n" * 12 + "NA,u\n,v\n")
    said = b"gml: 2 of 50 rows dropped for missing values (4%), 2 of them missing 'a'\n"
    done = gml(*command, "--missing", "drop")
    assert done.returncode == 0
    assert done.stderr == said
    assert gml(*command, "--missing", "drop", "-q").stderr == b""


def test_one_row_has(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,c\n" + "x,u,1\n" * 10 + "y,v,2\n" * 10)
    (tmp_path / "g.dot").write_text("digraph { a -> b; c }")
    (tmp_path / "new.csv").write_text("a,b\nx,v\n")
    gml("fit-params", "d.csv", "g.dot", "-o", "m.json")
    done = gml("query", "m.json", "--batch", "new.csv", "--target", "c")
    assert b"1 row of evidence of probability 0 has no answer" in done.stderr


@pytest.mark.parametrize("header", ["a;b", "a\tb"])
def test_one_column_with_other_delimiters(gml, tmp_path, header):
    (tmp_path / "d.csv").write_text(f"{header}\n1{header[1]}2\n")
    option = {";": "';'", "\t": "tab"}[header[1]]
    for command in ("pc", "hc", "chowliu", "profile"):
        line = error_line(gml(command, "d.csv"), 3)
        assert f"say --delimiter {option} to split it, or --delimiter ',' if it is one" in line
    assert gml("profile", "d.csv", "-d", ",").returncode == 0


NOT_TABLES = {
    "digraph { a -> b }": "a DOT graph",
    "// mine\nstrict graph g {\n": "a DOT graph",
    'digraph "x y" {\n': "a DOT graph",
    "network unknown {\n}\nvariable a {\n": "a BIF model",
    "net\n{\n}\nnode a\n{\n": "a NET model",
    '{"directed": true, "nodes": []}': "a JSON file",
    '<?xml version="1.0"?>\n<graphml>': "a GraphML graph",
    '<?xml version="1.0"?>\n<!DOCTYPE BIF [\n<!ELEMENT BIF ( NETWORK )*>\n]>\n<BIF>': "an XMLBIF model",
    "<!doctype html><html>": "an XML or HTML file",
}


@pytest.mark.parametrize("start", NOT_TABLES)
def test_graphs_are_no_tables(gml, tmp_path, start):
    (tmp_path / "x").write_text(start + "\n")
    line = error_line(gml("pc", "x"), 3)
    assert line == f"gml: error: x: this is {NOT_TABLES[start]}, not a table\n"
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    assert "not a table" in error_line(gml("score", "x", "g.dot"), 3)


@pytest.mark.parametrize("header", ["graph,net", "network", "digraph", "{a},b", "class node,x"])
def test_tables_are_no_graphs(gml, tmp_path, header):
    (tmp_path / "d.csv").write_text(
        header + "\n" + "1,2\n"[: 2 * len(header.split(",")) - 1] + "\n"
    )
    assert gml("profile", "d.csv").returncode == 0


def test_a_folder_without_tables(gml, tmp_path):
    (tmp_path / "d").mkdir()
    line = error_line(gml("pc", "d"), 3)
    assert line == "gml: error: d: a folder without Parquet files; name a table\n"


def test_byte_order_marks_under_other_encodings(gml, tmp_path):
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbfa,b\nx,1\n")
    for encoding in ("latin-1", "cp1252", "utf-16"):
        line = error_line(gml("profile", "d.csv", "--encoding", encoding), 3)
        assert "the byte order mark of UTF-8" in line
        assert line.endswith("leave out --encoding\n")
    assert gml("profile", "d.csv").returncode == 0
    (tmp_path / "d.csv").write_text("a,b\nx,1\n", encoding="utf-16")
    assert "say --encoding utf-16" in error_line(gml("profile", "d.csv", "--encoding", "cp1252"), 3)
    assert gml("profile", "d.csv", "--encoding", "utf-16").returncode == 0


def test_why_there_are_no_rows(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n")
    assert error_line(gml("pc", "d.csv"), 4) == "gml: error: d.csv: has a header, but no rows\n"
    (tmp_path / "d.csv").write_text("a,b\n1,NA\n")
    done = gml("pc", "d.csv", "--missing", "drop", "-q")
    assert "--missing drop leaves too few rows: 0 of 1 row is complete" in error_line(done, 4)
    (tmp_path / "d.csv").write_text("a,w\n1,0\n")
    assert "all weigh 0" in error_line(gml("pc", "d.csv", "--weights", "w", "-q"), 4)


def test_names_that_lists_take_apart(gml, tmp_path):
    (tmp_path / "d.csv").write_text('"a,b",c,d\n1,2,3\n')
    assert "did you mean 'c', without blanks?" in error_line(gml("pc", "d.csv", "-c", "d, c"), 2)
    line = error_line(gml("indtest", "d.csv", "c", "d", "-z", "a,b"), 2)
    assert """put a name with a comma in double quotes: '"a,b"'""" in line
    assert gml("profile", "d.csv", "-c", '"a,b"').returncode == 0


NUMBERS_BY = {
    "pc": ("pc", "n.csv", "--test fisher-z"),
    "hc": ("hc", "n.csv", "--score bic-g"),
    "ges": ("ges", "n.csv", "--score bic-g"),
    "exact": ("exact", "n.csv", "--score bic-g"),
    "average": ("average", "n.csv", "--by", "hc", "--score bic-g"),
    "indtest": ("indtest", "n.csv", "a", "b", "--test fisher-z"),
    "score": ("score", "n.csv", "g.dot", "--score bic-g"),
    "fit-params": ("fit-params", "n.csv", "g.dot", "--gaussian"),
}


@pytest.mark.parametrize("command", NUMBERS_BY.values(), ids=NUMBERS_BY)
def test_a_table_of_numbers_is_told_what_takes_numbers(gml, tmp_path, command):
    rows = [f"{i / 7:.4f},{(i * i) % 997 / 3:.4f}" for i in range(400)]
    (tmp_path / "n.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    *words, option = command
    assert gml(*words, "-q").returncode == 0
    words += ["--kinds", "labels"]
    line = error_line(gml(*words), 3)
    assert f"cut numbers into intervals (--bins 5), take them as numbers ({option})" in line
    assert gml(*words, *option.split(), "-q").returncode == 0
    (tmp_path / "n.csv").write_text("a,b\n" + "\n".join(f"x{row}" for row in rows) + "\n")
    line = error_line(gml(*words), 3)
    assert "--exclude 'a" in line
    (tmp_path / "n.csv").write_text("a,b\n" + "\n".join(f"x{i},x{i}" for i in range(400)) + "\n")
    line = error_line(gml(*words), 3)
    assert "leave them out (--exclude 'a,b') or raise --max-levels" in line


def test_columns_to_leave_out_are_a_list_in_python(tmp_path):
    (tmp_path / "d.csv").write_text('id,"n,o",x\n' + "".join(f"u{i},v{i},1\n" for i in range(300)))
    with pytest.raises(library.DataError, match=r"leave them out \(`exclude=\['id', 'n,o'\]`\)"):
        library.read(tmp_path / "d.csv")


def test_columns_to_leave_out_are_one_record_in_the_shell(gml, tmp_path):
    (tmp_path / "d.csv").write_text('id,"n,o",x\n' + "".join(f"u{i},v{i},1\n" for i in range(300)))
    assert """(--exclude 'id,"n,o"')""" in error_line(gml("pc", "d.csv"), 3)


def test_columns_without_values_have_levels(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,c\n" + "x,u,\ny,v,\n" * 10)
    for command in (("pc",), ("profile",)):
        done = gml(
            *command,
            "d.csv",
            *(["--missing", "available"] * (command == ("pc",))),
            "-f",
            "json",
            "-q",
        )
        assert done.returncode == 0
        content = json.loads(done.stdout)
        if "nodes" in content:
            assert {node["id"]: node["levels"] for node in content["nodes"]}["c"] == []
        else:
            assert content["columns"]["c"]["levels"] == []


MIXED = "day,kind,size,mass,flat\n" + "".join(
    f"2024-{k // 28 % 12 + 1:02}-{k % 28 + 1:02},{'uv'[k % 2]},{k / 4},{k * k % 97 / 2},3\n"
    for k in range(90)
)


@pytest.mark.parametrize("command", ["ges", "pc"])
def test_numbers_beside_text_are_advised_by_name(gml, tmp_path, command):
    (tmp_path / "d.csv").write_text(MIXED)
    labels = ("--kinds", "labels")
    said = gml(command, "d.csv", *labels).stderr.decode()
    assert "'day' (90)" in said
    assert "cut numbers with --bins, or take them as numbers (--numeric 'mass,size')\n" in said
    done = gml(command, "d.csv", "--numeric", "mass,size", "--exclude", "day,flat")
    assert done.returncode == 0
    said = gml(command, "d.csv", "-c", "day,kind", *labels).stderr.decode()
    assert "'day' (90); leave out what tells only rows apart (--exclude)\n" in said


def test_identifiers_beside_text_are_advised_by_name(gml, tmp_path):
    rows = "".join(f"{k / 4},2024-01-01 {k},{'uv'[k % 2]}\n" for k in range(300))
    (tmp_path / "d.csv").write_text(f"size,time,kind\n{rows}")
    line = error_line(gml("ges", "d.csv", "--kinds", "labels"), 3)
    assert "take numbers as numbers (--numeric 'size') or raise --max-levels" in line


@pytest.mark.parametrize("words", [("ges", "--score", "bic-g"), ("pc", "--test", "fisher-z")])
def test_text_under_a_method_for_numbers_is_told_of_both_kinds(gml, tmp_path, words):
    (tmp_path / "d.csv").write_text(MIXED)
    command, *method = words
    line = error_line(gml(command, "d.csv", *method, "--exclude", "flat"), 3)
    assert "hold text: leave them out (--exclude 'day,kind'), or, to have labels beside" in line
    assert "say --numeric 'size,mass' in place of a method for numbers alone" in line
    # What has no other method has no other way.
    line = error_line(gml("glasso", "d.csv", "--exclude", "flat"), 3)
    assert line.endswith("leave them out (--exclude 'day,kind')\n")


WORDS = {
    "token": ("1.5\nn.d.\n2.5\n", ".", "'n.d.' is not a number; --na 'n.d.' makes it missing"),
    "two": ("1.5\nn.d.\n2\nk.A.\n", ".", "; --na 'k.A.' and --na 'n.d.' make them missing"),
    "thousands": (
        '1.5\n"1,234"\n2.5\n',
        ".",
        "'1,234' is not a number; other numbers have a decimal point: write thousands without ','",
    ),
    "decimals": (
        '3\n"1,5"\n"2,5"\n',
        ".",
        "is not a number; say --decimal ',' for a decimal comma",
    ),
    "point": ('3\n"1,5"\n1.25\n', ",", "'1.25' is not a number"),
    "many": ("1\n2\n3\n4\na\nb\nc\nd\n", ".", "'a' is not a number"),
}


@pytest.mark.parametrize("case", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("method", [("--score", "bic-g"), ("--numeric", "v")])
def test_words_among_numbers(gml, tmp_path, case, method):
    cells, decimal, said = case
    (tmp_path / "d.csv").write_text("v\n" + cells)
    line = error_line(gml("ges", "d.csv", "--decimal", decimal, *method), 3)
    assert line.endswith(f"{said}\n")


@pytest.mark.parametrize("command", ["ges", "hc", "exact"])
def test_a_constant_number_is_refused_without_a_warning(gml, tmp_path, command):
    (tmp_path / "d.csv").write_text(MIXED)
    done = gml(command, "d.csv", "-c", "size,mass,flat", "--score", "bic-g")
    assert done.stderr.decode() == (
        "gml: error: column 'flat' has only one value, so no normal distribution fits; leave it "
        "out (--exclude 'flat')\n"
    )
    # A label with one level has a score, and the warning.
    done = gml(command, "d.csv", "-c", "kind,flat")
    assert b"only one value, so independent of everything: 'flat'\n" in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", b"this is a PDF document, not a table"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"this is a PNG picture, not a table"),
        (b"\x93NUMPY\x01\0v\0\n", b"this is not a text file"),
        (b"caf\xe9,th\xe9\n1,2\n", b"try --encoding cp1252"),
    ],
)
def test_a_file_that_is_no_text_gets_no_hint_about_encodings(gml, tmp_path, content, said):
    (tmp_path / "data.csv").write_bytes(content)
    done = gml("pc", tmp_path / "data.csv")
    assert done.returncode == 3 and said in done.stderr
