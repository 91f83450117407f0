"""MODEL and what is set and observed in it, the same for every command that queries a model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from gml.cli.shared.assignments import assignments_option, resolve_assignments
from gml.cli.shared.run import claim_input

if TYPE_CHECKING:
    from gml.verbs.shared.model_input import AskedSource

Function = TypeVar("Function", bound=Callable[..., Any])


class AskedModel(TypedDict):
    """The first parameters of the verbs that query a model."""

    model: AskedSource
    do: dict[str, str | float]
    evidence: dict[str, str | float]


@dataclass(frozen=True)
class ModelRequest:
    """MODEL and the options that say what is set and observed."""

    path: str
    do: tuple[str, ...]
    evidence: tuple[str, ...]

    def read(self) -> AskedModel:
        """Read the model and find the values."""
        from gml.formats.models import read_model

        net = read_model(self.path)
        return {
            "model": net,
            "do": resolve_assignments(self.do, net.variables, "--do"),
            "evidence": resolve_assignments(self.evidence, net.variables, "--evidence"),
        }


def model_options(function: Function) -> Function:
    """MODEL, --do, --evidence and --max-memory, injected as `model`."""

    @click.argument("model_path", metavar="MODEL")
    @assignments_option("--evidence", help_="Observe these values, after --do: A=x,B=y.")
    @assignments_option(
        "--do", help_="Set nodes by hand, which cuts them off from their parents: A=x,B=y."
    )
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        model_path: str,
        evidence: tuple[str, ...],
        do: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        request = ModelRequest(claim_input(model_path, "model"), do, evidence)
        return function(*args, model=request, **kwargs)

    return wrapper  # type: ignore[return-value]
