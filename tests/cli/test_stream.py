"""--engine stream: the same bytes as in memory, from every command that takes it."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import gml as library
from tests.late_labels import mixed_text

LABELS = [
    "chowliu DATA",
    "chowliu DATA --prune bic --class lung",
    "pc DATA --test g -f json",
    "pc DATA --test auto --max-cond 2",
    "pc DATA --bootstrap 3 --max-cond 1 -c smoke,lung,bronc,dysp,xray",
    "hc DATA --score bdeu -f json",
    "hc DATA --restarts 1",
    "ges DATA",
    "exact DATA -c smoke,lung,bronc,dysp,either",
    "imap DATA --order smoke,lung,bronc,dysp -c smoke,lung,bronc,dysp",
    "indtest DATA smoke dysp -z bronc,either -f json",
    "indtest DATA --all-pairs --test chi2 --adjust holm -f csv",
    "indtest DATA smoke lung --test permutation --permutations 100",
    "indtest DATA smoke smoking",
    "score DATA GRAPH --score bic,aic,loglik,bdeu,k2,qnml --per-node -f json",
    "score DATA GRAPH --folds 3 -f csv",
    "score DATA GRAPH --holdout DATA",
    "fit-params DATA GRAPH",
    "fit-params DATA GRAPH --method bayes --intervals 0.9 -f text",
    "check DATA MODEL",
    "check DATA MODEL -f json --unlikely-rows 3",
    "average DATA --by hc --bootstrap 4 -f json",
    "average DATA --by pc --bootstrap 4 --max-cond 1 -c smoke,lung,bronc,dysp",
    "count DATA --triples",
    "count DATA --implied GRAPH",
]


SURVEY = [
    "chowliu DATA --missing drop",
    "pc DATA --missing drop",
    "pc DATA --missing level",
    "pc DATA --missing available",
    "hc DATA --missing drop --score bic",
    "ges DATA --missing level",
    "indtest DATA --all-pairs --missing available -f json",
    "count DATA --pairs --missing drop",
    "count DATA --pairs --missing level",
    "count DATA --pairs --missing available",
    "pc DATA",
]


MIXED = [
    "chowliu DATA --bins 3",
    "chowliu DATA --bins 4 --discretize width",
    "chowliu DATA --cut a=0,1 --cut b=quantile:3 --cut c=width:2 --missing drop",
    "chowliu DATA --cut a=0,1 --cut b=-1,1 --cut c=0 --missing level --weights w",
    "pc DATA --test fisher-z -c a,b,c --missing drop",
    "pc DATA --test fisher-z -c a,b,c --missing available",
    "pc DATA --test dg --numeric a,b,c --missing drop --exclude w",
    "pc DATA --test cg --numeric a,b,c --missing drop --exclude w",
    "hc DATA --score bic-g -c a,b,c --missing drop",
    "hc DATA --score bic-cg --numeric a,b,c --missing drop --weights w",
    "ges DATA --score bge -c a,b,c --missing drop --weights w",
    "score DATA NUMBERS --score bic-g,loglik-g -c a,b,c --missing drop",
    "fit-params DATA NUMBERS --gaussian -c a,b,c --missing drop",
    "fit-params DATA LABELS --cut a=0,1 --missing drop --weights w",
    "fit-params DATA LABELS --bins 3 --missing level",
    "fit-params DATA LABELS --bins 3 --missing available",
    "indtest DATA a b -z c --test fisher-z --missing drop",
    "count DATA --pairs --bins 3 --missing drop --weights w",
    "count DATA --pairs --cut a=0,1 --cut b=0 --cut c=1 --missing level",
    "chowliu DATA --weights w --bins 2 --missing drop",
    "chowliu DATA",
    "chowliu DATA --numeric a --missing level",
]


def both(gml, tmp_path, command, **files):
    """Run a command in memory and on a stream; what it wrote and said must be the same."""
    words = [files.get(word, word) for word in command.split()]
    counts = words[0] == "count"
    runs = []
    for engine in ("memory", "stream"):
        output = tmp_path / f"{engine}.parquet"
        more = ["-o", output] if counts else []
        done = gml(*words, "--engine", engine, *more)
        written = output.read_bytes() if counts and done.returncode == 0 else b""
        runs.append((done.returncode, done.stdout, done.stderr, written))
    assert runs[0] == runs[1]
    return runs[0]


@pytest.fixture
def files(gml, sample_data, tmp_path):
    """The files that commands name."""
    graph = tmp_path / "g.dot"
    graph.write_bytes((sample_data / "asia.dot").read_bytes())
    (tmp_path / "mixed.csv").write_text(mixed_text())
    (tmp_path / "numbers.dot").write_text("digraph { a -> b; b -> c }")
    (tmp_path / "labels.dot").write_text("digraph { a -> l; l -> m }")
    return {"GRAPH": graph, "NUMBERS": tmp_path / "numbers.dot", "LABELS": tmp_path / "labels.dot"}


@pytest.mark.parametrize("command", LABELS)
def test_labels(gml, tmp_path, sample_data, files, small_pieces, command):
    data = sample_data / "asia.csv"
    if "MODEL" in command:
        files["MODEL"] = tmp_path / "m.json"
        assert gml("fit-params", data, files["GRAPH"], "-o", files["MODEL"]).returncode == 0
    both(gml, tmp_path, command, DATA=data, **files)


@pytest.mark.parametrize("command", SURVEY)
def test_missing_values(gml, tmp_path, sample_data, files, small_pieces, command):
    code, *_ = both(gml, tmp_path, command, DATA=sample_data / "survey_missing.csv", **files)
    assert code == (3 if command == "pc DATA" else 0)


@pytest.mark.parametrize("command", MIXED)
def test_numbers_weights_and_gaps(gml, tmp_path, files, small_pieces, command):
    both(gml, tmp_path, command, DATA=tmp_path / "mixed.csv", **files)


def test_a_wide_table(gml, tmp_path, small_pieces, monkeypatch):
    """So many pairs that they are asked about in several batches."""
    monkeypatch.setattr("gml.learners.chowliu._BLOCK_PAIRS", 1 << 14)
    n_columns = 260
    assert n_columns * (n_columns - 1) // 2 > 2 * (1 << 14)
    rng = np.random.default_rng(1)
    path = tmp_path / "wide.csv"
    rows = rng.integers(0, 3, (60, n_columns))
    names = [f"v{j}" for j in range(n_columns)]
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    both(gml, tmp_path, "chowliu DATA", DATA=path)
    some = ",".join(names[:120])
    both(gml, tmp_path, f"hc DATA --max-parents 1 --score bic -c {some}", DATA=path)


@pytest.mark.parametrize("kind", ["gz", "parquet", "-", "tsv"])
def test_other_inputs(gml, tmp_path, sample_data, small_pieces, kind):
    asia = sample_data / "asia.csv"
    stdin = b""
    path = tmp_path / f"d.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(asia.read_bytes()))
    elif kind == "parquet":
        library.read(asia).to_frame().to_parquet(path)
    elif kind == "tsv":
        path.write_text(asia.read_text().replace(",", "\t"))
    else:
        path, stdin = "-", asia.read_bytes()
    runs = [
        gml("hc", path, "-f", "json", "--engine", engine, stdin=stdin)
        for engine in ("memory", "stream")
    ]
    assert runs[0].returncode == 0
    assert runs[0].stdout == runs[1].stdout
