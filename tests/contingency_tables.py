"""Published tables of counts, and data that have them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.model.undirected.terms import Terms


class Contingency(NamedTuple):
    """Variables, and how many rows each cell has; the last variable is fastest."""

    variables: tuple[Variable, ...]
    counts: np.ndarray

    @property
    def names(self) -> list[str]:
        return [variable.name for variable in self.variables]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(itertools.combinations(self.names, 2))

    def counter(self, unit: float = 1.0) -> MemoryCounter:
        """The table as weighted rows, one per cell that has any; weights are in this unit."""
        cells = np.argwhere(self.counts > 0)
        columns = tuple(cells[:, k].astype(np.uint8) for k in range(cells.shape[1]))
        weights = np.rint(self.counts[self.counts > 0] / unit).astype(np.int64)
        return MemoryCounter(Dataset(self.variables, columns, weights, unit=unit), threads=1)


def contingency(levels: dict[str, str], counts: str) -> Contingency:
    """A table as it is printed: levels by name, the last variable fastest."""
    variables = tuple(Variable(name, tuple(text.split())) for name, text in levels.items())
    shape = [len(variable.levels) for variable in variables]
    return Contingency(variables, np.array(counts.split(), dtype=float).reshape(shape))


def student_survey() -> Contingency:
    """Alcohol, cigarettes and marijuana among 2276 students (Agresti 2013, table 9.3)."""
    return contingency({"M": "yes no", "C": "yes no", "A": "yes no"}, "911 3 44 2 538 43 456 279")


def hair_eye_color() -> Contingency:
    """Hair, eyes and sex of 592 students of statistics (Snee 1974)."""
    return contingency(
        {"Hair": "Black Blond Brown Red", "Eye": "Blue Brown Green Hazel", "Sex": "Female Male"},
        "9 11 36 32 2 3 5 10 64 30 4 3 8 8 5 5 34 50 66 53 14 15 29 25 7 10 16 10 7 7 7 7",
    )


def ucb_admissions() -> Contingency:
    """Admissions to six departments of Berkeley in 1973 (Bickel, Hammel & O'Connell 1975)."""
    return contingency(
        {"Admit": "Admitted Rejected", "Gender": "Female Male", "Dept": "A B C D E F"},
        "89 17 202 131 94 24 512 353 120 138 53 22 19 8 391 244 299 317 313 207 205 279 138 351",
    )


def lizards() -> Contingency:
    """Perches of two species of lizards (Schoener 1968)."""
    return contingency(
        {"Species": "Distichus Sagrei", "Diameter": "narrow wide", "Height": "high low"},
        "73 61 70 41 86 32 35 11",
    )


def reinis() -> Contingency:
    """Risk factors of 1841 Czech car workers (Reinis et al. 1981; Edwards & Havránek 1985)."""
    names = ["smoke", "mental", "phys", "systol", "protein", "family"]
    return contingency(
        dict.fromkeys(names, "n y"),
        "4 16 2 9 3 13 4 23 11 57 8 33 14 66 9 67 14 63 17 67 16 80 17 145 0 25 3 12 3 32 7 40 "
        "4 7 5 7 2 7 1 12 13 73 11 80 14 70 21 112 5 51 14 109 9 50 9 129 4 24 4 35 7 23 5 44",
    )


def spread_over_all(terms, scope, table):
    """A table over a scope with an axis for every variable, to be added or multiplied."""
    return table.reshape([terms.sizes[k] if k in scope else 1 for k in range(len(terms.sizes))])


def joint_of_fit(terms, fitted) -> np.ndarray:
    """The fitted distribution of all variables, in the order of names."""
    logs = np.zeros(terms.sizes)
    for scope, table in zip(terms.all, fitted.tables, strict=True):
        logs = logs + spread_over_all(terms, scope, table)
    for support in fitted.supports:
        forbidden = np.where(support.possible, 0.0, -np.inf)
        logs = logs + spread_over_all(terms, support.scope, forbidden)
    return np.exp(logs - fitted.log_z)


def random_terms(rng):
    """A model of up to 5 variables with 2 to 4 levels, and now and then one with 1."""
    n = int(rng.integers(1, 6))
    sizes = rng.integers(2, 5, n)
    if rng.random() < 0.1:
        sizes[int(rng.integers(n))] = 1
    variables = [
        Variable(f"v{k}", tuple(f"l{i}" for i in range(size))) for k, size in enumerate(sizes)
    ]
    scopes = [
        [f"v{k}" for k in rng.permutation(n)[: int(rng.integers(1, min(n, 3) + 1))]]
        for _ in range(int(rng.integers(1, 6)))
    ]
    return Terms.of(variables, scopes)


def random_counts(rng, variables, mean):
    """Counts of very different means, with at least one row."""
    shape = [len(variable.levels) for variable in variables]
    rates = rng.gamma(0.7, 1.0, shape)
    counts = rng.poisson(mean * rates)
    counts.flat[int(rng.integers(counts.size))] += 1
    return Contingency(variables, counts.astype(float))
