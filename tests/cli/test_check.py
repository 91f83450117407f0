"""gml check on the command line: bytes, streams, exit codes, settings, baselines."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import click
import numpy as np
import pytest

from gml.cli.main import cli
from gml.gate.check import FAMILIES, SEVERITIES
from gml.gate.deliveries import ALPHA_PER
from tests.command_line import GML, run_here

CHANGED = "structure:smoke->bronc"
JSON = ("-f", "json")
TABLES_ONLY = (*JSON, "--families", "schema,tables,structure")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, sample_data):
    """A model of the sample data, fresh rows of it, and rows where smoking no longer matters."""
    place = tmp_path_factory.mktemp("prepared")

    def gml(*args):
        run_here(args, place).check_returncode()

    shutil.copy(sample_data / "asia.csv", place / "train.csv")
    gml("fit-params", "train.csv", sample_data / "asia.dot", "-o", "model.json")
    gml("sample", "model.json", "-n", "3000", "--seed", "7", "-o", "new.csv")
    changed = json.loads((place / "model.json").read_text())
    for node in changed["nodes"]:
        del node["counts"]
        if node["id"] == "bronc":
            node["cpt"] = [[0.55, 0.45], [0.55, 0.45]]
    (place / "changed.json").write_text(json.dumps(changed))
    gml("sample", "-q", "changed.json", "-n", "3000", "--seed", "8", "-o", "bad.csv")
    return place


@pytest.fixture
def folder(tmp_path, prepared):
    """The same for one test alone."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path


def report(done, code):
    assert done.returncode == code, (done.stdout + done.stderr).decode()
    return json.loads(done.stdout)


def failing(found):
    return [check["id"] for check in found["checks"] if check["status"] == "fail"]


def test_the_answer_is_the_exit_code(gml, folder):
    good = gml("check", "new.csv", "model.json")
    assert good.returncode == 0
    assert good.stderr == b""
    assert good.stdout.startswith(b"PASS  none of ")
    bad = gml("check", "bad.csv", "model.json")
    assert bad.returncode == 1
    assert bad.stderr == b""
    assert bad.stdout.startswith(b"FAIL  ")
    assert b"smoke -> bronc" in bad.stdout


def test_what_broke_with_the_numbers(gml, folder):
    found = report(gml("check", "bad.csv", "model.json", "-f", "json"), 1)
    assert found["verdict"] == "fail"
    assert found["rows"] == 3000
    assert found["model_rows"] == 5000
    assert CHANGED in failing(found)
    by_id = {check["id"]: check for check in found["checks"]}
    edge = by_id[CHANGED]
    assert edge["variables"] == ["smoke", "bronc"]
    assert edge["old"]["nats"] > 0.04
    assert edge["new"]["nats"] < 0.005
    row = by_id["tables:bronc|smoke=no"]
    assert row["given"] == {"smoke": "no"}
    assert row["effect"] == pytest.approx(abs(row["old"]["p"][0] - row["new"]["p"][0]))
    assert row["rows_old"] == sum(row["old"]["counts"])
    assert {name for name in failing(found) if name != "fit:likelihood"} == {
        *("tables:bronc|smoke=no", "tables:bronc|smoke=yes"), CHANGED,
    }  # fmt: skip


def test_lines_of_the_least_likely_rows(gml, folder):
    found = report(gml("check", "new.csv", "model.json", "-f", "json", "--unlikely-rows", "7"), 0)
    lines = (folder / "new.csv").read_text().splitlines()
    header = lines[0].split(",")
    assert len(found["unlikely_rows"]) == 7
    for row in found["unlikely_rows"]:
        assert row["line"] == row["row"] + 1
        values = dict(zip(header, lines[row["line"] - 1].split(","), strict=True))
        assert values[row["column"]] == row["value"]
        assert all(values[name] == level for name, level in row["given"].items())
    # A blank line and a quoted line end shift the lines, not the rows.
    awkward = [lines[0], "", *lines[1:]]
    (folder / "awkward.csv").write_text("\n".join(awkward) + "\n")
    again = report(
        gml("check", "awkward.csv", "model.json", "-f", "json", "--unlikely-rows", "7"), 0
    )
    assert [row["row"] for row in again["unlikely_rows"]] == [
        row["row"] for row in found["unlikely_rows"]
    ]
    assert [row["line"] for row in again["unlikely_rows"]] == [
        row["line"] + 1 for row in found["unlikely_rows"]
    ]
    piped = (folder / "awkward.csv").read_bytes()
    again = report(gml("check", "-", "model.json", "-f", "json", stdin=piped), 0)
    assert {row["line"] for row in again["unlikely_rows"]} == {None}


def test_same_bytes_for_any_hash_seed_and_threads(gml, folder):
    outputs = {
        gml(
            "check",
            "bad.csv",
            "model.json",
            "-f",
            "json",
            "--threads",
            threads,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed, threads in (("0", "1"), ("1", "2"), ("2", "3"))
    }
    assert len(outputs) == 1


def test_an_error_lists_the_columns_of_the_model_in_their_order(gml, folder):
    (folder / "other.csv").write_text("x,y\n1,2\n")
    for seed in "012":
        done = gml("check", "other.csv", "model.json", env={"PYTHONHASHSEED": seed})
        assert done.returncode == 3
        assert b"and the model 'asia', 'tub', 'smoke', 'lung', 'bronc', 'either'" in done.stderr


def test_the_reference_kernel_finds_the_same(gml, folder):
    compiled, reference = (
        report(gml("check", "bad.csv", "model.json", "-f", "json", env={"GML_KERNEL": kernel}), 1)
        for kernel in ("", "reference")
    )
    assert failing(compiled) == failing(reference)
    for one, other in zip(compiled["checks"], reference["checks"], strict=True):
        for key in ("p_value", "effect"):
            if one[key] is None:
                assert other[key] is None
            else:
                assert one[key] == pytest.approx(other[key], rel=1e-9, abs=1e-12)


def test_severity_warn_only_effects_and_families(gml, folder):
    warned = report(
        gml("check", "bad.csv", "model.json", "-f", "json", "--severity", "tables=warn", "--severity", "structure=warn", "--severity", "fit=warn"),
        0,
    )  # fmt: skip
    assert warned["summary"]["warn"] > 1
    assert (
        report(gml("check", "bad.csv", "model.json", "-f", "json", "--warn-only"), 0)["summary"][
            "fail"
        ]
        == 0
    )
    small = gml("check", "bad.csv", "model.json", "--min-effect", "0.9")
    assert small.returncode == 0
    mixed = report(
        gml(
            "check",
            "bad.csv",
            "model.json",
            "-f",
            "json",
            "--min-effect",
            "0.9",
            "--min-effect",
            "structure=0",
        ),
        1,
    )
    assert failing(mixed) == [CHANGED]
    some = report(
        gml("check", "bad.csv", "model.json", "-f", "json", "--families", "schema,tables"), 1
    )
    assert {check["family"] for check in some["checks"]} == {"schema", "tables"}


def test_baselines(gml, folder):
    written = gml("check", "bad.csv", "model.json", "--write-baseline", "known.json", "-f", "json")
    found = report(written, 0)
    assert found["summary"]["baselined"] >= 3
    known = json.loads((folder / "known.json").read_text())
    assert {"id": CHANGED} in known["accepted"]
    assert gml("check", "bad.csv", "model.json", "--baseline", "known.json").returncode == 0
    # A new violation beside the known ones.
    text = (folder / "bad.csv").read_text().replace("yes\n", "maybe\n")
    (folder / "worse.csv").write_text(text)
    worse = report(
        gml("check", "worse.csv", "model.json", "--baseline", "known.json", "-f", "json"), 1
    )
    assert "schema:levels:dysp" in failing(worse)
    assert CHANGED not in failing(worse)
    # To accept more, read and write the same file.
    both = ("--baseline", "known.json", "--write-baseline", "known.json")
    assert gml("check", "worse.csv", "model.json", *both).returncode == 0
    known = json.loads((folder / "known.json").read_text())
    assert {"id": CHANGED} in known["accepted"]
    assert gml("check", "worse.csv", "model.json", "--baseline", "known.json").returncode == 0
    absent = gml("check", "new.csv", "model.json", "--baseline", "none.json")
    assert absent.returncode == 3
    assert b"--write-baseline none.json" in absent.stderr


def test_reports_to_several_places(gml, folder):
    done = gml(
        "check", "bad.csv", "model.json", "-f", "github",
        "--report", "junit=out.xml", "--report", "sarif=out.sarif", "--report", "markdown=out.md",
        env={"GITHUB_STEP_SUMMARY": str(folder / "summary.md")},
    )  # fmt: skip
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert 1 < len(lines) <= 10
    assert all(line.startswith(("::error", "::warning", "::notice")) for line in lines)
    suites = ElementTree.parse(folder / "out.xml").getroot()
    counted = sum(int(suite.get("failures")) for suite in suites.iter("testsuite"))
    assert counted == len(suites.findall(".//failure")) > 2
    assert json.loads((folder / "out.sarif").read_text())["version"] == "2.1.0"
    assert (
        (folder / "summary.md")
        .read_text()
        .startswith((folder / "out.md").read_text().splitlines()[0])
    )


def test_unknown_values_and_missing_columns(gml, folder):
    text = (folder / "new.csv").read_text()
    (folder / "label.csv").write_text(text.replace("yes\n", "Yes\n"))
    found = report(gml("check", "label.csv", "model.json", "-f", "json"), 1)
    assert "schema:levels:dysp" in failing(found)
    rows = list(csv.reader(text.splitlines()))
    (folder / "narrow.csv").write_text("\n".join(",".join(row[:-1]) for row in rows) + "\n")
    found = report(gml("check", "narrow.csv", "model.json", "-f", "json"), 1)
    assert failing(found) == ["schema:column:dysp"]
    (folder / "renamed.csv").write_text(text.replace("dysp", "Dysp", 1))
    assert (
        b"dysp: there is no such column; is it 'Dysp' now?"
        in gml("check", "renamed.csv", "model.json").stdout
    )
    (folder / "wide.csv").write_text(
        "\n".join(",".join([*row, f"id{k}"]) for k, row in enumerate(rows)) + "\n"
    )
    found = report(gml("check", "wide.csv", "model.json", "-f", "json"), 0)
    assert any("id0" in note for note in found["notes"])


def test_missing_values(gml, folder):
    rows = list(csv.reader((folder / "new.csv").read_text().splitlines()))
    for k, row in enumerate(rows[1:]):
        if k % 10 == 0:
            row[2] = "NA"
    (folder / "gaps.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    found = report(gml("check", "gaps.csv", "model.json", "-f", "json"), 1)
    assert failing(found) == ["schema:missing:smoke"]
    dropped = report(gml("check", "gaps.csv", "model.json", "-f", "json", "--missing", "drop"), 1)
    assert dropped["rows"] == 2700
    assert any("300 rows" in note for note in dropped["notes"])
    line = dropped["unlikely_rows"][0]["line"]
    assert "NA" not in rows[line - 1]
    assert gml("check", "gaps.csv", "model.json", "--missing", "error").returncode == 3


def test_settings_of_a_repository(gml, folder):
    (folder / "gml.toml").write_text(
        '[check]\ndata = "bad.csv"\nmodel = "model.json"\nalpha = 0.001\nformat = "json"\n'
        'severity = {tables = "warn", structure = "warn", fit = "warn"}\n'
    )
    found = report(gml("check"), 0)
    assert found["alpha"] == 0.001
    assert found["summary"]["warn"] > 1
    assert report(gml("check", env={"GML_ALPHA": "0.02"}), 0)["alpha"] == 0.02
    found = report(
        gml("check", "--alpha", "0.03", "--severity", "fit=fail", env={"GML_ALPHA": "0.02"}), 1
    )
    assert found["alpha"] == 0.03
    (folder / "gml.toml").write_text("[check]\nalhpa = 0.001\n")
    wrong = gml("check", "new.csv", "model.json")
    assert wrong.returncode == 2
    assert b"'alhpa' not found; did you mean 'alpha'" in wrong.stderr
    assert gml("check", "new.csv", "model.json", "--no-config").returncode == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["none.csv", "model.json"], 3, b"none.csv"),
        (["new.csv", "none.json"], 3, b"none.json"),
        (["new.csv", "train.csv"], 3, b"train.csv"),
        (["-", "-"], 2, b"only one argument"),
        (["new.csv", "model.json", "--alpha", "0"], 2, b"alpha"),
        (["new.csv", "model.json", "--min-effect", "shape=1"], 2, b"'shape' not found"),
        (["new.csv", "model.json", "--min-effect", "tables=x"], 2, b"'x' is not a number"),
        (["new.csv", "model.json", "--severity", "tables=loud"], 2, b"tables=warn or tables=fail"),
        (["new.csv", "model.json", "--families", "tabels"], 2, b"did you mean 'tables'"),
        (["new.csv", "model.json", "-c", "smoek"], 2, b"did you mean 'smoke'"),
        (["new.csv", "model.json", "-o", "new.csv"], 2, b"new.csv"),
        (["new.csv", "model.json", "--write-baseline", "model.json"], 2, b"is an input"),
        (["new.csv", "model.json", "--report", "junti=x.xml"], 2, b"did you mean 'junit'"),
        (["empty.csv", "model.json"], 3, b"empty"),
        (["header.csv", "model.json"], 4, b"no rows"),
        (["other.csv", "model.json"], 3, b"none of its columns is in the model"),
    ],
)  # fmt: skip
def test_errors_are_one_line(gml, folder, args, code, message):
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text((folder / "new.csv").read_text().splitlines()[0] + "\n")
    (folder / "other.csv").write_text("p,q\n1,2\n")
    done = gml("check", *args)
    assert done.returncode == code, done.stderr.decode()
    assert done.stdout == b""
    assert message in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"gml: error: ")


def test_a_failed_run_leaves_old_files(gml, folder):
    (folder / "old.xml").write_text("old")
    (folder / "known.json").write_text("old")
    done = gml(
        "check",
        "header.csv",
        "model.json",
        "--report",
        "junit=old.xml",
        "--write-baseline",
        "known.json",
    )
    assert done.returncode == 3
    # The report says why; nothing was accepted.
    assert "<error " in (folder / "old.xml").read_text()
    assert (folder / "known.json").read_text() == "old"
    done = gml("check", "new.csv", "model.json", "-c", "smoek", "--report", "junit=known.json")
    assert done.returncode == 2
    assert (folder / "known.json").read_text() == "old"


def test_standard_input_is_no_file(gml, folder):
    rows = (folder / "bad.csv").read_bytes()
    args = ("check", "-", "model.json", "--report", "sarif=x.sarif", "--report", "junit=x.xml")
    annotations = gml(*args, "-f", "github", stdin=rows)
    assert annotations.returncode == 1
    assert annotations.stdout.startswith(b"::error title=gml check")
    assert b"file=" not in annotations.stdout
    (run,) = json.loads((folder / "x.sarif").read_text())["runs"]
    assert all("physicalLocation" not in r["locations"][0] for r in run["results"])
    assert run["properties"]["data"] == "standard input"
    assert '"standard input"' in (folder / "x.xml").read_text()
    assert report(gml(*args, "-f", "json", stdin=rows), 1)["data"] == "standard input"
    assert b"standard input (3000 rows)" in gml(*args, stdin=rows).stdout


@pytest.mark.parametrize("form", ["text", "json", "markdown", "junit", "github", "sarif"])
def test_paths_that_are_not_utf_8(gml, folder, form):
    data, known = "d\udcff.csv", "b\udcff.json"
    shutil.copy(folder / "new.csv", folder / data)
    done = gml("check", data, "model.json", "--write-baseline", known, "-f", form)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("utf-8")
    assert gml("check", data, "model.json", "--baseline", known, "-f", form).returncode == 0
    if form in ("json", "sarif"):
        (folder / "report.json").write_bytes(done.stdout)
        assert gml("verify", "report.json").returncode == 0


@pytest.mark.parametrize(("data", "code"), [("new.csv", 0), ("bad.csv", 1)])
def test_a_closed_pipe_keeps_the_answer(folder, data, code):
    process = subprocess.Popen(
        [*GML, "check", data, "model.json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=dict(os.environ),
    )  # fmt: skip
    process.stdout.close()
    assert process.wait(60) == code
    assert process.stderr.read() == b""
    process.stderr.close()


def test_models_of_other_formats_are_exact(gml, folder):
    assert gml("convert", "model.json", "model.bif").returncode == 0
    found = report(gml("check", "new.csv", "model.bif", "-f", "json"), 0)
    assert any("exact" in note for note in found["notes"])
    assert found["model_rows"] is None


def test_numbers_are_cut_as_when_the_model_was_fitted(gml, tmp_path):
    rng = np.random.default_rng(2)
    for name, shift in (("train", 0.0), ("new", 0.0), ("late", 1.0)):
        x = rng.normal(size=1500) + shift
        y = np.where(rng.random(1500) < 1 / (1 + np.exp(-2 * x)), "a", "b")
        rows = "".join(f"{a:.4f},{b}\n" for a, b in zip(x, y, strict=True))
        (tmp_path / f"{name}.csv").write_text("x,y\n" + rows)
    assert gml("chowliu", "train.csv", "--bins", "4", "-o", "tree.json").returncode == 0
    assert gml("fit-params", "train.csv", "tree.json", "-o", "m.json").returncode == 0
    assert gml("check", "new.csv", "m.json").returncode == 0
    found = report(gml("check", "late.csv", "m.json", "-f", "json"), 1)
    assert failing(found) == ["schema:range:x", "schema:drift:x", "tables:x|"]


def write_ages(path, n, strange=()):
    """Ages that are cut when the model is fitted; the first ones are something else."""
    rng = np.random.default_rng(n)
    ages = [f"{age:.1f}" for age in rng.normal(50, 12, n - len(strange))]
    sick = rng.random(n) < 0.3
    with path.open("w") as file:
        file.write("age,sick\n")
        file.writelines(
            f"{age},{'yes' if ill else 'no'}\n"
            for age, ill in zip([*strange, *ages], sick.tolist(), strict=True)
        )


@pytest.fixture
def cut(gml, tmp_path):
    """A model of ages in four intervals, and its profile."""
    write_ages(tmp_path / "old.csv", 2000)
    (tmp_path / "g.dot").write_text("digraph { age -> sick; }")
    gml("profile", "old.csv", "--bins", "4", "-o", "schema.json")
    done = gml("fit-params", "old.csv", "g.dot", "--bins", "4", "-o", "model.json")
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.parametrize("through_counts", [False, True])
def test_text_among_numbers_is_an_unknown_value(gml, cut, through_counts):
    def check(n, strange, *options):
        write_ages(cut / "new.csv", n, strange)
        data = "new.csv"
        if through_counts:
            data = "new.parquet"
            counted = gml(
                *("count", "new.csv", "--implied", "g.dot", "-o", data),
                *("--kinds", "labels", "--max-levels", 2000),
            )
            assert counted.returncode == 0, counted.stderr
        return gml("check", data, "model.json", "-f", "json", *options)

    assert failing(report(check(1000, []), 0)) == []
    found = report(check(1000, ["unknown", "n.a."] * 20), 1)
    assert failing(found)[0] == "schema:levels:age"
    (levels,) = (check for check in found["checks"] if check["id"] == "schema:levels:age")
    assert levels["new"] == {"levels": 6, "unknown rows": 40, "unknown": ["n.a.", "unknown"]}
    rare = report(check(1001, ["unknown"]), 0)
    assert any("'unknown' (1); too few to be a change" in note for note in rare["notes"])
    declared = report(check(1001, ["unknown"], "--levels", "schema.json"), 1)
    assert failing(declared) == ["schema:levels:age"]


def test_many_texts_among_numbers_are_refused(gml, cut):
    write_ages(cut / "new.csv", 1000, [f"text {k}" for k in range(300)])
    done = gml("check", "new.csv", "model.json")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"data row 1: column 'age': level 'text 0' not found" in done.stderr


def test_missing_values_are_no_unknown_ones_where_levels_are_declared(gml, tmp_path):
    write_ages(tmp_path / "data.csv", 2000, ["NA"] * 300)
    (tmp_path / "g.dot").write_text("digraph { age -> sick; }")
    gml("profile", "data.csv", "--bins", "4", "-o", "schema.json")
    options = ("--levels", "schema.json", "--missing", "level")
    done = gml("fit-params", "data.csv", "g.dot", *options, "-o", "model.json")
    assert done.returncode == 0, done.stderr
    found = report(gml("check", "data.csv", "model.json", *options, "-f", "json"), 0)
    levels = next(c for c in found["checks"] if c["id"] == "schema:levels:age")
    assert levels["new"]["unknown rows"] == 0


def test_a_rare_unknown_value_is_noted(gml, folder):
    lines = (folder / "new.csv").read_text().splitlines()
    lines[3] = lines[3].rpartition(",")[0] + ",maybe"
    (folder / "rare.csv").write_text("\n".join(lines) + "\n")
    done = gml("check", "rare.csv", "model.json")
    assert done.returncode == 0
    assert (
        "dysp: values that the model does not know: 'maybe' (1); too few to be a change"
        in done.stdout.decode()
    )


def test_accepting_anew_leaves_the_baseline_of_the_settings_aside(gml, folder):
    (folder / "gml.toml").write_text('[check]\nbaseline = "known.json"\n')
    assert gml("check", "bad.csv", "model.json", "--write-baseline", "known.json").returncode == 0
    assert gml("check", "bad.csv", "model.json").returncode == 0
    assert gml("check", "new.csv", "model.json", "--write-baseline", "known.json").returncode == 0
    assert json.loads((folder / "known.json").read_text())["accepted"] == []
    assert gml("check", "bad.csv", "model.json").returncode == 1
    both = ("--baseline", "absent.json", "--write-baseline", "absent.json")
    assert gml("check", "bad.csv", "model.json", *both).returncode == 0


def of_tables(found):
    """The checks that a count file allows too, without what their number changes."""
    by_number = ("p_adjusted", "log10_p_adjusted", "q_value")
    return [
        {key: value for key, value in check.items() if key not in by_number}
        for check in found["checks"]
        if check["id"] != "schema:repeats"
    ]


def test_count_files(gml, folder, sample_data):
    graph = sample_data / "asia.dot"
    assert gml("count", "bad.csv", "--implied", graph, "-o", "all.parquet").returncode == 0
    assert gml("count", "bad.csv", "--graph", graph, "-o", "families.parquet").returncode == 0
    rows = report(gml("check", "bad.csv", "model.json", *TABLES_ONLY), 1)
    counted = report(gml("check", "all.parquet", "model.json", *TABLES_ONLY), 1)
    assert of_tables(rows) == of_tables(counted)
    assert rows["notes"] == counted["notes"]
    everything = report(gml("check", "all.parquet", "model.json", *JSON), 1)
    assert any("no rows" in note for note in everything["notes"])
    lacking = gml("check", "families.parquet", "model.json")
    assert lacking.returncode == 4
    assert b"gml count DATA --implied model.json" in lacking.stderr
    some = report(
        gml("check", "families.parquet", "model.json", "-f", "json", "--families", "schema,tables"),
        1,
    )
    assert "tables:bronc|smoke=no" in failing(some)


def test_tables_that_a_check_needs(gml, folder, sample_data):
    assert gml("count", "new.csv", "--pairs", "-o", "pairs.parquet").returncode == 0
    alone = report(gml("check", "pairs.parquet", "model.json", "--families", "schema", *JSON), 0)
    rows = report(gml("check", "new.csv", "model.json", "--families", "schema", *JSON), 0)
    assert of_tables(alone) == of_tables(rows)
    for families, way_out in (
        ("schema,tables", "--graph model.json, or --families schema\n"),
        ("tables", "--graph model.json\n"),
        ("schema,structure", "--implied model.json, or --families schema\n"),
    ):
        done = gml("check", "pairs.parquet", "model.json", "--families", families)
        assert done.returncode == 4
        assert done.stderr.decode().endswith(f"gml count DATA {way_out}")
    graph = sample_data / "asia.dot"
    assert gml("count", "new.csv", "--graph", graph, "-o", "families.parquet").returncode == 0
    done = gml("check", "families.parquet", "model.json")
    assert done.stderr.endswith(b"--implied model.json, or --families schema,tables\n")


def test_a_table_that_is_not_there_of_a_column_with_a_semicolon(gml, tmp_path):
    rows = "".join(f"{'xy'[k % 2]},{'uv'[k % 3 == 0]},{'pq'[k % 5 == 0]}\n" for k in range(300))
    (tmp_path / "d.csv").write_text("as;ia,b,c\n" + rows)
    (tmp_path / "g.dot").write_text('digraph { "as;ia" -> c; b -> c }')
    assert gml("fit-params", "d.csv", "g.dot", "-o", "m.json").returncode == 0
    assert gml("count", "d.csv", "--pairs", "-o", "p.parquet").returncode == 0
    done = gml("check", "p.parquet", "m.json")
    assert done.returncode == 4
    assert b"no table of 'as;ia', 'b', 'c'; a check needs more tables: gml count" in done.stderr


@pytest.mark.parametrize(("given", "code"), [("level", 0), ("drop", 2), ("available", 2)])
def test_missing_values_of_a_count_file_are_treated_already(gml, tmp_path, given, code):
    rows = "".join(f"{'NA' if k % 5 == 0 else 'xy'[k % 2]},{k % 3}\n" for k in range(300))
    (tmp_path / "d.csv").write_text("a,b\n" + rows)
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    level = ("--missing", "level")
    assert gml("fit-params", "d.csv", "g.dot", *level, "-o", "m.json").returncode == 0
    assert gml("count", "d.csv", "--pairs", *level, "-o", "c.parquet").returncode == 0
    done = gml("check", "c.parquet", "m.json", "--missing", given)
    assert done.returncode == code
    if code:
        assert f"--missing {given}: c.parquet was counted with --missing level" in str(done.stderr)


def test_columns_that_are_left_out(gml, folder):
    found = report(gml("check", "new.csv", "model.json", "--exclude", "dysp", "-f", "json"), 0)
    assert not any(
        "dysp" in check["variables"] for check in found["checks"] if check["family"] != "fit"
    )
    rows = list(csv.reader((folder / "new.csv").read_text().splitlines()))
    (folder / "narrow.csv").write_text("\n".join(",".join(row[:-1]) for row in rows) + "\n")
    assert gml("check", "narrow.csv", "model.json", "--exclude", "dysp").returncode == 0
    found = report(gml("check", "narrow.csv", "model.json", "-c", "smoke,bronc", "-f", "json"), 0)
    assert {name for check in found["checks"] for name in check["variables"]} == {"smoke", "bronc"}
    assert gml("check", "narrow.csv", "model.json", "-c", "smoke,dysp").returncode == 1


def test_what_a_pass_leaves_unsaid_is_noted(gml, folder):
    (folder / "one.csv").write_text(
        "\n".join((folder / "new.csv").read_text().splitlines()[:2]) + "\n"
    )
    few = report(gml("check", "one.csv", "model.json", "-f", "json"), 0)
    assert any("1 row beside 5000" in note for note in few["notes"])
    assert not any(c["status"] == "pass" for c in few["checks"] if c["kind"] == "independence")
    small = report(gml("check", "bad.csv", "model.json", "-f", "json", "--min-effect", "0.9"), 0)
    assert any("below --min-effect" in note for note in small["notes"])


def test_a_baseline_of_another_model_is_warned_of(gml, folder):
    assert gml("check", "train.csv", "model.json", "--write-baseline", "known.json").returncode == 0
    assert gml("check", "new.csv", "model.json", "--baseline", "known.json").stderr == b""
    gml("fit-params", "new.csv", "model.json", "-o", "other.json")
    done = gml("check", "new.csv", "other.json", "--baseline", "known.json")
    assert done.stderr.startswith(b"gml: warning: the baseline was written for another model")
    text = (folder / "known.json").read_text()
    (folder / "known.json").write_text(text.replace('"rows": 5000', '"rows": 5001'))
    done = gml("check", "new.csv", "model.json", "--baseline", "known.json")
    assert b"known.json: changed since it was written" in done.stderr


def test_an_effect_that_cannot_be_reached_and_a_file_that_is_no_schema(gml, folder):
    done = gml("check", "new.csv", "model.json", "--min-effect", "tables=5")
    assert done.returncode == 2
    assert b"at most 1" in done.stderr
    gml("check", "train.csv", "model.json", "--write-baseline", "known.json")
    done = gml("check", "new.csv", "model.json", "--levels", "known.json")
    assert done.returncode == 3
    assert b"not a schema file" in done.stderr


@pytest.mark.parametrize("token", ["NA", "?"])
def test_missing_values_that_are_a_level_are_as_many_as_before(gml, tmp_path, token):
    rows = "".join(f"{token if k % 5 == 0 else 'xy'[k % 2]},{k % 3}\n" for k in range(900))
    (tmp_path / "d.csv").write_text("a,b\n" + rows)
    (tmp_path / "g.dot").write_text("digraph { a; b }")
    assert gml("fit-params", "d.csv", "g.dot", "--missing", "level", "-o", "m.json").returncode == 0
    found = report(gml("check", "d.csv", "m.json", "-f", "json", "--families", "schema"), 0)
    (missing,) = (check for check in found["checks"] if check["id"] == "schema:missing:a")
    assert missing["old"]["missing"] == missing["new"]["missing"] == 180


def test_counted_levels_that_are_declared_in_another_order_than_the_models(gml, tmp_path):
    rows = [("xy"[k % 2], "uv"[k % 3 == 0]) for k in range(600)]
    gaps = [("NA" if k % 5 == 0 else a, b) for k, (a, b) in enumerate(rows)]
    for name, table in (("train", gaps), ("new", rows)):
        text = "".join(f"{a},{b}\n" for a, b in table)
        (tmp_path / f"{name}.csv").write_text("a,b\n" + text)
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    declared = {"a": {"levels": ["y", "x"]}, "b": {"levels": ["u", "v"]}}
    (tmp_path / "s.json").write_text(json.dumps({"schema": "gml/1", "columns": declared}))
    for schema in (["--levels", "s.json"], []):
        level = ("--missing", "level")
        assert (
            gml("fit-params", "train.csv", "g.dot", *level, *schema, "-o", "m.json").stderr == b""
        )
        wanted = ("--levels", "s.json", *level, "--implied", "g.dot")
        assert gml("count", "new.csv", *wanted, "-o", "n.parquet").returncode == 0
        found = [
            of_tables(report(gml("check", data, "m.json", "--levels", "s.json", *TABLES_ONLY), 1))
            for data in ("new.csv", "n.parquet")
        ]
        assert found[0] == found[1]


def test_the_choices_of_options_are_those_of_the_library():
    """Options name them without loading what computes."""
    command = cli.get_command(click.Context(cli), "check")
    options = {parameter.name: parameter for parameter in command.params}
    assert tuple(options["alpha_per"].type.choices) == ALPHA_PER
    assert options["families"].type.choices == FAMILIES
    words = options["severity"].metavar.removeprefix("FAMILY=").split("|")
    assert sorted(words) == sorted(SEVERITIES)
    for severity in SEVERITIES:
        given = options["severity"].callback(click.Context(command), None, [f"fit={severity}"])
        assert given == {"fit": severity}
