"""gml rake on the command line: bytes of rows, reports, exit codes and what is left of files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import gml as library
from tests.command_line import error_line

ROWS = 'id,sex,age,note\n1,m,young,\n2,m,old,"a, b"\n3,f,old,x\n4,m,old,\n'
TARGETS = "sex,age,count\nm,,50\nf,,50\n,young,30\n,old,70\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "t.csv").write_text(TARGETS)
    return tmp_path


def weights_of(text, **reading):
    return [float(row["weight"]) for row in csv.DictReader(io.StringIO(text), **reading)]


EXPECTED = [1.2, 0.4, 2.0, 0.4]


def test_rows_come_back_as_they_are_with_a_weight_each(gml, folder):
    done = gml("rake", "rows.csv", "--targets", "t.csv")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert weights_of(text) == pytest.approx(EXPECTED, rel=1e-12)
    lines = text.splitlines()
    assert lines[0] == "id,sex,age,note,weight"
    assert [line.rpartition(",")[0] for line in lines] == ROWS.splitlines()
    # The shortest text that is the same number.
    assert all(
        repr(float(line.rpartition(",")[2])) == line.rpartition(",")[2] for line in lines[1:]
    )
    assert re.fullmatch(
        r"gml: 4 rows, 2 margins met after \d steps \(residuals below 1e-12\); weights from 0.4 to "
        r"2; design effect 1.44, so 2.77778 effective rows\n",
        done.stderr.decode(),
    )
    assert gml("rake", "rows.csv", "--targets", "t.csv", "--quiet").stderr == b""
    assert gml("rake", "-", "--targets", "t.csv", stdin=ROWS.encode()).stdout == done.stdout


def test_the_library_gives_the_same_weights(gml, folder):
    found = library.rake(folder / "rows.csv", folder / "t.csv")
    assert (
        weights_of(gml("rake", "rows.csv", "--targets", "t.csv").stdout.decode())
        == found.weights.tolist()
    )


@pytest.mark.parametrize(
    ("name", "content", "options", "output"),
    [
        ("r.csv", ROWS.replace("\n", "\r\n"), [], "w.csv"),
        ("r.csv", ROWS.replace(",", ";").replace("a; b", "a, b"), ["-d", ";"], "w.csv"),
        ("r.tsv", ROWS.replace(",", "\t").replace("a\t b", "a, b"), [], "w.tsv"),
    ],
    ids=["windows", "semicolons", "tabs"],
)
def test_delimiters_and_line_ends_are_kept(gml, folder, name, content, options, output):
    (folder / name).write_bytes(content.encode())
    done = gml("rake", name, "--targets", "t.csv", "-o", output, *options)
    assert done.returncode == 0, done.stderr
    found = (folder / output).read_bytes().decode()
    delimiter = {"\t": "\t", ";": ";"}.get(content[2], ",")
    assert weights_of(found, delimiter=delimiter) == pytest.approx(EXPECTED)
    lines = found.splitlines(keepends=True)
    rest = [line.rpartition(delimiter)[0] for line in lines]
    assert rest == content.splitlines()
    assert all(line.endswith("\r\n") == ("\r\n" in content) for line in lines)


def test_the_name_of_the_output_says_tabs_or_commas_and_compression(gml, folder):
    plain = gml("rake", "rows.csv", "--targets", "t.csv").stdout.decode()
    for name in ("w.tsv", "w.csv.gz", "back.csv"):
        source = "w.tsv" if name == "back.csv" else "rows.csv"
        more = ["--weight-name", "again"] if name == "back.csv" else []
        assert gml("rake", source, "--targets", "t.csv", "-o", name, *more).returncode == 0
    tabs = list(csv.reader(io.StringIO((folder / "w.tsv").read_text()), delimiter="\t"))
    assert tabs == list(csv.reader(io.StringIO(plain)))
    assert gzip.decompress((folder / "w.csv.gz").read_bytes()).decode() == plain
    back = list(csv.reader(io.StringIO((folder / "back.csv").read_text())))
    assert [row[:-1] for row in back] == tabs
    assert "are written as .csv or .tsv" in error_line(
        gml("rake", "rows.csv", "--targets", "t.csv", "-o", "w.parquet"), 2
    )


def test_compressed_and_parquet_input(gml, folder):
    plain = gml("rake", "rows.csv", "--targets", "t.csv").stdout
    (folder / "rows.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    assert gml("rake", "rows.csv.gz", "--targets", "t.csv").stdout == plain
    assert (
        gml("rake", "-", "--targets", "t.csv", stdin=gzip.compress(ROWS.encode())).stdout == plain
    )
    pd.read_csv(folder / "rows.csv").to_parquet(folder / "rows.parquet")
    found = gml("rake", "rows.parquet", "--targets", "t.csv")
    assert list(csv.reader(io.StringIO(found.stdout.decode()))) == list(
        csv.reader(io.StringIO(plain.decode()))
    )
    (folder / "nested").mkdir()
    nested = pd.DataFrame({"sex": ["m", "f"], "age": ["young", "old"], "list": [[1], [2]]})
    nested.to_parquet(folder / "nested" / "a.parquet")
    assert "column 'list': lists and structures cannot be written as CSV" in error_line(
        gml("rake", "nested", "--targets", "t.csv"), 3
    )
    (folder / "empty").mkdir()
    assert "a folder without Parquet files" in error_line(
        gml("rake", "empty", "--targets", "t.csv"), 3
    )


def test_encodings(gml, folder):
    rows = ROWS.replace("x\n", "é\n")
    (folder / "latin.csv").write_bytes(rows.encode("latin-1"))
    done = gml("rake", "latin.csv", "--targets", "t.csv", "--encoding", "latin-1")
    assert b",\xe9,2.0\n" in done.stdout
    assert gml("rake", "latin.csv", "--targets", "t.csv").stdout == done.stdout

    assert "'€' cannot be written in the encoding 'latin-1'" in error_line(
        gml(
            "rake", "latin.csv", "--targets", "t.csv", "--encoding", "latin-1", "--weight-name", "€"
        ),
        2,
    )


def test_decimal_commas(gml, folder):
    """What is written is read as what was read, with the same options."""
    reading = ["-d", ";", "--decimal", ","]
    (folder / "eu.csv").write_text("sex;n\nm;0,5\nf;1,5\nm;1,0\n")
    (folder / "t.csv").write_text("sex,count\nm,1\nf,3\n")
    ask = ["rake", "eu.csv", "--targets", "t.csv", *reading, "--weights-fractional", "n"]
    assert gml(*ask).stdout == b"sex;n;weight\nm;0,5;0,25\nf;1,5;2,25\nm;1,0;0,5\n"
    (folder / "c.csv").write_text("sex\nm\nf\nf\nf\n")
    quoted = gml("rake", "c.csv", "--targets", "t.csv", "--decimal", ",").stdout
    assert quoted == b'sex,weight\nm,"1,0"\nf,"1,0"\nf,"1,0"\nf,"1,0"\n'


def test_cells_that_are_formulas(gml, folder):
    (folder / "f.csv").write_text(ROWS.replace("x\n", "=1+1\n"))
    safe = gml("rake", "f.csv", "--targets", "t.csv", "--safe-csv").stdout.decode()
    assert [row[3] for row in csv.reader(io.StringIO(safe))] == ["note", "", "a, b", "'=1+1", ""]
    assert weights_of(safe) == pytest.approx(EXPECTED)
    plain = gml("rake", "f.csv", "--targets", "t.csv").stdout
    assert b",=1+1," in plain


def test_other_commands_take_the_weights(gml, folder, sample_data):
    """Fitted to weighted rows, tables and log-linear models have the margins asked for."""
    (folder / "known.csv").write_text(
        "smoke,xray,probability\nyes,,0.3\nno,,0.7\n,yes,0.2\n,no,0.8\n"
    )
    done = gml("rake", sample_data / "asia.csv", "--targets", "known.csv", "-o", "w.csv")
    assert done.returncode == 0
    reading = ["--columns", "smoke,xray", "--weights-fractional", "weight"]
    (folder / "g.dot").write_text("digraph { smoke -> xray }")
    assert gml("fit-params", "w.csv", "g.dot", *reading, "-o", "m.json").returncode == 0
    assert gml("mrf", "w.csv", "--clique", "smoke,xray", *reading, "-o", "u.json").returncode == 0
    for model in ("m.json", "u.json"):
        found = json.loads(gml("query", model, "-f", "json").stdout)["results"]
        shares = {(row["node"], row["level"]): row["probability"] for row in found}
        assert shares["smoke", "yes"] == pytest.approx(0.3, abs=1e-12)
        assert shares["xray", "yes"] == pytest.approx(0.2, abs=1e-12)


def test_bounds(gml, folder):
    done = gml("rake", "rows.csv", "--targets", "t.csv", "--bounds", "0.3,2.5")
    found = weights_of(done.stdout.decode())
    assert 0.3 < min(found) < max(found) < 2.5
    refused = error_line(gml("rake", "rows.csv", "--targets", "t.csv", "--bounds", "0.5,1.5"), 4)
    assert "no weights from 0.5 to 1.5 times those before meet the targets" in refused
    assert "--bounds 0.399,2.01 would do" in refused
    for wrong in ("2", "0.3;3", "1,2", "a,b"):
        told = error_line(gml("rake", "rows.csv", "--targets", "t.csv", "--bounds", wrong), 2)
        assert "bounds" in told
        assert wrong in told
        assert f"[{wrong[0]}" not in told


def test_a_report_in_a_format_that_it_has_not(gml, folder):
    told = error_line(gml("rake", "rows.csv", "--targets", "t.csv", "--report", "rep.html"), 2)
    assert "--report 'rep.html': use one of .txt .json .jsonl .csv .md\n" in told


def test_a_second_column_of_values(gml, folder):
    (folder / "two.csv").write_text("sex,count,n\nm,50,1\nf,50,1\n")
    told = error_line(gml("rake", "rows.csv", "--targets", "two.csv"), 2)
    assert "two.csv: 'n' is a second column of values: leave one; column 'n' not found" in told


def test_base_weights_and_the_name_of_the_new_ones(gml, folder):
    assert gml("rake", "rows.csv", "--targets", "t.csv", "-o", "w.csv").returncode == 0
    again = ["rake", "w.csv", "--targets", "t.csv", "--weights-fractional", "weight"]
    assert "there is a column 'weight' already; choose another --weight-name" in error_line(
        gml(*again), 2
    )
    done = gml(*again, "--weight-name", "second")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    np.testing.assert_allclose([float(row["second"]) for row in rows], EXPECTED, rtol=1e-12)
    for name in ("", "caf\udce9", "\ud800"):
        assert "must be the name of a column" in error_line(gml(*again, "--weight-name", name), 2)


def test_missing_values(gml, folder):
    (folder / "gaps.csv").write_text("sex,age\nm,young\n?,old\nf,old\nm,old\nm,old\nm,old\n")
    ask = ["rake", "gaps.csv", "--targets", "t.csv"]
    assert "gaps.csv: missing values: 'sex' 1; choose --missing drop" in error_line(gml(*ask), 3)
    dropped = gml(*ask, "--missing", "drop")
    assert dropped.stdout.decode().count("\n") == 6
    assert sum(weights_of(dropped.stdout.decode())) == pytest.approx(5)
    assert b"1 of 6 rows dropped for missing values" in dropped.stderr
    (folder / "na.csv").write_text("sex,age,count\nm,,50\nf,,40\nNA,,10\n,young,30\n,old,70\n")
    level = gml("rake", "gaps.csv", "--targets", "na.csv", "--missing", "level")
    assert weights_of(level.stdout.decode())[1] == pytest.approx(0.6)
    assert "'NA' has no target" in error_line(gml(*ask, "--missing", "level"), 3)


@pytest.mark.parametrize(
    ("targets", "code", "told"),
    [
        ("sxe,count\nm,1\nf,1\n", 2, "t.csv: column 'sxe' not found; did you mean 'sex'?"),
        ("sex,count\nm,1\n", 3, "rows.csv: line 4: column 'sex': 'f' has no target; t.csv: line 2 (the "
         "margin of 'sex') has 'm'"),
        ("sex,count\nm,1\nf,1\nx,2\n", 4, "no row has sex='x', whose target is 0.5"),
        ("sex,probability\nm,0.5\nf,0.4\n", 3, "the probabilities add up to 0.9, which is 0.1 less than 1; "
         "--normalise"),
        ("sex,age,count\nm,,1\nf,,1\n,young,1\n,old,2\n", 3, "the counts add up to 3, which is 1 more than 2"),
        ("sex,age,count\nm,,3\nf,,7\n,young,5\n,old,5\n", 4, "they need rows with age='young' and sex='f', and "
         "there are none"),
        ("", 3, "t.csv: the file is empty"),
        ('{"numeric": {"name": "x", "support": [0, 1]}}', 3, "only margins can be used here"),
    ],
)  # fmt: skip
def test_targets_that_are_refused(gml, folder, targets, code, told):
    (folder / "t.csv").write_text(targets)
    (folder / "w.csv").write_text("as it was")
    done = gml("rake", "rows.csv", "--targets", "t.csv", "-o", "w.csv", "--report", "r.json")
    assert told in error_line(done, code)
    assert (folder / "w.csv").read_text() == "as it was"
    assert not (folder / "r.json").exists()


def test_files_that_are_refused(gml, folder):
    assert "there is no header" in error_line(gml("rake", "-", "--targets", "t.csv"), 3)
    assert "has a header, but no rows" in error_line(
        gml("rake", "-", "--targets", "t.csv", stdin=b"sex,age\n"), 4
    )
    assert "only one argument can be -" in error_line(gml("rake", "-", "--targets", "-"), 2)
    assert "is an input" in error_line(
        gml("rake", "rows.csv", "--targets", "t.csv", "-o", "t.csv"), 2
    )
    assert "Missing option '--targets'" in gml("rake", "rows.csv").stderr.decode()
    assert "--report needs a file" in error_line(
        gml("rake", "rows.csv", "--targets", "t.csv", "--report", "-"), 2
    )


def test_reports(gml, folder):
    for name in ("r.json", "r.txt", "r.csv", "r.md"):
        done = gml("rake", "rows.csv", "--targets", "t.csv", "-o", "w.csv", "--report", name)
        assert done.returncode == 0, done.stderr
    found = json.loads((folder / "r.json").read_text())
    assert found["rows"] == 4
    assert found["design_effect"] == pytest.approx(1.44)
    assert found["effective_rows"] == pytest.approx(4 / 1.44)
    assert found["largest_residual"] <= 1e-12
    assert set(found["hash"]["inputs"]) == {"data", "targets"}
    assert found["targets"][1] == {
        "margin": ["sex"],
        "levels": ["f"],
        "rows": 1,
        "before": 0.25,
        "target": 0.5,
        "after": pytest.approx(0.5, abs=1e-15),
    }
    assert (folder / "r.txt").read_text().splitlines()[1:3] == [
        "margin  level  rows  before  target  after",
        "sex     m         3    0.75     0.5    0.5",
    ]
    table = list(csv.DictReader(io.StringIO((folder / "r.csv").read_text())))
    assert [row["level"] for row in table] == ["m", "f", "young", "old"]
    assert "| sex | m | 3 | 0.75 | 0.5 | 0.5 |" in (folder / "r.md").read_text()
    assert gml("verify", "r.json", "--input", "rows.csv").returncode == 0


def test_a_reader_that_goes_away(shell, folder, sample_data):
    (folder / "known.csv").write_text("smoke,count\nyes,3\nno,7\n")
    done = shell(f"G rake {sample_data / 'asia.csv'} --targets known.csv --quiet | head -1")
    assert done.returncode == 0
    assert done.stdout.decode().endswith(",weight\n")
    assert done.stderr == b""


def test_no_order_of_rows_and_no_seed_shows(gml_process, folder, sample_data):
    """Weights of equal rows are the same text, however the rows stand."""
    (folder / "known.csv").write_text("smoke,dysp,count\nyes,,3\nno,,7\n,yes,4\n,no,6\n")
    header, *rows = (sample_data / "asia.csv").read_text().splitlines()
    seen = []
    for seed, order in (("0", rows), ("1", rows[::-1])):
        text = "\n".join([header, *order]) + "\n"
        done = gml_process(
            "rake", "-", "--targets", "known.csv", stdin=text.encode(), env={"PYTHONHASHSEED": seed}
        )
        seen.append(sorted(done.stdout.decode().splitlines()))
    assert seen[0] == seen[1]


def test_help_shows_the_labels_of_intervals(gml, folder):
    told = gml("rake", "--help").stdout.decode()
    assert '    "[-inf,30)",300\n' in told
    (folder / "ages.csv").write_text("age\n" + "\n".join(map(str, range(20, 80))) + "\n")
    lines = [line.strip() for line in told.splitlines()]
    first = lines.index("age,count")
    (folder / "targets.csv").write_text("\n".join(lines[first : first + 4]) + "\n")
    done = gml("rake", "ages.csv", "--targets", "targets.csv", "--cut", "age=30,65")
    assert sum(weights_of(done.stdout.decode())) == pytest.approx(60)


def test_weighted_rows_are_counted_to_six_digits(gml, folder):
    (folder / "w.csv").write_text("a,b,w\nx,y,1.23456789\nx,z,0.5\nu,z,2.7182818\n")
    options = ["--weights-fractional", "w", "-f", "text"]
    told = gml("mrf", "w.csv", *options).stdout.decode()
    assert re.search(r"\n  rows +4\.45285\n", told)
    told = gml("crf", "w.csv", "--target", "b", *options).stdout.decode()
    assert "4.45285, 2 different by their inputs\n" in told


def test_an_option_without_its_s(gml, folder):
    told = error_line(gml("rake", "rows.csv", "--target", "t.csv"), 2)
    assert "there is no option --target; did you mean --targets?" in told
