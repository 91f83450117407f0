"""Help in groups, and gml help: commands and topics, for people and for programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import click
import pytest

import gml as library
from gml.cli.main import COMMANDS, GROUPS, cli
from gml.cli.shared.option_groups import HEADINGS
from gml.data.options import EM, ENGINES, MISSING_POLICIES
from gml.errors import EXIT_CODES, GmlError, UsageError
from gml.model.undirected.fit import METHODS
from gml.model.undirected.gauge import CODINGS
from gml.verbs.help import MISSING, TOPICS
from gml.verbs.shared.structure_names import STRUCTURES
from tests.command_line import error_line


def sections(text):
    """The lines below each heading of a help text."""
    found = {}
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z].*:", line):
            found[line.rstrip(":")] = []
        elif found and line.startswith("  "):
            found[list(found)[-1]].append(line)
    return found


def flags_in(lines):
    return {flag for line in lines for flag in re.findall(r"^ {2}(?:-\w, )?(-[\w-]+)", line)}


def test_commands_stand_below_what_people_want(gml):
    found = sections(gml("--help").stdout.decode())
    titles = ["Learn a structure", "Fit and use a model", "Test and score", "Data quality"]
    titles += ["Pictures", "Files"]
    assert list(found)[: len(titles)] == titles
    for title, commands in GROUPS.items():
        assert [line.split()[0] for line in found[title] if line[2] != " "] == list(commands)
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(COMMANDS)


def test_options_stand_below_headings(gml):
    found = sections(gml("pc", "--help").stdout.decode())
    others = ("Score", "Structure", "Contrastive divergence", "EM")
    headings = [f"{name} options" for name in HEADINGS if name not in others]
    assert list(found)[: len(headings) + 1] == ["Options", *headings]
    assert {"--columns", "--missing", "--bins"} <= flags_in(found["Data options"])
    assert {"--test", "--alpha", "--max-cond"} <= flags_in(found["Test options"])
    assert flags_in(found["Knowledge options"]) == {
        "--require",
        "--forbid",
        "--tiers",
        "--knowledge",
    }
    assert {"--output", "--format"} <= flags_in(found["Output options"])
    assert {"--threads", "--seed", "--quiet", "--help"} <= flags_in(found["Run options"])
    assert {"--dag", "--bootstrap", "--sepsets"} <= flags_in(found["Options"])
    assert "--score" in flags_in(sections(gml("hc", "--help").stdout.decode())["Score options"])
    undirected = sections(gml("mrf", "--help").stdout.decode())
    assert {"--structure", "--gamma", "--score"} <= flags_in(undirected["Structure options"])
    assert {"--chains", "--rate"} <= flags_in(undirected["Contrastive divergence options"])
    for name in ("fit-params", "score"):
        fitted = sections(gml(name, "--help").stdout.decode())
        assert flags_in(fitted["EM options"]) == {"--hidden", "--em-restarts", "--em-steps"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_listed_once(gml, name):
    text = gml(name, "--help").stdout.decode()
    command = cli.get_command(click.Context(cli), name)
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    listed = [line for lines in sections(text).values() for line in lines]
    for option in options:
        written = ", ".join(sorted(option.opts, key=len))
        assert sum(bool(re.match(rf"  {re.escape(written)}( |$)", line)) for line in listed) == 1
    assert {"--quiet", "--help"} <= flags_in(sections(text)["Run options"])


def test_help_of_a_command_is_its_help(gml):
    assert gml("help", "pc").stdout == gml("pc", "--help").stdout
    assert gml("help", "fit-params").stdout == gml("fit-params", "--help").stdout


def test_help_alone_lists_commands_and_topics(gml):
    text = gml("help").stdout.decode()
    assert text.startswith(gml("--help").stdout.decode().rstrip("\n"))
    for topic in TOPICS:
        assert f"\n  {topic} " in text
    found = json.loads(gml("help", "-f", "json").stdout)
    assert found["commands"] == GROUPS
    assert set(found["topics"]) == set(TOPICS)


def test_help_of_a_command_as_json(gml):
    found = json.loads(gml("help", "chowliu", "-f", "json").stdout)
    assert found["usage"] == "gml chowliu [OPTIONS] DATA"
    by_name = {parameter["names"][-1]: parameter for parameter in found["parameters"]}
    assert by_name["--prune"]["choices"] == ["none", "bic", "g"]
    assert (by_name["--prune"]["default"], by_name["--prune"]["kind"]) == ("none", "option")
    assert by_name["--columns"]["group"] == "Data"
    assert by_name["--quiet"]["kind"] == "flag"
    assert by_name["DATA"]["required"]


def test_an_unknown_topic_is_answered_with_the_topics(gml):
    line = error_line(gml("help", "score-functions"), 2)
    assert "'scores'" in line
    assert "did you mean" in error_line(gml("help", "test"), 2)
    with pytest.raises(UsageError, match="there are 'tests', 'scores'"):
        library.help("everything")


@pytest.mark.parametrize("topic", list(TOPICS))
def test_topics_for_people_and_programs_say_the_same(gml, topic):
    text = gml("help", topic).stdout.decode()
    found = json.loads(gml("help", topic, "-f", "json").stdout)
    assert found["topic"] == topic
    assert found["entries"] == [dict(entry) for entry in library.help(topic).entries]
    assert text == library.help(topic).text == str(library.help(topic))
    assert text.startswith(found["title"] + "\n")
    assert max(map(len, text.splitlines())) <= 100
    for entry in found["entries"]:
        assert re.search(rf"\n *{re.escape(str(entry['name']))}\b", text)


def test_topics_are_what_the_registries_know(gml):
    tests = {entry["name"]: entry for entry in library.help("tests").entries}
    assert list(tests) == list(library.TESTS)
    for name, test in library.TESTS.items():
        assert tests[name]["is"] == test.summary
        assert [option["name"] for option in tests[name]["options"]] == [
            o.name for o in test.options
        ]
    scores = {entry["name"]: entry for entry in library.help("scores").entries}
    assert {name: entry["equivalent"] for name, entry in scores.items()} == {
        name: score.equivalent for name, score in library.SCORES.items()
    }
    assert tuple(MISSING) == (*MISSING_POLICIES, EM)
    assert "--permutations (Tables or permutations to draw; by default 5000)" in gml(
        "help", "tests"
    ).stdout.decode().replace("\n      ", " ")


def test_every_exit_code_has_a_meaning():
    def kinds(kind):
        return [kind, *(found for each in kind.__subclasses__() for found in kinds(each))]

    assert {kind.exit_code for kind in kinds(GmlError)} <= set(EXIT_CODES)
    assert [entry["code"] for entry in library.help("exit-codes").entries] == list(EXIT_CODES)


@pytest.mark.parametrize(
    "topic", ["tests", "scores", "formats", "knowledge", "pictures", "exit-codes", "pc"]
)
def test_nothing_that_computes_is_loaded(topic):
    code = f"from gml.cli.main import run\nimport sys\nrun(['help', {topic!r}])\nassert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_codes_and_what_they_mean_are_in_columns(gml):
    lines = gml("help", "exit-codes").stdout.decode().splitlines()[4:]
    assert lines[0] == "  0:  done; where a question was asked, the answer is yes"
    assert lines[-1] == "130:  interrupted; partial files were removed"
    assert {line[3:6] for line in lines} == {":  "}
    choices = gml("help", "missing").stdout.decode().split("\n\n")[2].splitlines()
    assert {line[10:12] for line in choices} == {"  "}
    assert " " not in {line[12] for line in choices}


def test_every_kind_of_picture_is_explained():
    from gml.verbs.draw import KINDS

    assert [entry["name"] for entry in library.help("pictures").entries] == list(KINDS)


def test_undirected_models_have_a_topic(gml):
    text = gml("help", "undirected").stdout.decode()
    for option, choices in (("structure", STRUCTURES), ("method", METHODS), ("coding", CODINGS)):
        for choice in choices:
            assert f"\n{choice}: " in text
            assert f"\n    chosen by: --{option} {choice}\n" in text
    assert "see also: --criterion, --gamma, --rule" in text
    assert "Undirected graphs" in gml("help", "scores").stdout.decode()


def test_the_topics_and_formats_of_the_overview(gml):
    text = " ".join(gml("--help").stdout.decode().split())
    assert f"Topics of gml help: {', '.join(TOPICS)}." in text
    assert "XMLBIF, NET, UAI)" in text
    said = " ".join(gml("help", "help").stdout.decode().split())
    *first, last = TOPICS
    assert f"The topics are {', '.join(first)} and {last}:" in said


def test_engines_are_those_of_the_option():
    assert [entry["name"] for entry in library.help("engines").entries] == list(ENGINES)


def test_a_misspelt_choice_of_scores_is_told(gml, sample_data):
    words = ["hc", sample_data / "asia.csv", "--score", "bic-eitherr"]
    assert "did you mean 'bic-either'?" in error_line(gml(*words), 2)


@pytest.mark.parametrize(("name", "said"), [("pairs.csv", True), ("pairs.parquet", False)])
def test_a_count_file_with_the_name_of_text(gml, sample_data, tmp_path, name, said):
    done = gml("count", sample_data / "asia.csv", "--pairs", "-o", tmp_path / name)
    assert done.returncode == 0
    assert (b"a count file is Parquet" in done.stderr) is said
