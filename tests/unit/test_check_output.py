"""Several reports of one run of checks: where they go, and what is refused."""

from __future__ import annotations

import json
import os

import click
import pytest
from click.testing import CliRunner

from gml.cli.shared.check_reports import check_output
from gml.cli.shared.common_options import common_options
from gml.cli.shared.run import claim_input
from gml.errors import GmlError
from tests.unit.test_check_reports import check, report


@click.command("check")
@check_output
@click.option("--input", "input_")
@common_options
def command(out, input_):
    """Write a report that was made beforehand."""
    if input_:
        claim_input(input_, "input")
    out.write(report(check()))


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return lambda *args: CliRunner().invoke(command, args)


def refused(result):
    assert result.exit_code != 0
    if isinstance(result.exception, GmlError):
        assert result.exception.exit_code == 2
        return str(result.exception)
    assert result.exit_code == 2
    return result.output


def test_one_report_to_standard_output(call):
    assert call().output.startswith("FAIL  ")
    assert json.loads(call("-f", "json").output)["verdict"] == "fail"
    assert call("-f", "github").output.startswith("::error ")


@pytest.mark.parametrize(
    ("suffix", "start"),
    [("txt", "FAIL"), ("json", '{"schema"'), ("md", "## "), ("xml", "<?xml"), ("sarif", "{\n")],
)
def test_the_suffix_picks_the_format(call, tmp_path, suffix, start):
    assert call("-o", f"x.{suffix}").output == ""
    assert (tmp_path / f"x.{suffix}").read_text().startswith(start)


def test_others_to_files(call, tmp_path):
    result = call("--report", "junit=out.xml", "--report", "sarif=a=b.sarif", "-f", "markdown")
    assert result.exit_code == 0
    assert result.output.startswith("## gml check")
    assert (tmp_path / "out.xml").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "a=b.sarif").read_text())["version"] == "2.1.0"
    assert call("-o", "x.json", "--report", "text=-").output.startswith("FAIL  ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--report", "juint=x.xml"], "did you mean 'junit'?"),
        (["--report", "out.xml"], "write FORMAT=FILE"),
        (["--report", "junit="], "write FORMAT=FILE"),
        (["--report", "junit=no/such/x.xml"], "there is no folder"),
        (["--report", "text=-"], "two outputs would go to standard output"),
        (["-o", "-", "--report", "text=/dev/stdout"], "two outputs would go to standard output"),
        (["-o", "x.xml", "--report", "junit=./x.xml"], "two outputs would go to './x.xml'"),
        (["--report", "json=x", "--report", "text=x"], "two outputs would go to 'x'"),
        (["-o", "x.csv"], "does not tell its format"),
        (["-f", "csv"], "is not one of"),
    ],
)
def test_what_is_refused(call, args, said):
    assert said in refused(call(*args))


def test_an_input_is_not_replaced(call, tmp_path):
    (tmp_path / "model.json").write_text("{}")
    said = refused(call("--input", "model.json", "--report", "json=model.json"))
    assert "is an input" in said
    assert (tmp_path / "model.json").read_text() == "{}"


def test_several_to_nowhere(call):
    assert call("-o", "/dev/null", "--report", "json=/dev/null").exit_code == 0


def test_a_file_that_fails_does_not_keep_the_others_back(call, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is always full")
    result = call("--report", "junit=/dev/full", "--report", "json=x.json")
    assert result.exception.exit_code == 4
    assert result.output.startswith("FAIL  ")
    assert (tmp_path / "x.json").exists()


def test_annotations_add_to_the_summary_of_the_step(call, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    call("-f", "text")
    assert not summary.exists()
    summary.write_text("before\n\n")
    call("--report", "github=annotations.txt")
    call("-f", "github")
    text = summary.read_text()
    assert text.startswith("before\n\n## gml check: FAIL\n")
    assert text.count("## gml check: FAIL") == 2


def test_a_summary_that_cannot_be_written_is_a_warning(call, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    result = call("-f", "github")
    assert result.exit_code == 0
    assert "gml: warning: cannot add to the summary of the step" in result.stderr
