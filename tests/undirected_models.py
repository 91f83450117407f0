"""Undirected models for tests: random ones, their joint distributions by brute force, and fits."""

from __future__ import annotations

import numpy as np

import gml
from gml.data.dataset import Variable
from gml.model.markovnet import MarkovNet
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.observed import observed_margins
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms


def log_linear(sizes, scopes, rng, strength=0.7, impossible=0.0):
    """A model with a table per scope of letters, drawn at random; a share of cells is −∞."""
    variables = {name: Variable(name, tuple("abcd"[:size])) for name, size in sizes.items()}
    potentials = []
    for scope in scopes:
        members = tuple(variables[name] for name in scope)
        table = strength * rng.standard_normal([len(v.levels) for v in members])
        table[rng.random(table.shape) < impossible] = -np.inf
        potentials.append(Potential(members, table))
    return MarkovNet(tuple(variables.values()), tuple(potentials))


def log_weights(net):
    """Σ λ of every cell of the joint table, an axis for each node of the model."""
    shape = [len(v.levels) for v in net.variables]
    total = np.zeros(shape)
    for potential in net.potentials:
        axes = [net.index(name) for name in potential.names]
        order = np.argsort(axes)
        table = potential.table.transpose(order)
        total = total + table.reshape([shape[a] if a in axes else 1 for a in range(len(shape))])
    return total


def matched(data, scopes, sweeps=500):
    """The model whose margins of scopes are those of some rows, by proportional fitting."""
    terms = Terms.of(data.variables, scopes)
    observed = observed_margins(gml.MemoryCounter(data, threads=1), terms)
    margins = CliqueMargins(terms, terms.generators)
    tables = [np.zeros(terms.shape(scope)) for scope in terms.generators]
    for _ in range(sweeps):
        gap = 0.0
        for i, wanted in enumerate(observed.margins):
            found = margins.of(tables).margins[i]
            gap = max(gap, float(np.abs(found - wanted).max()))
            ratio = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
            with np.errstate(divide="ignore"):
                tables[i] = tables[i] + np.log(ratio)
        if gap < 1e-11:
            break
    potentials = [
        Potential(tuple(terms.variables[k] for k in scope), table, counts=counts)
        for scope, table, counts in zip(terms.generators, tables, observed.counts, strict=True)
    ]
    return MarkovNet(data.variables, tuple(potentials))
