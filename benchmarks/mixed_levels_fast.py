"""fisher-z, dg and cg of benchmarks/mixed_levels.py for many draws at once, in NumPy.

The tests of gml make a data set of every few draws, which with 100 rows takes longer than the test.
Here a block of draws is one array. Formulas are those of gml.independence; a draw in which a level
does not occur, or a matrix is nearly singular, is left to gml (NaN in `left`). mixed_levels.py
compares the first block of every cell with gml's own p-values, and stops where they differ.
"""

from __future__ import annotations

import numpy as np

FAST = ("fisher-z", "dg", "cg")
MOST_ROWS = 1000
_LEAST_PIVOT = 1e-6


def fast_p_values(test, cell, tables, draws):
    """p of each of the first draws, and which of them gml has to test itself."""
    from gml import kernel

    _, _, given, levels, rows = cell
    some = {name: values[:draws] for name, values in tables.items()}
    left = np.zeros(draws, dtype=bool)
    for values in some.values():
        if values.dtype.kind != "f":
            left |= ~np.all([(values == k).any(axis=1) for k in range(levels)], axis=0)
    names = [f"z{k}" for k in range(len(given))]
    if test == "cg":
        statistic, df, sufficient, singular = _grouped(some, names, levels, rows)
    else:
        statistic, df, sufficient, singular = _linear(some, names, levels, rows, test)
    left |= singular
    usable = sufficient & ~left
    log_p = kernel.active().log_chi2_upper(
        np.where(usable, statistic, 0.0), np.full(draws, float(df))
    )
    return np.where(usable, np.exp(log_p), np.nan), left


def _columns(values, levels):
    """Numbers, or indicators of levels but the first: draws × rows × columns, centred."""
    if values.dtype.kind == "f":
        found = values[:, :, None]
    else:
        found = (values[:, :, None] == np.arange(1, levels, dtype=values.dtype)).astype(float)
    return found - found.mean(axis=1, keepdims=True)


def _linear(some, names, levels, rows, test):
    """Wilks' Λ by Cholesky's decomposition of (Z, x, y) and of (Z, y); Fisher's z likewise."""
    x, y = _columns(some["x"], levels), _columns(some["y"], levels)
    z = [_columns(some[name], levels) for name in names]
    every = np.concatenate([*z, x, y], axis=2)
    a, b = x.shape[2], y.shape[2]
    q = every.shape[2] - a - b
    products = every.transpose(0, 2, 1) @ every
    scale = 1 / np.sqrt(np.einsum("dii->di", products))
    products *= scale[:, :, None] * scale[:, None, :]
    keep = [*range(q), *range(q + a, q + a + b)]
    with_x = _pivots(products)[:, q + a :]
    alone = _pivots(products[:, keep][:, :, keep])[:, q:]
    singular = ~((with_x.min(axis=1) > _LEAST_PIVOT) & (alone.min(axis=1) > _LEAST_PIVOT))
    log_wilks = np.log(np.where(singular[:, None], 1.0, with_x)).sum(axis=1)
    log_wilks -= np.log(np.where(singular[:, None], 1.0, alone)).sum(axis=1)
    log_wilks = np.minimum(log_wilks, 0.0)
    enough = np.full(len(log_wilks), rows > q + a + b + 1)
    if test == "dg":
        return -(rows - 1 - q - (a + b + 1) / 2) * log_wilks, a * b, enough, singular
    # Λ = 1 − r², and atanh r = asinh(r/√(1 − r²)).
    slope = np.sqrt(np.expm1(-log_wilks))
    return (rows - q - 3) * np.arcsinh(slope) ** 2, 1, enough, singular


def _pivots(matrices):
    """What is left of each column given those before it; 0 from the first that has nothing left."""
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.zeros(matrices.shape[:2])
    return np.einsum("dii->di", factors) ** 2


def _grouped(some, names, levels, rows):
    """The likelihood ratio of regressions within groups; the number is the response."""
    first, second = (some[name] for name in ("x", "y"))
    x, y = (first, second) if second.dtype.kind == "f" else (second, first)
    numbers = [some[name] for name in names if some[name].dtype.kind == "f"]
    labels = [some[name] for name in names if some[name].dtype.kind != "f"]
    n_groups = levels ** len(labels)
    if x.dtype.kind == "f":
        with_x, df = (y, [*numbers, x], labels), n_groups
    else:
        with_x = (y, numbers, [*labels, x])
        df = n_groups * (levels - 1) * (len(numbers) + 2)
    before, enough, bad = _log_sum(y, numbers, labels, levels)
    after, also_enough, also_bad = _log_sum(*with_x, levels)
    return np.maximum(before - after, 0.0), df, enough & also_enough, bad | also_bad


def _log_sum(y, numbers, labels, levels):
    """Σ n ln σ² over groups, by draw; whether all groups have rows enough; what is singular."""
    draws, rows = y.shape
    n_groups = levels ** len(labels)
    group = np.zeros(y.shape, dtype=np.int64)
    for column in labels:
        group = group * levels + column
    group += n_groups * np.arange(draws)[:, None]
    at, total = group.ravel(), draws * n_groups
    counts = np.bincount(at, minlength=total)
    size = len(numbers) + 2
    enough = ~((counts > 0) & (counts < size + 1)).reshape(draws, n_groups).any(axis=1)
    cells = [np.ones(rows * draws), *(column.ravel() for column in numbers), y.ravel()]
    gram = np.empty((total, size, size))
    for i in range(size):
        for j in range(i + 1):
            products = counts if i == 0 else np.bincount(at, cells[i] * cells[j], total)
            gram[:, i, j] = gram[:, j, i] = products
    used = (counts > 0) & np.repeat(enough, n_groups)
    scale = 1 / np.sqrt(np.einsum("dii->di", gram[used]))
    pivots = _pivots(gram[used] * scale[:, :, None] * scale[:, None, :])
    left = np.ones(total)
    left[used] = pivots[:, -1]
    singular = (left < _LEAST_PIVOT).reshape(draws, n_groups).any(axis=1)
    shares = np.where(used, np.maximum(left, _LEAST_PIVOT), 1.0)
    squares = np.where(used, gram[:, -1, -1], 1.0) / np.maximum(counts, 1)
    logs = np.where(used, counts * np.log(shares * squares), 0.0)
    return logs.reshape(draws, n_groups).sum(axis=1), enough, singular
