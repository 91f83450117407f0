"""What a value in the environment or in a file of settings means, for click to convert further."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from gml.cli.shared.parameter_types import NameList, parse_list
from gml.errors import UsageError, quote


def is_on(variable: str) -> bool:
    """Whether an environment variable turns something on."""
    text = os.environ.get(variable, "")
    try:
        return bool(text) and bool(click.BOOL.convert(text, None, None))
    except click.BadParameter as error:
        raise UsageError(f"{variable}: {error.message.rstrip('.')}") from None


def _is_repeated(parameter: click.Parameter) -> bool:
    return bool(parameter.multiple) or parameter.nargs == -1


def takes_assignments(parameter: click.Parameter) -> bool:
    """Whether the values of a parameter are NAME=VALUE."""
    return _is_repeated(parameter) and "=" in (parameter.metavar or "")


def _is_flag(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.is_flag


def from_text(parameter: click.Parameter, text: str, origin: str) -> Any:
    """The value in an environment variable; click converts it as it does those of flags."""
    if not _is_repeated(parameter):
        return text
    if isinstance(parameter.type, NameList):
        return [_record(text, origin)]
    return [line for line in text.splitlines() if line.strip()]


def from_toml(parameter: click.Parameter, value: Any, origin: str, folder: str) -> Any:
    """The value of a key, for click to convert further."""
    if _is_flag(parameter):
        if not isinstance(value, bool):
            raise UsageError(f"{origin}: {_shown(value)} is not true or false")
        return value
    if isinstance(parameter.type, NameList):
        return [_record(value, origin) if isinstance(value, str) else _names(value, origin)]
    if not _is_repeated(parameter):
        return _within(folder, _scalar(parameter, value, origin))
    if isinstance(value, dict):
        if not takes_assignments(parameter):
            raise UsageError(f"{origin}: is a table, where values are expected")
        return [
            f"{name}={_within(folder, _text_of(item, f'{origin}.{name}'))}"
            for name, item in value.items()
        ]
    items = value if isinstance(value, list) else [value]
    scalars = [_scalar(parameter, item, origin) for item in items]
    if not takes_assignments(parameter):
        return [_within(folder, item) for item in scalars]
    return [_assigned_within(folder, item) for item in scalars]


def _record(text: str, origin: str) -> tuple[str, ...]:
    """Names as on the command line, one CSV record."""
    try:
        return parse_list(text)
    except UsageError as error:
        raise UsageError(f"{origin}: {error}") from None


def _names(value: Any, origin: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageError(f"{origin}: is not an array of names in quotes")
    return tuple(value)


def _scalar(parameter: click.Parameter, value: Any, origin: str) -> Any:
    if isinstance(parameter.type, click.types.IntParamType):
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"{origin}: {_shown(value)} is not a whole number")
        return value
    if isinstance(parameter.type, click.types.FloatParamType):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise UsageError(f"{origin}: {_shown(value)} is not a number")
        return value
    return _text_of(value, origin)


def _text_of(value: Any, origin: str) -> str:
    """A string, or a number as it would be written on the command line."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{origin}: {_shown(value)} is not a string")
    return value if isinstance(value, str) else repr(value)


def _within(folder: str, value: Any) -> Any:
    """A path relative to the folder of the file; nothing happens to what is no path."""
    return value if not folder or value in ("", "-") else os.path.join(folder, value)  # noqa: PTH118


def _assigned_within(folder: str, item: str) -> str:
    name, equals, value = item.partition("=")
    return f"{name}={_within(folder, value)}" if equals else item


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | Sequence) and not isinstance(value, str):
        return "a table" if isinstance(value, dict) else "an array"
    return quote(value) if isinstance(value, str) else str(value)
