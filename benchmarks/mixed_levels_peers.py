"""The peers' side of benchmarks/mixed_levels.py; it runs in an environment that has them.

    python mixed_levels_peers.py DRAWS ROWS LEVELS LAWS TESTS

The same tables as those of gml, the first of them. pgmpy's default for mixed columns is Pillai's
trace of residuals of random forests, which take a fifth of a second or more: it is run with a
number and a label given, or with two labels. For labels, pgmpy and causal-learn have G tests; for
numbers, causal-learn has Fisher's z; pybnesian's mutual information is the likelihood ratio of
conditional Gaussian models.
"""

from __future__ import annotations

import os
import sys
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from mixed_levels import run
from mixed_levels_data import cells

warnings.simplefilter("ignore")


def usable(name, cell):
    """Whether a peer has a test of such columns."""
    every = cell[1] + cell[2]
    if name == "causal-learn fisherz":
        return "l" not in every
    if name in ("causal-learn gsq", "pgmpy g"):
        return "n" not in every
    return name != "pgmpy pillai" or cell[2] in ("nl", "ll")


def p_values(name, cell, tables, draws, first=False):
    """p of each draw; NaN where the peer has none, or an error."""
    found = []
    for d in range(draws):
        columns = {column: values[d] for column, values in tables.items()}
        try:
            p = float(p_value(name, columns))
        except Exception:
            p = float("nan")
        found.append(p)
    return np.array(found)


def p_value(name, columns):
    """p of x and y given the rest."""
    given = [c for c in columns if c.startswith("z")]
    if name.startswith("causal-learn"):
        from causallearn.utils.cit import CIT

        matrix = np.column_stack([np.asarray(c, dtype=float) for c in columns.values()])
        return CIT(matrix, name.split()[1])(0, 1, list(range(2, matrix.shape[1])))
    frame = _frame(columns)
    if name.startswith("pgmpy"):
        from pgmpy.ci_tests import LogLikelihood, PillaiTrace

        # Its forests draw from the global generator.
        np.random.seed(0)  # noqa: NPY002
        test = (PillaiTrace if name == "pgmpy pillai" else LogLikelihood)(frame)
        test.run_test("x", "y", given)
        return test.p_value_
    import pyarrow as pa
    import pybnesian as pb

    test = pb.MutualInformation(pa.RecordBatch.from_pandas(frame, preserve_index=False))
    return test.pvalue("x", "y", given) if given else test.pvalue("x", "y")


def _frame(columns):
    import pandas as pd

    return pd.DataFrame(
        {
            name: values
            if values.dtype.kind == "f"
            else pd.Categorical.from_codes(values, [f"L{k}" for k in range(values.max() + 1)])
            for name, values in columns.items()
        }
    )


def main(draws, rows, levels, laws, tests):
    sizes = tuple(map(int, levels.split(",")))
    for n in map(int, rows.split(",")):
        asked = [cell for cell in cells(n, sizes) if cell[0] in laws.split(",")]
        run(tests.split(","), asked, int(draws), p_values, usable)


if __name__ == "__main__":
    main(*sys.argv[1:])
