"""How often intervals of the terms of undirected models contain the truth.

    python -m benchmarks.undirected_coverage [exact pl …]

Tables of counts are drawn from a known model over five variables of two and three levels (a loop
with a chord), fitted, and given 95 % intervals: Fisher information for exact fits, the sandwich for
pseudo-likelihood. A line per method and number of rows says how many intervals of cells contained
the true cell, the lowest and the highest such share among cells, and the average of the standard
errors over the deviation of the estimates, which is 1 if the errors are right. Draws whose maximum
lies at infinity are counted apart.
"""

from __future__ import annotations

import sys

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.quality.errors_of_terms import intervals, standard_errors
from gml.model.undirected.terms import Terms

FITS = {"exact": fit_exact, "pl": fit_pseudo}
N_ROWS = (500, 2000, 8000)
N_DRAWS = 500


def truth(seed=1):
    sizes = (2, 3, 2, 2, 3)
    variables = [
        Variable(name, tuple(map(str, range(size))))
        for name, size in zip("ABCDE", sizes, strict=True)
    ]
    terms = Terms.of(variables, ["AB", "BC", "CD", "DE", "AE", "BD"])
    rng = np.random.default_rng(seed)
    tables = terms_of_tables(
        terms, {scope: rng.normal(0, 0.5, terms.shape(scope)) for scope in terms.generators}
    )
    logs = sum(
        table.reshape([size if k in scope else 1 for k, size in enumerate(sizes)])
        for scope, table in zip(terms.all, tables, strict=True)
    )
    p = np.exp(logs)
    return terms, tables, p / p.sum()


def counter_of(terms, counts):
    cells = np.indices(counts.shape).reshape(counts.ndim, -1).astype(np.uint8)
    return MemoryCounter(Dataset(terms.variables, tuple(cells), counts.reshape(-1)))


def flat(tables):
    return np.concatenate([table.reshape(-1) for table in tables])


def study(method, n_rows):
    terms, tables, p = truth()
    rng = np.random.default_rng(n_rows)
    true = flat(tables)
    estimates, errors, hits, at_infinity = [], [], [], 0
    while len(hits) < N_DRAWS:
        counter = counter_of(terms, rng.multinomial(n_rows, p.reshape(-1)).reshape(p.shape))
        fitted = FITS[method](counter, terms)
        if fitted.supports:
            at_infinity += 1
            continue
        estimates.append(flat(fitted.tables))
        errors.append(flat(standard_errors(counter, terms, fitted, Penalty())))
        bounds = intervals(estimates[-1], errors[-1])
        hits.append((bounds[:, 0] <= true) & (true <= bounds[:, 1]))
    shares = np.mean(hits, axis=0)
    ratio = np.mean(errors, axis=0) / np.std(estimates, axis=0)
    print(
        f"{method:6} {n_rows:6} rows: {100 * shares.mean():.2f} % of intervals, "
        f"cells {100 * shares.min():.1f} to {100 * shares.max():.1f} %; "
        f"error / deviation {ratio.mean():.3f} ({ratio.min():.3f} to {ratio.max():.3f}); "
        f"at infinity {at_infinity}",
        flush=True,
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FITS:
        for rows in N_ROWS:
            study(chosen, rows)
