"""Compare chain fields with CRFsuite: their objectives, their labels, and the time of training.

    python -m benchmarks.crf_chains --python PATH [--sequences 5000] [--words 2000] [--labels 10]

Sequences come from a hidden Markov model: a chain of labels, and for each a word, of its label's
own frequent ones or of all, and a suffix that tells something of the label. `--python` names an
interpreter that has python-crfsuite, which makes its attributes itself, from the same CSV file.

First, for several lengths and numbers of labels, both train with c2 = 1: the objectives, relative
to each other, and the rows with another label are shown; of these, the sequences that are no ties:
where the labels of CRFsuite are less probable by more than a thousandth (in logarithms). Then both
train on many sequences, in turns: CRFsuite as it comes and with tight stopping rules, gml on one
thread and on two. `--golden` writes the small table and the figures that tests compare with.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gml.data.options import ReadOptions
from gml.data.sequences import SequenceRows, read_sequences
from gml.model.sequences.decoding import ChainAnswers
from gml.model.sequences.training import ChainFit, train_chain

PEER = """
import csv, json, sys, time
from importlib.metadata import version
import pycrfsuite
path, model, params, tags = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
sequences = {}
for row in csv.DictReader(open(path)):
    sequences.setdefault(row["id"], []).append(row)
def attributes(rows, t):
    found = ["bias"] + ["first"] * (t == 0) + ["last"] * (t == len(rows) - 1)
    for d in (-1, 0, 1):
        if 0 <= t + d < len(rows):
            found += [f"{name}[{d}]={rows[t + d][name]}" for name in ("suffix", "word")]
    return found
items = {name: [attributes(rows, t) for t in range(len(rows))] for name, rows in sequences.items()}
trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
for name, rows in sequences.items():
    trainer.append(items[name], [row["tag"] for row in rows])
trainer.set_params(params)
t, u = time.perf_counter(), time.process_time()
trainer.train(model)
seconds, cpu = time.perf_counter() - t, time.process_time() - u
last = trainer.logparser.last_iteration
found = {"seconds": seconds, "cpu": cpu, "iterations": last["num"], "objective": last["loss"],
         "version": f"{version('python-crfsuite')} (CRFsuite {pycrfsuite.CRFSUITE_VERSION})"}
if tags == "tags":
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    found["labels"] = {name: tagger.tag(item) for name, item in items.items()}
    found["marginals"] = {}
    for name, item in list(items.items())[:5]:
        tagger.set(item)
        found["marginals"][name] = [[tagger.marginal(y, t) for y in sorted(tagger.labels())]
                                    for t in range(len(item))]
print(json.dumps(found))
"""
AS_IT_COMES = {"epsilon": 1e-5, "delta": 1e-5, "period": 10}
TIGHT = {"epsilon": 1e-9, "delta": 1e-10, "period": 20}
# Labels, sequences, the shortest and the longest, words.
CASES = [
    (2, 300, 1, 1, 200),
    (2, 300, 2, 9, 200),
    (3, 200, 1, 30, 300),
    (5, 150, 5, 40, 300),
    (10, 150, 1, 25, 400),
    (20, 100, 20, 60, 500),
]


def make_sequences(
    path: Path, n_labels: int, n_sequences: int, lengths: tuple[int, int], n_words: int, seed: int
) -> None:
    """Write sequences as a CSV file: id, word, suffix and tag."""
    rng = np.random.default_rng(seed)
    after = rng.dirichlet(np.full(n_labels, 0.3), size=n_labels).cumsum(axis=1)
    own = [rng.permutation(n_words) for _ in range(n_labels)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "word", "suffix", "tag"])
        for s in range(n_sequences):
            label = int(rng.integers(n_labels))
            for _ in range(int(rng.integers(lengths[0], lengths[1] + 1))):
                word = int(n_words * rng.random() ** 4)
                word = int(own[label][word]) if rng.random() < 0.6 else word
                suffix = label % 3 + word % 5 * 3 if rng.random() < 0.7 else rng.integers(15)
                writer.writerow([s, f"w{word}", f"s{suffix}", f"t{label:02d}"])
                label = min(int((after[label] < rng.random()).sum()), n_labels - 1)


def by_crfsuite(
    python: str, path: Path, stopping: dict[str, float], *, c1: float = 0.0, tags: bool = False
) -> dict[str, object]:
    """What CRFsuite reaches on a file."""
    params = {"c1": c1, "c2": 1.0, "max_iterations": 100000, **stopping}
    model = str(path.with_suffix(".crfsuite"))
    command = [python, "-c", PEER, str(path), model, json.dumps(params), "tags" if tags else "-"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def read(path: Path) -> SequenceRows:
    return read_sequences(path, ReadOptions(), sequence="id", target="tag")


def compare_labels(fit: ChainFit, rows: SequenceRows, peer: dict[str, list[str]]) -> dict[str, int]:
    """Rows and sequences whose labels are others, and those of the sequences that are no ties."""
    answers = ChainAnswers(fit.field, rows, threads=1)
    ours, theirs = answers.viterbi, np.empty(rows.n_rows, dtype=np.int64)
    code = {label: k for k, label in enumerate(fit.field.labels)}
    for s, name in enumerate(rows.names):
        of = rows.order[rows.starts[s] : rows.starts[s + 1]]
        theirs[of] = [code[label] for label in peer[name]]
    other, no_ties = 0, 0
    for s in range(rows.n_sequences):
        of = rows.order[rows.starts[s] : rows.starts[s + 1]]
        if (ours[of] != theirs[of]).any():
            other += 1
            gap = answers.log_probability(ours, s) - answers.log_probability(theirs, s)
            no_ties += gap > 1e-3
    return {"rows": int((ours != theirs).sum()), "sequences": other, "no_ties": no_ties}


def agree(python: str, folder: Path) -> None:
    for seed, (n_labels, n_sequences, shortest, longest, words) in enumerate(CASES):
        path = folder / "agree.csv"
        make_sequences(path, n_labels, n_sequences, (shortest, longest), words, seed)
        rows = read(path)
        fit = train_chain(rows, tolerance=1e-9, threads=1)
        peer = by_crfsuite(python, path, TIGHT, tags=True)
        shown = {
            "labels": n_labels,
            "sequences": n_sequences,
            "lengths": f"{shortest}-{longest}",
            "features": fit.n_features,
            "objective": fit.objective,
            "relative": peer["objective"] / fit.objective - 1,
            "other_labels": compare_labels(fit, rows, peer["labels"]),
        }
        print(json.dumps(shown), flush=True)


def compare_times(python: str, folder: Path, n_sequences: int, words: int, labels: int) -> None:
    path = folder / "time.csv"
    make_sequences(path, labels, n_sequences, (20, 20), words, 0)
    rows = read(path)
    found: dict[str, dict[str, float]] = {}
    for name, stopping in (("as it comes", AS_IT_COMES), ("tight", TIGHT)):
        found[f"crfsuite {name}"] = by_crfsuite(python, path, stopping)
        threads = 1 if name == "as it comes" else 2
        t, u = time.perf_counter(), time.process_time()
        fit = train_chain(rows, threads=threads)
        found[f"gml, threads: {threads}"] = {
            "seconds": time.perf_counter() - t,
            "cpu": time.process_time() - u,
            "iterations": fit.iterations,
            "objective": fit.objective,
        }
    print(json.dumps({"rows": rows.n_rows, "labels": labels, "features": fit.n_features}))
    ours = found["gml, threads: 1"]
    for name, figures in found.items():
        ratios = {f"ratio_{key}": figures[key] / ours[key] for key in ("seconds", "cpu")}
        print(json.dumps({"program": name, **figures, **ratios}), flush=True)


def write_golden(python: str, folder: Path) -> None:
    """The small table, and what CRFsuite says of it."""
    path = folder / "chains.csv"
    make_sequences(path, 4, 60, (1, 9), 60, 7)
    plain = by_crfsuite(python, path, TIGHT, tags=True)
    sparse = by_crfsuite(python, path, TIGHT, c1=0.5)
    path.with_suffix(".crfsuite").unlink()
    known = {
        "program": f"python-crfsuite {plain['version']}",
        "call": {"algorithm": "lbfgs", "c1": 0, "c2": 1, **TIGHT},
        "objective": plain["objective"],
        "objective_c1_half": sparse["objective"],
        "labels": plain["labels"],
        "marginals": plain["marginals"],
    }
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in known.items())
    (folder / "crfsuite.json").write_text(f"{{\n{lines}\n}}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--labels", type=int, nargs="+", default=[10])
    parser.add_argument("--golden", type=Path)
    given = parser.parse_args()
    if given.golden:
        write_golden(given.python, given.golden)
        return
    with tempfile.TemporaryDirectory() as folder:
        agree(given.python, Path(folder))
        for labels in given.labels:
            compare_times(given.python, Path(folder), given.sequences, given.words, labels)


if __name__ == "__main__":
    main()
