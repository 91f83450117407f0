"""Models as verbs take them: a network, or a file of one; and values of their nodes."""

from __future__ import annotations

import os

from gml.errors import UsageError
from gml.formats.models import read_model
from gml.model.bayesnet import BayesNet
from gml.model.evidence import unknown_value, value_of

__all__ = ["ModelSource", "open_model", "require_model", "unknown_value", "value_of"]

ModelSource = BayesNet | str | os.PathLike[str]


def open_model(model: ModelSource) -> BayesNet:
    """Return a network, read from a file unless it is one."""
    require_model(model)
    return model if isinstance(model, BayesNet) else read_model(model)


def require_model(model: object) -> None:
    """Refuse what is neither a network nor a path."""
    if not isinstance(model, BayesNet | str | os.PathLike):
        raise UsageError(
            f"a {type(model).__name__} is not a model; give a path or a BayesNet, which gml.fit "
            "makes"
        )
