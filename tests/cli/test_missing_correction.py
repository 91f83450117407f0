"""gml pc --missing-correction on the command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from tests.command_line import error_line, printed_json

CORRECTED = ("--missing", "available", "--missing-correction", "mvpc")


@pytest.fixture
def clinic(sample_data):
    return sample_data / "clinic.csv"


def learned(gml, *args):
    return printed_json(gml("pc", *args, "-f", "json"))


def edges(content):
    return {(e["source"], e["type"], e["target"]) for e in content["edges"]}


def test_the_edge_that_only_missing_values_make(gml, clinic):
    plain = learned(gml, clinic, "--missing", "available")
    found = learned(gml, clinic, *CORRECTED)
    wanted = {("Diet", "-->", "Weight"), ("Exercise", "-->", "Weight"), ("Weight", "-->", "Sugar")}
    assert ("Diet", "---", "Exercise") in edges(plain)
    assert edges(found) == wanted
    learning = found["graph"]["learning"]
    assert learning["settings"]["missing_correction"] == "mvpc"
    assert learning["options"] == {"missing": "available", "missing_correction": "mvpc"}
    assert learning["missing_causes"] == {"Exercise": ["Weight"]}
    assert learning["edges_corrected"] == [["Diet", "Exercise"]]
    assert (learning["cause_tests"] > 0, learning["correction_tests"] > 0) == (True, True)
    assert "missing_correction" not in plain["graph"]["learning"]["settings"]


def test_verbose_says_what_makes_values_missing(gml, clinic):
    said = gml("pc", clinic, *CORRECTED, "-v").stderr.decode()
    assert "gml: made missing: 'Exercise' by 'Weight'\n" in said
    assert "gml: edges that only missing values made: Diet --- Exercise\n" in said


def test_whole_rows_give_the_same_bytes(gml, sample_data):
    asia = sample_data / "asia.csv"
    for format_ in ("dot", "text"):
        plain = gml("pc", asia, "--missing", "available", "-f", format_)
        corrected = gml("pc", asia, *CORRECTED, "-f", format_)
        assert corrected.returncode == 0
        assert (plain.stdout, plain.stderr) == (corrected.stdout, corrected.stderr)


def test_same_bytes_for_hash_seeds_threads_and_row_order(gml, clinic, tmp_path):
    header, *rows = clinic.read_text().splitlines()
    other = tmp_path / "reversed.csv"
    other.write_text("\n".join([header, *reversed(rows)]) + "\n")
    first = gml("pc", clinic, *CORRECTED, "-f", "dot", "--sepsets", "first.csv").stdout
    for path, threads, seed in ((clinic, "2", "1"), (other, "1", "2")):
        done = gml(
            "pc", path, *CORRECTED, "-f", "dot", "--threads", threads, "--sepsets", "again.csv",
            env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout == first
        assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()


def test_the_reference_kernel_finds_the_same_graph(gml, clinic):
    compiled = gml("pc", clinic, *CORRECTED)
    reference = gml("pc", clinic, *CORRECTED, env={"GML_KERNEL": "reference"})
    assert reference.stdout == compiled.stdout


def test_log_sepsets_and_explain(gml, clinic, tmp_path):
    done = gml("pc", clinic, *CORRECTED, "--test-log", "log.jsonl", "--sepsets", "sets.csv")
    assert done.returncode == 0
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    weighted = [record for record in records if record.get("phase") == "correction"]
    assert [(r["x"], r["y"], r["given"], r["verdict"]) for r in weighted] == [
        ("Diet", "Exercise", [], "independent")
    ]
    assert weighted[0]["corrected_for"] == ["Weight"]
    assert 0 < weighted[0]["effective_n"] < weighted[0]["n"]
    plain = next(record for record in records if record.get("phase") == "skeleton")
    assert "corrected_for" not in plain
    said = gml("explain", "log.jsonl", "Diet", "Exercise").stdout.decode()
    assert "Diet and Exercise have no edge: they are independent without conditioning" in said
    assert "rows weighted for what Weight made missing" in said
    rows = csv.DictReader((tmp_path / "sets.csv").read_text().splitlines())
    by_pair = {(row["x"], row["y"]): row for row in rows}
    assert float(by_pair["Diet", "Exercise"]["log10_p"]) == weighted[0]["log10_p"]


def test_samples_are_corrected(gml, clinic):
    plain = learned(
        gml, clinic, "--missing", "available", "--bootstrap", "12", "--threshold", "0.5"
    )
    found = learned(gml, clinic, *CORRECTED, "--bootstrap", "12", "--threshold", "0.5")
    assert not [e for e in edges(found) if {e[0], e[2]} == {"Diet", "Exercise"}]
    assert [e for e in edges(plain) if {e[0], e[2]} == {"Diet", "Exercise"}]
    done = gml("average", clinic, "--by", "pc", *CORRECTED, "--bootstrap", "12", "-f", "json")
    assert json.loads(done.stdout)["graph"]["learning"]["settings"]["missing_correction"] == "mvpc"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--missing-correction", "mvpc"), 2, "give --missing available too"),
        (("--missing", "drop", "--missing-correction", "mvpc"), 2, "give --missing available too"),
        ((*CORRECTED, "--test", "bayes"), 2, "no weighted form of --test bayes"),
        (("--missing", "available", "--missing-correction", "mcar"), 2, "mcar"),
    ],
)
def test_errors(gml, clinic, args, code, message):
    assert message in error_line(gml("pc", clinic, *args), code)


def test_numbers_beside_labels_are_refused(gml, sample_data, tmp_path):
    flats = (sample_data / "flats.csv").read_text().replace("\ncentre", "\n", 3)
    (tmp_path / "flats.csv").write_text(flats)
    done = gml("pc", "flats.csv", *CORRECTED, "--numeric", "size,rent,heating")
    assert "labels alone or numbers alone" in error_line(done, 2)


def test_a_count_file_has_no_rows(gml, clinic, tmp_path):
    pytest.importorskip("pyarrow")
    counted = gml("count", clinic, "--missing", "available", "--triples", "-o", "clinic.parquet")
    assert counted.returncode == 0, counted.stderr
    assert "needs rows" in error_line(gml("pc", "clinic.parquet", *CORRECTED), 4)


def test_average_takes_it_for_pc_alone(gml, clinic):
    done = gml("average", clinic, "--by", "hc", "--missing", "drop", "--missing-correction", "mvpc")
    assert "--missing-correction does not go with --by hc" in error_line(done, 2)
    done = gml("average", clinic, "--by", "pc", "--missing-correction", "mvpc")
    assert "give --missing available too" in error_line(done, 2)


def test_a_limit_of_time(gml, clinic):
    done = gml("pc", clinic, *CORRECTED, "--max-seconds", "1e-9", "-f", "json")
    assert done.returncode == 5
    assert json.loads(done.stdout)["graph"]["learning"]["complete"] is False


def test_the_help_names_the_way(gml):
    said = " ".join(gml("pc", "--help").stdout.decode().split())
    assert "--missing-correction [none|mvpc]" in said
    assert "(MVPC)" in said


def test_a_value_that_is_never_there_is_warned_of(gml, tmp_path):
    """y is never recorded where k is 2, so nothing can stand in for these rows."""
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 2, (2, 6000))
    k = np.where(rng.random(6000) < 0.8, x & y, rng.integers(0, 3, 6000))
    lacks = rng.random(6000) < np.array([0.7, 0.05, 1.0])[k]
    rows = zip(k, x, np.where(lacks, "", y.astype(str)), strict=True)
    (tmp_path / "never.csv").write_text("k,x,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    done = gml("pc", "never.csv", *CORRECTED)
    assert done.returncode == 0
    assert b"gml: warning: no values at all of 'y' where their causes have some" in done.stderr
