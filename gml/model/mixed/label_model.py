"""The labels of a mixed network, once numbers are eliminated: a model of tables.

Tables are cut down to the levels observed, and weights of configurations are factors. So the sum
of the product of all of them is the probability (or density) of the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gml.data.dataset import Variable
from gml.errors import CannotAnswer
from gml.model.factor import Factor
from gml.model.inference import Inference
from gml.model.mixed.elimination import Weight
from gml.model.mixed.lines import Array
from gml.model.mixed.ranked import RankedNetwork

# Where the smallest weight of a factor is less than this, it is better kept as a logarithm.
_SMALL_LOG = -600.0


@dataclass(frozen=True)
class LabelModel:
    """Labels that are not observed, factors over them, and ln of what these were divided by."""

    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]
    log_scale: float


def label_model(
    net: RankedNetwork, codes: Mapping[int, int], weights: Sequence[Weight]
) -> LabelModel:
    """Return the model of the labels given their observed levels and weights of one row."""
    hidden = [k for k in net.labels if k not in codes]
    factors: list[Factor] = []
    scales: list[float] = []
    for k in net.labels:
        own = net.tables[k]
        index = tuple(codes.get(j, slice(None)) for j in (*own.labels, k))
        table = own.table[index]
        scope = [j for j in (*own.labels, k) if j not in codes]
        if k not in codes:
            factors.append(_factor(net, scope, table, conditional=True))
        elif scope:
            factors.append(_factor(net, scope, table))
        else:
            scales.append(_log(float(table)))
    for weight in weights:
        top = float(weight.logs.max(initial=-math.inf))
        scales.append(top)
        if weight.labels and top > -math.inf:
            shape = [net.sizes[j] for j in weight.labels]
            logs = np.broadcast_to(weight.logs[0] - top, shape)
            small = bool((logs < _SMALL_LOG).any())
            factors.append(_factor(net, weight.labels, np.exp(logs), logs if small else None))
    log_scale = -math.inf if -math.inf in scales else math.fsum(scales)
    return LabelModel(tuple(net.variables[k] for k in hidden), tuple(factors), log_scale)


def _factor(
    net: RankedNetwork,
    scope: Sequence[int],
    table: Array,
    logs: Array | None = None,
    *,
    conditional: bool = False,
) -> Factor:
    return Factor(tuple(net.variables[k] for k in scope), table, conditional, logs)


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


class LabelInference:
    """Questions to the labels, and ln P(evidence); CannotAnswer if that is impossible."""

    def __init__(self, model: LabelModel, max_memory: int | None) -> None:
        self._tables = Inference(model, max_memory=max_memory)
        log_weight = model.log_scale
        if log_weight > -math.inf:
            log_weight += self._tables.log_z
        if log_weight == -math.inf:
            raise CannotAnswer("the evidence has probability 0")
        self.log_evidence = log_weight

    @property
    def tables(self) -> Inference:
        """What answers about the labels, given all evidence."""
        return self._tables

    def joint(self, names: Sequence[str]) -> Array:
        """P(labels | evidence), one axis per label."""
        return self._tables.joint(names)[0] if names else np.ones(())
