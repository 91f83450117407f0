"""The documentation is true: examples run, the reference is current, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest

import gml
from tests.command_line import run_here
from tests.scripts import script

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    page
    for folder in (".", "docs", "benchmarks", "examples")
    for page in (ROOT / folder).glob("*.md")
)

# What gml warns of goes to the reader of an example as to any user.
WARNINGS_ARE_SHOWN = pytest.mark.filterwarnings("default::gml.errors.GmlWarning")


def module_names():
    for info in pkgutil.walk_packages(gml.__path__, "gml."):
        if not info.name.endswith(("__main__", "_kernel")):
            yield info.name
    yield "gml"


@WARNINGS_ARE_SHOWN
@pytest.mark.parametrize("name", sorted(module_names()))
def test_docstring_examples(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("name", gml.__all__)
def test_what_is_public_is_documented(name):
    """What it does, what it takes, and an example, which test_docstring_examples runs."""
    found = getattr(gml, name)
    if isinstance(found, dict):
        assert all(inspect.getdoc(entry) for entry in found.values())
        return
    text = inspect.getdoc(found)
    assert text and text.splitlines()[0].endswith(".")
    assert re.search(r"^Examples\n--------\n(.|\n)*>>> ", text, re.MULTILINE)
    if inspect.isfunction(found):
        assert "\nParameters\n----------\n" in text
        listed = text.partition("\nParameters\n----------\n")[2]
        for parameter in inspect.signature(found).parameters.values():
            if parameter.annotation not in ("Unpack[ReadingKeywords]", Any):
                assert re.search(rf"^(.*[ *])?{parameter.name}\b", listed, re.MULTILINE), parameter


def test_reference_is_current():
    expected = script("make_reference").reference()
    assert (ROOT / "docs/commands.md").read_text() == expected, "run make docs"


def test_tables_of_tests_and_scores_are_current():
    page = (ROOT / "docs/methods.md").read_text()
    assert script("make_reference").with_tables(page) == page, "run make docs"
    assert all(f"\n| {name} |" in page for name in (*gml.TESTS, *gml.SCORES))


def test_every_command_has_help_and_examples():
    import click

    from gml.cli.main import COMMANDS, cli

    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command.help
        assert "Examples:" in command.epilog
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_console_examples(page):
    examples = script("run_examples")

    def run(command, folder):
        """A plain call of gml needs no shell."""
        if command.startswith("gml ") and not set(command) & set("|&;<>()$`*?~#\\"):
            return run_here(shlex.split(command)[1:], folder, one_stream=True).stdout.decode()
        return examples.in_a_shell(command, folder)

    text = page.read_text()
    assert examples.refreshed(text, run) == text, "run make docs"


def test_there_are_console_examples():
    assert "```console\n$ gml" in (ROOT / "README.md").read_text()


@WARNINGS_ARE_SHOWN
def test_python_example_of_the_readme(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("7 ")


@WARNINGS_ARE_SHOWN
@pytest.mark.parametrize("page", ["docs/python.md", "docs/engines.md"])
def test_python_examples_of_a_page(page, monkeypatch, capsys, tmp_path):
    """The blocks of a page go on from one another, and none is marked so that it is not run."""
    text = (ROOT / page).read_text()
    assert "```py\n" not in text
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    with warnings.catch_warnings():
        for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(code, page, "exec"), namespace)
    printed = capsys.readouterr().out
    for promised in re.findall(r"print\(.*?#(?: a \w+:)? (\d.*?)(?: …)?\n", text):
        assert promised in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_sample_data_is_what_the_script_makes(tmp_path):
    spec = importlib.util.spec_from_file_location("make", ROOT / "sample_data/make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made
    for name in made:
        assert (tmp_path / name).read_bytes() == (ROOT / "sample_data" / name).read_bytes()


def test_version_is_the_same_everywhere():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == gml.__version__
    assert f"## {gml.__version__}" in (ROOT / "CHANGELOG.md").read_text()
