"""Faults of a column on its way: what a broken export does to rows, and which columns it touches.

Each takes rows, the column, a size and a generator, and returns the rows that would be delivered.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gml.data.dataset import Variable, code_type


def with_column(data, name, codes, levels=None):
    """The rows with other codes, and other levels if told, in one column."""
    j = data.index(name)
    levels = data.variables[j].levels if levels is None else tuple(levels)
    columns, variables = list(data.columns), list(data.variables)
    columns[j] = np.asarray(codes).astype(code_type(len(levels)))
    variables[j] = Variable(name, levels)
    return replace(data, columns=tuple(columns), variables=tuple(variables), digest=None)


def frequent_levels(data, name):
    """The codes of the levels, the most frequent first."""
    j = data.index(name)
    counts = np.bincount(data.columns[j], minlength=len(data.variables[j].levels))
    return np.argsort(-counts, kind="stable")


def _codes(data, name):
    return data.columns[data.index(name)].astype(np.int64)


def _some_rows(data, share, rng):
    return rng.random(data.n_rows) < share


def renamed(data, name, size, rng):
    """The column has another name."""
    variables = tuple(
        Variable(f"{v.name}_{size}", v.levels) if v.name == name else v for v in data.variables
    )
    return replace(data, variables=variables, digest=None)


def shuffled(data, name, size, rng):
    """The values of this share of the rows are put in random order."""
    codes = _codes(data, name)
    rows = np.flatnonzero(_some_rows(data, size, rng))
    codes[rows] = codes[rng.permutation(rows)]
    return with_column(data, name, codes)


def swapped(data, name, size, rng):
    """In this share of the rows the two most frequent labels are exchanged."""
    first, second = frequent_levels(data, name)[:2]
    codes = _codes(data, name)
    chosen = _some_rows(data, size, rng)
    other = np.where(codes == first, second, np.where(codes == second, first, codes))
    return with_column(data, name, np.where(chosen, other, codes))


def new_category(data, name, size, rng):
    """This share of the rows has a label that was never seen."""
    levels = data.variables[data.index(name)].levels
    codes = np.where(_some_rows(data, size, rng), len(levels), _codes(data, name))
    return with_column(data, name, codes, (*levels, "a new one"))


def defaulted(data, name, size, rng):
    """This share of the rows has the most frequent label instead of its own; 1: a constant."""
    first = frequent_levels(data, name)[0]
    codes = np.where(_some_rows(data, size, rng), first, _codes(data, name))
    return with_column(data, name, codes)


def merged(data, name, size, rng):
    """In this share of the rows the second most frequent label is written as the first."""
    first, second = frequent_levels(data, name)[:2]
    codes = _codes(data, name)
    return with_column(
        data, name, np.where((codes == second) & _some_rows(data, size, rng), first, codes)
    )


def scaled(data, name, size, rng):
    """Another unit: level k stands for numbers between k and k + 1, now times `size`."""
    codes = _codes(data, name)
    numbers = size * (codes + rng.random(data.n_rows))
    last = len(data.variables[data.index(name)].levels) - 1
    return with_column(data, name, np.clip(np.floor(numbers), 0, last))


def drifted(data, name, size, rng):
    """Rows with the most frequent label are left out until its share is less by `size`."""
    first = frequent_levels(data, name)[0]
    has = _codes(data, name) == first
    share = has.mean()
    wanted = max(0.02, share - size)
    keep = wanted / (1 - wanted) * (1 - share) / share
    return data.rows(~has | (rng.random(data.n_rows) < keep))


def misjoined(data, names, size, rng):
    """These columns come from the row before, as if joined by position to a table that is off."""
    columns = [
        np.roll(column, size) if variable.name in names else column
        for variable, column in zip(data.variables, data.columns, strict=True)
    ]
    return replace(data, columns=tuple(columns), digest=None)
