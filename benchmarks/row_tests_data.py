"""Data for benchmarks/row_tests.py: nulls and alternatives, the same for every package.

A table has x, y and Z; `labels` says which of these are labels. With s the sum of the columns of Z
over the root of their number (0 without any), e and f independent noise:

nulls          linear: s + e, s + f; heteroscedastic: both noises have the sd exp(s/2); sine: tanh
               and exp of sin 2s + noise/2; heavy: noise is t with 2 degrees of freedom; mixed: x
               has three labels that depend on s, and the first column of Z has two; waves: s is the
               sum of 1.2·sin 2z over the root of their number, the noise is 2/3; product: s is the
               product of the columns of Z, or z² − 1 of a single one
               (no test was tuned on the last two)
alternatives   x = s + e, and y = s + f + one of 0.3e, 0.4(e²−1), 0.6 sin 3e, or f·exp(0.4e), or
               0.5e times the sign of the first of Z; mixed: x has three labels, y depends on them
"""

from __future__ import annotations

import numpy as np

NULLS = ("linear", "heteroscedastic", "sine", "heavy", "mixed", "waves", "product")
ALTERNATIVES = ("linear", "quadratic", "sine", "heteroscedastic", "interaction", "mixed")


def draw(what: str, kind: str, n: int, size: int, seed: int):
    """x, y, Z (n × size) and the positions of labels among x, y, *Z."""
    names = (*NULLS, *ALTERNATIVES)
    rng = np.random.default_rng([what == "null", names.index(kind), n, size, seed])
    z = rng.normal(size=(n, size))
    e, f = rng.standard_t(2, size=(2, n)) if kind == "heavy" else rng.normal(size=(2, n))
    labels: list[int] = []
    if kind == "mixed" and size:
        z[:, 0] = np.where(z[:, 0] > 0, 1.0, -1.0)
        labels.append(2)
    s = z.sum(axis=1) / np.sqrt(max(size, 1))
    if kind == "waves":
        s = 1.2 * np.sin(2 * z).sum(axis=1) / np.sqrt(max(size, 1))
    if kind == "product":
        s = z.prod(axis=1) if size > 1 else (z**2 - 1).sum(axis=1)
    if what == "null":
        return (*_null(kind, s, e, f), z, [*labels, 0] if kind == "mixed" else labels)
    x = s + e
    sign = np.sign(z[:, 0] if size else rng.normal(size=n))
    effects = {
        "linear": 0.3 * e + f,
        "quadratic": 0.4 * (e**2 - 1) + f,
        "sine": 0.6 * np.sin(3 * e) + f,
        "heteroscedastic": f * np.exp(0.4 * e),
        "interaction": 0.5 * e * sign + f,
    }
    if kind == "mixed":
        level = np.digitize(s + e, [-0.7, 0.7]).astype(float)
        return level, s + 0.5 * (level == 1) + f, z, [*labels, 0]
    return x, s + effects[kind], z, labels


def _null(kind, s, e, f):
    if kind == "heteroscedastic":
        return s + e * np.exp(s / 2), s + f * np.exp(s / 2)
    if kind == "sine":
        return np.tanh(np.sin(2 * s) + e / 2), np.exp((np.sin(2 * s) + f / 2) / 2)
    if kind == "mixed":
        return np.digitize(s + e, [-0.7, 0.7]).astype(float), s + f
    if kind == "waves":
        return s + e / 1.5, s + f / 1.5
    return s + e, s + f
