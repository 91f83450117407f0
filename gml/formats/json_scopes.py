"""What terms of undirected models and features of conditional ones have alike: a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gml.data.dataset import Variable
from gml.errors import GraphError, unknown_name


def scope_in(given: Any, where: str, keys: Sequence[str]) -> list[str]:
    """Return the names in the "scope" of an object that has no other keys than these."""
    if not isinstance(given, dict):
        raise GraphError(f"{where} is not an object")
    for key in given:
        if key not in keys:
            raise GraphError(f"{where}: {unknown_name('key', key, keys)}")
    names = given.get("scope")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise GraphError(f'{where}: the "scope" is not a list of names')
    return names


def variables_of(
    names: Sequence[str], where: str, variables: Mapping[str, Variable]
) -> tuple[Variable, ...]:
    """Return the nodes of a scope; others are refused."""
    for name in names:
        if name not in variables:
            raise GraphError(f"{where}: {unknown_name('node', name, variables)}")
    return tuple(variables[name] for name in names)
