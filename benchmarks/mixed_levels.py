"""How often tests of numbers and labels err, and what they find: rejections per cell.

    python benchmarks/mixed_levels.py run [--draws 10000] [--rows 100,1000,10000] [--tests dg,cg]
    python benchmarks/mixed_levels.py peers --python PYTHON [--draws 1000]
    python benchmarks/mixed_levels.py report

A cell is a null or an alternative, the kinds of x and y, how many columns Z has (half of them
labels, the first a number), the number of levels of labels, and the number of rows. Every draw is a
new table. *Inside* nulls are in the model of each test: numbers linear in numbers and shifted by
labels with normal errors, labels from tables of labels. *Outside* ones are not: errors of Laplace's
or Student's (3) distribution, a standard deviation that triples with Z, numbers quadratic in Z,
labels by a logit of numbers, two labels driven by the XOR of two given ones. Alternatives: linear,
quadratic, sine, heteroscedastic, interaction (with a label of Z), and mixed (a number shifted by a
label). Rejections are counted at 0.01 and 0.05. Results go to results/mixed_levels.jsonl, one line
per cell and test, and are not computed twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "mixed_levels.jsonl"
ALPHAS = (0.01, 0.05)
TESTS = ("auto", "dg", "cg", "fisher-z")
PEERS = ("pgmpy pillai", "pgmpy likelihood", "causallearn fisherz", "pybnesian mutual information")
NULLS = ("inside", "laplace", "t3", "spread", "quadratic", "logit", "xor")
ALTERNATIVES = ("linear", "squared", "sine", "heteroscedastic", "interaction", "mixed")
KINDS = ("nn", "ln", "ll")
LEVELS = (2, 4, 6)
ROWS = (100, 1000, 10000)


# ---------------------------------------------------------------------- tables


def draw(law, kinds, n_given, levels, rows, rng):
    """Columns x, y and z0, z1, …; integers are labels. None where the law has no such cell."""
    given = {
        f"z{k}": rng.integers(levels, size=rows) if k % 2 else rng.normal(size=rows)
        for k in range(n_given)
    }
    numbers = [z for z in given.values() if z.dtype.kind == "f"]
    labels = [z for z in given.values() if z.dtype.kind != "f"]
    if law == "xor":
        if kinds != "ll":
            return None
        a, b = rng.integers(2, size=(2, rows))
        flips = rng.random((2, rows)) < 0.1
        return {"x": a ^ b ^ flips[0], "y": a ^ b ^ flips[1], "z0": a, "z1": b}
    if law in ("spread", "quadratic", "logit") and not numbers:
        return None
    if law == "interaction" and not labels:
        return None
    x = _column(law, kinds[0], numbers, labels, levels, rows, rng)
    y = _column(law, kinds[1], numbers, labels, levels, rows, rng)
    if law in ALTERNATIVES:
        y = _related(law, kinds, x, y, labels, levels, rng)
        if y is None:
            return None
    return {"x": x, "y": y, **given}


def _column(law, kind, numbers, labels, levels, rows, rng):
    if kind == "l":
        if law == "logit":
            scores = np.outer(sum(numbers), np.linspace(-1, 1, levels))
            return np.argmax(scores + rng.gumbel(size=(rows, levels)), axis=1)
        shift = sum(labels) if labels else np.zeros(rows, dtype=np.int64)
        table = np.where(rng.random(rows) < 0.4, shift, rng.integers(levels, size=rows))
        return table % levels
    errors = {
        "laplace": lambda: rng.laplace(size=rows),
        "t3": lambda: rng.standard_t(3, size=rows),
    }.get(law, lambda: rng.normal(size=rows))()
    signal = 0.6 * sum(numbers) if numbers else np.zeros(rows)
    if law == "quadratic":
        signal = 0.6 * sum(z**2 for z in numbers)
    if law == "spread":
        errors = errors * np.where(numbers[0] > 0, 3.0, 1.0)
    for z in labels:
        signal = signal + 0.5 * (z - (levels - 1) / 2)
    return signal + errors


def _related(law, kinds, x, y, labels, levels, rng):
    rows = len(x)
    if law == "mixed":
        if kinds != "ln":
            return None
        return y + 0.25 * (x - (levels - 1) / 2)
    if kinds == "ll":
        return np.where(rng.random(rows) < 0.15, x, y) if law == "linear" else None
    if kinds == "ln":
        if law == "linear":
            return y + 0.4 * (x == 0)
        return y * np.where(x == 0, 1.8, 1.0) if law == "heteroscedastic" else None
    return {
        "linear": lambda: y + 0.2 * x,
        "squared": lambda: y + 0.15 * x**2,
        "sine": lambda: y + 0.8 * np.sin(2 * x),
        "heteroscedastic": lambda: y * (0.5 + 0.5 * np.abs(x)),
        "interaction": lambda: y + 0.5 * x * np.where(labels[0] % 2, 1.0, -1.0),
    }[law]()


# ---------------------------------------------------------------------- tests


def p_of_gml(name, columns):
    from mixed_structure import as_dataset

    import gml

    dataset = as_dataset(columns)
    test = gml.TESTS[name](gml.MemoryCounter(dataset, threads=1))
    result = test(0, 1, tuple(range(2, len(columns))))
    return None if result.log_p is None or not result.sufficient else float(np.exp(result.log_p))


def usable(name, columns):
    kinds = {column.dtype.kind == "f" for column in columns.values()}
    if name in ("fisher-z", "causallearn fisherz"):
        return kinds == {True}
    if name == "cg":
        labels = [columns[c].dtype.kind != "f" for c in ("x", "y")]
        number = any(columns[c].dtype.kind == "f" for c in columns if c.startswith("z"))
        return not (all(labels) and number)
    return True


def p_of_peer(name, columns):
    """Runs in the environment of the peers."""
    given = [c for c in columns if c.startswith("z")]
    if name == "causallearn fisherz":
        from causallearn.utils.cit import CIT

        matrix = np.column_stack([np.asarray(c, dtype=float) for c in columns.values()])
        return float(CIT(matrix, "fisherz")(0, 1, list(range(2, matrix.shape[1]))))
    import pandas as pd

    frame = pd.DataFrame(
        {
            c: pd.Categorical([f"L{v}" for v in col]) if col.dtype.kind != "f" else col
            for c, col in columns.items()
        }
    )
    if name.startswith("pgmpy"):
        from pgmpy.ci_tests import LogLikelihood, PillaiTrace

        kind = PillaiTrace if name == "pgmpy pillai" else LogLikelihood
        test = kind(frame)
        test("x", "y", given, boolean=False) if callable(test) else None
        return float(test.p_value_)
    import pyarrow as pa
    import pybnesian as pb

    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    test = pb.MutualInformation(batch)
    return float(test.pvalue("x", "y", given) if given else test.pvalue("x", "y"))


# ---------------------------------------------------------------------- runs


def cells(rows):
    for n in rows:
        for law in (*NULLS, *ALTERNATIVES):
            for kinds in KINDS:
                for n_given in (2,) if law == "xor" else (0, 1, 2, 3):
                    for levels in (
                        (2,) if law == "xor" or (kinds == "nn" and n_given < 2) else LEVELS
                    ):
                        yield law, kinds, n_given, levels, n


def load():
    return (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )


def count(name, cell, draws, p_of):
    """Rejections at each level, and how often there was no answer."""
    law, kinds, n_given, levels, rows = cell
    rng = np.random.default_rng([zlib.crc32(f"{law}{kinds}".encode()), n_given, levels, rows])
    rejected, unanswered = [0] * len(ALPHAS), 0
    for _ in range(draws):
        columns = draw(law, kinds, n_given, levels, rows, rng)
        p = p_of(name, columns)
        if p is None or p != p:
            unanswered += 1
            continue
        for k, alpha in enumerate(ALPHAS):
            rejected[k] += p <= alpha
    return {"rejected": rejected, "unanswered": unanswered, "draws": draws}


def run(names, rows, draws, p_of):
    done = {(r["test"], *r["cell"]) for r in load()}
    for cell in cells(rows):
        probe = draw(*cell[:4], cell[4], np.random.default_rng(0))
        if probe is None:
            continue
        for name in names:
            if (name, *cell) in done or not usable(name, probe):
                continue
            found = {"test": name, "cell": list(cell), **count(name, cell, draws, p_of)}
            with RESULTS.open("a") as file:
                file.write(json.dumps(found) + "\n")


def report():
    """Per law, kinds and rows: the range of rejections at 0.01 over |Z| and levels."""
    table = defaultdict(list)
    for r in load():
        law, kinds, _n_given, _, rows = r["cell"]
        answered = r["draws"] - r["unanswered"]
        if answered:
            table[law, kinds, rows, r["test"]].append(r["rejected"][0] / answered)
    tests = [t for t in (*TESTS, *PEERS) if any(key[3] == t for key in table)]
    print(
        "| table | x, y | rows | " + " | ".join(tests) + " |\n|---|---|---|" + "---|" * len(tests)
    )
    for law in (*NULLS, *ALTERNATIVES):
        for kinds in KINDS:
            for rows in ROWS:
                found = [table.get((law, kinds, rows, test)) for test in tests]
                if not any(found):
                    continue
                shown = [f"{min(f):.3f} to {max(f):.3f}" if f else "·" for f in found]
                print(f"| {law} | {kinds} | {rows} | " + " | ".join(shown) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "peers", "inside-peers", "report"])
    parser.add_argument("--draws", type=int, default=10000)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--tests", default=",".join(TESTS))
    parser.add_argument("--python", default=str(HERE / ".venv" / "bin" / "python"))
    options = parser.parse_args()
    rows = [int(n) for n in options.rows.split(",")]
    if options.what == "report":
        report()
    elif options.what == "run":
        run(options.tests.split(","), rows, options.draws, p_of_gml)
    elif options.what == "inside-peers":
        run(PEERS, rows, options.draws, p_of_peer)
    else:
        command = [options.python, __file__, "inside-peers", "--draws", str(options.draws)]
        subprocess.run([*command, "--rows", options.rows], check=True, env=os.environ)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
