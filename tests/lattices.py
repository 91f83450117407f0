"""Ising models on square lattices, and their exact moments by transfer matrices."""

from __future__ import annotations

import itertools
import math

import numpy as np

from gml.data.dataset import Variable
from gml.model.markovnet import MarkovNet
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms


def lattice(size, coupling, *, torus=False):
    """The terms of a square lattice without a field, and a table per pair of neighbours."""
    names = [f"s{i:02}{j:02}" for i in range(size) for j in range(size)]
    pairs = [
        (i * size + j, (i + down) % size * size + (j + right) % size)
        for i, j in itertools.product(range(size), repeat=2)
        for down, right in ((0, 1), (1, 0))
        if torus or (i + down < size and j + right < size)
    ]
    spins = [Variable(name, ("-", "+")) for name in names]
    terms = Terms.of(spins, [[names[a], names[b]] for a, b in pairs])
    table = coupling * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return terms, [table] * len(terms.generators)


def lattice_net(size, coupling):
    """The same as a model, with free edges."""
    terms, tables = lattice(size, coupling)
    scopes = [tuple(terms.variables[k] for k in scope) for scope in terms.generators]
    return MarkovNet(terms.variables, tuple(map(Potential, scopes, tables)))


def free_lattice_moments(size, coupling):
    """ln Z of a lattice with free edges, and E s s' of each pair of neighbours, by its places.

    Sums over the rows above and below each row are vectors over its 2^size states (Kramers &
    Wannier 1941); a row is joined to the next one spin by spin.
    """
    spins = 1 - 2 * np.array(list(itertools.product((1, 0), repeat=size)))
    within = np.exp(coupling * (spins[:, :-1] * spins[:, 1:]).sum(axis=1))
    equal, unequal = math.exp(coupling), math.exp(-coupling)
    join = np.array([[equal, unequal], [unequal, equal]])
    signed = np.array([[equal, -unequal], [-unequal, equal]])

    def joined(vector, marked=None):
        values = vector.reshape((2,) * size)
        for j in range(size):
            values = np.tensordot(signed if j == marked else join, values, axes=(1, j))
            values = np.moveaxis(values, 0, j)
        return values.reshape(-1)

    above = [np.ones(2**size)]
    for _ in range(size - 1):
        above.append(joined(above[-1] * within))
    below = above[::-1]
    total = float((above[0] * within * below[0]).sum())
    means = {}
    for i in range(size):
        shares = above[i] * within * below[i] / total
        for j in range(size - 1):
            means[i * size + j, i * size + j + 1] = float(shares @ (spins[:, j] * spins[:, j + 1]))
        if i + 1 < size:
            for j in range(size):
                value = joined(above[i] * within, j) @ (within * below[i + 1]) / total
                means[i * size + j, (i + 1) * size + j] = float(value)
    return math.log(total), means
