"""How often intervals of fits to incomplete rows hold the truth, and how often pooled ones do.

    python benchmarks/missing_coverage.py [information bootstrap imputation] [--replications 1000]

Rows are drawn from a known network, of labels, numbers or both; 30 % of the cells of two columns
are missing, more often where a third column, always seen, is large or is its first level: at
random, not completely so. `information` and `bootstrap` are the 95 % intervals of
`gml.fit(missing="em", intervals=0.95)` for each parameter; `imputation` is a mean, a share or a
slope, estimated in each of ten tables of `gml.impute(draws=10)` and pooled by Rubin's rules, with
the degrees of freedom of Barnard & Rubin (1999). A line has the shares of intervals that hold the
truth, with the standard error that so many replications leave.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import gml
from gml.data.dataset import Variable
from gml.kernel.blas import one_blas_thread
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.em.bootstrap import with_bootstrap_intervals
from gml.model.em.em_report import EmSettings
from gml.model.em.fitting import fit_em

LEVEL = 0.95
N_ROWS = (100, 500)
SAMPLES = 200
DRAWS = 10
ONE_START = EmSettings(restarts=1, information=False)


def networks():
    """Three columns each: `a` is always seen, and says where `b` and `c` are missing."""
    a, b, c = (Variable(name, ("1", "2")) for name in "abc")
    yield (
        "labels",
        BayesNet(
            (
                CPT(a, (), np.array([[0.4, 0.6]])),
                CPT(b, (a,), np.array([[0.7, 0.3], [0.35, 0.65]])),
                CPT(c, (b,), np.array([[0.8, 0.2], [0.3, 0.7]])),
            )
        ),
    )
    x, y, z = (Variable(name, None) for name in "abc")
    yield (
        "numbers",
        BayesNet(
            (
                LinearGaussian(x, (), 1.0, (), 1.0),
                LinearGaussian(y, (x,), 0.5, (0.8,), 1.0),
                LinearGaussian(z, (y,), -0.5, (0.6,), 1.5),
            )
        ),
    )
    lines = (LinearGaussian(z, (y,), -0.5, (0.6,), 1.0), LinearGaussian(z, (y,), 0.8, (0.2,), 1.5))
    yield (
        "both",
        BayesNet(
            (
                CPT(a, (), np.array([[0.4, 0.6]])),
                ConditionalGaussian(
                    y, (a,), tuple(LinearGaussian(y, (), m, (), 1.0) for m in (0.0, 1.0))
                ),
                ConditionalGaussian(z, (a, y), lines),
            )
        ),
    )


def with_gaps(net, n, rng):
    """Rows whose second and third columns have gaps that depend on the first."""
    rows = net.sample(n, seed=int(rng.integers(2**31)))
    first = rows.columns[0]
    large = first > 1.0 if first.dtype.kind == "f" else first == 0
    columns = [first]
    for column in rows.columns[1:]:
        gone = rng.random(n) < np.where(large, 0.45, 0.15)
        nothing = np.nan if column.dtype.kind == "f" else np.iinfo(column.dtype).max
        columns.append(np.where(gone, nothing, column).astype(column.dtype))
    return replace(rows, columns=tuple(columns))


def figures_of(net):
    """All parameters by name: of each table its first level, of each regression all terms."""
    found = {}
    for cpd in net.cpds:
        if isinstance(cpd, CPT):
            for row, shares in enumerate(cpd.table):
                bounds = None if cpd.intervals is None else tuple(cpd.intervals[row, 0])
                found[f"P({cpd.variable.name})", row] = shares[0], bounds
            continue
        for row, line in enumerate(getattr(cpd, "regressions", (cpd,))):
            terms = {"intercept": line.intercept}
            terms |= {f"slope{k}": slope for k, slope in enumerate(line.coefficients)}
            terms["sd"] = line.sd
            bounds = line.intervals or (None,) * len(terms)
            for (name, value), own in zip(terms.items(), bounds, strict=True):
                found[f"{name}({cpd.variable.name})", row] = value, own
    return found


def fitted(net, rows, how, seed):
    found = fit_em(
        net.graph, rows, settings=ONE_START, intervals=LEVEL if how == "information" else None
    ).net
    if how == "information":
        return found
    return with_bootstrap_intervals(
        found, net.graph, rows, hidden={}, alpha=None, level=LEVEL, samples=SAMPLES, seed=seed
    )[0]


def of_parameters(kind, net, n, how, replications):
    true = {key: value for key, (value, _) in figures_of(net).items()}
    hits = {key: [] for key in true}
    for k in range(replications):
        rows = with_gaps(net, n, np.random.default_rng([n, k]))
        for key, (_, bounds) in figures_of(fitted(net, rows, how, k)).items():
            if bounds is not None:
                hits[key].append(bounds[0] <= true[key] <= bounds[1])
    line(f"{how}, {kind}", n, hits)


def line(what, n, hits):
    """Print all shares, the lowest and the highest first."""
    shares = {key: (float(np.mean(own)), len(own)) for key, own in hits.items()}
    mean = np.mean([share for share, _ in shares.values()])
    least = min(size for _, size in shares.values())
    error = (LEVEL * (1 - LEVEL) / least) ** 0.5
    names = ", ".join(f"{name}[{row}] {100 * s:.1f}" for (name, row), (s, _) in shares.items())
    print(
        f"{what}, {n} rows, {least} replications: mean {100 * mean:.1f} %, standard error of one "
        f"{100 * error:.1f}; {names}",
        flush=True,
    )


# ---------------------------------------------------------------------- multiple imputation


def pooled(estimates, variances, complete_df):
    """The interval of m estimates by Rubin's rules, with degrees of freedom by Barnard & Rubin."""
    from scipy.special import stdtrit

    m, within, between = len(estimates), np.mean(variances), np.var(estimates, ddof=1)
    total = within + (1 + 1 / m) * between
    missing = (1 + 1 / m) * between / total
    observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - missing)
    df = 1 / (missing**2 / (m - 1) + 1 / observed)
    half = stdtrit(df, (1 + LEVEL) / 2) * total**0.5
    middle = np.mean(estimates)
    return middle - half, middle + half


def analyses(columns):
    """An estimate and its variance, by name: the mean of c, and how c depends on b."""
    b, c = columns[1].astype(float), columns[2].astype(float)
    n = len(c)
    found = {("mean of c", 0): (c.mean(), c.var(ddof=1) / n)}
    away = b - b.mean()
    slope = float(away @ c) / float(away @ away)
    left = c - c.mean() - slope * away
    # Errors need not be equally large.
    spread = float((away**2) @ (left**2)) / float(away @ away) ** 2 * n / (n - 2)
    found["slope of c on b", 0] = slope, spread
    return found


def truth_of(net):
    """The same in rows beyond number."""
    columns = net.sample(4_000_000, seed=99).columns
    return {key: value for key, (value, _) in analyses(columns).items()}


def of_imputation(kind, net, n, replications):
    true = truth_of(net)
    hits = {key: [] for key in true}
    for seed in range(replications):
        rows = with_gaps(net, n, np.random.default_rng([n, seed]))
        found = gml.impute(rows, net, draws=DRAWS, seed=seed, threads=1)
        each = [analyses(table.columns) for table in found.datasets]
        for k, (key, value) in enumerate(true.items()):
            low, high = pooled(*zip(*(one[key] for one in each), strict=True), n - 1 - k)
            hits[key].append(low <= value <= high)
    line(f"imputation, {kind}", n, hits)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["information", "bootstrap", "imputation"])
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--kinds", default="labels,numbers,both")
    parser.add_argument("--rows", default=",".join(map(str, N_ROWS)))
    asked = parser.parse_args()
    started = time.process_time()
    with one_blas_thread():
        for what in asked.what:
            for kind, net in networks():
                for n in map(int, asked.rows.split(",") if kind in asked.kinds.split(",") else ()):
                    if what == "imputation":
                        of_imputation(kind, net, n, asked.replications)
                    else:
                        of_parameters(kind, net, n, what, asked.replications)
    print(f"{time.process_time() - started:.0f} CPU s")
