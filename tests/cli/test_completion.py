"""gml completion: what may come next, and bash on a terminal."""

from __future__ import annotations

import csv

import pytest

from gml.cli.main import cli
from gml.cli.shared.completion import candidates
from gml.cli.shared.knowledge_options import parse_arcs
from gml.cli.shared.shells import SCRIPTS, as_typed, typed_line
from tests.terminal import CASES, completed, make_files


@pytest.fixture
def answer(gml, tmp_path):
    """What a shell is told about a line: the kind of answer and the candidates."""
    make_files(tmp_path)

    def ask(line, shell="fish"):
        done = gml("completion", shell, "--line", line)
        assert (done.returncode, done.stderr) == (0, b"")
        kind, *found = done.stdout.decode().splitlines()
        return kind, [word.partition("\t")[0] for word in found]

    return ask


def test_bash_completes_on_a_terminal(tmp_path):
    make_files(tmp_path)
    assert completed("bash", list(CASES), tmp_path) == CASES


@pytest.mark.parametrize("shell", list(SCRIPTS))
def test_scripts_are_printed(gml, shell):
    done = gml("completion", shell)
    assert done.returncode == 0
    assert done.stdout.decode() == SCRIPTS[shell]
    assert f"completion {shell} " in done.stdout.decode()


def test_an_unknown_shell_is_answered_with_the_known_ones(gml):
    done = gml("completion", "tcsh")
    assert done.returncode == 2
    assert b"'bash', 'zsh', 'fish'" in done.stderr


def test_commands_and_their_descriptions(gml, answer):
    kind, found = answer("gml ")
    assert kind == "word"
    assert {"pc", "check", "help", "completion"} <= set(found)
    said = gml("completion", "zsh", "--line", "gml samp").stdout.decode()
    assert said == "word\nsample\tDraw rows from a model.\n"


def test_every_option_of_a_command_is_offered(answer):
    import click

    from gml.cli.main import COMMANDS, cli

    for name in COMMANDS:
        _, found = answer(f"gml {name} -")
        command = cli.get_command(click.Context(cli), name)
        options = [
            p.opts[-1] for p in command.params if isinstance(p, click.Option) and not p.hidden
        ]
        assert found == [*options, "--help"]


def test_choices_of_options(answer):
    assert answer("gml pc odd.csv --colliders ") == (
        "word",
        ["max-p", "sepset", "conservative", "majority"],
    )
    assert answer("gml hc odd.csv --score bde") == ("more", ["bdeu"])
    assert answer("gml imap odd.csv --score k") == ("more", ["k2", "kernel"])
    assert answer("gml ges odd.csv --phases forward,b") == ("more", ["forward,backward"])
    assert answer("gml check odd.csv model.json --families ")[1][0] == "schema"
    assert answer("gml help sco") == ("word", ["scores", "score"])
    assert answer("gml completion z") == ("word", ["zsh"])


COLUMNS = ["age", "blood type", "sex", "income, net"]


@pytest.mark.parametrize(
    "line",
    [
        "gml indtest odd.csv ",
        "gml indtest odd.csv age ",
        "gml chowliu odd.csv --root ",
        "gml chowliu odd.csv --class ",
        "gml chowliu odd.csv --weights ",
        "gml --threads 2 chowliu odd.csv --root ",
    ],
)
def test_columns_of_the_table(answer, line):
    assert answer(line) == ("word", COLUMNS)


@pytest.mark.parametrize("option", ["-c", "--exclude", "--numeric"])
def test_lists_of_columns(answer, option):
    in_lists = ["age", "blood type", "sex", '"income, net"']
    assert answer(f"gml pc odd.csv {option} ") == ("more", in_lists)
    after = [f"sex,{name}" for name in in_lists if name != "sex"]
    assert answer(f"gml pc odd.csv {option} sex,") == ("more", after)


def test_other_places_of_columns(answer):
    assert answer("gml indtest odd.csv age sex -z in") == ("more", ['"income, net"'])
    assert answer("gml imap odd.csv --order s") == ("more", ["sex"])
    assert answer("gml pc odd.csv --cut a") == ("more", ["age="])
    assert answer("gml pc odd.csv --require a") == ("more", ["age->"])
    assert answer("gml pc odd.csv --forbid 'age->s") == ("word", ["age->sex"])


def test_a_table_is_read_as_the_options_before_say(answer, tmp_path):
    (tmp_path / "euro.csv").write_bytes("größe;gewicht\n1;2\n".encode("latin-1"))
    line = "gml chowliu euro.csv -d ';' --encoding latin-1 --root "
    assert answer(line) == ("word", ["größe", "gewicht"])


def test_compressed_and_parquet_tables_have_columns_too(gml, answer, tmp_path):
    import gzip

    (tmp_path / "odd.csv.gz").write_bytes(gzip.compress((tmp_path / "odd.csv").read_bytes()))
    assert answer("gml chowliu odd.csv.gz --root ") == ("word", COLUMNS)
    assert gml("count", "odd.csv", "--pairs", "-o", "counts.parquet").returncode == 0
    assert answer("gml chowliu counts.parquet --root ") == ("word", COLUMNS)


def test_only_the_header_is_read(answer, tmp_path):
    """A row that is no row does not matter."""
    (tmp_path / "bad.csv").write_text("a,b\n1\n")
    assert answer("gml chowliu bad.csv --root ") == ("word", ["a", "b"])


def test_nodes_of_what_is_drawn(answer):
    nodes = ["age", "blood type", "sex"]
    assert answer("gml draw model.json --evidence ")[1] == [f"{name}=" for name in nodes]
    assert answer("gml draw model.json --around ")[1] == nodes
    assert answer("gml draw --kind cpt model.json --node ")[1] == nodes
    assert answer("gml draw --kind matrix odd.csv --columns ag")[1] == ["age"]
    assert answer("gml draw model.json --theme d") == ("word", ["dark"])
    assert answer("gml draw mod")[0] == "files"


def test_nodes_and_levels_of_a_model(answer):
    assert answer("gml query model.json --target ")[1] == ["age", "blood type", "sex"]
    assert answer("gml query model.json --evidence ")[1] == ["age=", "blood type=", "sex="]
    assert answer("gml query model.json --do age=") == ("more", ["age=young", "age=old"])
    assert answer("gml sample model.json --evidence age=old,sex=") == (
        "more",
        ['age=old,sex="f, old"'],
    )


def test_columns_and_nodes_of_a_conditional_field(gml, answer):
    assert answer("gml crf odd.csv --target ag") == ("more", ["age"])
    assert answer("gml crf odd.csv --target age --sequence s") == ("word", ["sex"])
    done = gml("crf", "odd.csv", "--target", "age", "-c", "age,sex", "-q", "-o", "field.json")
    assert done.returncode == 0, done.stderr
    assert answer("gml query field.json --evidence ")[1] == ["age=", "sex="]
    assert answer("gml query field.json --predict ")[1] == ["age", "sex"]


def test_columns_of_a_log(gml, answer):
    assert gml("pc", "odd.csv", "-q", "--test-log", "log.jsonl", "-o", "g.dot").returncode == 0
    assert answer("gml explain log.jsonl ") == ("word", COLUMNS)


@pytest.mark.parametrize(
    "line", ["gml pc ", "gml pc odd.csv -o ", "gml convert ", "gml pc odd.csv --levels "]
)
def test_where_a_file_is_meant_the_shell_completes_paths(answer, line):
    assert answer(line) == ("files", [])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "gml nonsense ",
        "gml pc none.csv -c ",
        "gml pc - -c ",
        "gml query odd.csv --evidence age=",
        "gml query model.json --evidence nobody=",
        "gml pc odd.csv --alpha ",
        "gml pc odd.csv --bins many -c x",
        "gml check --config none.toml --families x",
        f"gml pc {'n' * 5000}.csv -c ",
        f"gml query {'n' * 5000}.json --evidence ",
        f"gml explain {'n' * 5000} ",
        "gml query . --target ",
    ],
)
def test_nothing_is_offered_and_nothing_said_where_nothing_is_known(answer, line):
    kind, found = answer(line)
    assert kind in ("word", "more")
    assert found == [] or line == ""


def test_a_pipe_is_not_read(answer, tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    assert answer("gml pc pipe -c ") == ("more", [])


NASTY = [
    "a b",
    "it's",
    'say "x"',
    "$HOME",
    "a\\b",
    "`x`",
    "x;y",
    "a*b?",
    "(x)",
    "~",
    "größe",
    "#1",
    "!x",
]


@pytest.mark.parametrize("word", NASTY)
@pytest.mark.parametrize("typed", ["", "'", '"'])
def test_what_is_inserted_means_the_word(word, typed):
    line = typed_line(f"gml indtest d.csv {typed}")
    inserted = as_typed(word, line, "bash", "\"'><=;|&(:")
    assert typed_line(f"gml indtest d.csv {typed}{inserted}").value == word


ARC_NAMES = ['a"b', "c,d", "x->y", "e < f", "plain", " blank "]


@pytest.mark.parametrize("first", ARC_NAMES)
@pytest.mark.parametrize("second", ARC_NAMES[:3])
def test_edges_that_are_offered_can_be_read(tmp_path, first, second):
    """A name in double quotes has its own doubled."""
    with (tmp_path / "arcs.csv").open("w", newline="") as file:
        csv.writer(file).writerow(ARC_NAMES)
    given = ["pc", str(tmp_path / "arcs.csv"), "--require"]

    def offered(incomplete):
        return [word for word, _ in candidates(cli, given, incomplete).words]

    starts = offered("")
    assert len(starts) == len(ARC_NAMES)
    start = starts[ARC_NAMES.index(first)]
    arcs = offered(start)
    arc = arcs[ARC_NAMES.index(second)]
    assert parse_arcs(arc, "--require") == [(first, second)]


def test_an_arrow_within_quotes_is_part_of_the_name(tmp_path):
    (tmp_path / "arcs.csv").write_text("x->y,z\n1,2\n")
    found = candidates(cli, ["pc", str(tmp_path / "arcs.csv"), "--require"], '"x->')
    assert [word for word, _ in found.words] == ['"x->y"->']
