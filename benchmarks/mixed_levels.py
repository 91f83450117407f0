"""How often tests of numbers and labels err, and what they find: rejections per cell.

    python benchmarks/mixed_levels.py run [--draws 10000] [--rows 100,1000] [--levels 2,4,6]
    python benchmarks/mixed_levels.py run --laws inside,laplace --tests dg,cg
    python benchmarks/mixed_levels.py peers --python PYTHON [--draws 300]
    python benchmarks/mixed_levels.py check       # side by side = one table at a time
    python benchmarks/mixed_levels.py report      # Markdown, as in docs/mixed.md

mixed_levels_data.py says what a cell is and how tables are drawn. Many draws stand side by side as
columns of one table, and all of their tests are asked for at once. With up to 1 000 rows fisher-z,
dg and cg are computed by mixed_levels_fast.py, and compared with gml on a block of each cell.
Rejections are counted at 0.01 and 0.05. Results go to results/mixed_levels.jsonl, one line per cell
and test; what is there is not computed again, and a run that asks for more draws of a cell goes on
where an earlier one ended.
`auto` is run where all columns are labels; elsewhere it is fisher-z (numbers) or dg.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from mixed_levels_data import ALTERNATIVES, BLOCK, NULLS, cells, draw
from mixed_levels_fast import FAST, MOST_ROWS, fast_p_values

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "mixed_levels.jsonl"
ALPHAS = (0.01, 0.05)
# As gml.TESTS has them, with options.
TESTS = {
    "auto": ("auto", {}),
    "fisher-z": ("fisher-z", {}),
    "fisher-z rank": ("fisher-z", {"transform": "rank"}),
    "dg": ("dg", {}),
    "dg normal": ("dg", {"transform": "normal"}),
    "cg": ("cg", {}),
    "rcit": ("rcit", {}),
}
DEFAULTS = "auto,fisher-z,dg,cg"
PEERS = "pybnesian mi,causal-learn fisherz,causal-learn gsq,pgmpy g,pgmpy pillai"
# Columns of the matrix of dg and fisher-z that draws side by side may have.
_WIDEST = 64


def usable(test, cell):
    """Whether a test has something to say of its own in a cell."""
    _, kinds, given, _, _ = cell
    every = kinds + given
    if test == "auto":
        return "n" not in every
    if test.startswith("fisher-z"):
        return "l" not in every
    if test == "dg normal":
        return "n" in every
    return test != "cg" or kinds != "ll" or "n" not in given


def p_values(test, cell, tables, draws=BLOCK, first=False):
    """p of each of the first draws; NaN where there is no answer.

    Small tables are tested side by side in NumPy, and the `first` of a cell by gml as well.
    """
    kinds, rows = cell[1], cell[4]
    if test not in FAST or rows > MOST_ROWS or (test == "cg" and kinds == "ll"):
        return p_values_by_gml(test, cell, tables, draws)
    found, left = fast_p_values(test, cell, tables, draws)
    again = np.flatnonzero(np.ones(draws, dtype=bool) if first else left)
    if len(again):
        some = {name: values[again] for name, values in tables.items()}
        slow = p_values_by_gml(test, cell, some, len(again))
        compared = ~left[again]
        assert np.allclose(found[again][compared], slow[compared], 1e-7, 1e-13, equal_nan=True)
        found[again] = slow
    return found


def p_values_by_gml(test, cell, tables, draws=BLOCK):
    """The same, all of it by gml."""
    import gml
    from gml.data.dataset import Variable

    name, options = TESTS[test]
    _, kinds, given, levels, _ = cell
    width = sum(1 if kind == "n" else levels - 1 for kind in kinds + given)
    at_once = BLOCK if name in ("cg", "auto", "rcit") else max(4, min(BLOCK, _WIDEST // width))
    found = []
    for start in range(0, draws, at_once):
        some = range(start, min(start + at_once, draws))
        variables, columns = [], []
        for d in some:
            for column, values in tables.items():
                is_label = values.dtype.kind != "f"
                names = tuple(f"L{k}" for k in range(levels)) if is_label else None
                variables.append(Variable(f"{d} {column}", names))
                columns.append(np.ascontiguousarray(values[d]))
        size = len(tables)
        asked = [(k, k + 1, tuple(range(k + 2, k + size))) for k in range(0, len(columns), size)]
        dataset = gml.Dataset(tuple(variables), tuple(columns))
        test_of = gml.TESTS[name](gml.MemoryCounter(dataset, threads=1), threads=1, **options)
        results = test_of.batch(asked)
        found.append(np.where(results.sufficient, np.exp(results.log_p), np.nan))
    return np.concatenate(found)


def check():
    """Compare p-values of draws side by side with those of single tables, by auto too."""
    import gml

    rng = np.random.default_rng(0)
    every = list(cells(100)) + list(cells(1000))
    worst = 0.0
    for cell in [every[k] for k in rng.choice(len(every), 40, replace=False)]:
        tables = draw(cell, 0)
        for test in TESTS:
            # The random features of rcit depend on the names of columns.
            if test == "rcit" or not usable(test, cell):
                continue
            together = p_values_by_gml(test, cell, tables, 20)
            fast = p_values(test, cell, tables, 20)
            assert np.array_equal(np.isnan(fast), np.isnan(together))
            worst = max(worst, float(np.nan_to_num(np.abs(fast - together)).max()))
            for d in range(0, 20, 5):
                one = {c: values[d : d + 1] for c, values in tables.items()}
                alone = p_values_by_gml(test, cell, one, 1)
                worst = max(worst, abs(float(np.nan_to_num(together[d] - alone[0]))))
                assert np.isnan(together[d]) == np.isnan(alone[0])
            by_auto = "fisher-z" if "l" not in cell[1] + cell[2] else "dg"
            if test == by_auto and "n" in cell[1] + cell[2]:
                automatic = p_values_by_gml("auto", cell, tables, 20)
                worst = max(worst, float(np.nanmax(np.abs(automatic - together))))
    print(f"largest difference of p-values: {worst:.3g} (gml {gml.__version__})")


# ---------------------------------------------------------------------- runs


def load():
    """The results so far, by test and cell; of several the one with most draws."""
    found = {}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else ():
        result = json.loads(line)
        key = result["test"], *result["cell"]
        if key not in found or found[key]["draws"] < result["draws"]:
            found[key] = result
    return found


def run(tests, asked, draws, p_of, may):
    """Count what is missing; the tables of a cell are drawn once for all tests."""
    done = load()
    for cell in asked:
        missing = [t for t in tests if may(t, cell)]
        missing = [t for t in missing if done.get((t, *cell), {"draws": 0})["draws"] < draws]
        firsts = {t: done[t, *cell]["draws"] if (t, *cell) in done else 0 for t in missing}
        counts = {
            t: [
                np.array(done[t, *cell]["rejected"]) if firsts[t] else np.zeros(2, dtype=int),
                done[t, *cell]["answered"] if firsts[t] else 0,
            ]
            for t in missing
        }
        start = time.process_time()
        begin = min(firsts.values(), default=draws) // BLOCK
        for block in range(begin, -(-draws // BLOCK)):
            tables = draw(cell, block)
            for test in missing:
                if block * BLOCK < firsts[test]:
                    continue
                p = p_of(test, cell, tables, min(BLOCK, draws - block * BLOCK), block == begin)
                counts[test][0] += [int((p <= alpha).sum()) for alpha in ALPHAS]
                counts[test][1] += int(np.isfinite(p).sum())
        with RESULTS.open("a") as file:
            for test, (rejected, answered) in counts.items():
                result = {"test": test, "cell": list(cell), "draws": draws, "answered": answered}
                file.write(json.dumps(result | {"rejected": rejected.tolist()}) + "\n")
        if missing:
            print(*cell, f"{time.process_time() - start:.1f} s", flush=True)


def compact():
    """Leave one line per cell and test."""
    lines = [json.dumps(result) + "\n" for result in load().values()]
    RESULTS.write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "peers", "check", "compact", "report"])
    parser.add_argument("--draws", type=int, default=10000)
    parser.add_argument("--rows", default="100,1000,10000")
    parser.add_argument("--levels", default="2,4,6")
    parser.add_argument("--laws", default=",".join((*NULLS, *ALTERNATIVES)))
    parser.add_argument("--tests")
    parser.add_argument("--python", default=str(HERE / ".venv" / "bin" / "python"))
    options = parser.parse_args()
    if options.what == "peers":
        command = [options.python, HERE / "mixed_levels_peers.py", str(options.draws)]
        command += [options.rows, options.levels, options.laws, options.tests or PEERS]
        subprocess.run(command, check=True)
    elif options.what == "run":
        sizes = tuple(map(int, options.levels.split(",")))
        laws = options.laws.split(",")
        for rows in map(int, options.rows.split(",")):
            asked = [cell for cell in cells(rows, sizes) if cell[0] in laws]
            run((options.tests or DEFAULTS).split(","), asked, options.draws, p_values, usable)
    elif options.what == "report":
        from mixed_levels_report import report

        report(load())
    else:
        {"check": check, "compact": compact}[options.what]()


if __name__ == "__main__":
    main()
