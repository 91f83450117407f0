"""Conditional fields written out plainly: probabilities by enumeration."""

from __future__ import annotations

import itertools

import numpy as np

from gml.data.dataset import Dataset, Variable
from gml.model.conditional.numeric_inputs import Scale
from gml.model.conditional.terms import FieldTerms


def variable(name: str, size: int) -> Variable:
    return Variable(name, tuple(f"{name}{k}" for k in range(size)))


def loopy_terms(*, numbers: bool = False) -> FieldTerms:
    """Four targets in a circle, one of them with a tail, and two inputs that not all of them read.

    With `numbers`, there are two numeric inputs besides.
    """
    targets = [variable(name, size) for name, size in zip("abcde", (2, 3, 2, 2, 3), strict=True)]
    inputs = [variable("x", 3), variable("z", 2)]
    scopes = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e")]
    scopes += [("a", "x"), ("b", "z"), ("c", "x"), ("c", "z"), ("e", "x")]
    scales = {}
    if numbers:
        inputs += [Variable("t", None), Variable("y", None)]
        scopes += [("a", "t"), ("c", "t"), ("c", "y"), ("e", "y")]
        scales = {"t": Scale(0.5, 2.0), "y": Scale(-1.0, 0.5)}
    return FieldTerms.of_scopes(targets, inputs, scopes, scales)


def random_rows(terms: FieldTerms, n: int, seed: int) -> Dataset:
    """Rows in which the targets depend on the inputs somehow."""
    rng = np.random.default_rng(seed)
    inputs = [
        rng.normal(0, 1.5, n).round(1) if v.levels is None else rng.integers(0, len(v.levels), n)
        for v in terms.inputs
    ]
    columns = list(inputs)
    for k, target in enumerate(terms.targets):
        size = len(target.levels)
        mixed = np.rint(sum(inputs)).astype(int) + k if inputs else np.full(n, k)
        columns.append(np.where(rng.random(n) < 0.4, mixed % size, rng.integers(0, size, n)))
    return Dataset(
        (*terms.inputs, *terms.targets),
        tuple(c if c.dtype.kind == "f" else c.astype(np.uint8) for c in columns),
    )


def log_weight(terms: FieldTerms, tables, y, x) -> float:
    """The sum of the weights that levels of targets and inputs pick; -1 picks none.

    Those of numeric inputs are multiplied by the standardised number; NaN has none.
    """
    code = {v.name: c for v, c in zip((*terms.targets, *terms.inputs), (*y, *x), strict=True)}
    total = 0.0
    for scope, table in tables.items():
        cell = tuple(code[name] for name in scope)
        if scope[-1] in terms.scales:
            mean, sd = terms.scales[scope[-1]]
            if not np.isnan(cell[1]):
                total += float(table[cell[0], 0]) * (cell[1] - mean) / sd
            continue
        if min(cell) >= 0:
            total += float(table[cell])
    return total


def conditional(terms: FieldTerms, tables, x) -> np.ndarray:
    """p(y | x) as a table with an axis per target."""
    shape = [len(target.levels) for target in terms.targets]
    logs = np.array(
        [log_weight(terms, tables, y, x) for y in itertools.product(*map(range, shape))]
    ).reshape(shape)
    logs -= logs.max()
    return np.exp(logs) / np.exp(logs).sum()


def rows_of(terms: FieldTerms, data: Dataset):
    """The levels of targets and inputs, row by row."""
    columns = [data.columns[data.index(v.name)] for v in (*terms.targets, *terms.inputs)]
    n = len(terms.targets)
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield row[:n], row[n:]


def log_likelihood(terms: FieldTerms, tables, data: Dataset) -> float:
    """Σ ln p(y | x) over rows."""
    known = {}
    total = 0.0
    for y, x in rows_of(terms, data):
        if x not in known:
            known[x] = conditional(terms, tables, x)
        total += float(np.log(known[x][y]))
    return total


def expected_counts(terms: FieldTerms, tables, data: Dataset):
    """How often each feature is expected given the inputs of the rows, and how often it is seen."""
    expected = {scope: np.zeros_like(table) for scope, table in tables.items()}
    seen = {scope: np.zeros_like(table) for scope, table in tables.items()}
    names = [v.name for v in (*terms.targets, *terms.inputs)]

    def add(into, values, x, share):
        code = dict(zip(names, (*values, *x), strict=True))
        for scope, table in into.items():
            if scope[-1] in terms.scales:
                mean, sd = terms.scales[scope[-1]]
                table[code[scope[0]], 0] += share * (code[scope[1]] - mean) / sd
            else:
                table[tuple(code[name] for name in scope)] += share

    for y, x in rows_of(terms, data):
        p = conditional(terms, tables, x)
        for values in itertools.product(*map(range, p.shape)):
            add(expected, values, x, p[values])
        add(seen, y, x, 1)
    return expected, seen
