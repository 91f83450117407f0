"""How often single tests of a regression reject where nothing changed, far out in the tail.

    python benchmarks/gaussian_levels.py [--runs 40000]

For each distribution of errors: rejections over level, at levels 0.01, 0.001 and 2·10⁻⁴, of the
coefficients (own sandwiches, common M, the larger p-value) and of the standard deviation of errors
(own kurtosis, common kurtosis, the largest p-value), computed for many pairs of samples at once by
the formulas of gml/gate/gaussian_families.py and gaussian_tables.py. One thread; an hour.
"""

from __future__ import annotations

import argparse

import numpy as np
from check_gaussian import errors_of
from scipy import stats

LEVELS = (0.01, 0.001, 2e-4)
SETTINGS = [
    *((kind, 0, a, b) for a, b in ((500, 100), (5000, 100), (500, 1000))
      for kind in ("normal", "laplace", "t5", "lognormal")),
    *((kind, 2, 500, 60) for kind in ("normal", "laplace", "lognormal")),
    *((kind, 6, 500, 100) for kind in ("normal", "laplace", "lognormal")),
]  # fmt: skip
_CELLS = 4e6


def regress(design, y):
    """Coefficients, (Z′Z)⁻¹, the sum of e²zz′/(1−h)², and errors, for each of many samples."""
    inverse = np.linalg.inv(np.einsum("bni,bnj->bij", design, design))
    slopes = np.einsum("bij,bj->bi", inverse, np.einsum("bni,bn->bi", design, y))
    errors = y - np.einsum("bni,bi->bn", design, slopes)
    leverage = np.einsum("bni,bij,bnj->bn", design, inverse, design)
    meat = np.einsum("bn,bni,bnj->bij", (errors / (1 - leverage)) ** 2, design, design)
    return slopes, inverse, meat, errors


def p_values(kind, n_parents, n_old, n_new, runs, rng):
    """Six p-values of each run."""
    size = n_parents + 1
    sides = []
    for n in (n_old, n_new):
        parents = rng.standard_normal((runs, n, n_parents))
        design = np.concatenate([np.ones((runs, n, 1)), parents], axis=2)
        noise = errors_of(kind, runs * n, rng).reshape(runs, n)
        sides.append(regress(design, parents.sum(axis=2) + noise))
    (b0, i0, m0, e0), (b1, i1, m1, e1) = sides
    change = b1 - b0

    def hotelling(covariance, df):
        wald = np.einsum("bi,bi->b", change, np.linalg.solve(covariance, change[..., None])[..., 0])
        return stats.f.sf(wald * (df - size + 1) / (df * size), size, df - size + 1)

    before = i0 @ m0 @ i0
    own = before + i1 @ m1 @ i1
    share = np.trace(np.linalg.solve(own, before), axis1=1, axis2=2) / size
    df = 1 / (share**2 / (n_old - size) + (1 - share) ** 2 / (n_new - size))
    meat = (m0 + m1) / (n_old + n_new)
    common = n_old * i0 @ meat @ i0 + n_new * i1 @ meat @ i1
    coefficients = [hotelling(own, df), hotelling(common, n_old + n_new - 2 * size)]
    s0, s1 = ((e**2).sum(axis=1) / (e.shape[1] - size) for e in (e0, e1))
    k0, k1 = ((e**4).mean(axis=1) / s**2 - 1 for e, s in ((e0, s0), (e1, s1)))
    pooled = ((e0**2).sum(axis=1) + (e1**2).sum(axis=1)) / (n_old + n_new)
    fourth = ((e0**4).sum(axis=1) + (e1**4).sum(axis=1)) / (n_old + n_new)
    spread = np.sqrt((fourth / pooled**2 - 1) * (1 / n_new + 1 / n_old))
    ratio = np.log(s1 / s0)
    z = [ratio / np.sqrt(k0 / n_old + k1 / n_new), ratio / spread, (s1 - s0) / pooled / spread]
    sds = [2 * stats.norm.sf(np.abs(one)) for one in z]
    return [*coefficients, np.maximum(*coefficients), *sds[:2], np.maximum.reduce(sds)]


def main() -> None:
    """Print one line of Markdown per setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40_000)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(1)
    print("| errors | parents | n₀ → n | own | common | larger p | sd: own | common | largest p |")
    print("|---" * 9 + "|")
    for kind, n_parents, n_old, n_new in SETTINGS:
        at_once = max(1, int(_CELLS / ((n_old + n_new) * (n_parents + 2))))
        found = [
            p_values(kind, n_parents, n_old, n_new, min(at_once, runs - start), rng)
            for start in range(0, runs, at_once)
        ]
        shown = []
        for k in range(len(found[0])):
            p = np.concatenate([part[k] for part in found])
            shown.append(" ".join(f"{np.mean(p <= level) / level:.2f}" for level in LEVELS))
        line = f"| {kind} | {n_parents} | {n_old} → {n_new} | " + " | ".join(shown) + " |"
        print(line, flush=True)


if __name__ == "__main__":
    main()
