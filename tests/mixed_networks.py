"""Random networks of labels and numbers, and what they say by going through all configurations."""

from __future__ import annotations

import itertools
import math

import numpy as np

from gml.data.dataset import Variable
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.gaussian import gaussian_posterior
from gml.model.regressions import ConditionalGaussian


def random_mixed(
    rng, n_labels, n_numbers, *, p=0.4, most_levels=3, exact=0.0, zeros=0.0, scale=1.0
):
    """A network with labels d0, d1, ... and numbers x0, x1, ..., its nodes in a random order.

    A share `exact` of the regressions has no error, a share `zeros` of the probabilities is 0.
    """
    labels = [
        Variable(f"d{j}", tuple("abcdef"[: rng.integers(2, most_levels + 1)]))
        for j in range(n_labels)
    ]
    numbers = [Variable(f"x{j}", None) for j in range(n_numbers)]
    cpds = []
    for j, label in enumerate(labels):
        parents = tuple(other for other in labels[:j] if rng.random() < p)
        size = math.prod(len(parent.levels) for parent in parents)
        table = rng.dirichlet(np.ones(len(label.levels)), size)
        gone = rng.random(table.shape) < zeros
        gone[np.arange(size), rng.integers(0, table.shape[1], size)] = False
        table = np.where(gone, 0, table)
        cpds.append(CPT(label, parents, table / table.sum(axis=1, keepdims=True)))
    for j, number in enumerate(numbers):
        given = [other for other in labels if rng.random() < p]
        on = [other for other in numbers[:j] if rng.random() < p]
        size = math.prod(len(parent.levels) for parent in given)
        lines = tuple(
            LinearGaussian(
                number,
                tuple(on),
                float(scale * rng.normal()),
                tuple(rng.normal(size=len(on)).tolist()),
                0.0 if rng.random() < exact else float(rng.gamma(2.0) / 2),
            )
            for _ in range(size)
        )
        if given:
            parents = [*given, *on]
            order = rng.permutation(len(parents))
            # Configurations stand in the order of the labels, and so only numbers may move.
            places = iter(given)
            mixed = tuple(
                next(places) if not parents[k].is_continuous else parents[k] for k in order
            )
            turned = [parent for parent in mixed if parent.is_continuous]
            lines = tuple(
                LinearGaussian(
                    number,
                    tuple(turned),
                    line.intercept,
                    tuple(line.coefficients[on.index(parent)] for parent in turned),
                    line.sd,
                )
                for line in lines
            )
            cpds.append(ConditionalGaussian(number, mixed, lines))
        else:
            cpds.append(lines[0])
    return BayesNet(tuple(cpds[k] for k in rng.permutation(len(cpds))))


def configurations_of(net):
    """All configurations of the labels: dicts of levels."""
    labels = [variable for variable in net.variables if not variable.is_continuous]
    for levels in itertools.product(*(variable.levels for variable in labels)):
        yield dict(zip((variable.name for variable in labels), levels, strict=True))


def numbers_given(net, levels):
    """The network of the numbers in one configuration of the labels."""
    cpds = []
    for cpd in net.cpds:
        if isinstance(cpd, ConditionalGaussian):
            row = 0
            for parent in cpd.label_parents:
                row = row * len(parent.levels) + parent.levels.index(levels[parent.name])
            cpds.append(cpd.regressions[row])
        elif isinstance(cpd, LinearGaussian):
            cpds.append(cpd)
    return BayesNet(tuple(cpds))


def log_prior(net, levels):
    """ln P(labels)."""
    total = 0.0
    for cpd in net.cpds:
        if isinstance(cpd, CPT):
            row = 0
            for parent in cpd.parents:
                row = row * len(parent.levels) + parent.levels.index(levels[parent.name])
            p = cpd.table[row, cpd.variable.levels.index(levels[cpd.variable.name])]
            total += math.log(p) if p > 0 else -math.inf
    return total


class Enumerated:
    """The posterior by all configurations of the labels, and dense formulas for the numbers."""

    def __init__(self, net, evidence):
        numeric = {v.name for v in net.variables if v.is_continuous}
        self.numbers = {name: value for name, value in evidence.items() if name in numeric}
        self.rows = []
        for levels in configurations_of(net):
            log_p = log_prior(net, levels)
            if log_p == -math.inf or any(
                levels[name] != value for name, value in evidence.items() if name not in numeric
            ):
                continue
            given = gaussian_posterior(numbers_given(net, levels), self.numbers)
            self.rows.append((levels, log_p + given.log_density, given))
        logs = np.array([log_p for _, log_p, _ in self.rows])
        top = logs.max()
        self.log_evidence = top + math.log(math.fsum(np.exp(logs - top).tolist()))
        self.weights = np.exp(logs - self.log_evidence)

    def label(self, variable):
        """P(label | evidence)."""
        found = np.zeros(len(variable.levels))
        for (levels, _, _), weight in zip(self.rows, self.weights, strict=True):
            found[variable.levels.index(levels[variable.name])] += weight
        return found

    def mixture(self, name):
        """Weights, means and deviations of a number."""
        at = self.rows[0][2].names.index(name)
        return (
            self.weights,
            np.array([given.mean[at] for _, _, given in self.rows]),
            np.array([given.sd(at) for _, _, given in self.rows]),
        )

    def moments(self, names):
        """The mean and the covariance of numbers."""
        at = [self.rows[0][2].names.index(name) for name in names]
        means = np.array([given.mean[at] for _, _, given in self.rows])
        centre = self.weights @ means
        total = np.zeros((len(at), len(at)))
        for weight, mean, (_, _, given) in zip(self.weights, means, self.rows, strict=True):
            away = mean - centre
            total += weight * (given.factor[at] @ given.factor[at].T + np.outer(away, away))
        return centre, total
