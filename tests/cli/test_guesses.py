"""Wrong guesses get the right command, option or order of arguments, in one line."""

from __future__ import annotations

import shlex

import click
import pytest

from gml.cli.main import COMMANDS, cli
from gml.cli.shared.guesses import COMMANDS_MEANT
from tests.command_line import error_line


@pytest.fixture
def folder(tmp_path, sample_data):
    """A table and a graph in the scratch folder."""
    for name in ("asia.csv", "asia.dot"):
        (tmp_path / name).write_bytes((sample_data / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("guess", "meant"),
    [
        ("fit", "gml fit-params DATA GRAPH"),
        ("predict", "gml query MODEL --predict COLUMN --batch"),
        ("plot", "gml draw GRAPH -o graph.svg"),
        ("render", "gml draw GRAPH -o graph.svg"),
        ("learn", "gml ges DATA (or pc, hc, exact, chowliu)"),
        ("train", "gml ges DATA (or pc, hc, exact, chowliu)"),
        ("structure", "gml ges DATA (or pc, hc, exact, chowliu)"),
        ("infer", "gml query MODEL --target A --evidence B=x"),
        ("validate", "gml check DATA MODEL"),
        ("describe", "gml profile DATA"),
        ("summary", "gml profile DATA"),
        ("test", "gml indtest DATA X Y"),
        ("tree", "gml chowliu DATA"),
        ("bootstrap", "gml average DATA --by hc, or gml pc DATA --bootstrap 100"),
        ("simulate", "gml sample MODEL -n 1000"),
        ("Fit", "gml fit-params"),
        ("hill_climb", "gml hc DATA"),
    ],
)
def test_commands(gml, guess, meant):
    line = error_line(gml(guess, "x.csv"), 2)
    assert f"there is no command {guess!r}; use " in line
    assert meant in line


def test_what_is_offered_for_a_command_exists():
    """Each command and option that a guess is answered with."""
    for guess, meant in COMMANDS_MEANT.items():
        assert guess not in COMMANDS
        for words in (shlex.split(part) for part in meant.split("gml ")[1:]):
            if not words[0].startswith("-"):
                found = cli.get_command(click.Context(cli), words[0])
                known = {name for parameter in found.params for name in parameter.opts}
                wanted = [word for word in words[1:] if word.startswith("--")]
                assert {word.rstrip(",") for word in wanted} <= known, guess


def test_a_file_in_place_of_a_command(gml, folder):
    assert "name a command before it, as in gml profile asia.csv" in error_line(gml("asia.csv"), 2)


def test_a_typing_error_is_answered_as_before(gml):
    assert "did you mean 'chowliu'?" in error_line(gml("chowlu", "d.csv"), 2)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("pc d.csv --sep ;", "use -d or --delimiter"),
        ("pc d.csv --output-format json", "use -f or --format"),
        ("pc d.csv --out g.dot", "use -o or --output"),
        ("pc d.csv --cols a,b", "use -c or --columns"),
        ("pc d.csv --jobs=3", "use --threads"),
        ("pc d.csv --alfa 0.1", "did you mean --alpha?"),
        ("pc d.csv --dropna", "use --missing drop"),
        ("pc d.csv -alpha 0.1", "long options have two dashes: --alpha"),
        ("pc --data d.csv", "DATA needs none: gml pc DATA"),
        ("fit-params d.csv --graph g.dot", "GRAPH needs none: gml fit-params DATA GRAPH"),
        ("chowliu d.csv --target a", "use --class"),
        ("query m.json --given a=x", "use --evidence"),
        ("query m.json --label a", "use --predict"),
        ("sample m.json --rows 10", "use -n"),
        ("hc d.csv --class a", "there is no option --class of gml hc, but of gml chowliu"),
        ("hc d.csv --blacklist a", "use --forbid"),
        ("check d.csv m.json --significance 0.1", "use --alpha"),
        ("pc d.csv --plot", "use -o graph.svg"),
        ("hc d.csv --png g.png -q", "use -o g.png"),
        ("ges d.csv --pdf", "use -o graph.pdf"),
        ("fit-params d.csv g.dot --svg=m.svg", "use -o m.svg"),
        ("score d.csv g.dot --plot", "gml draw GRAPH -o graph.svg draws a graph or a model"),
        ("draw g.dot --dpi 300", "use --scale"),
        ("draw g.dot --focus a", "use --around"),
        ("draw g.dot --compare h.dot", "use --against"),
    ],
)
def test_options(gml, words, meant):
    line = error_line(gml(*words.split()), 2)
    assert meant in line
    assert line.endswith(f"(see gml {words.split()[0]} --help)\n")


def test_an_option_that_is_like_none(gml):
    assert "there is no option --zzzzz (see gml pc --help)" in error_line(gml("pc", "--zzzzz"), 2)


@pytest.mark.parametrize("command", ["pc", "chowliu", "exact", "convert", "fit-params", "draw"])
@pytest.mark.parametrize("suffix", ["gif", "EPS", "jpg"])
def test_pictures_that_are_not_drawn(gml, folder, command, suffix):
    words = {"convert": ["asia.dot"], "fit-params": ["asia.csv", "asia.dot"], "draw": ["asia.dot"]}
    sources = words.get(command, ["asia.csv"])
    said = f"pictures are svg, png, pdf or html, not {suffix.lower()}"
    path = f"my g.{suffix}"
    option = [] if command == "convert" else ["-o"]
    line = error_line(gml(command, *sources, *option, path), 2)
    assert line == f"gml: error: {path!r}: {said}\n"
    target = ["-"] if command == "convert" else []
    if command == "draw":
        said = said.replace("pdf or html", "pdf, html or text")
    assert said in error_line(gml(command, *sources, *target, "-f", suffix), 2)


@pytest.mark.parametrize("words", ["compare asia.dot asia.dot", "score asia.csv asia.dot"])
def test_a_picture_of_a_report(gml, folder, words):
    line = error_line(gml(*words.split(), "-o", "x.svg"), 2)
    assert "'x.svg' is a picture, which gml draw makes" in line


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("fit-params asia.dot asia.csv", "gml fit-params asia.csv asia.dot"),
        ("score asia.dot asia.csv", "gml score asia.csv asia.dot"),
        ("check asia.dot asia.csv", "gml check asia.csv asia.dot"),
        ("indtest asia.dot --implied asia.csv", "gml indtest asia.csv --implied asia.dot"),
        ("hc asia.dot --start asia.csv", "gml hc asia.csv --start asia.dot"),
        ("exact asia.dot --against asia.csv", "gml exact asia.csv --against asia.dot"),
        ("score asia.dot asia.csv asia.dot", "gml score asia.csv asia.dot asia.dot"),
    ],
)
def test_swapped_files(gml, folder, words, right):
    line = error_line(gml(*words.split()), 2)
    said = "'asia.dot' is a DOT graph, and 'asia.csv' is a table: data come first"
    assert line == f"gml: error: {said}, {right}\n"


def test_a_header_that_begins_as_a_graph_does(gml, folder):
    """NET files begin with `node` or `class`, too."""
    (folder / "t.csv").write_text("class,tub\nx,y\n")
    line = error_line(gml("fit-params", "asia.dot", "t.csv"), 2)
    assert "data come first, gml fit-params t.csv asia.dot" in line


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            "query asia.csv",
            "'asia.csv' is a table, where a model is wanted; fit one with gml fit-params",
        ),
        ("sample asia.csv -n 3", "'asia.csv' is a table, where a model is wanted"),
        ("compare asia.dot asia.csv", "'asia.csv' is a table, where a graph is wanted"),
        ("fit-params asia.csv asia.csv", "'asia.csv' is a table, where a graph is wanted"),
    ],
)
def test_a_table_in_place_of_a_graph(gml, folder, words, wanted):
    assert wanted in error_line(gml(*words.split()), 3)


def test_other_errors_stay(gml, folder):
    (folder / "bad.json").write_text('{"nodes": [1, 2, 3]')
    assert "is a table" not in error_line(gml("fit-params", "asia.csv", "bad.json"), 3)
    (folder / "bad.dot").write_text("digraph { a -> ,, }")
    assert "is a table" not in error_line(gml("score", "asia.csv", "bad.dot"), 3)
    (folder / "holes.csv").write_text("a,b\nx,\n")
    (folder / "g.dot").write_text("digraph { a -> b }")
    assert "missing" in error_line(gml("fit-params", "holes.csv", "g.dot"), 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("1e6", "write 1e6 as 1000000"),
        ("2.0", "write 2.0 as 2"),
        ("1.5", "'1.5' is not a valid integer"),
        ("many", "'many' is not a valid integer"),
    ],
)
def test_whole_numbers(gml, given, said):
    assert said in error_line(gml("sample", "m.json", "-n", given), 2)


# ------------------------------------------------------------------ before the command


def test_options_before_the_command_are_those_after_it(gml, folder):
    gml("pc", "asia.csv", "-o", "cpdag.dot")
    warned = gml("fit-params", "asia.csv", "cpdag.dot", "-o", "m.json")
    assert b"warning" in warned.stderr
    assert gml("-q", "fit-params", "asia.csv", "cpdag.dot", "-o", "m.json").stderr == b""
    for before, after in (
        ("-v", "-v"),
        ("--verbose --threads 1", "--threads 1 --verbose"),
        ("-qv", "-q -v"),
        ("--max-memory=1G", "--max-memory 1G"),
    ):
        one = gml(*before.split(), "ges", "asia.csv")
        two = gml("ges", *after.split(), "asia.csv")
        assert (one.returncode, one.stdout, one.stderr) == (0, two.stdout, two.stderr)


def test_an_error_before_the_command_is_that_after_it(gml, folder):
    assert (
        gml("--threads", "0", "ges", "asia.csv").stderr == gml("ges", "--threads", "0", "x").stderr
    )
    assert gml("--max-memory", "x", "pc", "asia.csv").returncode == 2
    assert b"Traceback" in gml("--debug", "pc", "none.csv").stderr


def test_a_command_without_threads_does_not_mind(gml, folder):
    assert gml("--threads", "2", "profile", "asia.csv").returncode == 0


def test_other_options_stand_after_the_command(gml):
    line = error_line(gml("-o", "x.dot", "pc", "asia.csv"), 2)
    assert "gml has no option -o; options of a command stand after its name" in line
