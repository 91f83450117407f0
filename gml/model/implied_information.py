"""The mutual information of every two nodes of a model, in nats: what endless data would show.

Of nodes of levels, I = Σ p(x, y) ln p(x, y) / p(x) p(y) (Cover & Thomas 2006, equation 2.28), with
p(x, y) = p(x) p(y | x) by one exact inference per level of x; of nodes of numbers, which are normal
together, I = −½ ln(1 − r²). A pair is computed from the node whose name comes first, so that the
order of the nodes does not show.

In a model of labels and numbers together, two numbers are a mixture, and the information of any
pair with a number in it is an integral. What is shown is what the matrix of a table has
(independence/mutual_information.py): −½ ln(1 − r²) with the correlation of the mixture, and
−½ ln(1 − η²) of a label and a number, where η² is the share of the variance of the number that lies
between the levels. Both are exact, as the first two moments are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.independence.mutual_information import information_of_share
from gml.model.answer import Answer, Joint, Moments
from gml.model.inference import Inference
from gml.model.mixed.answers import MixedJoint
from gml.model.mixed.moments import ConditionalMoments
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
    names = sorted(net.names)
    of_all = _of_both if net.is_mixed else _of_numbers if net.is_gaussian else _of_levels
    values = of_all(net, names)
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
            found[i, j] = _of_correlation(answer.correlations[first, second])
    return found


def _of_correlation(r: float | None) -> float:
    """The information of two numbers; one that does not vary has none."""
    return information_of_share((r or 0.0) ** 2)


def _of_both(net: AskedModel, names: list[str]) -> NDArray[np.float64]:
    found = np.zeros((len(names), len(names)))
    for i, first in enumerate(names):
        for j, second in enumerate(names[i + 1 :], i + 1):
            check_stopped()
            found[i, j] = information_in(query(net, [first, second]))
        reporter().advance("mutual information", i + 1, len(names))
    return np.where(found > _ROUNDING, found, 0.0)


def information_in(answer: Answer) -> float:
    """Return the information of two nodes from what a model says about them together.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> round(information_in(net.query(["lung", "smoke"])), 3)
    0.02
    """
    if isinstance(answer, MixedJoint):
        return information_of_share(_share_between(answer.moments))
    if isinstance(answer, Moments):
        assert answer.correlations is not None
        first, second = answer.names
        return _of_correlation(answer.correlations[first, second])
    assert isinstance(answer, Joint)
    p = answer.table
    apart = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    seen = p > 0
    return max(0.0, float((p[seen] * np.log(p[seen] / apart[seen])).sum()))


def _share_between(moments: ConditionalMoments) -> float:
    """η² of a number: the share of its variance that lies between the levels of a label."""
    seen = moments.probability > 0
    p, mean, sd = moments.probability[seen], moments.mean[seen, 0], moments.sd[seen, 0]
    largest = max(float(np.abs(mean - mean[0]).max()), float(sd.max()))
    if largest == 0:
        return 0.0
    # In units in which squares are neither 0 nor infinite.
    away, within = (mean - mean[0]) / largest, sd / largest
    between = float(p @ np.square(away - p @ away))
    return between / (between + float(p @ np.square(within)))


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
