"""Settings from the environment and from files, for a small command."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gml.cli.shared.check_reports import check_output
from gml.cli.shared.common_options import alpha_option, common_options
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.run import run_ledger, was_given
from gml.cli.shared.settings import ConfiguredCommand
from gml.errors import GmlError


@click.command(
    "check", cls=ConfiguredCommand, paths=("data", "model", "baseline"), outputs=("report",)
)
@click.argument("data_path", metavar="DATA")
@click.argument("model_path", metavar="MODEL")
@alpha_option("The level.", 0.01)
@name_list_option("-c", "--columns", help_="Columns.")
@click.option("--min-effect", multiple=True, metavar="[FAMILY=]X")
@click.option("--severity", multiple=True, metavar="FAMILY=SEVERITY")
@click.option("--na", multiple=True, metavar="TOKEN")
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option("--missing", type=click.Choice(["error", "drop"]), default="error")
@click.option("--baseline", metavar="FILE")
@click.option("--strict", is_flag=True)
@check_output
@common_options
@click.pass_context
def command(ctx, out, **values):
    """Keep what came."""
    ctx.obj.update(values, out=out, inputs=[item.path for item in run_ledger().inputs])
    ctx.obj["hashes"] = run_ledger().input_hashes()
    ctx.obj["given"] = sorted(name for name in values if was_given(name))


class Called:
    """The values that a call came to, or the error."""

    def __init__(self, args):
        self.values = {}
        result = CliRunner().invoke(command, args, obj=self.values)
        self.error = result.exception
        self.code = result.exit_code
        if isinstance(self.error, GmlError):
            self.code = self.error.exit_code
        self.said = str(self.error) if isinstance(self.error, GmlError) else result.output
        self.stderr = result.stderr

    def __getitem__(self, name):
        assert self.code == 0, self.said
        return self.values[name]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A repository, which is the current folder."""
    for name in list(os.environ):
        if name.startswith("GML_"):
            monkeypatch.delenv(name)
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"


def call(*args):
    return Called([*args] if args else ["d.csv", "m.json"])


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# --- who wins --------------------------------------------------------------------------------


def test_without_settings_the_defaults_hold(place):
    found = call()
    assert (found["alpha"], found["seed"], found["columns"]) == (0.01, 0, ())
    assert found["given"] == ["data_path", "model_path"]
    assert found["inputs"] == []


def test_flags_win_over_the_environment_and_that_over_the_file(place, monkeypatch):
    write(place / "gml.toml", "[check]\nalpha = 0.02\nseed = 2\nmissing = 'drop'\n")
    monkeypatch.setenv("GML_ALPHA", "0.03")
    monkeypatch.setenv("GML_SEED", "3")
    found = call("d.csv", "m.json", "--alpha", "0.04")
    assert (found["alpha"], found["seed"], found["missing"]) == (0.04, 3, "drop")
    assert {"alpha", "seed", "missing"} <= set(found["given"])
    assert found["inputs"] == ["gml.toml"]


def test_a_list_replaces_a_list(place, monkeypatch):
    write(place / "gml.toml", "[check]\nna = ['a', 'b']\nseverity = {fit = 'warn'}\n")
    assert call()["na"] == ("a", "b")
    monkeypatch.setenv("GML_NA", "c")
    assert call()["na"] == ("c",)
    assert call("d", "m", "--na", "d")["na"] == ("d",)
    assert call("d", "m", "--severity", "tables=warn")["severity"] == ("tables=warn",)


def test_arguments_come_from_the_file(place, monkeypatch):
    write(place / "gml.toml", "[check]\ndata = 'd.csv'\nmodel = 'm.json'\n")
    assert Called([])["data_path"] == "d.csv"
    found = call("new.csv")
    assert (found["data_path"], found["model_path"]) == ("new.csv", "m.json")
    monkeypatch.setenv("GML_MODEL", "other.json")
    assert Called([])["model_path"] == "other.json"


def test_a_missing_argument_is_missing(place):
    found = Called([])
    assert found.code == 2
    assert "Missing argument 'DATA'" in found.said


# --- the environment -------------------------------------------------------------------------


def test_an_empty_variable_is_not_set(place, monkeypatch):
    write(place / "gml.toml", "[check]\nalpha = 0.02\n")
    monkeypatch.setenv("GML_ALPHA", "")
    monkeypatch.setenv("GML_CONFIG", "")
    monkeypatch.setenv("GML_NO_CONFIG", "")
    assert call()["alpha"] == 0.02


def test_lists_in_the_environment(place, monkeypatch):
    monkeypatch.setenv("GML_COLUMNS", 'A,"b,c"')
    monkeypatch.setenv("GML_MIN_EFFECT", "tables=0.05\nfit=0.1\n")
    monkeypatch.setenv("GML_REPORT", "junit=out.xml\nmarkdown=out.md")
    found = call()
    assert found["columns"] == ("A", "b,c")
    assert found["min_effect"] == ("tables=0.05", "fit=0.1")
    assert [(other.format, other.path) for other in found["out"].others] == [
        ("junit", "out.xml"),
        ("markdown", "out.md"),
    ]


@pytest.mark.parametrize(("text", "on"), [("1", True), ("true", True), ("0", False), ("no", False)])
def test_flags_in_the_environment(place, monkeypatch, text, on):
    monkeypatch.setenv("GML_STRICT", text)
    assert call()["strict"] is on


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("GML_ALPHA", "often"),
        ("GML_ALPHA", "2"),
        ("GML_STRICT", "perhaps"),
        ("GML_MISSING", "dorp"),
        ("GML_REPORT", "juint=x.xml"),
        ("GML_COLUMNS", 'A,"b'),
        ("GML_NO_CONFIG", "perhaps"),
    ],
)
def test_a_bad_variable_is_named(place, monkeypatch, variable, text):
    monkeypatch.setenv(variable, text)
    found = call()
    assert found.code == 2
    assert found.said.startswith(f"{variable}: ")
    assert text.partition("=")[0] in found.said


# --- finding the file ------------------------------------------------------------------------


def test_the_current_folder_goes_before_the_root_of_the_repository(place, monkeypatch):
    write(place / "gml.toml", "[check]\nseed = 1\n")
    write(place / "pyproject.toml", "[tool.gml.check]\nseed = 2\n")
    write(place / "a" / "pyproject.toml", "[tool.gml.check]\nseed = 3\n")
    write(place / "a" / "b" / "pyproject.toml", "[tool.ruff]\nline-length = 100\n")
    assert call()["seed"] == 1
    monkeypatch.chdir(place / "a" / "b")
    assert call()["seed"] == 1
    assert call()["inputs"] == ["../../gml.toml"]
    monkeypatch.chdir(place / "a")
    assert call()["seed"] == 3
    assert call()["inputs"] == ["pyproject.toml"]
    (place / "a" / "pyproject.toml").unlink()
    assert call()["seed"] == 1


def test_the_search_ends_with_the_repository(place, monkeypatch):
    write(place.parent / "gml.toml", "[check]\nseed = 1\n")
    assert call()["seed"] == 0
    (place / ".git").rmdir()
    assert call()["seed"] == 0
    write(place / "gml.toml", "[check]\nseed = 2\n")
    assert call()["seed"] == 2
    (place / ".git").write_text("gitdir: elsewhere\n")
    (place / "a").mkdir()
    monkeypatch.chdir(place / "a")
    assert call()["seed"] == 2


@pytest.mark.parametrize("name", ["gml.toml", "pyproject.toml"])
@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write_is_refused(place, name, mode):
    write(place / name, f"[{'tool.gml.' * (name != 'gml.toml')}check]\nseed = 1\n")
    (place / name).chmod(mode)
    found = call()
    assert found.code == 3
    assert found.said == (
        f"{name}: others can write these settings; chmod go-w it, name it with --config if you trust it, "
        "or leave it out with --no-config"
    )
    assert call("d", "m", "--no-config")["seed"] == 0
    named = call("d", "m", "--config", name)
    assert named["seed"] == 1
    assert named.stderr == f"gml: warning: {name}: others can write these settings\n"
    assert call("d", "m", "--config", name, "-q").stderr == ""


def test_a_shared_file_without_settings_may_be_anybodys(place):
    write(place / "pyproject.toml", "[tool.ruff]\nline-length = 100\n")
    (place / "pyproject.toml").chmod(0o666)
    assert call()["seed"] == 0


def test_a_file_of_another_user_is_refused(place, monkeypatch):
    write(place / "gml.toml", "[check]\nseed = 1\n")
    uid = os.stat(place / "gml.toml").st_uid
    real = os.fstat

    def of_another(descriptor):
        found = list(real(descriptor))
        found[stat.ST_UID] = uid + 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", of_another)
    found = call()
    assert found.code == 3
    assert "gml.toml: these settings belong to another user" in found.said
    named = call("d", "m", "--config", "gml.toml")
    assert (named["seed"], named.stderr) == (1, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_of_another_user_is_refused(place):
    write(place / "mine.toml", "[check]\nseed = 1\n")
    (place / "gml.toml").symlink_to("mine.toml")
    assert call()["seed"] == 1
    os.lchown(place / "gml.toml", 12345, 12345)
    assert call().code == 3
    os.lchown(place / "gml.toml", 0, 0)
    os.chown(place / "mine.toml", 12345, 12345)
    assert call().code == 3


def test_a_gml_toml_without_the_table_ends_the_search(place):
    write(place / "gml.toml", "")
    write(place / "pyproject.toml", "[tool.gml.check]\nseed = 2\n")
    assert call()["seed"] == 0


def test_a_file_by_name(place, monkeypatch):
    write(place / "gml.toml", "[check]\nseed = 1\n")
    write(place / "ci" / "strict.toml", "[check]\nseed = 2\nbaseline = 'b.json'\n")
    write(place / "ci" / "shared.toml", "[tool.gml.check]\nseed = 3\n")
    found = call("d", "m", "--config", "ci/strict.toml")
    assert (found["seed"], found["baseline"]) == (2, "ci/b.json")
    assert call("d", "m", "--config", "ci/shared.toml")["seed"] == 3
    monkeypatch.setenv("GML_CONFIG", "ci/strict.toml")
    assert call()["seed"] == 2
    assert call("d", "m", "--no-config")["seed"] == 0
    assert call("d", "m", "--config", "gml.toml")["seed"] == 1
    monkeypatch.setenv("GML_CONFIG", "")
    monkeypatch.setenv("GML_NO_CONFIG", "1")
    assert call()["seed"] == 0


def test_a_byte_order_mark_is_skipped(place):
    (place / "gml.toml").write_bytes(b"\xef\xbb\xbf[check]\nseed = 1\n")
    assert call()["seed"] == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gml.toml", b"\xef\xbb\xbf[check]\nseed = 1\n"),
        ("gml.toml", b"# nothing\n"),
        ("pyproject.toml", b"[tool.gml.check]\nseed = 1\n"),
    ],
)
def test_the_bytes_of_the_file_are_hashed(place, name, content):
    (place / name).write_bytes(content)
    assert call()["hashes"] == {"config": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    assert call("d", "m", "--no-config")["hashes"] == {}


def test_both_ways_contradict(place):
    found = call("d", "m", "--config", "gml.toml", "--no-config")
    assert found.code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[check\n", "line 1"),
        (b"[check]\nalpha = = 1\n", "line 2, column 9"),
        (b"[check]\nalpha = '\xff'\n", "is not UTF-8"),
        (b"", "has no table [check] or [tool.gml.check]"),
        (b"[tool.ruff]\n", "has no table [check] or [tool.gml.check]"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_such_file(place, content, said):
    if content is not None:
        (place / "x.toml").write_bytes(content)
    found = call("d", "m", "--config", "x.toml")
    assert found.code == 3
    assert found.said.startswith("x.toml: ")
    assert said in found.said


def test_a_found_file_that_is_not_toml(place):
    write(place / "pyproject.toml", "[tool")
    found = call()
    assert (found.code, found.said[:16]) == (3, "pyproject.toml: ")
    assert call("d", "m", "--no-config")["seed"] == 0


def test_verbose_tells_of_the_file(place, monkeypatch):
    write(place / "gml.toml", "[check]\nseed = 1\n")
    assert "gml: settings from gml.toml\n" in call("d", "m", "-v").stderr
    assert call().stderr == ""
    monkeypatch.setenv("GML_VERBOSE", "1")
    assert "gml: settings from gml.toml\n" in call().stderr


def test_help_reads_no_file(place):
    write(place / "gml.toml", "[check")
    found = call("--help")
    assert found.code == 0
    assert "--no-config" in found.said


# --- what a file can say ---------------------------------------------------------------------


def test_every_kind_of_value(place):
    write(
        place / "pyproject.toml",
        """
        [tool.gml.check]
        alpha = 1
        columns = ["A", "b,c"]
        na = ["", -9]
        seed = 7
        strict = true
        min_effect = {tables = 0.05, fit = "0.1"}
        severity = ["fit=warn"]
        format = "json"
        report = {junit = "out.xml"}
        """,
    )
    found = call()
    assert found["alpha"] == 1.0
    assert found["columns"] == ("A", "b,c")
    assert found["na"] == ("", "-9")
    assert found["seed"] == 7
    assert found["strict"] is True
    assert found["min_effect"] == ("tables=0.05", "fit=0.1")
    assert found["severity"] == ("fit=warn",)
    assert found["out"].main.format == "json"
    assert [(other.format, other.path) for other in found["out"].others] == [("junit", "out.xml")]


def test_one_value_for_a_list(place):
    write(place / "gml.toml", "[check]\nmin-effect = 0.05\ncolumns = 'A,B'\nstrict = false\n")
    found = call()
    assert (found["min_effect"], found["columns"]) == (("0.05",), ("A", "B"))
    assert found["strict"] is False


def test_paths_are_relative_to_the_file(place, monkeypatch):
    write(
        place / "gml.toml",
        "[check]\ndata = '-'\nmodel = '/m.json'\nbaseline = 'b.json'\nna = ['x']\n"
        "report = ['junit=out.xml']\n",
    )
    (place / "a").mkdir()
    monkeypatch.chdir(place / "a")
    found = Called([])
    assert (found["data_path"], found["model_path"]) == ("-", "/m.json")
    assert found["baseline"] == "../b.json"
    assert found["na"] == ("x",)
    assert found["out"].others[0].path == "../out.xml"
    assert call("d", "m", "--baseline", "b.json")["baseline"] == "b.json"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[check]\nalhpa = 0.1\n",
            "gml.toml: [check]: key 'alhpa' not found; did you mean 'alpha'?",
        ),
        ("[check]\ndebug = true\n", "key 'debug' not found"),
        ("[chek]\nalpha = 0.1\n", "gml.toml: table 'chek' not found; did you mean 'check'?"),
        ("alpha = 0.1\n", "settings stand in [check]"),
        ("[check]\n[profile]\n", "gml profile takes no settings; there can be tables for 'check'"),
        ("[score]\n", "gml.toml: gml score takes no settings"),
        ("check = 1\n", "gml.toml: check is not a table"),
        ("[check]\nmin-effect = 1\nmin_effect = 2\n", "'min-effect' is given twice"),
        ("[check]\nalpha = '0.1'\n", "gml.toml: [check] alpha: '0.1' is not a number"),
        ("[check]\nalpha = true\n", "[check] alpha: true is not a number"),
        ("[check]\nalpha = 2\n", "[check] alpha: 2.0 is not between 0 and 1"),
        ("[check]\nseed = 1.5\n", "[check] seed: 1.5 is not a whole number"),
        ("[check]\nseed = -1\n", "[check] seed: -1 is not in the range"),
        ("[check]\nstrict = 1\n", "[check] strict: 1 is not true or false"),
        ("[check]\nmissing = 'dorp'\n", "[check] missing: 'dorp' is not one of"),
        ("[check]\nmissing = ['drop']\n", "[check] missing: an array is not a string"),
        ("[check]\nbaseline = 2020-01-01\n", "[check] baseline: 2020-01-01 is not a string"),
        ("[check]\nna = {a = 'b'}\n", "[check] na: is a table"),
        ("[check]\nna = [['a']]\n", "[check] na: an array is not a string"),
        ("[check]\nseverity = {fit = true}\n", "[check] severity.fit: true is not a string"),
        ("[check]\ncolumns = ['A', 1]\n", "[check] columns: is not an array of names in quotes"),
        ("[check]\nreport = {juint = 'x'}\n", "[check] report: format 'juint' not found"),
    ],
)
def test_what_a_file_may_not_say(place, text, said):
    write(place / "gml.toml", text)
    found = call()
    assert found.code == 2
    assert said in found.said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("report", "{json = '../x'}"),
        ("report", "['text=a.txt', 'json=/tmp/x']"),
        ("report", "{json = 'out/x'}"),
        ("report", "{json = 'link'}"),
        ("output", "'a/../../x'"),
        ("output", "'/dev/null'"),
        ("depfile", "'../x.d'"),
    ],
)
def test_outputs_of_a_file_stay_below_its_folder(place, monkeypatch, key, value):
    (place / "a").mkdir()
    (place / "out").symlink_to("..")
    (place / "link").symlink_to("../x")
    write(place / "gml.toml", f"[check]\n{key} = {value}\n")
    for folder in (place, place / "a"):
        monkeypatch.chdir(folder)
        found = call()
        assert found.code == 2
        assert f"gml.toml: [check] {key}: '" in found.said
        assert "is not below the folder of the file" in found.said
    where = {"report": "text=../y.txt", "output": "../y.txt", "depfile": "../y.d"}[key]
    more = ["-o", "z.txt"] if key == "depfile" else []
    assert call("d", "m", *more, f"--{key}", where).code == 0
    monkeypatch.setenv(f"GML_{key.upper()}", where)
    assert call("d", "m", *more).code == 0


def test_outputs_below_the_folder_are_fine(place, monkeypatch):
    (place / "a").mkdir()
    (place / "inside").symlink_to("a")
    text = "output = '-'\nreport = {json = 'a/../x.json', text = 'inside/x.txt'}"
    write(place / "gml.toml", f"[check]\n{text}\n")
    monkeypatch.chdir(place / "a")
    assert [other.path for other in call()["out"].others] == ["../a/../x.json", "../inside/x.txt"]


def test_a_file_too_large_for_settings(place):
    found = call("d", "m", "--config", "/dev/zero")
    assert (found.code, found.said) == (
        3,
        "/dev/zero: over 16 MiB, too large for a file of settings",
    )


def test_the_file_is_no_output(place):
    write(place / "gml.toml", "[check]\nseed = 1\n")
    found = call("d", "m", "--report", "text=gml.toml")
    assert found.code == 2
    assert "is an input" in found.said


def test_a_setting_that_the_command_line_replaces_does_no_harm(place):
    write(place / "gml.toml", "[check]\nmissing = 'dorp'\n")
    assert call("d", "m", "--missing", "drop")["missing"] == "drop"
    found = call("d", "m", "--missing", "dorpp")
    assert "gml.toml" not in found.said


def test_the_example_of_the_documentation(place):
    page = (Path(__file__).resolve().parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    write(place / "gml.toml", example)
    found = Called([])
    assert (found["data_path"], found["alpha"]) == ("data/today.csv", 0.001)
    assert found["min_effect"] == ("tables=0.05",)
    assert [other.path for other in found["out"].others] == ["checks.xml", "checks.sarif"]
