"""gml count and gml merge on the command line, and count files as DATA of the other commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import gml as library
from gml.cli.main import cli
from gml.counts.count_parquet import encode_counts
from tests.command_line import error_line, run_here

COLUMNS = "asia,tub,smoke,lung,bronc,either,xray,dysp"
# Every command that takes count files; DATA, GRAPH and MODEL are put in.
COMMANDS = [
    "chowliu DATA",
    "chowliu DATA --class lung --estimator miller-madow",
    "chowliu DATA --prune g --exclude xray -f json",
    "pc DATA",
    "pc DATA --test g --dag -f json",
    "pc DATA --test permutation --permutations 200 --max-cond 1 -c smoke,lung,bronc,dysp",
    "indtest DATA smoke dysp -z bronc,either -f json",
    "indtest DATA --all-pairs --test chi2 -f csv",
    "indtest DATA --implied GRAPH --adjust holm -f csv",
    "indtest DATA smoke lung --test bayes --expect dependent",
    "indtest DATA smoke lung -z asia --test mi-threshold",
    "score DATA GRAPH --score bic,aic,ebic,loglik,bdeu,bds,bdj,bd,k2,fnml,qnml --per-node -f json",
    "score DATA GRAPH --explain",
    "score DATA GRAPH --holdout DATA",
    "fit-params DATA GRAPH",
    "fit-params DATA GRAPH --method bayes --intervals 0.9 -f text",
    "hc DATA --score bdeu --tabu 5",
    "hc DATA --restarts 2 -f json",
    "ges DATA --score qnml",
    "exact DATA --score bdeu --cpdag",
    "exact DATA --against GRAPH",
    "imap DATA --order smoke,lung,bronc,either,dysp",
    "imap DATA --order smoke,lung,bronc,dysp --score k2",
    "average DATA --by exact -f json",
    "average DATA --by order-mcmc --iterations 2000 -c smoke,lung,bronc,dysp",
    "check DATA MODEL --families schema,tables,structure -f json",
    "mrf DATA GRAPH --factors pairs",
    "mrf DATA --structure forward --max-clique 2",
    "mrf DATA GRAPH --factors pairs --method pl --l2 1",
    "crf DATA -t lung,bronc -c lung,bronc,smoke",
]
NEEDS_ROWS = [
    ("pc DATA --bootstrap 5", "--bootstrap needs rows"),
    ("average DATA --by hc --bootstrap 5", "--by hc needs rows"),
    ("average DATA --by pc --bootstrap 5", "--by pc needs rows"),
    ("mrf DATA --structure l1", "needs rows"),
    ("score DATA GRAPH --folds 3", "--folds needs rows"),
    ("score DATA GRAPH --score bge", "no numbers"),
    ("indtest DATA smoke lung --test fisher-z", "no numbers"),
    ("fit-params DATA GRAPH --gaussian", "no numbers"),
    ("count DATA --pairs -o x.parquet", "no rows"),
    ("profile DATA", "no rows"),
    ("rake DATA --targets CENSUS", "no rows"),
    ("mixture DATA", "needs rows"),
    ("glasso DATA", "no numbers"),
    ("notears DATA", "no numbers"),
]


def run(*args, cwd="."):
    return run_here(args, cwd)


def make(*args):
    """Run a command that must succeed."""
    done = run(*args)
    assert done.returncode == 0, done.stderr
    return done


def write_shards(source, folder, n_shards, seed=7):
    """Deal the rows of a CSV file to shards at random; returns their paths."""
    header, *rows = source.read_text().splitlines()
    shard_of = np.random.default_rng(seed).integers(0, n_shards, len(rows))
    paths = []
    for k in range(n_shards):
        part = [row for row, shard in zip(rows, shard_of, strict=True) if shard == k]
        path = folder / f"part-{k}.csv"
        path.write_text("\n".join([header, *part]) + "\n")
        paths.append(path)
    return paths


def same_tables(one, other):
    """Whether two count files differ in nothing but what data they count."""
    files = [library.read_counts(path) for path in (one, other)]
    first, second = (encode_counts(replace(file, data=())) for file in files)
    return first == second


def without_digest(output):
    """Hashes and names of the data are not alike, nor is what is kept of rows, if there are any."""
    output = re.sub(rb'"training": \{"repeats": \{[^}]*\}\}, ', b"", output)
    return re.sub(rb'"(data|content)": "[^"]*"', rb'"\1": null', output)


@pytest.fixture(scope="module")
def asia(tmp_path_factory, sample_data):
    """The count file of asia.csv, and that of seven random shards merged."""
    folder = tmp_path_factory.mktemp("asia")
    (folder / "sets.csv").write_text(f"# every column\n\n{COLUMNS}\n")
    shards = write_shards(sample_data / "asia.csv", folder, 7)
    wanted = ("--pairs", "--implied", sample_data / "asia.dot", "--sets", "sets.csv")
    for path in (sample_data / "asia.csv", *shards):
        done = run("count", path, *wanted, "-o", f"{path.stem}.parquet", cwd=folder)
        assert done.returncode == 0
        assert done.stderr == b""
    # From counts, since a model that knows its rows is asked about repeated ones as well.
    make(
        "fit-params",
        folder / "asia.parquet",
        sample_data / "asia.dot",
        "-o",
        folder / "model.json",
    )
    parts = [f"{path.stem}.parquet" for path in shards]
    done = run("merge", *parts, "-o", "merged.parquet", cwd=folder)
    assert done.returncode == 0
    assert done.stdout + done.stderr == b""
    return folder


def test_seven_shards_are_the_whole(asia, sample_data):
    assert same_tables(asia / "merged.parquet", asia / "asia.parquet")
    merged = library.read_counts(asia / "merged.parquet")
    assert merged.n == 5000
    assert len(merged.data) == 7
    assert list(merged.data) == sorted(merged.data)
    # Merging step by step is merging at once.
    parts = [asia / f"part-{k}.parquet" for k in range(7)]
    assert run("merge", *parts[:3], "-o", asia / "a.parquet").returncode == 0
    assert run("merge", *parts[3:], "-o", asia / "b.parquet").returncode == 0
    stepwise = run("merge", asia / "b.parquet", asia / "a.parquet", "-o", "-")
    assert stepwise.returncode == 0
    assert stepwise.stdout == (asia / "merged.parquet").read_bytes()


def test_no_command_that_reads_data_is_left_out():
    context = cli.make_context("gml", [], resilient_parsing=True)
    reading = {
        name
        for name in cli.list_commands(context)
        if any(p.name in ("data_path", "data_paths") for p in cli.get_command(context, name).params)
    }
    named = {command.split()[0] for command in (*COMMANDS, *(asked for asked, _ in NEEDS_ROWS))}
    # A page says which rows are less likely, and holds some out: tests/cli/test_report.py.
    assert named | {"report"} == reading


@pytest.mark.parametrize("command", COMMANDS)
def test_count_files_are_the_data(asia, sample_data, command):
    files = {"GRAPH": str(sample_data / "asia.dot"), "MODEL": str(asia / "model.json")}

    def args(data):
        words = {"DATA": str(data), **files}
        return [words.get(word, word) for word in command.split()]

    rows = make(*args(sample_data / "asia.csv"))
    counts = make(*args(asia / "merged.parquet"))
    assert without_digest(counts.stdout) == without_digest(rows.stdout)
    assert counts.stderr == rows.stderr


def test_the_digest_is_that_of_the_input(asia):
    import hashlib

    path = asia / "merged.parquet"
    learning = json.loads(run("chowliu", path, "-f", "json").stdout)["graph"]["learning"]
    assert learning["data"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert learning["rows"] == 5000


@pytest.mark.parametrize("policy", ["drop", "level", "available"])
def test_shards_with_missing_values(tmp_path, sample_data, policy):
    source = sample_data / "survey_missing.csv"
    shards = write_shards(source, tmp_path, 7)
    wanted = ("--pairs", "--triples", "--missing", policy)
    for path in (source, *shards):
        make("count", path, *wanted, "-o", tmp_path / f"{path.stem}.parquet", "-q")
    parts = [tmp_path / f"{path.stem}.parquet" for path in shards]
    merged = tmp_path / "merged.parquet"
    make("merge", *parts, "-o", merged)
    assert same_tables(merged, tmp_path / "survey_missing.parquet")
    for command in (
        ["pc", "DATA", "--max-cond", "1", "--missing", policy, "-f", "json"],
        ["indtest", "DATA", "--all-pairs", "--missing", policy, "-f", "csv"],
        *([] if policy == "available" else [["chowliu", "DATA", "--missing", policy]]),
    ):
        outputs = []
        for data in (source, merged):
            done = make(*[data if word == "DATA" else word for word in command], "-q")
            outputs.append(without_digest(done.stdout))
        assert outputs[0] == outputs[1]


def test_a_set_that_was_not_counted(gml, tmp_path, sample_data):
    make("count", sample_data / "asia.csv", "--pairs", "-o", tmp_path / "p.parquet")
    error = error_line(gml("indtest", "p.parquet", "smoke", "dysp", "-z", "bronc"), 4)
    assert "'bronc', 'dysp', 'smoke'" in error
    assert "bronc,dysp,smoke" in error
    assert "gml count" in error
    # The line that the message proposes is one that can be counted.
    (tmp_path / "sets.csv").write_text("bronc,dysp,smoke\n")
    sets = tmp_path / "sets.csv"
    make("count", sample_data / "asia.csv", "--sets", sets, "-o", tmp_path / "s.parquet")
    assert gml("indtest", "s.parquet", "smoke", "dysp", "-z", "bronc").returncode == 0


def test_available_tables_are_not_summed_out(gml, tmp_path, sample_data):
    survey = sample_data / "survey_missing.csv"
    make("count", survey, "--triples", "--missing", "available", "-o", tmp_path / "t.parquet")
    error = error_line(gml("indtest", "t.parquet", "Age", "Sex"), 4)
    assert "'Age', 'Sex' (larger ones leave out rows with missing values)" in error
    assert gml("indtest", "t.parquet", "Age", "Sex", "-z", "Travel").returncode == 0


def test_small_cells_are_not_written(gml, tmp_path, sample_data):
    asia = sample_data / "asia.csv"
    (tmp_path / "old.parquet").write_bytes(b"old")
    args = ("--pairs", "--min-cell", "20", "-o", "old.parquet")
    error = error_line(gml("count", asia, *args), 4)
    assert "'asia', 'lung' has 1" in error
    assert "--min-cell 20" in error
    assert (tmp_path / "old.parquet").read_bytes() == b"old"
    assert gml("count", asia, *args, "-c", "smoke,lung,bronc").returncode == 0
    # A cell that is small in a shard need not be so in all.
    shards = write_shards(asia, tmp_path, 4)
    for path in shards:
        make("count", path, "--pairs", "-c", "smoke,lung", "-o", path.with_suffix(".parquet"))
    parts = [f"{path.stem}.parquet" for path in shards]
    assert gml("merge", *parts, "--min-cell", "26", "-o", "-").returncode == 0
    error = error_line(gml("merge", *parts, "--min-cell", "27", "-o", "-"), 4)
    assert "'lung', 'smoke' has 26" in error


@pytest.mark.parametrize(
    ("gaps", "policy", "what"),
    [
        # 51 rows with u beside 50 with a and u are one row more.
        ("NA,u\n" * 1, "available", "missing values of 'x': 1, below --min-cell 10"),
        ("NA,u\n" * 1, "drop", "rows dropped: 1, below --min-cell 10"),
        ("NA,u\n" * 9 + "NA,v\n" * 20, "available", "of 'y' and of 'x', 'y' differ by 9 rows"),
        ("NA,u\n" * 9 + "NA,v\n" * 20, "drop", None),
        ("NA,u\n" * 10 + "NA,v\n" * 20, "available", None),
        ("NA,u\n" * 10 + "NA,NA\n" * 20, "available", None),
        ("NA,u\n" * 9 + "NA,NA\n" * 12, "drop", "dropped that have a value of 'y': 9"),
    ],
)
def test_few_rows_are_not_found_by_subtraction(gml, tmp_path, gaps, policy, what):
    (tmp_path / "d.csv").write_text("x,y\n" + "a,u\n" * 50 + "b,v\n" * 50 + gaps)
    args = ("count", "d.csv", "--pairs", "--missing", policy, "--min-cell", "10", "-q")
    done = gml(*args, "-o", "c.parquet")
    if what is None:
        assert done.returncode == 0
        assert gml("merge", "c.parquet", "--min-cell", "10", "-o", "m.parquet").returncode == 0
    else:
        assert what in error_line(done, 4)
        assert not (tmp_path / "c.parquet").exists()


@pytest.mark.parametrize(("command", "what"), NEEDS_ROWS)
def test_what_needs_rows(gml, asia, sample_data, command, what):
    words = {
        "DATA": asia / "merged.parquet",
        "GRAPH": sample_data / "asia.dot",
        "CENSUS": sample_data / "census.csv",
    }
    assert what in error_line(gml(*[words.get(word, word) for word in command.split()]), 4)


@pytest.mark.parametrize(
    "option",
    [
        *("--weights smoke", "--bins 3", "--discretize width", "--cut smoke=0,1", "--na x"),
        *("--delimiter ;", "--decimal ,", "--encoding latin-1", "--max-levels 9", "--missing drop"),
    ],
)
def test_options_about_rows(gml, asia, option):
    error = error_line(gml("chowliu", asia / "merged.parquet", *option.split()), 2)
    assert option.split()[0] in error


def test_usage(gml, tmp_path, sample_data):
    asia = sample_data / "asia.csv"
    assert "--output" in error_line(gml("count", asia, "--pairs"), 2)
    assert "--pairs" in error_line(gml("count", asia, "-o", "x.parquet"), 2)
    assert "--min-cell" in error_line(
        gml("count", asia, "--pairs", "-o", "x.parquet", "--min-cell", "0"), 2
    )
    assert "is an input" in error_line(gml("count", asia, "--pairs", "-o", asia), 2)
    (tmp_path / "sets.csv").write_text("smoke,lung\n\nsmoke,lungs\n")
    error = error_line(gml("count", asia, "--sets", "sets.csv", "-o", "x.parquet"), 3)
    assert "sets.csv: line 3" in error
    assert "did you mean 'lung'?" in error
    (tmp_path / "sets.csv").write_text("smoke,smoke\n")
    error = error_line(gml("count", asia, "--sets", "sets.csv", "-o", "x.parquet"), 3)
    assert "sets.csv: line 1: 'smoke' twice" in error
    error = error_line(gml("count", asia, "--sets", "none.csv", "-o", "x.parquet"), 3)
    assert "none.csv" in error
    assert not (tmp_path / "x.parquet").exists()
    assert "not a count file" in error_line(gml("merge", asia, "-o", "x.parquet"), 3)
    assert "nope" in error_line(gml("merge", "nope.parquet", "-o", "x.parquet"), 3)
    assert "standard input" in error_line(gml("merge", "-", "-o", "x.parquet"), 2)
    assert gml("merge", "-o", "x.parquet").returncode == 2


def test_memory_is_refused_before_it_is_taken(gml, tmp_path, sample_data):
    names = [f"v{k}" for k in range(300)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("x" * 300) + "\n")
    args = ("count", "wide.csv", "--triples", "--max-memory", "100M", "-o", "x.parquet")
    error = error_line(gml(*args), 4)
    assert "counting 4455100 sets of 3 columns would take 4.15 GiB" in error
    assert "--sets" in error
    make("count", sample_data / "asia.csv", "--pairs", "-o", tmp_path / "p.parquet")
    # The third is never looked at, as two are too much.
    parts = ("p.parquet", "p.parquet", "none.parquet")
    error = error_line(gml("merge", *parts, "--max-memory", "20K", "-o", "x.parquet"), 4)
    assert "adding up the tables of 2 files" in error


def test_files_that_do_not_go_together(gml, tmp_path, sample_data):
    asia = sample_data / "asia.csv"
    made = {
        "pairs": ("--pairs",),
        "triples": ("--triples",),
        "fewer": ("--pairs", "-c", "smoke,lung"),
        "dropped": ("--pairs", "--missing", "drop"),
    }
    for name, args in made.items():
        make("count", asia, *args, "-o", tmp_path / f"{name}.parquet")
    for name, what in (("triples", "sets"), ("fewer", "columns"), ("dropped", "--missing")):
        error = error_line(gml("merge", "pairs.parquet", f"{name}.parquet", "-o", "x.parquet"), 3)
        assert f"{name}.parquet and pairs.parquet" in error
        assert what in error
    assert not (tmp_path / "x.parquet").exists()
    twice = gml("merge", "pairs.parquet", "pairs.parquet", "-o", "x.parquet")
    assert twice.returncode == 0
    assert b"warning: pairs.parquet and pairs.parquet count the same data" in twice.stderr
    assert gml("merge", "pairs.parquet", "-o", "one.parquet").returncode == 0
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "pairs.parquet").read_bytes()


def test_intervals_of_shards(gml, tmp_path):
    for k in range(2):
        rows = [f"{i * (k + 1)},{'yn'[i % 2]}" for i in range(40)]
        (tmp_path / f"{k}.csv").write_text("\n".join(["age,sick", *rows]) + "\n")
        for name, cut in (("b", ("--bins", "3")), ("c", ("--cut", "age=10,50"))):
            output = tmp_path / f"{name}{k}.parquet"
            make("count", tmp_path / f"{k}.csv", "--pairs", *cut, "-o", output)
    error = error_line(gml("merge", "b0.parquet", "b1.parquet", "-o", "x.parquet"), 3)
    assert "--cut 'age=0,10,20'" in error
    assert gml("merge", "c0.parquet", "c1.parquet", "-o", "x.parquet").returncode == 0
    merged = library.read_counts(tmp_path / "x.parquet")
    assert merged.columns[0].levels == ("[-inf,10)", "[10,50)", "[50,inf)")
    assert gml("indtest", "x.parquet", "age", "sick").returncode == 0


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """Run a command in the scratch folder, without a process; returns what it writes."""
    monkeypatch.chdir(tmp_path)

    def answer(*args):
        found = make(*args)
        return without_digest(found.stdout), found.stderr

    return answer


def test_levels_that_are_declared(gml, tmp_path, answer):
    def declare(name, columns):
        (tmp_path / name).write_text(json.dumps({"schema": "gml/1", "columns": columns}))

    (tmp_path / "a.csv").write_text("A,B\nx,1\ny,2\ny,2\nx,10\n")
    declare("wide.json", {"A": {"levels": ["z", "y", "x"]}})
    declare("narrow.json", {"A": {"levels": ["x", "z"]}})
    declare("cuts.json", {"B": {"cuts": [2, 5]}})
    make("count", "a.csv", "--pairs", "-o", "a.parquet")
    for schema in ("wide.json", "cuts.json"):
        args = ("--levels", schema, "-f", "json")
        rows = answer("chowliu", "a.csv", *args)
        assert answer("chowliu", "a.parquet", *args) == rows
        # Counted with declared levels, or declared later: the same.
        make("count", "a.csv", "--pairs", "--levels", schema, "-o", "d.parquet")
        first, second = (
            {**json.loads(out), "graph": None}
            for out, _ in (rows, answer("chowliu", "d.parquet", "-f", "json"))
        )
        assert first == second
    error = error_line(gml("chowliu", "a.parquet", "--levels", "narrow.json"), 3)
    assert "column 'A': level 'y' not found" in error


def test_a_model_declares_levels(tmp_path, answer):
    (tmp_path / "a.csv").write_text("A,B\nx,1\ny,2\ny,2\nx,10\n")
    (tmp_path / "few.csv").write_text("A,B\ny,2\ny,10\n")
    (tmp_path / "g.dot").write_text("digraph { A -> B }")
    answer("fit-params", "a.csv", "g.dot", "-o", "model.json")
    make("count", "few.csv", "--graph", "model.json", "-o", "few.parquet")
    make("count", "few.csv", "--graph", "g.dot", "-o", "bare.parquet")
    for command in ("score", "fit-params"):
        rows = answer(command, "few.csv", "model.json")
        assert answer(command, "few.parquet", "model.json") == rows
        assert answer(command, "bare.parquet", "model.json") == rows


def test_dropped_rows_are_named(gml, tmp_path, sample_data):
    survey = sample_data / "survey_missing.csv"
    make("count", survey, "--pairs", "--missing", "drop", "-q", "-o", tmp_path / "p.parquet")
    done = gml("indtest", "p.parquet", "Age", "Sex")
    assert done.returncode == 0
    assert b"rows were dropped when counting" in done.stderr
    everything = gml("indtest", "p.parquet", "--all-pairs").stderr
    assert everything == b"gml: 270 rows were dropped when counting (27%), for missing values\n"


def test_shards_without_rows(gml, tmp_path, sample_data):
    header = (sample_data / "asia.csv").read_text().splitlines()[0]
    (tmp_path / "empty.csv").write_text(header + "\n")
    empty = gml("count", "empty.csv", "--pairs", "-o", "empty.parquet")
    assert empty.returncode == 0
    assert b"no rows to count" in empty.stderr
    make("count", sample_data / "asia.csv", "--pairs", "-o", tmp_path / "p.parquet")
    make(
        *("merge", tmp_path / "empty.parquet", tmp_path / "p.parquet"),
        "-o",
        tmp_path / "all.parquet",
    )
    assert same_tables(tmp_path / "all.parquet", tmp_path / "p.parquet")
    assert "no rows are left" in error_line(gml("chowliu", "empty.parquet"), 4)


def test_a_folder_of_count_files(gml, tmp_path, sample_data):
    (tmp_path / "parts").mkdir()
    make("count", sample_data / "asia.csv", "--pairs", "-o", tmp_path / "parts/a.parquet")
    assert "gml merge" in error_line(gml("chowliu", "parts"), 3)


def test_the_same_bytes(gml, sample_data):
    args = ("count", sample_data / "asia.csv", "--triples", "-o", "-")
    first = gml(*args, "--threads", "1", env={"PYTHONHASHSEED": "0"})
    second = gml(*args, "--threads", "2", env={"PYTHONHASHSEED": "1"})
    assert first.returncode == 0
    assert first.stdout == second.stdout


def test_parquet_that_is_piped_or_cut_off(gml, tmp_path, asia, sample_data):
    whole = (asia / "merged.parquet").read_bytes()
    error = error_line(gml("chowliu", "-", stdin=whole), 3)
    assert "standard input: this is Parquet, which can only be read from a file" in error
    (tmp_path / "cut.parquet").write_bytes(whole[:-100])
    for command in (["chowliu", "cut.parquet"], ["merge", "cut.parquet", "-o", "x.parquet"]):
        assert "cut.parquet: begins like Parquet but does not end like it" in error_line(
            gml(*command), 3
        )
    # It is an input that no result was made from, which is an answer.
    make("chowliu", sample_data / "asia.csv", "-o", tmp_path / "tree.json")
    assert gml("verify", "tree.json", "--input", "cut.parquet").returncode == 1
    # A name is just a name.
    assert b'"PAR1" -> "b"' in gml("chowliu", "-", stdin=b"PAR1,b\nx,y\nz,w\n").stdout


def test_an_extra_that_is_not_installed_exits_4(tmp_path, asia, sample_data):
    program = (
        "import sys\nsys.modules |= dict.fromkeys(['pyarrow', 'pyspark', 'zstandard'])\n"
        "from gml.cli.main import run\nsys.exit(run(sys.argv[1:]))"
    )
    (tmp_path / "d.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd rest")
    table = sample_data / "asia.csv"
    for args, extra in (
        (["count", table, "--pairs", "-o", tmp_path / "x.parquet"], "parquet"),
        (["merge", asia / "merged.parquet", "-o", tmp_path / "x.parquet"], "parquet"),
        (["chowliu", asia / "merged.parquet"], "parquet"),
        (["chowliu", tmp_path / "d.csv.zst"], "zstd"),
        (["chowliu", table, "--levels", tmp_path / "d.csv.zst"], "zstd"),
        (["chowliu", table, "--engine", "spark"], "spark"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, args)], capture_output=True, timeout=120
        )
        assert f"pip install 'gml[{extra}]'" in error_line(done, 4)
    assert not (tmp_path / "x.parquet").exists()


def test_the_cliques_of_an_undirected_graph_are_counted(gml, sample_data, tmp_path):
    """Of one that no DAG stands for, too; and what its separations need."""
    (tmp_path / "g.dot").write_text("graph { asia -- tub -- lung -- smoke -- asia; lung -- bronc }")
    data = sample_data / "asia.csv"
    assert gml("count", data, "--graph", "g.dot", "-o", "cliques.parquet").returncode == 0
    counted = library.read_counts(tmp_path / "cliques.parquet")
    assert sorted("-".join(counted.names[k] for k in some) for some in counted.sets) == [
        "asia-smoke", "asia-tub", "bronc-lung", "lung-smoke", "lung-tub",
    ]  # fmt: skip
    assert gml("count", data, "--implied", "g.dot", "-o", "implied.parquet").returncode == 0
    asked = ("--implied", "g.dot", "-f", "csv", "-q")
    from_counts = gml("indtest", "implied.parquet", *asked)
    assert from_counts.returncode == 0
    assert from_counts.stdout == gml("indtest", data, *asked).stdout


# ---------------------------------------------------------------------- numbers

NUMBERS = "girth,height,age"
OF_NUMBERS = [
    "pc DATA -f json",
    "pc DATA --test dg",
    "chowliu DATA",
    "pc DATA --test fisher-z -c girth,height,age",
    "hc DATA",
    "hc DATA --score bic-cg",
    "ges DATA -f json",
    "exact DATA",
    "indtest DATA girth height -z kind -f json",
    "indtest DATA kind age --test cg",
    "indtest DATA --all-pairs -f csv",
    "indtest DATA --implied GRAPH -f csv",
    "score DATA GRAPH --score bic-cg --per-node -f json",
    "score DATA GRAPH",
    "fit-params DATA GRAPH --intervals 0.9 -f text",
    "glasso DATA -c girth,height,age",
]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A table of whole numbers and labels, its count file, and that of shards in another order."""
    folder = tmp_path_factory.mktemp("trees")
    rng = np.random.default_rng(11)
    lines = ["kind,girth,height,old,age"]
    for _ in range(400):
        kind = rng.choice(["beech", "oak", "yew"])
        old = rng.choice(["no", "yes"])
        age = rng.integers(20, 60) + 90 * (old == "yes")
        girth = age // 2 + rng.integers(0, 30) + 20 * (kind == "oak")
        lines.append(f"{kind},{girth},{girth // 3 + rng.integers(0, 15)},{old},{age}")
    (folder / "trees.csv").write_text("\n".join(lines) + "\n")
    (folder / "sets.csv").write_text("kind,girth,height,old,age\n")
    (folder / "g.dot").write_text(
        "digraph { kind -> girth; old -> age; age -> girth; girth -> height }"
    )
    shards = write_shards(folder / "trees.csv", folder, 5)
    wanted = ("--numeric", NUMBERS, "--sets", folder / "sets.csv")
    for path in (folder / "trees.csv", *shards):
        make("count", path, *wanted, "-o", folder / f"{path.stem}.parquet")
    parts = [folder / f"{path.stem}.parquet" for path in shards]
    make("merge", *parts[::-1], "-o", folder / "merged.parquet")
    return folder


def test_shards_of_numbers_are_the_whole(trees):
    assert same_tables(trees / "merged.parquet", trees / "trees.parquet")
    kinds = {c.name: c.type for c in library.read_counts(trees / "merged.parquet").columns}
    assert sorted(name for name, kind in kinds.items() if kind == "numeric") == [
        *sorted(NUMBERS.split(","))
    ]


@pytest.mark.parametrize("command", OF_NUMBERS)
def test_numbers_that_were_counted_give_what_rows_give(trees, command):
    def told(data, *more):
        words = [{"DATA": data, "GRAPH": "g.dot"}.get(word, word) for word in command.split()]
        output = without_digest(make_in(trees, *words, *more).stdout)
        # Rows are told which columns are numbers.
        output = re.sub(rb'(, )?"numeric": \[[^]]*\]', b"", output)
        return re.sub(rb'"options": \{, ', b'"options": {', output)

    of_rows = told("trees.csv", "--numeric", NUMBERS)
    assert told("trees.parquet") == of_rows
    assert told("merged.parquet") == of_rows


def test_regressions_of_counts_are_those_of_rows(trees):
    def regressions(data, *more):
        model = json.loads(make_in(trees, "fit-params", data, "g.dot", *more).stdout)
        found = {}
        for node in model["nodes"]:
            for k, line in enumerate(node.get("regressions", [node.get("gaussian")])):
                if line is not None:
                    found[node["id"], k] = {key: line[key] for key in line if key != "rows"}
        return found

    of_rows = regressions("trees.csv", "--numeric", NUMBERS)
    assert len(of_rows) == 6
    assert regressions("trees.parquet") == of_rows


def make_in(folder, *args):
    done = run(*args, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def test_numbers_of_a_graph_are_counted_for_its_fit_and_scores(trees):
    make_in(trees, "fit-params", "trees.csv", "g.dot", "--numeric", NUMBERS, "-o", "m.json")
    make_in(trees, "count", "trees.csv", "--graph", "m.json", "-o", "fam.parquet")
    for command in ("score", "fit-params"):
        mine, theirs = (
            make_in(trees, command, data, "m.json", "-f", "text").stdout
            for data in ("fam.parquet", "trees.csv")
        )
        assert mine == theirs


def test_differing_kinds_of_shards(trees):
    labels = ("--kinds", "labels", "-o", "labels.parquet")
    make_in(trees, "count", "part-0.csv", "--sets", "sets.csv", *labels)
    done = run("merge", "part-1.parquet", "labels.parquet", "-o", "x.parquet", cwd=trees)
    message = error_line(done, 3)
    assert "column 'girth' as different kinds: nominal (declared) and numeric (declared)" in message
    assert message.endswith("count both with the same --levels schema.json\n")
    schema = {
        "girth": {"type": "numeric"},
        "age": {"type": "numeric"},
        "height": {"type": "numeric"},
    }
    (trees / "schema.json").write_text(json.dumps({"schema": "gml/1", "columns": schema}))
    make_in(
        *(trees, "count", "part-0.csv", "--sets", "sets.csv", "--levels", "schema.json"),
        *("-o", "numbers.parquet"),
    )
    make_in(trees, "merge", "part-1.parquet", "numbers.parquet", "-o", "x.parquet")
