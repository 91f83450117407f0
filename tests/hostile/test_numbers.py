"""Options that are numbers: what is none, or too large, is refused, and no option is forgotten."""

from __future__ import annotations

import shutil

import click
import pytest

from gml.cli.main import COMMANDS, cli, run
from gml.cli.shared.numbers import Real, RealRange, Whole, WholeRange
from tests.hostile.conftest import MIB

_NUMBERS = (click.types.FloatParamType, click.types.IntParamType)
_NOT_FINITE = ("nan", "inf", "-inf", "1e400")
_HUGE = "1" + "0" * 30
_LARGEST = str(2**63 - 1)
_MODEL = ("--by", "order-mcmc")
_ARGUMENTS = {
    "average": ("data.csv", "--by", "hc", "--bootstrap", "2"),
    "check": ("data.csv", "model.json"),
    "compare": ("graph.dot", "graph.dot"),
    "fit-params": ("data.csv", "graph.dot"),
    "imap": ("data.csv", "--order", "smoke,lung,either"),
    "indtest": ("data.csv", "smoke", "lung"),
    "sample": ("model.json", "-n", "2"),
    "score": ("data.csv", "graph.dot"),
}
# What a number is for must be asked for.
_ALONG = {
    "--ess": ("--test", "bayes"),
    "--candidates": _MODEL,
    "--thin": _MODEL,
    "--chains": _MODEL,
    "--permutations": ("--test", "permutation"),
}
# These only take their time, which --max-seconds and Ctrl-C end.
_LONG = {
    "--bootstrap",
    "--restarts",
    "--em-restarts",
    "--perturb",
    "--iterations",
    "--burn-in",
    "-n",
}
# Any integer seeds a generator. Count files need an extra.
_ANY = {"--seed"}
_WITHOUT = {"count", "merge"}


def options_of(kinds):
    """Return the command and the flag of every option that is such a number."""
    return [
        (command, parameter.opts[-1])
        for command in COMMANDS
        for parameter in cli.get_command(None, command).params
        if isinstance(parameter.type, kinds)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, sample_data):
    """A small table, a graph of it and a model."""
    path = tmp_path_factory.mktemp("numbers")
    rows = (sample_data / "asia.csv").read_text().splitlines()[:41]
    names = rows[0].split(",")
    kept = [names.index(name) for name in ("smoke", "lung", "either")]
    (path / "data.csv").write_text(
        "".join(",".join(row.split(",")[j] for j in kept) + "\n" for row in rows)
    )
    (path / "graph.dot").write_text("digraph { smoke -> lung -> either }")
    data, graph, model = (str(path / name) for name in ("data.csv", "graph.dot", "model.json"))
    assert run(["fit-params", data, graph, "-q", "-o", model]) == 0
    return path


def test_every_number_has_a_type_that_refuses_what_is_none():
    for command in COMMANDS:
        for parameter in cli.get_command(None, command).params:
            if isinstance(parameter.type, _NUMBERS) and parameter.opts[-1] not in _ANY:
                where = f"gml {command} {parameter.opts[-1]}"
                assert isinstance(parameter.type, Real | RealRange | Whole | WholeRange), where


@pytest.mark.parametrize("command,flag", options_of(click.types.FloatParamType))
def test_what_is_not_finite_is_refused(capfd, command, flag):
    for value in _NOT_FINITE:
        assert run([command, *_ARGUMENTS.get(command, ()), f"{flag}={value}"]) == 2
        assert f"'{flag}'" in (error := capfd.readouterr().err), error


@pytest.mark.parametrize("command,flag", options_of(click.types.IntParamType))
def test_integers_beyond_64_bits_are_refused(capfd, command, flag):
    if flag in _ANY:
        return
    given = [f"{flag}={_HUGE}"] if flag.startswith("--") else [flag, _HUGE]
    assert run([command, *_ARGUMENTS.get(command, ()), *given]) == 2
    assert f"'{flag}'" in (error := capfd.readouterr().err), error


@pytest.mark.parametrize("command,flag", options_of(_NUMBERS))
def test_extreme_numbers_are_no_bug(capfd, monkeypatch, folder, command, flag):
    if flag in _LONG or command in _WITHOUT:
        return
    monkeypatch.chdir(folder)
    arguments = list(_ARGUMENTS.get(command, ["data.csv"]))
    along = list(_ALONG.get(flag, ()))
    if "order-mcmc" in along or (command == "average" and flag == "--ess"):
        arguments, along = ["data.csv"], ["--by", "order-mcmc", "--score", "bdeu"]
    elif flag == "--ess" and command in ("exact", "ges", "hc", "score"):
        along = ["--score", "bdeu"]
    elif command == "fit-params" or (command, flag) == ("average", "--permutations"):
        along = []
    for value in (_LARGEST, "1e-320", "-0.0", "1e300"):
        code = run([command, *arguments, *along, f"{flag}={value}", "-q"])
        assert code in (0, 1, 2, 3, 4, 5), capfd.readouterr().err


@pytest.mark.parametrize("value", ["nan", "tables=nan", "fit=inf", "1e400"])
def test_effects_that_are_not_finite_are_refused(capfd, monkeypatch, folder, value):
    monkeypatch.chdir(folder)
    assert run(["check", "data.csv", "model.json", "--min-effect", value]) == 2
    assert "must be 0 or more, not" in capfd.readouterr().err


def test_numbers_of_a_settings_file_are_held_to_the_same(watched, folder, tmp_path):
    for name in ("data.csv", "model.json"):
        shutil.copy(folder / name, tmp_path / name)
    (tmp_path / "gml.toml").write_text("[check]\ndata='data.csv'\nmodel='model.json'\nalpha=nan\n")
    done = watched("check")
    assert done.code == 2
    assert "gml.toml: [check] alpha: nan is not a finite number" in done.error


def test_more_threads_than_cores_take_no_memory(watched, folder):
    few = watched("sample", folder / "model.json", "-n", "1000", "--threads", "1")
    many = watched("sample", folder / "model.json", "-n", "1000", "--threads", "30000")
    assert many.code == 0
    assert many.stdout == few.stdout
    assert many.peak < 200 * MIB


def test_permutations_wait_for_threads_without_taking_memory(watched, folder):
    given = ("indtest", folder / "data.csv", "smoke", "lung", "--test", "permutation")
    done = watched(*given, "--permutations", "20000000", "--threads", "2")
    assert done.code == 0
    assert done.peak < 70 * MIB
    done = watched(*given, "--permutations", "1000000000000")
    assert done.code == 2
    assert "'--permutations'" in done.error
