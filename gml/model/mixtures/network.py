"""A mixture as a network: the class is a node like any other, and the columns are its children.

Labels have a table given the class. Numbers have one regression per class: a mean and a standard
deviation where they are independent within classes; otherwise on the numbers before them by name,
a chain that has any covariance: with Σ = [Σ₁₁ σ; σ′ s] of those before and the number itself, the
slopes are Σ₁₁⁻¹σ, and the variance of the errors is s − σ′Σ₁₁⁻¹σ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.mixtures.covariances import matrices_of
from gml.model.mixtures.parameters import MixtureParameters
from gml.model.mixtures.rows import MixtureRows
from gml.model.network import Cpd

Vector = NDArray[np.float64]


def network_of(
    rows: MixtureRows,
    parameters: MixtureParameters,
    counts: Vector,
    order: tuple[Variable, ...],
    name: str,
) -> BayesNet:
    """Return the network of a mixture: columns in the order of the table, then the class.

    `counts` has, as the tables do, how many rows of each class to expect with each level.
    """
    n_classes = len(parameters.shares)
    hidden = Variable(name, tuple(str(k + 1) for k in range(n_classes)))
    cpds: dict[str, Cpd] = {}
    for j, variable in enumerate(rows.labels):
        size, at = len(variable.levels or ()), int(rows.offsets[j])
        table = parameters.tables[at : at + size].T
        expected = np.ascontiguousarray(counts[at : at + size].T)
        cpds[variable.name] = CPT(
            variable,
            (hidden,),
            table / table.sum(axis=1, keepdims=True),
            expected_counts=expected,
        )
    cpds |= _regressions(rows, parameters, order, hidden)
    shares = parameters.shares / parameters.shares.sum()
    cpds[name] = CPT(hidden, (), shares[None], expected_counts=shares[None] * rows.n, hidden=True)
    return BayesNet(tuple(cpds[v] for v in (*(variable.name for variable in order), name)))


def _regressions(
    rows: MixtureRows,
    parameters: MixtureParameters,
    order: tuple[Variable, ...],
    hidden: Variable,
) -> dict[str, Cpd]:
    """The regressions of numbers, in the units of the table."""
    if not rows.numbers:
        return {}
    size, n_classes = len(rows.numbers), len(parameters.shares)
    means = parameters.means * rows.scale + rows.centre
    scaled = matrices_of(parameters.covariances, n_classes, size)
    is_chain = parameters.covariances.ndim == 3
    place = {variable.name: j for j, variable in enumerate(order)}
    found: dict[str, Cpd] = {}
    for j, variable in enumerate(rows.numbers):
        # Parents stand in the order of the nodes, as files have them.
        before = sorted(range(j), key=lambda i: place[rows.numbers[i].name]) if is_chain else []
        parents = tuple(rows.numbers[i] for i in before)
        lines = []
        for k in range(n_classes):
            inner = scaled[k][np.ix_(before, before)]
            slopes = np.linalg.solve(inner, scaled[k][before, j]) if before else np.zeros(0)
            variance = float(scaled[k][j, j] - slopes @ scaled[k][before, j])
            in_units = slopes * rows.scale[j] / rows.scale[before]
            intercept = float(means[k, j] - in_units @ means[k, before])
            sd = float(np.sqrt(max(variance, 0.0)) * rows.scale[j])
            lines.append(LinearGaussian(variable, parents, intercept, tuple(in_units.tolist()), sd))
        found[variable.name] = ConditionalGaussian(variable, (*parents, hidden), tuple(lines))
    return found
