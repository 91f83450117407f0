"""Random tables of numbers and labels whose graph is known, for studies of structure.

A DAG has each edge of a random order with the same probability, so that a column has `degree`
neighbours on average. Half of the columns hold labels, of 2 to 4 levels. Two ways to draw rows:

- *cg*, a conditional Gaussian network: labels come before numbers in the order; a table has rows
  from Dirichlet(1), a number has one regression per configuration of its labels, with coefficients
  ±U(0.4, 1.2), means N(0, 1) and standard deviations U(0.5, 1.5).
- *lh*, the pairwise densities of Lee & Hastie (2015, J. Comput. Graph. Stat. 24:230) on a DAG, as
  Tetrad simulates them: a number is the sum of b·x over numbers and of a shift per level over
  labels, with normal errors; a label is a multinomial logit of the same terms, one weight per
  level. Edges go any way, so that labels have numbers as parents, too.

*gaussian* has numbers alone: coefficients ±U(0.4, 1.2), standard deviations U(0.5, 1.5). Names and
columns are shuffled, so that neither helps.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

KINDS = ("cg", "lh", "gaussian")


class Drawn(NamedTuple):
    """Columns by name (integers are codes of labels), and the arcs of the true graph."""

    columns: dict[str, np.ndarray]
    arcs: list[tuple[str, str]]


def draw(kind: str, n_columns: int, degree: float, rows: int, seed: int) -> Drawn:
    """Draw a graph and rows from it; of one seed, tables with fewer rows have the same graph."""
    key = [zlib.crc32(kind.encode()), n_columns, round(10 * degree), seed]
    rng = np.random.default_rng(key)
    is_label = np.zeros(n_columns, dtype=bool)
    if kind != "gaussian":
        is_label[rng.permutation(n_columns)[: n_columns // 2]] = True
    if kind == "cg":
        is_label = np.sort(is_label)[::-1]
    levels = np.where(is_label, rng.integers(2, 5, n_columns), 0)
    chance = min(1.0, degree / (n_columns - 1))
    adjacent = np.triu(rng.random((n_columns, n_columns)) < chance, 1)
    make = _conditional_gaussian if kind == "cg" else _pairwise
    drawers = [make(k, np.flatnonzero(adjacent[:, k]), levels, rng) for k in range(n_columns)]
    names = [f"V{k:03d}" for k in rng.permutation(n_columns)]
    order = rng.permutation(n_columns)
    noise = np.random.default_rng([*key, rows])
    cells: list[np.ndarray] = []
    for drawer in drawers:
        cells.append(drawer(cells, rows, noise))
    arcs = [(names[i], names[j]) for i, j in zip(*np.nonzero(adjacent), strict=True)]
    return Drawn({names[k]: cells[k] for k in order}, arcs)


def _slopes(rng, size):
    return rng.uniform(0.4, 1.2, size) * rng.choice([-1.0, 1.0], size)


def _conditional_gaussian(k, parents, levels, rng):
    labels = [j for j in parents if levels[j]]
    numbers = [j for j in parents if not levels[j]]
    n_configs = int(np.prod([levels[j] for j in labels], initial=1))

    def configuration(cells, rows):
        found = np.zeros(rows, dtype=np.int64)
        for j in labels:
            found = found * levels[j] + cells[j]
        return found

    if levels[k]:
        bounds = np.cumsum(rng.dirichlet(np.ones(levels[k]), n_configs), axis=1)

        def table(cells, rows, noise):
            below = bounds[configuration(cells, rows)]
            return np.minimum((noise.random(rows)[:, None] > below).sum(axis=1), levels[k] - 1)

        return table
    slopes = _slopes(rng, (n_configs, len(numbers)))
    means, sds = rng.normal(size=n_configs), rng.uniform(0.5, 1.5, n_configs)

    def regression(cells, rows, noise):
        at = configuration(cells, rows)
        found = means[at] + sds[at] * noise.normal(size=rows)
        for i, j in enumerate(numbers):
            found = found + slopes[at, i] * cells[j]
        return found

    return regression


def _pairwise(k, parents, levels, rng):
    width = max(1, levels[k])
    sd = rng.uniform(0.5, 1.5)
    base = 0.5 * rng.normal(size=width)
    weights = {
        j: _slopes(rng, (levels[j], width)) if levels[j] else _slopes(rng, width) for j in parents
    }

    def drawer(cells, rows, noise):
        terms = np.tile(base, (rows, 1))
        for j, weight in weights.items():
            terms = terms + (weight[cells[j]] if levels[j] else cells[j][:, None] * weight)
        if not levels[k]:
            return terms[:, 0] + sd * noise.normal(size=rows)
        return np.argmax(terms + noise.gumbel(size=terms.shape), axis=1)

    return drawer
