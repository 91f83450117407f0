"""gml check of several deliveries, of inputs that are rejected, and of models that were accepted."""

from __future__ import annotations

import json
import os
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

from tests.cli.test_check import report
from tests.command_line import error_line, run_here


@pytest.fixture(scope="module")
def made(tmp_path_factory, sample_data):
    """Models with and without a baseline, three honest deliveries, and bad ones."""
    place = tmp_path_factory.mktemp("made")
    shutil.copy(sample_data / "asia.csv", place / "train.csv")
    for options, name in (((), "plain.json"), (("--accept",), "model.json")):
        args = ("fit-params", "train.csv", sample_data / "asia.dot", *options, "-o", name)
        run_here(args, place).check_returncode()
    for name, seed in (("a.csv", "1"), ("b.csv", "2"), ("c.csv", "3")):
        args = ("sample", "plain.json", "-n", "1200", "--seed", seed, "-o", name)
        run_here(args, place).check_returncode()
    lines = (place / "a.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    for row in cells[1::2]:
        row[4] = "no"
    (place / "bad.csv").write_text("\n".join(map(",".join, cells)) + "\n")
    (place / "ragged.csv").write_text("\n".join([*lines[:20], "yes,no", *lines[20:]]) + "\n")
    (place / "header.csv").write_text(lines[0] + "\n")
    (place / "holes.csv").write_text("\n".join([*lines[:9], "NA" + lines[9][2:]]) + "\n")
    (place / "other.csv").write_text("p,q\n1,2\n")
    return place


@pytest.fixture
def place(tmp_path, made):
    """The same for one test alone."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


# --- several deliveries -----------------------------------------------------------------------


def test_one_report_with_a_section_per_file(gml, place):
    done = gml(
        "check", "a.csv", "bad.csv", "b.csv", "model.json", "-f", "json",
        "--report", "junit=j.xml", "--report", "sarif=s.sarif", "--report", "markdown=m.md",
        "--report", "github=g.txt", "--report", "text=t.txt",
    )  # fmt: skip
    found = report(done, 1)
    assert done.stderr == b""
    assert [d["data"] for d in found["deliveries"]] == ["a.csv", "bad.csv", "b.csv"]
    assert [d["verdict"] for d in found["deliveries"]] == ["pass", "fail", "pass"]
    assert len(found["hash"]["inputs"]["data"]) == 3
    assert isinstance(found["hash"]["inputs"]["model"], str)
    suites = ElementTree.parse(place / "j.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["a.csv", "bad.csv", "b.csv"]
    assert [suite.get("failures") == "0" for suite in suites] == [True, False, True]
    (run,) = json.loads((place / "s.sarif").read_text())["runs"]
    places = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in run["results"]]
    assert {p["uri"] for p in places} == {"bad.csv"}
    assert "### bad.csv: FAIL" in (place / "m.md").read_text()
    assert (place / "g.txt").read_text().startswith("::error file=bad.csv,")
    assert (place / "t.txt").read_text().startswith("FAIL  1 of 3 deliveries fails: ")
    # The order of the files shows in the order of the sections alone.
    again = report(gml("check", "bad.csv", "b.csv", "a.csv", "model.json", "-f", "json"), 1)
    by_name = {d["data"]: d for d in found["deliveries"]}
    assert [by_name[d["data"]] for d in again["deliveries"]] == again["deliveries"]


def test_alpha_for_the_run_and_for_each_file(gml, place):
    args = ("a.csv", "bad.csv", "model.json", "-f", "json")
    run, each = (report(gml("check", *args, "--alpha-per", per), 1) for per in ("run", "file"))
    alone = report(gml("check", "bad.csv", "model.json", "-f", "json"), 1)
    assert each["deliveries"][1]["checks"] == alone["checks"]

    def surest(checks):
        return min(
            (c["log10_p_adjusted"], c["log10_p"])
            for c in checks
            if c["log10_p_adjusted"] is not None
        )

    adjusted, p = surest(run["deliveries"][1]["checks"])
    asked = [c for d in run["deliveries"] for c in d["checks"] if c["log10_p"] is not None]
    assert 10 ** (adjusted - p) == pytest.approx(len(asked))
    assert surest(alone["checks"])[0] < adjusted


def test_one_delivery_is_reported_as_ever(gml, place):
    found = report(gml("check", "a.csv", "model.json", "-f", "json"), 0)
    assert list(found) == [
        "schema", "hash", "verdict", "alpha", "data", "model", "rows", "model_rows", "summary",
        "culprits", "checks", "unlikely_rows", "notes",
    ]  # fmt: skip
    assert isinstance(found["hash"]["inputs"]["data"], str)


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        (["a.csv", "b.csv"], 0, 0),
        (["bad.csv", "b.csv"], 1, 0),
        (["bad.csv", "header.csv"], 4, 1),
        (["bad.csv", "header.csv", "ragged.csv"], 3, 2),
        (["ragged.csv", "none.csv"], 3, 2),
    ],
)
def test_the_worst_exit_code_counts(gml, place, files, code, said):
    done = gml("check", *files, "model.json", "-f", "json", "--depfile", "d.d", "-o", "out.json")
    assert done.returncode == code, done.stderr
    lines = done.stderr.decode().splitlines()
    assert len(lines) == said
    assert all(line.startswith("gml: error: ") for line in lines)
    found = json.loads((place / "out.json").read_text())["deliveries"]
    assert [d["data"] for d in found] == files
    assert [d["verdict"] for d in found if d["data"] in ("a.csv", "b.csv")] == [
        "pass" for name in files if name in ("a.csv", "b.csv")
    ]
    if code < 3:
        rule = (place / "d.d").read_text().splitlines()[0]
        assert rule == f"out.json: {' '.join(files)} model.json"
    else:
        assert not (place / "d.d").exists()


def test_a_folder_and_standard_input(gml, place):
    (place / "days").mkdir()
    for name in ("b.csv", "a.csv"):
        shutil.copy(place / name, place / "days" / name)
    (place / "days" / ".part").write_text("half a")
    rows = (place / "c.csv").read_bytes()
    found = report(gml("check", "-", "days", "model.json", "-f", "json", stdin=rows), 0)
    names = ["standard input", "days/a.csv", "days/b.csv"]
    assert [d["data"] for d in found["deliveries"]] == names
    assert len(found["hash"]["inputs"]["data"]) == 3
    alone = report(gml("check", "days", "model.json", "-f", "json"), 0)
    assert [d["data"] for d in alone["deliveries"]] == names[1:]
    assert "only one argument can be -" in error_line(gml("check", "-", "-", "model.json"), 2)
    inside = gml("check", "days", "model.json", "-o", "days/report.json")
    assert "is inside 'days', an input folder" in error_line(inside, 2)
    twice = gml("check", "a.csv", "b.csv", "model.json", "--write-baseline", "x.json")
    assert "--write-baseline accepts one delivery" in error_line(twice, 2)
    (place / "empty").mkdir()
    assert "empty: a folder without any table" in error_line(gml("check", "empty", "model.json"), 3)


def test_deliveries_in_settings(gml, place):
    (place / "gml.toml").write_text('[check]\ndata = ["a.csv", "b.csv"]\nmodel = "model.json"\n')
    os.chmod(place / "gml.toml", 0o644)
    found = report(gml("check", "-f", "json"), 0)
    assert [d["data"] for d in found["deliveries"]] == ["a.csv", "b.csv"]
    assert found["settings"] == "gml.toml"
    # A lone argument is still DATA, and the model comes from the file.
    assert report(gml("check", "c.csv", "-f", "json"), 0)["data"] == "c.csv"
    both = report(gml("check", "-f", "json", env={"GML_DATA": "b.csv\nc.csv"}), 0)
    assert [d["data"] for d in both["deliveries"]] == ["b.csv", "c.csv"]
    (place / "gml.toml").write_text('[check]\ndata = "a.csv"\nmodel = "model.json"\n')
    assert report(gml("check", "-f", "json"), 0)["data"] == "a.csv"


# --- reports on exit 3 and 4 ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code", "line", "file"),
    [
        (["ragged.csv", "model.json"], 3, 21, "ragged.csv"),
        (["holes.csv", "model.json", "--missing", "error"], 3, None, "holes.csv"),
        (["other.csv", "model.json"], 3, None, "other.csv"),
        (["none.csv", "model.json"], 3, None, "none.csv"),
        (["header.csv", "model.json"], 4, None, "header.csv"),
        (["a.csv", "none.json"], 3, None, "none.json"),
        (["a.csv", "model.json", "--baseline", "train.csv"], 3, None, "train.csv"),
        (["a.csv", "model.json", "--levels", "train.csv"], 3, None, "train.csv"),
        (["empty", "model.json"], 3, None, "empty"),
        (["a.csv", "b.csv", "none.json"], 3, None, "none.json"),
    ],
)
def test_every_report_says_what_was_rejected(gml, place, args, code, line, file):
    (place / "empty").mkdir()
    others = [
        f"--report={form}=o.{form}" for form in ("text", "markdown", "junit", "github", "sarif")
    ]
    done = gml("check", *args, "-f", "json", *others)
    assert done.returncode == code
    (said,) = done.stderr.decode().splitlines()
    message = said.removeprefix("gml: error: ")
    assert said != message and message.startswith(f"{file}: ")
    found = json.loads(done.stdout)
    assert found["verdict"] == "error"
    for section in found.get("deliveries", [found]):
        expected = {"exit": code, "message": message, "file": file, "line": line}
        assert section["error"] == expected
    first = (place / "o.text").read_text().splitlines()[0]
    assert first.startswith("ERROR  ")
    errors = ElementTree.parse(place / "o.junit").getroot().findall("testsuite/testcase/error")
    assert {error.get("message") for error in errors} == {message}
    assert "## gml check: ERROR" in (place / "o.markdown").read_text()
    properties, _, text = (place / "o.github").read_text().splitlines()[0].partition("::not ")
    assert properties.startswith(f"::error file={file},") and text.startswith("checked: ")
    assert (f",line={line}," in properties) == (line is not None)
    result = json.loads((place / "o.sarif").read_text())["runs"][0]["results"][0]
    where = result["locations"][0]["physicalLocation"]
    assert (result["level"], where["artifactLocation"]["uri"]) == ("error", file)
    assert where["region"] == {"startLine": line or 1}


def test_an_error_without_a_report_is_one_line(gml, place):
    assert "line 21" in error_line(gml("check", "ragged.csv", "model.json"), 3)
    done = gml("check", "ragged.csv", "model.json", "-o", "out.txt")
    assert done.stdout == b""
    assert (place / "out.txt").read_text().startswith("ERROR  not checked: ragged.csv: line 21")


def test_a_wrong_call_writes_no_report(gml, place):
    (place / "old.xml").write_text("old")
    for wrong in (["-c", "smoek"], ["--alpha", "2"], ["--cut", "smoke"]):
        done = gml(
            "check", "a.csv", "model.json", *wrong, "--report", "junit=old.xml", "-f", "json"
        )
        assert done.returncode == 2
        assert done.stdout == b""
        assert (place / "old.xml").read_text() == "old"


def test_a_report_that_cannot_be_written_does_not_hide_the_problem(gml, place):
    (place / "locked").mkdir()
    args = ("check", "ragged.csv", "model.json", "--report", "junit=locked/x.xml")
    (place / "locked" / "x.xml").mkdir()
    assert "it is a folder" in error_line(gml(*args), 2)
    (place / "locked" / "x.xml").rmdir()
    full = gml("check", "ragged.csv", "model.json", "-f", "json", "-o", "/dev/full")
    assert full.returncode == 3
    lines = full.stderr.decode().splitlines()
    assert len(lines) == 2 and "line 21" in lines[1]


def test_messages_of_reports_name_flags(gml, place):
    done = gml("check", "holes.csv", "model.json", "--missing", "error", "-f", "json")
    message = json.loads(done.stdout)["error"]["message"]
    assert "--missing drop" in message and "`" not in message
    several = gml("check", "holes.csv", "a.csv", "model.json", "--missing", "error", "-f", "json")
    assert report(several, 3)["deliveries"][0]["error"]["message"] == message
    assert several.stderr.decode() == f"gml: error: {message}\n"


def test_the_summary_of_a_step_has_the_problem(gml, place):
    env = {"GITHUB_STEP_SUMMARY": str(place / "summary.md")}
    assert gml("check", "ragged.csv", "model.json", "-f", "github", env=env).returncode == 3
    assert "ragged.csv: line 21" in (place / "summary.md").read_text()


# --- accepting --------------------------------------------------------------------------------


def test_a_model_holds_what_was_accepted_with_it(gml, place):
    done = gml("check", "train.csv", "plain.json", "--write-baseline", "accepted.json")
    assert done.returncode == 0
    written = json.loads((place / "accepted.json").read_text())
    held = json.loads((place / "model.json").read_text())["graph"]["baseline"]
    assert held == {key: written[key] for key in ("rows", "accepted", "references")}
    by_file = report(
        gml("check", "c.csv", "plain.json", "--baseline", "accepted.json", "-f", "json"), 0
    )
    by_model = report(gml("check", "c.csv", "model.json", "-f", "json"), 0)
    assert by_file["checks"] == by_model["checks"]
    assert by_model["notes"] == []
    assert gml("verify", "model.json").returncode == 0
    # To accept the model again is to start anew.
    gml("check", "train.csv", "model.json", "--write-baseline", "again.json")
    again = json.loads((place / "again.json").read_text())
    assert {key: again[key] for key in held} == held


def test_a_model_can_be_edited_to_accept_more(gml, place):
    document = json.loads((place / "model.json").read_text())
    failing = [
        c["id"]
        for c in report(gml("check", "bad.csv", "model.json", "-f", "json"), 1)["checks"]
        if c["status"] == "fail"
    ]
    document["graph"]["baseline"]["accepted"] = [{"id": name} for name in [*failing, "fit:x"]]
    (place / "model.json").write_text(json.dumps(document))
    done = gml("check", "bad.csv", "model.json", "-f", "json")
    found = report(done, 0)
    assert found["summary"]["baselined"] == len(failing)
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "gml: warning: model.json: changed since it was written (its hash differs)"
    unknown = "the baseline accepts 'fit:x', which is no check of the model"
    assert lines[1].startswith(f"gml: warning: {unknown}")
    assert any(note.startswith(unknown) for note in found["notes"])
    assert gml("verify", "model.json").returncode == 1


def test_what_a_model_holds_can_be_added_to(gml, place):
    held = json.loads((place / "model.json").read_text())["graph"]["baseline"]
    args = ("check", "bad.csv", "model.json", "--baseline", "model.json")
    assert gml(*args, "--write-baseline", "more.json").returncode == 0
    more = json.loads((place / "more.json").read_text())
    assert len(more["accepted"]) > len(held["accepted"])
    assert gml("check", "bad.csv", "model.json", "--baseline", "more.json").returncode == 0
    alone = report(gml(*args, "-f", "json"), 1)
    assert alone["checks"] == report(gml(*args[:3], "-f", "json"), 1)["checks"]
    done = gml("check", "a.csv", "model.json", "--baseline", "plain.json")
    assert 'plain.json: not a baseline: "kind" is not "baseline"' in error_line(done, 3)


def test_other_formats_do_not_hold_the_baseline(gml, place, sample_data):
    done = gml("fit-params", "train.csv", sample_data / "asia.dot", "--accept", "-o", "model.bif")
    assert done.returncode == 0
    assert b"BIF does not hold the baseline; JSON does" in done.stderr


def test_a_model_without_a_baseline_says_so_on_one_line(gml, place):
    done = gml("check", "a.csv", "plain.json", "--unlikely-rows", "0")
    note = "note: no baseline: fit the model with --accept, or accept it on its rows with --write-baseline"
    assert done.stdout.decode().splitlines()[-1] == note
    assert len(note) <= 100
    several = gml("check", "a.csv", "b.csv", "plain.json").stdout.decode()
    assert several.count(note) == 1
    accepted = gml("check", "train.csv", "plain.json", "--write-baseline", "x.json")
    assert b"no baseline" not in accepted.stdout


# --- arguments --------------------------------------------------------------------------------


def test_swapped_arguments_are_recognised(gml, place):
    assert error_line(gml("check", "model.json", "a.csv"), 2) == (
        "gml: error: 'model.json' is a JSON file, and 'a.csv' is a table: data come first, "
        "gml check a.csv model.json\n"
    )
    assert "gml check a.csv b.csv model.json" in error_line(
        gml("check", "model.json", "a.csv", "b.csv"), 2
    )
    assert "gml check a.csv b.csv model.json" in error_line(
        gml("check", "a.csv", "model.json", "b.csv"), 2
    )


def test_missing_arguments_name_the_file_of_settings(gml, place):
    said = error_line(gml("check"), 2)
    assert (
        "Missing argument 'DATA': name it, or put data = '...' under [check] in a gml.toml" in said
    )
    said = error_line(gml("check", "a.csv"), 2)
    assert "Missing argument 'MODEL'" in said and "put model = '...' under [check]" in said


def test_help_does_not_promise_to_refuse_missing_values(gml, place):
    text = " ".join(gml("check", "--help").stdout.decode().split())
    assert "complete per table; by default as when the model was fitted." in text
    assert "[default: error]" not in text
