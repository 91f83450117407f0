"""The mutual information of every two nodes of a model, in nats: what endless data would show.

Of nodes of levels, I = Σ p(x, y) ln p(x, y) / p(x) p(y) (Cover & Thomas 2006, equation 2.28), with
p(x, y) = p(x) p(y | x) by one exact inference per level of x; of nodes of numbers, which are normal
together, I = −½ ln(1 − r²). A pair is computed from the node whose name comes first, so that the
order of the nodes does not show.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.model.answer import Moments
from gml.model.inference import Inference
from gml.model.model import AskedModel
from gml.model.query import query
from gml.progress import reporter
from gml.stopping import check_stopped

_ROUNDING = 1e-12


def implied_information(net: AskedModel) -> NDArray[np.float64]:
    """Return the matrix of mutual information, nodes as they are; its diagonal is 0.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/cancer.csv", "sample_data/cancer.dot", method="mle")
    >>> implied_information(net).shape
    (5, 5)
    """
    if net.is_mixed:
        raise CannotAnswer(
            "the mutual information of a label and a number has no closed form, and so a model of "
            "both shows none"
        )
    names = sorted(net.names)
    values = (_of_numbers if net.is_gaussian else _of_levels)(net, names)
    place = {name: k for k, name in enumerate(names)}
    order = [place[name] for name in net.names]
    found: NDArray[np.float64] = (values + values.T)[np.ix_(order, order)]
    return found


def _of_numbers(net: AskedModel, names: list[str]) -> NDArray[np.float64]:
    found = np.zeros((len(names), len(names)))
    if len(names) < 2:
        return found
    answer = query(net, names)
    assert isinstance(answer, Moments)
    assert answer.correlations is not None
    for i, first in enumerate(names):
        for j, second in enumerate(names[i + 1 :], i + 1):
            r = answer.correlations[first, second] or 0.0
            found[i, j] = -0.5 * math.log1p(-r * r) if r * r < 1 else math.inf
    return found


def _of_levels(net: AskedModel, names: list[str]) -> NDArray[np.float64]:
    found = np.zeros((len(names), len(names)))
    inference = Inference(net)
    prior = inference.marginals()
    levels = {variable.name: variable.levels or () for variable in net.variables}
    for i, first in enumerate(names):
        for level, share in zip(levels[first], prior[first].tolist(), strict=True):
            check_stopped()
            if share > 0 and i + 1 < len(names):
                given = inference.marginals({first: level}, names[i + 1 :])
                for j, second in enumerate(names[i + 1 :], i + 1):
                    found[i, j] += share * _divergence(given[second], prior[second])
        reporter().advance("mutual information", i + 1, len(names))
    # Of independent nodes, inference leaves rounding errors.
    return np.where(found > _ROUNDING, found, 0.0)


def _divergence(after: NDArray[np.float64], before: NDArray[np.float64]) -> float:
    """Return Σ p ln p / q, in which nothing is impossible after that was possible before."""
    seen = after > 0
    return float((after[seen] * np.log(after[seen] / before[seen])).sum())
