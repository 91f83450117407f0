"""The documentation is true: examples run, the reference is current, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
from pathlib import Path

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


def module_names():
    for info in pkgutil.walk_packages(gml.__path__, "gml."):
        if not info.name.endswith(("__main__", "_kernel")):
            yield info.name
    yield "gml"


@pytest.mark.parametrize("name", sorted(module_names()))
def test_docstring_examples(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


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


def test_python_example_of_the_readme(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("7 ")


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
