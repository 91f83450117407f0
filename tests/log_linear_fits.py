"""Tables of counts as data, and models over them."""

from __future__ import annotations

import string

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.model.undirected.boundary.facial_set import facial_set
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.fitting import Fitted


def counter_of_table(table, names=string.ascii_uppercase):
    """Count a joint table, the first axis first, with the levels 0, 1, … of each variable."""
    table = np.asarray(table)
    cells = np.indices(table.shape).reshape(table.ndim, -1)
    variables = tuple(
        Variable(name, tuple(map(str, range(size))))
        for name, size in zip(names, table.shape, strict=False)
    )
    columns = tuple(codes.astype(np.uint8) for codes in cells)
    weights = table.reshape(-1).astype(np.int64)
    return MemoryCounter(Dataset(variables, columns, weights), threads=1)


def supports_of(counter, terms):
    return facial_set(counter, terms, CliqueMargins(terms, terms.generators).cliques)


def possible_cells(terms, supports):
    """The cells of the joint table that the supports leave."""
    left = np.ones(terms.sizes, dtype=bool)
    for support in supports:
        shape = [size if k in support.scope else 1 for k, size in enumerate(terms.sizes)]
        left &= support.possible.reshape(shape)
    return left


def effects(size):
    """Effect coding of levels: the last one is minus the sum of the others."""
    return np.vstack([np.eye(size - 1), np.full(size - 1, -1.0)])


class NewtonFit:
    """Maximum likelihood of a log-linear model by Newton's method on the whole joint table.

    Cells that are not possible are left out; directions that then change nothing stay at 0.
    """

    def __init__(self, table, terms, possible=None):
        self.table, self.terms = np.asarray(table, dtype=float), terms
        self.possible = np.ones(self.table.shape, bool) if possible is None else possible
        cells = np.indices(self.table.shape).reshape(self.table.ndim, -1)
        self.blocks = []
        columns = []
        for scope in terms.all:
            block = np.ones((1, 1))
            for k in scope:
                block = np.kron(block, effects(terms.sizes[k]))
            self.blocks.append(block)
            at = np.ravel_multi_index(tuple(cells[k] for k in scope), terms.shape(scope))
            columns.append(block[at])
        design = np.hstack(columns)
        self.design = design[self.possible.reshape(-1)]
        counts = self.table.reshape(-1)[self.possible.reshape(-1)]
        n = counts.sum()
        beta = np.zeros(design.shape[1])
        for _ in range(100):
            logs = self.design @ beta
            p = np.exp(logs - logs.max())
            p /= p.sum()
            gradient = self.design.T @ (counts / n - p)
            centred = self.design - p @ self.design
            self.covariance = (centred * p[:, None]).T @ centred
            step = np.linalg.pinv(self.covariance, rcond=1e-9) @ gradient
            beta += step * min(1.0, 2 / np.abs(step).max(initial=1e-300))
            if np.abs(gradient).max() < 1e-14:
                break
        self.beta, self.n, self.p = beta, n, p
        self.ends = np.cumsum([block.shape[1] for block in self.blocks])[:-1]

    def fitted(self, supports=(), method="exact"):
        parts = np.split(self.beta, self.ends)
        tables = [
            (block @ part).reshape(self.terms.shape(scope))
            for block, part, scope in zip(self.blocks, parts, self.terms.all, strict=True)
        ]
        return Fitted(tables, method, "newton", True, 1, 0.0, None, tuple(supports))

    def errors(self):
        """Standard errors by the inverse of the information, without any zeros."""
        inverse = np.linalg.inv(self.n * self.covariance)
        starts = [0, *self.ends]
        found = []
        for block, start, scope in zip(self.blocks, starts, self.terms.all, strict=True):
            own = inverse[start : start + block.shape[1], start : start + block.shape[1]]
            variances = np.einsum("ij,jk,ik->i", block, own, block)
            found.append(np.sqrt(variances).reshape(self.terms.shape(scope)))
        return found
