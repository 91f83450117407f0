"""Why intervals pooled over imputed tables of labels hold the truth as often as they do.

    python benchmarks/imputation_draws.py [--rows 100,500] [--replications 20000]

The labels of missing_coverage.py (a → b → c, 30 % of b and c missing), but as counts of the 18
kinds of rows, so that thousands of tables take seconds. Ten tables are imputed with parameters that
are

- refits: the fit by EM to a bootstrap sample of the rows, with a prior of one row, as
  `gml.impute(draws=10)` has them,
- posterior: draws from their posterior by data augmentation (Tanner & Wong 1987), Jeffreys' prior,
- fixed: the fit by EM to the rows,

and the mean of c and its slope on b are pooled by Rubin's rules, with quantiles of the normal
distribution, of t with Rubin's degrees of freedom (1987), and with those of Barnard & Rubin (1999).
A line has the shares of 95 % intervals that hold the truth, and the mean of the pooled variance in
units of the variance of the estimates. First come the intervals of complete tables.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

LEVEL = 0.95
DRAWS = 10
OF_B, OF_C = np.array([0.3, 0.65]), np.array([0.2, 0.7])
MISSING = np.array([0.45, 0.15])
"""The probabilities of the second level, and of a gap, by the level of the parent, and of a."""
SHARE_OF_A = 0.6
STEPS = 60
# Sweeps of data augmentation before the first table and between two.
SWEEPS = 15


def tables(n, replications, rng):
    """Counts by a, b and c, 2 for a gap; and by b and c before cells were blanked."""
    shape = replications, n
    a = (rng.random(shape) < SHARE_OF_A).astype(int)
    b = (rng.random(shape) < OF_B[a]).astype(int)
    c = (rng.random(shape) < OF_C[b]).astype(int)
    table = np.repeat(np.arange(replications), n)
    whole, holed = np.zeros((replications, 2, 2)), np.zeros((replications, 2, 3, 3), dtype=int)
    np.add.at(whole, (table, b.ravel(), c.ravel()), 1)
    b, c = (np.where(rng.random(shape) < MISSING[a], 2, column) for column in (b, c))
    np.add.at(holed, (table, a.ravel(), b.ravel(), c.ravel()), 1)
    return whole, holed


def second_given(p_b, p_c):
    """P(b = 2 | a, c), by table, a and c."""
    with_b = p_b[:, :, None] * np.stack([1 - p_c[:, 1], p_c[:, 1]], -1)[:, None]
    without = (1 - p_b)[:, :, None] * np.stack([1 - p_c[:, 0], p_c[:, 0]], -1)[:, None]
    return with_b / (with_b + without)


def fitted(holed):
    """EM with a prior of one row; c is left out where it is missing."""
    p_b, p_c = np.full((len(holed), 2), 0.5), np.tile([0.4, 0.6], (len(holed), 1))
    for _ in range(STEPS):
        post = second_given(p_b, p_c)
        gaps = holed[:, :, 2, :2]
        of_ab = holed[:, :, :2].sum(axis=3) + holed[:, :, 2, 2, None] * np.stack([1 - p_b, p_b], -1)
        of_ab += np.stack([gaps * (1 - post), gaps * post], -1).sum(axis=2)
        of_bc = holed[:, :, :2, :2].sum(axis=1) + np.stack([gaps * (1 - post), gaps * post], 2).sum(
            axis=1
        )
        p_b = (of_ab[:, :, 1] + 0.25) / (of_ab.sum(axis=2) + 0.5)
        p_c = (of_bc[:, :, 1] + 0.25) / (of_bc.sum(axis=2) + 0.5)
    return p_b, p_c


def imputed(holed, p_b, p_c, rng):
    """Counts by a and b, and by b and c, with gaps drawn."""
    gaps = holed[:, :, 2, :2]
    seen_c = rng.binomial(gaps, second_given(p_b, p_c))
    neither = rng.binomial(holed[:, :, 2, 2], p_b)
    of_ab = holed[:, :, :2].sum(axis=3).astype(float)
    of_ab[:, :, 1] += seen_c.sum(axis=2) + neither
    of_ab[:, :, 0] += (gaps - seen_c).sum(axis=2) + holed[:, :, 2, 2] - neither
    of_bc = holed[:, :, :2, :2].sum(axis=1).astype(float)
    of_bc += np.stack([gaps - seen_c, seen_c], 2).sum(axis=1)
    lack_c = holed[:, :, :2, 2].sum(axis=1)
    lack_c += np.stack([holed[:, :, 2, 2] - neither, neither], -1).sum(axis=1)
    drawn = rng.binomial(lack_c, p_c)
    of_bc += np.stack([lack_c - drawn, drawn], -1)
    return of_ab, of_bc


def analysed(of_bc):
    """The mean of c and its slope on b, and their variances as in missing_coverage.py."""
    of_b, n = of_bc.sum(axis=2), of_bc.sum(axis=(1, 2))
    mean = of_bc[:, :, 1].sum(axis=1) / n
    shares = of_bc[:, :, 1] / of_b
    spread = (shares * (1 - shares) / of_b).sum(axis=1) * n / (n - 2)
    return (mean, shares[:, 1] - shares[:, 0]), (mean * (1 - mean) / (n - 1), spread)


def refits(holed, n, rng):
    """Parameters of bootstrap samples."""
    shares = holed.reshape(len(holed), -1) / n
    for _ in range(DRAWS):
        yield fitted(rng.multinomial(n, shares).reshape(holed.shape))


def posterior(holed, n, rng):
    """Parameters by data augmentation."""
    p_b, p_c = fitted(holed)
    for sweep in range((DRAWS + 2) * SWEEPS):
        of_ab, of_bc = imputed(holed, p_b, p_c, rng)
        p_b = rng.beta(of_ab[:, :, 1] + 0.5, of_ab[:, :, 0] + 0.5)
        p_c = rng.beta(of_bc[:, :, 1] + 0.5, of_bc[:, :, 0] + 0.5)
        if sweep >= 2 * SWEEPS and sweep % SWEEPS == SWEEPS - 1:
            yield p_b, p_c


def fixed(holed, n, rng):
    """The same parameters for all tables."""
    return [fitted(holed)] * DRAWS


def line(what, estimates, variances, complete_df, truth):
    """Print how often each of three intervals holds the truth."""
    from scipy.special import stdtrit

    m, within, between = len(estimates), variances.mean(axis=0), estimates.var(axis=0, ddof=1)
    total = within + (1 + 1 / m) * between
    missing = np.maximum((1 + 1 / m) * between / total, 1e-9)
    rubin = (m - 1) / missing**2
    observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - missing)
    small = 1 / (1 / rubin + 1 / observed)
    middle = estimates.mean(axis=0)
    away = np.abs(middle - truth) / np.sqrt(total)
    shares = [100 * (away < stdtrit(df, (1 + LEVEL) / 2)).mean() for df in (1e9, rubin, small)]
    print(
        f"{what:32} normal {shares[0]:.1f}, Rubin {shares[1]:.1f}, "
        f"Barnard & Rubin {shares[2]:.1f} %; variance {total.mean() / middle.var():.2f}; "
        f"df {np.median(rubin):.0f}, {np.median(small):.0f}; missing {missing.mean():.2f}",
        flush=True,
    )


def study(n, replications):
    """All ways on the same tables."""
    from scipy.special import stdtrit

    rng = np.random.default_rng(n)
    whole, holed = tables(n, replications, rng)
    slope = OF_C[1] - OF_C[0]
    mean = OF_C[0] + slope * ((1 - SHARE_OF_A) * OF_B[0] + SHARE_OF_A * OF_B[1])
    error = 100 * math.sqrt(LEVEL * (1 - LEVEL) / replications)
    print(f"{n} rows, {replications} tables, standard error {error:.2f}")
    names, truths = ("mean of c", "slope of c on b"), (mean, slope)
    values, variances = analysed(whole)
    for k, name in enumerate(names):
        bound = stdtrit(n - 1 - k, (1 + LEVEL) / 2) * np.sqrt(variances[k])
        held = 100 * (np.abs(values[k] - truths[k]) < bound).mean()
        print(f"complete, {name}: {held:.1f} %")
    for way in (refits, posterior, fixed):
        found = [analysed(imputed(holed, *own, rng)[1]) for own in way(holed, n, rng)]
        for k, name in enumerate(names):
            estimates = np.array([one[0][k] for one in found])
            spreads = np.array([one[1][k] for one in found])
            line(f"{way.__name__}, {name}", estimates, spreads, n - 1 - k, truths[k])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="100,500")
    parser.add_argument("--replications", type=int, default=20_000)
    asked = parser.parse_args()
    for size in map(int, asked.rows.split(",")):
        study(size, asked.replications)
