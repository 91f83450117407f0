"""gml draw, and -o graph.svg wherever a graph is written: bytes, files, messages, exit codes."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.command_line import GML, error_line
from tests.pictures import SVG

STARTS = {
    "svg": b"<svg xmlns=",
    "png": b"\x89PNG\r\n",
    "pdf": b"%PDF-1.",
    "html": b"<!DOCTYPE html>\n",
}


@pytest.fixture
def folder(tmp_path, sample_data):
    """A table, its graph and its model."""
    for name in ("asia.csv", "asia.dot"):
        shutil.copy(sample_data / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def model(gml, folder):
    assert gml("fit-params", "asia.csv", "asia.dot", "-o", "model.json").returncode == 0
    return "model.json"


def words_in(svg):
    """All text of an SVG file, which must be well-formed."""
    return [text for text in ElementTree.fromstring(svg).itertext() if text.strip()]


def test_the_choices_are_those_of_the_library():
    from gml.cli.commands.draw import command
    from gml.pictures.themes import THEMES
    from gml.verbs.draw import KINDS, LAYOUTS

    options = {param.name: param.type for param in command.params}
    assert tuple(options["kind"].choices) == KINDS
    assert tuple(options["layout"].choices) == LAYOUTS
    assert tuple(options["theme"].choices) == tuple(THEMES)


# ---------------------------------------------------------------------- the command


def test_svg_on_standard_output(gml_process, folder):
    done = gml_process("draw", "asia.dot")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(STARTS["svg"])
    assert done.stdout.endswith(b"</svg>\n")
    names = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"]
    assert set(names) <= set(words_in(done.stdout))
    assert gml_process("draw", "-", stdin=(folder / "asia.dot").read_bytes()).returncode == 0
    assert gml_process("draw", "asia.dot", "-o", "-").stdout == done.stdout


@pytest.mark.parametrize("format_", STARTS)
def test_files_have_the_bytes_of_standard_output(gml, folder, format_):
    printed = gml("draw", "asia.dot", "-f", format_).stdout
    assert printed.startswith(STARTS[format_])
    done = gml("draw", "asia.dot", "-o", f"a.{format_}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (folder / f"a.{format_}").read_bytes() == printed


def test_the_same_bytes_for_every_hash_seed(gml_process, folder):
    found = {gml_process("draw", "asia.dot", env={"PYTHONHASHSEED": seed}).stdout for seed in "012"}
    assert len(found) == 1


def test_posteriors_and_what_they_replace(gml, folder, model):
    plain = gml("draw", model)
    posterior = gml("draw", model, "--evidence", "xray=yes")
    assert plain.stderr == posterior.stderr == b""
    assert "given xray=yes" in words_in(posterior.stdout)[0]
    assert plain.stdout != posterior.stdout
    assert gml("draw", model, "--no-bars").stdout != plain.stdout
    assert gml("draw", model, "--bars").stdout == plain.stdout


def test_numbers_as_evidence(gml, folder):
    rows = "".join(f"{k},{2 * k + k % 3}\n" for k in range(30))
    (folder / "n.csv").write_text("a,b\n" + rows)
    (folder / "n.dot").write_text("digraph { a -> b }")
    assert gml("fit-params", "n.csv", "n.dot", "--gaussian", "-o", "n.json").returncode == 0
    done = gml("draw", "n.json", "--evidence", "a=1.5")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "given a=1.5" in words_in(done.stdout)[0]


def test_around_says_what_is_left_out(gml, folder):
    done = gml("draw", "asia.dot", "--around", "lung", "--radius", "1")
    assert done.stderr == b"gml: 5 of 8 nodes, more than 1 edge from 'lung', left out\n"
    assert {"smoke", "lung", "either"} <= set(words_in(done.stdout))
    assert not {"asia", "tub", "xray"} & set(words_in(done.stdout))
    two = gml("draw", "asia.dot", "--around", "asia", "--around", "smoke,dysp", "--radius", "0")
    assert {"asia", "smoke", "dysp"} <= set(words_in(two.stdout))
    assert gml("draw", "asia.dot", "--around", "lung", "-q").stderr == b""


def test_more_nodes_than_one_can_read(gml, folder):
    (folder / "big.dot").write_text("digraph {" + ";".join(f"n{k}" for k in range(201)) + "}")
    done = gml("draw", "big.dot")
    assert done.returncode == 0
    said = "gml: 201 nodes are hard to read; --around NAME --radius 2 draws those near one"
    said += ", --kind matrix a heat map\n"
    assert done.stderr.decode() == said


def test_tiers_differences_and_themes(gml, folder):
    (folder / "known.json").write_text('{"tiers": [["asia", "smoke"], ["dysp"]]}')
    (folder / "other.dot").write_text((folder / "asia.dot").read_text())
    for words in (
        ["--knowledge", "known.json"],
        ["--tiers", "asia,smoke < dysp"],
        ["--against", "other.dot"],
        ["--theme", "dark"],
        ["--theme", "print", "--weight", "none"],
    ):
        done = gml("draw", "asia.dot", *words)
        assert (done.returncode, done.stderr) == (0, b""), words
        assert done.stdout.startswith(STARTS["svg"])
    tiers = gml("draw", "asia.dot", "--knowledge", "known.json").stdout
    assert tiers == gml("draw", "asia.dot", "--tiers", "asia,smoke < dysp").stdout


def test_a_larger_png(gml, folder):
    small = gml("draw", "asia.dot", "-f", "png", "--scale", "1").stdout
    large = gml("draw", "asia.dot", "-f", "png", "--scale", "3").stdout
    assert int.from_bytes(large[16:20], "big") == pytest.approx(
        3 * int.from_bytes(small[16:20], "big"), abs=3
    )
    line = error_line(gml("draw", "asia.dot", "--scale", "3"), 2)
    assert line == "gml: error: --scale is for PNG, not for svg\n"


@pytest.mark.parametrize(
    "words",
    [
        *("--evidence xray=yes", "--against asia.dot", "--theme dark", "--weight mi"),
        *("--layout dot", "--tiers smoke<lung", "--knowledge known.json"),
    ],
)
def test_what_does_not_show_in_text(gml, folder, model, words):
    line = error_line(gml("draw", model, *words.split(), "-f", "text"), 2)
    assert f"{words.split()[0]} does not show in text; write SVG, HTML, PNG or PDF" in line


def test_text_needs_no_layout(gml, folder, monkeypatch):
    def draw_graph(*_, **__):
        raise AssertionError

    monkeypatch.setattr("gml.verbs.shared.drawn_graph.draw_graph", draw_graph)
    done = gml(
        "draw",
        "asia.dot",
        "--around",
        "lung",
        "--radius",
        "1",
        "--no-bars",
        "-f",
        "text",
        "--kind",
        "graph",
    )
    assert done.returncode == 0
    assert b"smoke" in done.stdout
    assert b"dysp" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("asia.dot asia.dot", "one graph is drawn, not 2"),
        ("asia.dot --bins 3", "--bins is about reading a table"),
        ("asia.dot --node lung", "--node is for --kind cpt and --kind classes, not for graph"),
        ("asia.dot --radius 1", "--radius belongs to --around"),
        ("--kind matrix asia.csv", "--format text draws graphs; write plots as SVG"),
    ],
)
def test_what_is_wrong_is_said_for_text_too(gml, folder, words, said):
    assert said in error_line(gml("draw", *words.split(), "-f", "text"), 2)


def test_a_suffix_that_contradicts_the_format(gml, folder):
    done = gml("draw", "asia.dot", "-f", "png", "-o", "m.svg")
    assert done.returncode == 0
    assert done.stderr == b"gml: warning: 'm.svg' becomes PNG, as --format says, not SVG\n"
    assert (folder / "m.svg").read_bytes().startswith(STARTS["png"])
    assert gml("draw", "asia.dot", "-f", "png", "-o", "m.png").stderr == b""


def test_text_is_the_graph_in_box_characters(gml, folder):
    (folder / "g.dot").write_text("digraph { a -> b; a -> c }")
    done = gml("draw", "g.dot", "-f", "text")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split() == ["a", "├──▶", "b", "└──▶", "c"]
    assert gml("draw", "g.dot", "-o", "g.txt").returncode == 0
    assert (folder / "g.txt").read_bytes() == done.stdout


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("draw model.json --evidence xra=yes", 2, "node 'xra' not found; did you mean 'xray'?"),
        ("draw model.json --evidence xray=maybe", 2, "--evidence: "),
        ("draw model.json --evidence xray", 2, "--evidence 'xray': write NODE=VALUE"),
        ("draw asia.dot --evidence xray=yes", 2, "--evidence needs a model, and this is a graph"),
        (
            "draw asia.dot --around luung",
            2,
            "--around: node 'luung' not found; did you mean 'lung'",
        ),
        ("draw asia.dot --around=", 2, "--around names no node"),
        ("draw asia.dot -f jpg", 2, "pictures are svg, png, pdf, html or text, not jpg"),
        ("draw asia.dot --bars", 2, "--bars needs a model, and this is a graph without tables"),
        ("draw --kind trace empty.dot", 3, "empty.dot: the file is empty"),
        ("draw a.png", 3, "a.png: a PNG picture, not a graph"),
        ("draw --kind matrix a.png", 3, "a.png: a PNG picture, not a table or a graph"),
        ("draw asia.dot --radius 2", 2, "--radius belongs to --around"),
        (
            "draw asia.dot --weight mi",
            2,
            "numeric attribute 'mi' not found; there are 'auto', 'none'; --data",
        ),
        ("draw asia.dot --bins 3", 2, "--bins is about reading a table, and none is read here"),
        (
            "draw asia.dot --data asia.csv --weight none",
            2,
            "--data is for --weight mi, not for none",
        ),
        (
            "draw asia.dot --node lung",
            2,
            "--node is for --kind cpt and --kind classes, not for graph",
        ),
        (
            "draw --kind matrix asia.csv --evidence a=x",
            2,
            "--evidence is for --kind graph, not for",
        ),
        ("draw asia.dot --seed 3", 2, "--seed is for --kind losses, not for graph"),
        ("draw asia.dot asia.dot", 2, "one graph is drawn, not 2; compare two by --against"),
        ("draw --kind cpt model.json", 2, "--kind cpt needs --node"),
        ("draw --kind cpt model.json --node lugn", 2, "did you mean 'lung'?"),
        ("draw --kind cpt asia.dot --node lung", 2, "--kind cpt needs a model"),
        ("draw --kind losses asia.csv", 2, "--kind losses needs a table and at least one graph"),
        ("draw --kind losses asia.dot asia.csv", 2, "'asia.csv' is a table: data come first"),
        ("draw --kind trace asia.csv", 3, "asia.csv: not the steps of a search"),
        ("draw --kind pie asia.dot", 2, "'pie' is not one of"),
        ("draw asia.csv", 3, "'asia.csv' is a table, where a graph or model is wanted; learn one"),
        ("draw empty.dot", 3, "empty.dot: the file is empty"),
        ("draw nowhere.dot", 3, "nowhere.dot: No such file"),
        ("draw asia.dot --against nowhere.dot", 3, "nowhere.dot: No such file"),
        ("draw --kind matrix asia.dot", 3, "no edge has a strength, as gml average gives it"),
        ("draw model.json --evidence lung=yes,either=no", 4, "probability 0"),
    ],
)
def test_errors(gml, folder, model, words, code, said):
    (folder / "empty.dot").write_text("")
    (folder / "a.png").write_bytes(STARTS["png"])
    line = error_line(gml(*words.split(), "-o", "x.svg"), code)
    assert said in line
    assert not (folder / "x.svg").exists()


def test_a_graph_of_too_many_edges_is_refused(gml, folder):
    """Before anything is written, by a command that learns as by draw."""
    names = [f"n{k:03}" for k in range(120)]
    pairs = [f"{a} -> {b}" for k, b in enumerate(names) for a in names[:k]]
    (folder / "dense.dot").write_text(f"digraph {{ {'; '.join(pairs)} }}")
    for command in ("draw dense.dot -o", "convert dense.dot"):
        line = error_line(gml(*command.split(), "x.svg"), 4)
        assert "7140 edges, which pass 280840 ranks of nodes, are too many for one" in line
        assert "(--around), or a heat map (--kind matrix)" in line
        assert not (folder / "x.svg").exists()


def test_a_model_that_is_too_costly_is_drawn_without_bars(gml, folder, model):
    done = gml("draw", model, "--max-memory", "1")
    plain = gml("draw", model, "--no-bars")
    assert done.returncode == 0
    assert done.stderr.startswith(b"gml: warning: the nodes show no distributions: ")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == plain.stdout


def test_a_failure_leaves_the_old_file(gml, folder):
    (folder / "a.png").write_bytes(b"old")
    line = error_line(gml("draw", "asia.dot", "-o", "a.png", "--scale", "100000"), 4)
    assert "32,767 on a side" in line
    assert "lower --scale to " in line
    assert (folder / "a.png").read_bytes() == b"old"
    assert {path.name for path in folder.iterdir()} == {"a.png", "asia.csv", "asia.dot"}


def test_a_reader_that_has_seen_enough(shell, folder):
    done = shell("G draw asia.dot -f html | head -1; echo ${PIPESTATUS[*]}")
    assert done.stdout == b"<!DOCTYPE html>\n0 0\n"
    assert done.stderr == b""


@pytest.mark.parametrize("format_", ["png", "pdf"])
def test_bytes_are_not_for_a_terminal(folder, format_):
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [*GML, "draw", "asia.dot", "-f", format_],
            stdout=slave,
            stderr=subprocess.PIPE,
            cwd=folder,
            timeout=60,
        )
    finally:
        os.close(slave)
        os.close(master)
    assert done.returncode == 2
    said = f"gml: error: {format_.upper()} is not for a terminal; name a file with -o\n"
    assert done.stderr.decode() == said


@pytest.mark.parametrize("words", [["draw", "asia.dot"], ["chowliu", "asia.csv"]])
def test_the_extra_is_missed_before_any_work(folder, words):
    code = "import sys; sys.modules['vl_convert'] = None\n" + (
        "import importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'vl_convert' else found(name, *rest)\n"
        "from gml.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "-o", "a.png"], capture_output=True, cwd=folder
    )
    assert done.returncode == 4
    assert done.stderr.decode() == (
        "gml: error: PNG needs the extra draw: pip install 'gml[draw]'; SVG and HTML do not\n"
    )
    assert not (folder / "a.png").exists()


# ---------------------------------------------------------------------- other kinds


def test_plots_of_what_commands_write(gml, folder, model):
    assert gml("hc", "asia.csv", "--trace", "trace.csv", "-o", "hc.json").returncode == 0
    words = ["average", "asia.csv", "--by", "hc", "--bootstrap", "5", "-o", "average.json", "-q"]
    assert gml(*words).returncode == 0
    for kind, sources in {
        "matrix": ["asia.csv", "--exclude", "asia"],
        "trace": ["trace.csv"],
        "strengths": ["average.json", "--threshold", "0.6"],
        "losses": ["asia.csv", "asia.dot", "hc.json", "--folds", "3", "--seed", "1"],
        "cpt": [model, "--node", "dysp"],
    }.items():
        for theme in ("light", "dark"):
            done = gml("draw", "--kind", kind, *sources, "--theme", theme)
            assert (done.returncode, done.stderr) == (0, b""), (kind, done.stderr)
            assert words_in(done.stdout)
        assert gml("draw", "--kind", kind, *sources, "-o", "a.html").returncode == 0
    done = gml("draw", "--kind", "matrix", "average.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "smoke" in words_in(done.stdout)


def test_a_matrix_of_standard_input(gml, folder):
    table = (folder / "asia.csv").read_bytes()
    done = gml("draw", "--kind", "matrix", "-", stdin=table)
    assert done.returncode == 0
    assert done.stdout == gml("draw", "--kind", "matrix", "asia.csv").stdout


def test_weights_from_data_and_from_the_model(gml, folder, model):
    for words in (["asia.dot", "--data", "asia.csv"], [model], [model, "--data", "asia.csv"]):
        done = gml("draw", *words, "--weight", "mi", "--no-bars")
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        assert "nats" in " ".join(words_in(done.stdout))


def test_data_alone_show_mutual_information(gml, folder):
    asked = gml("draw", "asia.dot", "--data", "asia.csv", "--weight", "mi")
    assert gml("draw", "asia.dot", "--data", "asia.csv").stdout == asked.stdout


def test_weights_that_a_model_has_are_listed(gml, folder, model):
    line = error_line(gml("draw", model, "--weight", "strength"), 2)
    assert "'strength' not found; there are 'auto', 'none', 'mi'; gml average gives it" in line


def test_numbers_that_a_matrix_takes_for_labels(gml, folder):
    rows = "".join(f"{k},{k * 7 % 90}\n" for k in range(90))
    (folder / "numbers.csv").write_text(f"a,b\n{rows}")
    done = gml("draw", "--kind", "matrix", "numbers.csv", "--kinds", "labels")
    assert b"cut numbers with --bins, or take them as numbers (--numeric)\n" in done.stderr


def test_the_matrix_of_a_model(gml, folder, model):
    """Sums over its tables, where a sample would show chance too."""
    done = gml("draw", "--kind", "matrix", model)
    assert (done.returncode, done.stderr) == (0, b"")
    titles = [found.text for found in ElementTree.fromstring(done.stdout).iter(f"{SVG}title")]
    assert "asia, smoke: 0" in titles
    edges = gml("draw", model, "--weight", "mi", "--no-bars").stdout.decode()
    shown = re.search("smoke --&gt; lung, mi ([0-9.]+)", edges)
    assert f"lung, smoke: {float(shown[1]):.3g}" in titles


# ---------------------------------------------------------------------- other commands


GRAPHS = (
    "chowliu asia.csv", "pc asia.csv -c asia,tub,either", "hc asia.csv -c smoke,lung,bronc",
    "ges asia.csv -c smoke,lung,bronc", "exact asia.csv -c smoke,lung,bronc",
    "imap asia.csv --order smoke,lung,bronc", "average asia.csv --by hc --bootstrap 3 -c smoke,lung",
    "fit-params asia.csv asia.dot",
)  # fmt: skip


@pytest.mark.parametrize("words", GRAPHS)
@pytest.mark.parametrize("format_", ["svg", "html"])
def test_a_picture_wherever_a_graph_is_written(gml, folder, words, format_):
    done = gml(*words.split(), "-o", f"a.{format_}", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    written = (folder / f"a.{format_}").read_bytes()
    assert written.startswith(STARTS[format_])
    assert gml(*words.split(), "-f", format_, "-q").stdout == written


@pytest.mark.parametrize("words", ["chowliu asia.csv", "fit-params asia.csv asia.dot"])
@pytest.mark.parametrize("format_", ["png", "pdf"])
def test_rendered_pictures_of_other_commands(gml, folder, words, format_):
    assert gml(*words.split(), "-o", f"a.{format_}").returncode == 0
    assert (folder / f"a.{format_}").read_bytes().startswith(STARTS[format_])


def test_the_graph_of_a_report_as_a_picture(gml, folder):
    words = ["exact", "asia.csv", "-c", "smoke,lung,bronc,tub", "-o", "a.svg"]
    (folder / "g.dot").write_text("digraph { smoke -> lung; bronc; tub }")
    done = gml(*words, "--against", "g.dot", "-f", "csv")
    assert done.returncode == 0
    assert done.stdout.startswith(b"graph,")
    assert (folder / "a.svg").read_bytes().startswith(STARTS["svg"])


@pytest.mark.parametrize("format_", STARTS)
def test_conversion(gml, folder, model, format_):
    done = gml("convert", model, f"a.{format_}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    drawn = gml("draw", model, "-f", format_).stdout
    assert (folder / f"a.{format_}").read_bytes() == drawn
    assert gml("convert", model, "-", "-f", format_).stdout == drawn


def test_dot_is_still_the_default_and_text_as_it_was(gml, folder):
    assert gml("chowliu", "asia.csv").stdout.startswith(b"digraph ")
    assert gml("chowliu", "asia.csv", "-f", "text").stdout.startswith(b"dag, 8 nodes, 7 edges\n")


def test_unchanged_pictures_and_what_they_depend_on(gml, folder):
    assert gml("draw", "asia.dot", "-o", "a.svg", "--depfile", "a.d").returncode == 0
    assert (folder / "a.d").read_text().startswith("a.svg: asia.dot\n")
    before = (folder / "a.svg").stat()
    assert gml("draw", "asia.dot", "-o", "a.svg", "--if-changed").returncode == 0
    assert (folder / "a.svg").stat().st_ino == before.st_ino
