"""How a table is read is said once: by a schema, a graph, a model or a file of settings."""

from __future__ import annotations

import json
import random

import pandas as pd
import pytest

import gml as library
from gml.data.schema import parse_schema
from gml.errors import DataError, GmlWarning
from tests.command_line import error_line

DIALECT = ["-d", ";", "--decimal", ",", "--encoding", "cp1252", "--na", "k.A."]
READING = [*DIALECT, "--missing", "drop", "--exclude", "nr", "--numeric", "preis"]


def rows_of(n, seed=1):
    """Rows of two columns of labels and one of numbers, with holes, and a number of the row."""
    rng = random.Random(seed)
    rows = []
    for k in range(n):
        size = rng.choice(["groß", "klein"])
        colour = rng.choice(["grün", "rot"]) if rng.random() < 0.6 else "grün"
        if size == "klein" and rng.random() < 0.5:
            colour = "rot"
        price = f"{rng.gauss(20 if size == 'groß' else 12, 3):.2f}".replace(".", ",")
        rows.append([f"n{k}", size, "k.A." if k % 17 == 3 else colour, price])
    return rows


@pytest.fixture
def table(tmp_path):
    """A table as a German spreadsheet writes it."""
    write(tmp_path / "t.csv", rows_of(300))
    write(tmp_path / "new.csv", rows_of(250, seed=2))
    return tmp_path


def write(path, rows, encoding="cp1252"):
    lines = [["nr", "größe", "farbe", "preis"], *rows]
    path.write_bytes("".join(";".join(line) + "\r\n" for line in lines).encode(encoding))


def ran(done):
    assert done.returncode == 0, done.stderr
    return done


def learning(path):
    return json.loads(path.read_text(encoding="utf-8"))["graph"]["learning"]


# ---------------------------------------------------------------------- schemas


def test_a_schema_says_how_a_table_is_read(gml, table):
    ran(gml("profile", "t.csv", *READING, "-o", "s.json"))
    schema = json.loads((table / "s.json").read_text(encoding="utf-8"))
    said = {name: schema[name] for name in ("delimiter", "decimal", "encoding", "missing")}
    assert said == {"delimiter": ";", "decimal": ",", "encoding": "cp1252", "missing": "drop"}
    assert (schema["exclude"], schema["na"]) == (["nr"], ["k.A."])
    for command in (
        ["pc", "t.csv"],
        ["hc", "t.csv"],
        ["indtest", "t.csv", "--all-pairs"],
        ["hc", "t.csv", "--engine", "stream"],
    ):
        known = ran(gml(*command, *READING, "-f", "text", "-q")).stdout
        assert ran(gml(*command, "--levels", "s.json", "-f", "text", "-q")).stdout == known
        command[1] = "-"
        text = (table / "t.csv").read_bytes()
        piped = gml(*command, "--levels", "s.json", "-f", "text", "-q", stdin=text)
        assert ran(piped).stdout == known
    # A profile by a schema says the same of the next table.
    ran(gml("profile", "new.csv", "--levels", "s.json", "-o", "s2.json"))
    again = json.loads((table / "s2.json").read_text(encoding="utf-8"))
    assert all(again[name] == value for name, value in said.items())


def test_a_schema_without_such_options_says_what_it_said(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\nx,1\ny,2\n")
    content = json.loads(ran(gml("profile", "d.csv", "-f", "json")).stdout)
    assert list(content) == ["schema", "hash", "rows", "columns", "na"]


def test_what_a_frame_has_no_use_for_is_passed_over(gml, table):
    ran(gml("profile", "t.csv", *READING, "-o", "s.json"))
    frame = pd.read_csv(table / "t.csv", sep=";", decimal=",", encoding="cp1252", na_values="k.A.")
    by_frame = library.hc(frame, levels=table / "s.json")
    by_file = library.hc(table / "t.csv", levels=table / "s.json")
    assert list(by_frame.graph.edges) == list(by_file.graph.edges)
    assert by_frame.graph.names == ("größe", "farbe", "preis")
    assert by_frame.score == pytest.approx(by_file.score)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"delimiter": ";;"}, '"delimiter" must be one ASCII character'),
        ({"decimal": "'"}, "\"decimal\" must be '.' or ','"),
        ({"encoding": "klingon"}, "\"encoding\" is no encoding of text: 'klingon'"),
        ({"encoding": 8}, '"encoding" is no encoding of text: 8'),
        ({"missing": "ignore"}, '"missing" must be one of error, drop, level, available, em'),
        ({"exclude": "id"}, '"exclude" is not a list of strings'),
        ({"na": [1]}, '"na" is not a list of strings'),
    ],
)
def test_what_a_schema_cannot_mean(wrong, said):
    with pytest.raises(DataError, match=f"^s.json: {said}"):
        parse_schema({"schema": "gml/1", **wrong}, "s.json")


def test_columns_are_left_out_if_they_are_there_and_not_asked_for(gml, tmp_path):
    (tmp_path / "s.json").write_text('{"schema": "gml/1", "exclude": ["id", "gone"]}')
    (tmp_path / "d.csv").write_text("id,a,b,c\n" + "1,x,u,s\n2,y,v,t\n3,x,v,s\n4,y,u,t\n" * 9)

    def columns(*options):
        done = ran(gml("chowliu", "d.csv", "--levels", "s.json", *options, "-f", "json"))
        return [node["id"] for node in json.loads(done.stdout)["nodes"]]

    assert columns() == ["a", "b", "c"]
    assert columns("--exclude", "b") == ["a", "c"]
    assert columns("-c", "id,a") == ["id", "a"]


def test_commands_that_cannot_fit_by_em_say_so(gml, table):
    (table / "s.json").write_text(
        '{"schema": "gml/1", "delimiter": ";", "decimal": ",", "encoding": "cp1252",'
        ' "na": ["k.A."], "missing": "em", "exclude": ["nr", "preis"]}'
    )
    line = error_line(gml("pc", "t.csv", "--levels", "s.json"), 2)
    assert "--missing em fits a model" in line
    known = ran(gml("hc", "t.csv", *DIALECT, "--exclude", "nr,preis", "--missing", "em", "-q"))
    by_schema = ran(gml("hc", "t.csv", "--levels", "s.json", "-q"))
    assert by_schema.stdout == known.stdout


# ---------------------------------------------------------------------- graphs and models


def test_nothing_is_said_twice_from_a_table_to_a_check(gml, table):
    ran(gml("hc", "t.csv", "--score", "bic-cg", *READING, "-o", "g.json", "-q"))
    ran(gml("fit-params", "t.csv", "g.json", "-o", "m.json", "-q"))
    ran(gml("fit-params", "t.csv", "g.json", *READING[:-2], "-o", "known.json", "-q"))
    assert (table / "m.json").read_bytes() == (table / "known.json").read_bytes()
    assert learning(table / "m.json")["options"]["delimiter"] == ";"
    for command in (
        ["check", "new.csv", "m.json"],
        ["score", "new.csv", "g.json"],
        ["indtest", "new.csv", "--implied", "g.json", "--numeric", "preis"],
    ):
        known = gml(*command, *READING[:-2], "-f", "json", "-q")
        assert known.returncode < 2, known.stderr
        assert gml(*command, "-f", "json", "-q").stdout == known.stdout
    for command in (
        ["query", "m.json", "--predict", "farbe", "--batch", "new.csv"],
        ["impute", "new.csv", "m.json"],
    ):
        known = ran(gml(*command, *DIALECT, "-q"))
        assert ran(gml(*command, "-q")).stdout == known.stdout
    page = ran(gml("report", "new.csv", "m.json", "-q")).stdout
    assert page == ran(gml("report", "new.csv", "m.json", *READING, "-q")).stdout
    with pytest.warns(GmlWarning, match="not in the model, ignored: 'nr'"):
        filled = library.impute(table / "new.csv", table / "m.json")
        predicted = library.query(table / "m.json", batch=table / "new.csv", predict="farbe")
    assert len(filled.cells[0]) == 15 and len(predicted.predicted) == 250


@pytest.mark.parametrize("suffix", ["dot", "graphml"])
def test_other_files_of_graphs_say_it_too(gml, table, suffix):
    ran(gml("hc", "t.csv", "--score", "bic-cg", *READING, "-o", f"g.{suffix}", "-q"))
    ran(gml("fit-params", "t.csv", f"g.{suffix}", "-o", "m.json", "-q"))
    found = learning(table / "m.json")
    assert found["missing"]["policy"] == "drop" and found["options"]["decimal"] == ","
    ran(gml("hc", "t.csv", *READING[:-4], "--exclude", "nr,preis", "-o", "plain.dot", "-q"))
    assert b'exclude="[\\"nr\\", \\"preis\\"]"' in (table / "plain.dot").read_bytes()


def test_a_schema_is_passed_on_by_graphs(gml, table):
    ran(gml("profile", "t.csv", *READING, "-o", "s.json"))
    ran(gml("hc", "t.csv", "--score", "bic-cg", "--levels", "s.json", "-o", "g.json", "-q"))
    assert learning(table / "g.json")["options"] == {
        "decimal": ",", "delimiter": ";", "encoding": "cp1252", "exclude": ["nr"],
        "missing": "drop", "na": ["k.A."], "names": ["bic-cg"],
    }  # fmt: skip
    ran(gml("fit-params", "new.csv", "g.json", "-o", "m.json", "-q"))
    assert gml("check", "new.csv", "m.json").returncode == 0


def test_em_is_passed_on_to_what_can_fit_by_it(gml, table):
    by_em = [*DIALECT, "--exclude", "nr,preis", "--missing", "em"]
    ran(gml("hc", "t.csv", *by_em, "-o", "g.json", "-q"))
    ran(gml("fit-params", "t.csv", "g.json", "-o", "m.json", "-q"))
    assert learning(table / "m.json")["missing"]["policy"] == "em"
    assert gml("score", "t.csv", "g.json").stdout == gml("score", "t.csv", "g.json", *by_em).stdout
    # A test has no use for EM: it refuses what is missing, and names what it has.
    done = gml("count", "t.csv", "--graph", "g.json", "-o", "c.parquet")
    assert "missing values: 'farbe' 18" in error_line(done, 3)


def test_what_wins_is_said(gml, tmp_path):
    (tmp_path / "semi.csv").write_text("a;b\n" + "x;u\ny;v\nx;v\n" * 20)
    (tmp_path / "bars.csv").write_text("a|b\n" + "x|u\ny|v\nx|v\n" * 20)
    (tmp_path / "s.json").write_text('{"schema": "gml/1", "delimiter": "|"}')
    ran(gml("chowliu", "semi.csv", "-d", ";", "-o", "g.json"))
    done = ran(gml("chowliu", "semi.csv", "-d", ";", "--levels", "s.json"))
    assert done.stderr.decode() == "gml: --delimiter ';' wins over s.json, which says '|'\n"
    done = ran(gml("fit-params", "semi.csv", "g.json", "--levels", "s.json", "-o", "m.json"))
    said = "gml: g.json says delimiter ';', and wins over s.json, which says '|'\n"
    assert done.stderr.decode() == said
    done = ran(gml("fit-params", "bars.csv", "g.json", "-d", "|", "-o", "bars.json"))
    assert done.stderr.decode() == "gml: --delimiter '|' wins over g.json, which says ';'\n"
    # What is said alike is not worth a word.
    assert ran(gml("fit-params", "semi.csv", "g.json", "-d", ";")).stderr == b""
    # A file of settings comes last.
    (tmp_path / "gml.toml").write_text("[check]\ndelimiter = '|'\n")
    (tmp_path / "gml.toml").chmod(0o600)
    done = ran(gml("check", "semi.csv", "m.json"))
    assert "m.json says delimiter ';', and wins over gml.toml: [check] delimiter" in (
        done.stderr.decode()
    )
    (tmp_path / "e.dot").write_text('digraph { graph [kind="dag"]; a -> b }')
    ran(gml("fit-params", "bars.csv", "e.dot", "--levels", "s.json", "-o", "bars.json", "-q"))
    ran(gml("convert", "bars.json", "bars.bif", "-q"))
    assert gml("check", "bars.csv", "bars.bif").returncode == 0
    (tmp_path / "t.json").write_text('{"schema": "gml/1", "delimiter": ";"}')
    done = ran(gml("check", "semi.csv", "bars.bif", "--levels", "t.json"))
    assert "t.json says delimiter ';', and wins over gml.toml" in done.stderr.decode()


def test_missing_values_are_treated_as_in_the_graph_before_the_schema(gml, tmp_path):
    rows = "".join(f"{'xy'[k % 2]},{'' if k % 7 == 0 else 'uv'[k % 3 == 0]}\n" for k in range(90))
    (tmp_path / "d.csv").write_text("a,b\n" + rows)
    (tmp_path / "s.json").write_text('{"schema": "gml/1", "missing": "level"}')
    ran(gml("chowliu", "d.csv", "--missing", "drop", "-o", "g.json", "-q"))

    def policy(*options):
        done = ran(gml("fit-params", "d.csv", "g.json", *options, "-o", "m.json"))
        return learning(tmp_path / "m.json")["missing"]["policy"], done.stderr.decode()

    assert policy()[0] == "drop"
    found, said = policy("--levels", "s.json")
    assert found == "drop"
    assert "g.json says missing 'drop', and wins over s.json, which says 'level'" in said
    found, said = policy("--missing", "em")
    assert found == "em" and "--missing 'em' wins over g.json, which says 'drop'" in said
    # The model says more than the schema, too, and a graph that says nothing less.
    found = gml("check", "d.csv", "m.json", "--levels", "s.json", "-f", "json")
    assert found.returncode == 0, found.stderr
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    ran(gml("fit-params", "d.csv", "g.dot", "--levels", "s.json", "-o", "m.json"))
    assert learning(tmp_path / "m.json")["missing"]["policy"] == "level"


def test_a_refusal_is_not_passed_on(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "x,u\ny,v\n" * 50)
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    ran(gml("fit-params", "d.csv", "g.dot", "--missing", "error", "-o", "m.json"))
    (tmp_path / "holes.csv").write_text("a,b\n" + "x,u\n,v\n" * 50)
    done = gml("check", "holes.csv", "m.json")
    assert done.returncode == 1 and b"missing in 0" in done.stdout


def test_a_table_that_is_plainly_written_in_another_way_is_refused(gml, table):
    ran(gml("hc", "t.csv", "--score", "bic-cg", *READING, "-o", "g.json", "-q"))
    ran(gml("profile", "t.csv", *READING, "-o", "s.json"))
    (table / "commas.csv").write_text("nr,size,farbe,preis\nn1,big,rot,12.5\n")
    for command, source in (
        (["fit-params", "commas.csv", "g.json"], "g.json"),
        (["hc", "commas.csv", "--levels", "s.json"], "s.json"),
    ):
        assert error_line(gml(*command), 3) == (
            "gml: error: commas.csv: line 1: the header is one column, 'nr,size,farbe,preis', "
            f"where {source} says that ';' divides columns; say --delimiter ',' to split it, or "
            "--delimiter ';' if it is one column\n"
        )


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_an_encoding_is_passed_on_where_it_was_needed(gml, tmp_path, engine):
    rows = "".join(f"{'éa'[k % 2]},{'uv'[k % 3 == 0]}\n" for k in range(60))
    options = ["--engine", engine, "-q", "-o", "g.json"]
    for encoding, written, recorded in (
        ("latin-1", "latin-1", "latin-1"),
        ("utf-16", "utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le", "utf-16-le"),
        ("utf-8", "utf-8", None),
        ("cp1252", "utf-8", None),
    ):
        (tmp_path / "d.csv").write_bytes(("a,b\n" + rows).encode(written))
        ran(gml("chowliu", "d.csv", "--encoding", encoding, *options))
        assert learning(tmp_path / "g.json")["options"].get("encoding") == recorded
    (tmp_path / "d.csv").write_text("a,b\n" + "x,u\ny,v\n" * 20)
    ran(gml("chowliu", "d.csv", "--encoding", "cp1252", *options))
    assert "encoding" not in learning(tmp_path / "g.json")["options"]


def test_datasets_know_how_they_were_read(table):
    data = library.read(
        table / "t.csv", delimiter=";", decimal=",", encoding="cp1252", na="k.A.", missing="drop",
        exclude=["nr", "preis"],
    )  # fmt: skip
    result = library.chow_liu(data)
    assert result.graph.learning.reading == {
        "delimiter": ";", "decimal": ",", "encoding": "cp1252", "na": ["k.A."], "missing": "drop",
        "exclude": ["nr", "preis"],
    }  # fmt: skip
    net = library.fit(table / "t.csv", result)
    assert net.learning.rows == 282 and net.learning.missing.policy == "drop"
    assert not library.check(table / "t.csv", net).failed


def test_counts_pass_on_what_they_know(gml, table):
    ran(gml("hc", "t.csv", *DIALECT, "--exclude", "nr,preis", "--missing", "drop", "-o", "g.json"))
    ran(gml("count", "t.csv", "--graph", "g.json", "--implied", "g.json", "-o", "c.parquet"))
    ran(gml("fit-params", "c.parquet", "g.json", "-o", "m.json"))
    assert learning(table / "m.json")["options"]["delimiter"] == ";"
    assert gml("check", "t.csv", "m.json").returncode == 0


# ---------------------------------------------------------------------- impute


@pytest.fixture
def model(gml, tmp_path):
    """A model of two columns of labels and one of numbers."""
    rng = random.Random(5)
    rows = [(rng.choice("ab"), rng.choice(["x", 'y"z', "p;q,r"])) for _ in range(200)]
    lines = [f'{a},"{b.replace(chr(34), 2 * chr(34))}",{rng.gauss(3, 1):.3f}' for a, b in rows]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,n", *lines, ""]))
    (tmp_path / "g.dot").write_text('digraph { a -> b; a -> n; n [type="numeric"] }')
    ran(gml("fit-params", "train.csv", "g.dot", "--numeric", "n", "-o", "m.json", "-q"))
    return tmp_path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_is_not_filled_keeps_its_bytes(gml, model, end, delimiter, mark):
    rows = [
        ['"a"', "b", "n", "rest"],
        ["a", '"x"', '" 2,5 "', "  kept  "],
        ["", '"p;q,r"', "1,25", '"two\r\nlines, ""quoted"""'],
        ["b", "?", "3,5", '""'],
        ['"a"', '"y""z"', "NA", "it\"s"],
        ["", "", "", "é"],
    ]  # fmt: skip
    if delimiter == ",":
        rows = [[f'"{cell}"' if "," in cell and '"' not in cell else cell for cell in row]
                for row in rows]  # fmt: skip
    text = mark + end.join(delimiter.join(row) for row in rows)
    for last in ("", end):
        (model / "d.csv").write_bytes((text + last).encode())
        options = ["-d", delimiter, "--decimal", ",", "-q"]
        ran(gml("impute", "d.csv", "m.json", *options, "-o", "f.csv", "--cells", "cells.csv"))
        found = (model / "f.csv").read_bytes().decode()
        cells = pd.read_csv(model / "cells.csv", dtype=str)
        expected = [list(row) for row in rows]
        for row, column, value in zip(cells.row, cells.column, cells.value, strict=True):
            quoted = delimiter in value or '"' in value
            doubled = value.replace('"', '""')
            expected[int(row)]["abn".index(column)] = f'"{doubled}"' if quoted else value
        assert list(cells.row) == ["2", "3", "4", "5", "5", "5"]
        assert all("," in value for value in cells.value[cells.column == "n"])
        assert found == mark + end.join(delimiter.join(row) for row in expected) + last


def test_a_whole_table_is_passed_on_as_it_is(gml, model):
    text = b'n,"b",a\r\n1.5,"x",a\r\n\r\n2,y""z,b\n3,x,a'
    text = text.replace(b'y""z', b"x")
    done = ran(gml("impute", "-", "m.json", stdin=text))
    assert done.stdout == text.replace(b"\r\n\r\n", b"\r\n")


def test_other_encodings_and_other_delimiters(gml, model):
    (model / "d.csv").write_bytes("a;b;n;größe\r\n;x;2,5;ä\r\n".encode("utf-16"))
    options = ["-d", ";", "--decimal", ",", "--encoding", "utf-16", "-q"]
    ran(gml("impute", "d.csv", "m.json", *options, "-o", "f.csv"))
    text = (model / "f.csv").read_bytes().decode("utf-16")
    assert text.splitlines()[0] == "a;b;n;größe" and text.endswith(";x;2,5;ä\r\n")
    ran(gml("impute", "d.csv", "m.json", *options, "-o", "f.tsv"))
    header = (model / "f.tsv").read_bytes().decode("utf-16").splitlines()[0]
    assert header == "a\tb\tn\tgröße"
    (model / "d.tsv").write_text("a\tb\tn\tw\n\tx\t2\t=1+1\n")
    assert ran(gml("impute", "d.tsv", "m.json", "-q")).stdout.startswith(b"a\tb\tn\tw\n")
    ran(gml("impute", "d.tsv", "m.json", "-q", "-o", "f.csv"))
    assert (model / "f.csv").read_bytes().startswith(b"a,b,n,w\n")
    safe = ran(gml("impute", "d.tsv", "m.json", "-q", "--safe-csv")).stdout
    assert safe.endswith(b"\tx\t2\t'=1+1\n")
