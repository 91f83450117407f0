"""Models as verbs take them, or files of them; and values of their nodes."""

from __future__ import annotations

import os

from gml.errors import GraphError, UsageError, parameter, place
from gml.formats.models import read_model
from gml.model.bayesnet import BayesNet
from gml.model.conditional_models import Conditional
from gml.model.evidence import unknown_value, value_of
from gml.model.markovnet import MarkovNet
from gml.verbs.shared.graph_input import no_joint_model

__all__ = [
    "AskedSource",
    "ModelSource",
    "open_asked_model",
    "open_directed_model",
    "open_model",
    "require_directed",
    "require_model",
    "unknown_value",
    "value_of",
]

ModelSource = BayesNet | MarkovNet | str | os.PathLike[str]
"""A joint distribution."""
AskedSource = ModelSource | Conditional
"""What can be queried."""


def open_model(model: AskedSource) -> BayesNet | MarkovNet:
    """Return a joint distribution, read from a file unless it is one."""
    net = open_asked_model(model)
    if isinstance(net, Conditional):
        raise no_joint_model("the model" if isinstance(model, Conditional) else place(model))
    return net


def open_asked_model(model: AskedSource) -> BayesNet | MarkovNet | Conditional:
    """Return a model, joint or conditional, read from a file unless it is one."""
    require_model(model)
    if isinstance(model, BayesNet | MarkovNet | Conditional):
        return model
    return read_model(model)


def open_directed_model(model: ModelSource, verb: str) -> BayesNet:
    """Return a model with arrows, which is what a verb needs."""
    return require_directed(open_model(model), verb)


def require_directed(net: BayesNet | MarkovNet, verb: str) -> BayesNet:
    """Refuse an undirected model."""
    if isinstance(net, MarkovNet):
        raise GraphError(
            f"gml {verb} needs a directed model, and this one is undirected; if it is "
            f"decomposable, gml convert makes one of it ({parameter('to', 'dag')})"
        )
    return net


def require_model(model: object) -> None:
    """Refuse what is neither a model nor a path."""
    if not isinstance(model, BayesNet | MarkovNet | Conditional | str | os.PathLike):
        raise UsageError(
            f"a {type(model).__name__} is not a model; give a path or a BayesNet, which gml.fit "
            "makes"
        )
