"""MODEL and what is set and observed in it, the same for every command that asks a model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.assignments import assignments_option, resolve_assignments
from gml.cli.shared.options import claim_input
from gml.errors import UsageError, quote

if TYPE_CHECKING:
    from gml.model.bayesnet import BayesNet

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class AskedModel:
    """The network after the interventions, these, and what is observed afterwards."""

    net: BayesNet
    done: dict[str, str | float]
    observed: dict[str, str | float]

    @property
    def levels(self) -> dict[str, str]:
        """What is observed of nodes with levels."""
        return {name: str(level) for name, level in self.observed.items()}


@dataclass(frozen=True)
class ModelRequest:
    """MODEL and the options that say what is set and observed."""

    path: str
    do: tuple[str, ...]
    evidence: tuple[str, ...]

    def read(self) -> AskedModel:
        """Read the model and find the values."""
        from gml.formats.models import read_model
        from gml.model.evidence import intervene
        from gml.resources import require_memory

        net = read_model(self.path)
        done = resolve_assignments(self.do, net.variables, "--do")
        observed = resolve_assignments(self.evidence, net.variables, "--evidence")
        both = [name for name in observed if name in done]
        if both:
            raise UsageError(f"{quote(both[0])} cannot be both set by --do and observed")
        size = 3 * 8 * len(net.names) ** 2
        if net.is_gaussian:
            require_memory(size, None, "the errors of all nodes")
        return AskedModel(intervene(net, done), done, observed)


def model_options(function: Function) -> Function:
    """MODEL, --do, --evidence and --max-memory, injected as `model`."""

    @click.argument("model_path", metavar="MODEL")
    @assignments_option("--evidence", help_="Values observed, after what --do sets.")
    @assignments_option("--do", help_="Set nodes by hand, which cuts them from their parents.")
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        model_path: str,
        evidence: tuple[str, ...],
        do: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        claim_input(model_path, "model")
        request = ModelRequest(model_path, do, evidence)
        return function(*args, model=request, **kwargs)

    return wrapper  # type: ignore[return-value]
