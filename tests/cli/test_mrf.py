"""gml mrf as users run it."""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import subprocess
import time

import numpy as np
import pytest

import gml as library
from tests.command_line import GML, error_line
from tests.contingency_tables import reinis

PAIRS = (
    *("--clique", "alcohol,cigarettes", "--clique", "alcohol,marijuana"),
    *("--clique", "cigarettes,marijuana"),
)
LATTICE = 8


@pytest.fixture
def students(sample_data):
    return sample_data / "students.csv"


@pytest.fixture(scope="module")
def lattice(tmp_path_factory):
    """Rows of a lattice whose junction tree takes some memory, and its graph."""
    folder = tmp_path_factory.mktemp("lattice")
    rng = np.random.default_rng(1)
    names = [f"x{i}{j}" for i in range(LATTICE) for j in range(LATTICE)]
    values = rng.integers(0, 2, (300, len(names)))
    lines = [",".join(names), *(",".join(map(str, row)) for row in values)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    edges = [
        f"  x{i}{j} -- x{k}{m};"
        for i in range(LATTICE)
        for j in range(LATTICE)
        for k, m in ((i + 1, j), (i, j + 1))
        if k < LATTICE and m < LATTICE
    ]
    (folder / "graph.dot").write_text("graph {\n" + "\n".join(edges) + "\n}\n")
    return folder


def model_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_pairs_of_the_student_survey(gml, students):
    found = model_of(gml("mrf", students, "--weights", "Freq", *PAIRS))
    fit = found["graph"]["fit"]
    assert fit["g2"] == pytest.approx(0.37398587, abs=5e-9)
    assert fit["x2"] == pytest.approx(0.40110052, abs=5e-9)
    assert (fit["df"], fit["dimension"], fit["converged"]) == (1, 6, True)
    assert fit["gap"] <= 1e-9
    couplings = [edge["coupling"] for edge in found["edges"]]
    assert couplings == pytest.approx([0.513633523548, 0.746503610476, 0.7119722985], abs=5e-13)


def test_the_coding_01_has_log_odds_ratios(gml, students):
    found = model_of(gml("mrf", students, "--weights", "Freq", *PAIRS, "--coding", "01"))
    assert found["graph"]["coding"] == "01"
    tables = {tuple(factor["scope"]): factor["table"] for factor in found["factors"]}
    assert tables["alcohol", "cigarettes"][:3] == [0, 0, 0]
    assert tables["alcohol", "cigarettes"][3] == pytest.approx(4 * 0.513633523548, abs=5e-12)


def test_the_constant_belongs_to_the_coding(gml, students, tmp_path):
    for coding in ("01", "sum-to-zero"):
        path = tmp_path / f"{coding}.json"
        gml("mrf", students, "--weights", "Freq", *PAIRS, "--coding", coding, "-o", path)
        net = library.read_model(path)
        weights = np.zeros((2, 2, 2))
        for potential in net.potentials:
            axes = [net.index(name) for name in potential.names]
            weights += potential.table.reshape([2 if k in axes else 1 for k in range(3)])
        assert net.summary.log_z == pytest.approx(np.log(np.exp(weights).sum()), abs=1e-12)


def test_the_coding_01_needs_two_levels(gml, sample_data):
    done = gml("mrf", sample_data / "admissions.csv", "--weights", "Freq", "--coding", "01")
    assert "--coding 01 is for two levels each, which 'Dept' does not have" in error_line(done, 2)


def test_a_dag_is_moralised_and_that_is_said(gml, asia, sample_data):
    done = gml("mrf", asia, sample_data / "asia.dot", "--method", "exact")
    found = model_of(done)
    pairs = {(edge["source"], edge["target"]) for edge in found["edges"]}
    assert len(pairs) == 10
    assert {("tub", "lung"), ("bronc", "either")} <= pairs
    assert b"a dag: its moral graph is fitted, with 2 more edges between parents" in done.stderr
    assert max(len(factor["scope"]) for factor in found["factors"]) == 3


def test_pairs_instead_of_cliques(gml, asia, sample_data):
    done = gml("mrf", asia, sample_data / "asia.dot", "--factors", "pairs", "--method", "exact")
    terms = [f["scope"] for f in model_of(done)["factors"] if not f.get("boundary")]
    assert max(map(len, terms)) == 2


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["{graph}", "--clique", "smoke,lung"], 2, "a graph and --clique exclude one another"),
        (["{graph}", "--structure", "tree"], 2, "a graph and --structure exclude one another"),
        (["{graph}", "--gamma", "0.5"], 2, "--gamma"),
        (["--structure", "tree", "--rule", "or"], 2, "--rule does not go with --structure tree"),
        (["--clique", ""], 2, "--clique must have sets of different columns"),
        (["--clique", "smoke,smoke"], 2, "--clique must have sets of different columns"),
        (["--clique", "smoke,lung", "--factors", "pairs"], 2, "--factors is about a graph"),
        (["--score", "k2"], 2, "--score"),
        (["--clique", "smoke,lungs"], 2, "column 'lungs' not found; did you mean 'lung'?"),
        (["--method", "pl", "--chains", "9"], 2, "--chains belongs to --method pcd or cd"),
        (["--method", "pcd", "--chains", "1"], 2, "--chains"),
        (["--missing", "available"], 2, "--missing available"),
        (["--l2", "-1"], 2, "--l2"),
        (["--intervals", "1"], 2, "--intervals"),
        (["--trace", "-", "--method", "pcd"], 2, "--trace needs a file"),
        (["{other}"], 3, "column 'nobody' not found"),
        (["{pag}"], 3, "pag"),
        (["--numeric", "smoke"], 3, "smoke"),
    ],
)
def test_refusals(gml, asia, sample_data, tmp_path, args, code, words):
    (tmp_path / "other.dot").write_text("graph { smoke -- nobody }")
    pag = library.Graph.from_edges(["smoke", "lung"], [("smoke", "o->", "lung")])
    library.write_graph(pag, tmp_path / "pag.json")
    places = {
        "graph": sample_data / "asia.dot",
        "other": tmp_path / "other.dot",
        "pag": tmp_path / "pag.json",
    }
    done = gml("mrf", asia, *(arg.format(**places) for arg in args), "-o", tmp_path / "m.json")
    assert words in error_line(done, code)
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize("method", ["pcd", "cd"])
def test_contrastive_divergence_with_its_trace(gml, students, tmp_path, method):
    how = ("--method", method, "--iterations", "400", "--seed", "3", "--trace", tmp_path / "t.csv")
    found = model_of(gml("mrf", students, "--weights", "Freq", *PAIRS, *how))
    fit = found["graph"]["fit"]
    assert (fit["method"], fit["converged"]) == (method, True)
    header, *steps = csv.reader((tmp_path / "t.csv").read_text().splitlines())
    assert header[:4] == ["step", "rate", "gap", "alcohol"]
    assert header[6] == "alcohol,cigarettes" and len(header) == 9
    assert [line[0] for line in steps] == [str(k) for k in range(fit["iterations"] + 1)]
    couplings = [edge["coupling"] for edge in found["edges"]]
    # The standard errors of the exact estimate are 0.04, 0.12 and 0.04.
    assert couplings == pytest.approx([0.5136, 0.7465, 0.712], abs=0.06)
    again = gml("mrf", students, "--weights", "Freq", *PAIRS, *how, "--threads", "1")
    assert model_of(again)["factors"] == found["factors"]


def test_no_chains_where_the_fit_is_exact(gml, students, tmp_path):
    trace = tmp_path / "t.csv"
    done = gml("mrf", students, "--weights", "Freq", *PAIRS, "--chains", "9", "--trace", trace)
    assert model_of(done)["graph"]["fit"]["method"] == "exact"
    assert b"--chains, --trace: not used, as the exact fit draws no chains" in done.stderr
    assert not trace.exists()


@pytest.mark.parametrize("method", ["exact", "pl", "pcd"])
def test_out_of_time_is_a_model_that_says_so(gml, asia, tmp_path, method):
    path = tmp_path / "m.json"
    how = ("--structure", "complete", "--l2", "1", "--method", method)
    done = gml("mrf", asia, *how, "--max-seconds", "0.000001", "-o", path)
    assert done.returncode == 5, done.stderr
    assert b"stopped by --max-seconds: this is the model so far" in done.stderr
    found = json.loads(path.read_text())["graph"]
    assert (found["fit"]["converged"], found["learning"]["complete"]) == (False, False)


def test_annealing_is_within_the_time(gml, lattice):
    how = ("--method", "pl", "--max-memory", "100k", "--max-seconds", "0.000001")
    done = gml("mrf", lattice / "rows.csv", lattice / "graph.dot", *how)
    assert done.returncode == 5, done.stderr
    assert b"--max-seconds passed at step 1 of 1000 of the annealing" in done.stderr
    assert json.loads(done.stdout)["graph"]["fit"]["log_z"] is None


def test_an_interrupt_leaves_no_file(lattice, tmp_path):
    process = subprocess.Popen(
        [*GML, "mrf", lattice / "rows.csv", lattice / "graph.dot", "--method", "pcd",
         "--chains", "2", "--iterations", "1000000", "--trace", "t.csv", "-o", "m.json"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.iterdir()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.endswith(b"gml: error: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def czech(tmp_path):
    """A table of counts, as rows with weights."""
    table = reinis()
    lines = [",".join([*table.names, "n"])]
    for cell, count in np.ndenumerate(table.counts):
        lines.append(",".join([*("ny"[level] for level in cell), str(int(count))]))
    (tmp_path / "reinis.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "reinis.csv"


@pytest.mark.parametrize(("rule", "n_edges"), [("and", 6), ("or", 8)])
def test_neighbourhoods_are_those_of_isingfit(gml, czech, rule, n_edges):
    done = gml("mrf", czech, "--weights", "n", "--structure", "l1", "--rule", rule)
    found = model_of(done)
    assert len(found["edges"]) == n_edges
    assert max(len(factor["scope"]) for factor in found["factors"]) == 2
    assert found["graph"]["learning"]["learned"]["rule"] == rule


def test_neighbourhoods_by_folds(gml, czech):
    done = gml("mrf", czech, "--weights", "n", "--structure", "l1", "--criterion", "folds")
    found = model_of(done)
    learned = found["graph"]["learning"]["learned"]
    assert (learned["structure"], learned["criterion"]) == ("l1", "folds")
    # Within a standard error of the best prediction, only the strongest pairs are needed.
    assert len(found["edges"]) < 15
    assert ("mental", "phys") in {(edge["source"], edge["target"]) for edge in found["edges"]}


def test_a_treewidth_beyond_the_budget(gml, lattice):
    rows, graph = lattice / "rows.csv", lattice / "graph.dot"
    done = gml("mrf", rows, graph, "--method", "exact", "--max-memory", "100k")
    assert "treewidth" in error_line(done, 4)


def test_one_level_columns_and_missing_values(gml, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\nx,1,k\ny,2,k\nx,,k\ny,1,k\nx,2,k\n")
    assert "missing" in error_line(gml("mrf", tmp_path / "t.csv"), 3)
    done = gml("mrf", tmp_path / "t.csv", "--missing", "drop")
    found = model_of(done)
    assert b"only one value" in done.stderr
    assert found["graph"]["learning"]["missing"]["policy"] == "drop"
    assert found["nodes"][2] == {"id": "c", "levels": ["k"]}


def test_an_empty_table(gml, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    assert "no rows" in error_line(gml("mrf", tmp_path / "t.csv"), 4)


def test_no_order_of_rows_or_columns_shows(gml, asia, tmp_path):
    rows = list(csv.reader(asia.read_text().splitlines()))
    header, body = rows[0], rows[1:]
    columns = list(range(len(header)))
    random.Random(3).shuffle(columns)
    random.Random(4).shuffle(body)
    text = io.StringIO()
    csv.writer(text).writerows([[row[k] for k in columns] for row in [header, *body]])
    (tmp_path / "t.csv").write_text(text.getvalue())
    for how in (["--structure", "forward"], ["--structure", "complete", "--l2", "2"]):
        one, other = (model_of(gml("mrf", path, *how)) for path in (asia, tmp_path / "t.csv"))
        assert one["factors"] == other["factors"]
        assert one["graph"]["fit"] == other["graph"]["fit"]


@pytest.mark.parametrize("suffix", ["json", "uai", "txt", "dot", "graphml", "svg"])
def test_formats(gml, students, tmp_path, suffix):
    path = tmp_path / f"m.{suffix}"
    done = gml("mrf", students, "--weights", "Freq", *PAIRS, "-o", path)
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size > 100
    if suffix in ("dot", "graphml"):
        graph = library.read_graph(path)
        assert [round(edge.attributes["coupling"], 4) for edge in graph.edges] == [
            *(0.5136, 0.7465, 0.712)
        ]


def test_python_gives_what_the_command_writes(gml, students):
    found = model_of(gml("mrf", students, "--weights", "Freq", *PAIRS))
    net = library.mrf(
        students,
        weights="Freq",
        clique=[["alcohol", "cigarettes"], ("alcohol", "marijuana"), ("cigarettes", "marijuana")],
    )
    assert [p.table.reshape(-1).tolist() for p in net.potentials] == [
        factor["table"] for factor in found["factors"]
    ]
    assert net.summary.g2 == found["graph"]["fit"]["g2"]


def test_numbers_are_refused(gml, sample_data):
    done = gml("mrf", sample_data / "admissions.csv", "--numeric", "Freq")
    said = "an undirected model is for categorical columns, and column 'Freq' is numeric; cut it"
    assert f"{said} into intervals (--bins 4)" in error_line(done, 3)


@pytest.mark.parametrize("clique", ["alcohol,cigarettes", ["alcohol", "cigarettes"], [[]]])
def test_names_alone_are_no_cliques(students, clique):
    with pytest.raises(library.UsageError, match="must have sets of different columns"):
        library.mrf(students, weights="Freq", clique=clique)


def test_accepted_failures_are_kept(gml, asia, tmp_path):
    done = gml("mrf", asia, "--accept", "-o", tmp_path / "m.json")
    assert done.returncode == 0, done.stderr
    checked = gml("check", asia, tmp_path / "m.json")
    assert checked.returncode == 0, checked.stdout
    assert library.read_model(tmp_path / "m.json").baseline.accepted


def test_counts_of_a_model_are_those_of_its_terms(gml, asia, tmp_path):
    gml("mrf", asia, "--structure", "complete", "--l2", "1", "-o", tmp_path / "m.json")
    done = gml("count", asia, "--graph", tmp_path / "m.json", "-o", tmp_path / "counts.parquet")
    assert done.returncode == 0, done.stderr
    sets = library.read_counts(tmp_path / "counts.parquet").sets
    assert len(sets) == 28
    assert {len(names) for names in sets} == {2}
    done = gml("check", tmp_path / "counts.parquet", tmp_path / "m.json", "--families", "tables")
    assert done.returncode == 0, done.stdout


def test_terms_that_l1_makes_zero_are_left_out(gml, asia, tmp_path):
    path = tmp_path / "model.json"
    args = ("--structure", "complete", "--l1", 300, "--errors")
    done = gml("mrf", asia, *args, "-o", path)
    assert done.returncode == 0
    assert b"by --l1, 19 terms are exactly 0 and left out of the model, and with them 19 edges" in (
        done.stderr
    )
    found = json.loads(path.read_bytes())
    fit = found["graph"]["fit"]
    assert (fit["dimension"], fit["n_dropped"]) == (36, 19)
    assert len(found["edges"]) == 28 - 19
    assert len(found["factors"]) == 36 - 19
    assert all(any(factor["table"]) for factor in found["factors"])
    net = library.MarkovNet.from_file(path)
    generators = {frozenset(net.terms.names[k] for k in scope) for scope in net.terms.generators}
    with_counts = {frozenset(p.names) for p in net.potentials if p.counts is not None}
    assert with_counts == generators
    assert frozenset(["tub"]) in generators
    assert gml("convert", path, tmp_path / "model.txt").returncode == 0
    assert "l1 300, which left out 19 terms" in (tmp_path / "model.txt").read_text()


def test_parts_of_terms_that_l1_keeps_are_kept(asia):
    names = ["bronc", "lung", "smoke"]
    options = {"columns": names, "clique": [names]}
    net = library.mrf(asia, l1=500.0, **options)
    assert not net.potential("lung", "smoke").table.any()
    assert net.potential(*names).table.any()
    assert net.summary.n_dropped == 0
    # In the other coding the same part is not 0.
    coded = library.mrf(asia, l1=500.0, coding="01", **options)
    assert coded.potential("lung", "smoke").table.any()
    rows = library.read(asia, columns=names)
    assert coded.log_likelihood(rows) == pytest.approx(net.log_likelihood(rows), rel=1e-12)


def test_the_model_without_zero_terms_is_the_one_fitted(asia):
    names = ["bronc", "lung", "smoke"]
    net = library.mrf(asia, columns=names, clique=[names], l1=1200.0)
    assert [potential.names for potential in net.potentials][3:] == [("bronc", "smoke")]
    assert (net.summary.n_dropped, net.summary.dimension) == (3, 7)
    rows = library.read(asia, columns=names)
    assert net.log_likelihood(rows) == pytest.approx(net.summary.log_likelihood, rel=1e-12)


def test_without_l1_no_term_is_left_out(asia):
    net = library.mrf(asia, structure="complete", l2=300.0)
    assert (net.summary.n_dropped, net.graph.n_edges) == (0, 28)


def test_columns_of_the_trace_are_numbered_as_the_docs_say(gml, tmp_path):
    """Contrast k compares level k + 1 with the mean of those before; those of the last column are
    fastest."""
    rng = np.random.default_rng(3)
    age, employment = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    lines = [f"a{x},e{y}" for x, y in zip(age, employment, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["age,employment", *lines]) + "\n")
    args = ("--structure", "complete", "--method", "pcd", "--iterations", 1)
    trace = tmp_path / "moments.csv"
    gml("mrf", tmp_path / "rows.csv", *args, "--trace", trace, "-o", tmp_path / "model.json")
    observed, step = csv.DictReader(trace.read_text().splitlines())
    assert (observed["step"], step["step"]) == ("0", "1")
    names = [name for name in observed if name.startswith("age,employment")]
    assert names == [f"age,employment {k}" for k in range(1, 7)]

    def contrast(k, n_levels):
        raw = np.array([-1.0 / k] * k + [1.0] + [0.0] * (n_levels - k - 1))
        return raw / np.sqrt(np.mean(raw**2))

    found = [float(observed[name]) for name in names]
    wanted = [
        np.mean(contrast(i, 4)[age] * contrast(j, 3)[employment]) for i in (1, 2, 3) for j in (1, 2)
    ]
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("option", ["--l1", "--l2", "--smoothing"])
@pytest.mark.parametrize("value", ["1e-320", "1e300"])
def test_penalties_that_doubles_cannot_hold(gml, asia, option, value):
    done = gml("mrf", asia, option, value)
    assert f"{option} must be 0, or between 1e-30 and 1e30" in error_line(done, 2)
