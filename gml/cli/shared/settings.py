"""Settings from the environment and from a file: flags > environment > file > defaults.

A command of class `ConfiguredCommand` takes the values of options that were not given on the
command line, and of arguments, from

- the environment: `GML_` and the name of the option in capitals, `-` as `_`: GML_MIN_EFFECT for
  --min-effect, GML_DATA for the argument DATA. An empty variable counts as not set. Flags are 1 or
  0, true or false, yes or no, on or off. A list of names is one CSV record, as on the command line;
  an option that can be repeated has one value per line;
- a file: the table named after the command, `[check]`, of a `gml.toml`, or `[tool.gml.check]` of a
  `pyproject.toml`. Keys are names of options with `-` or `_`. Flags are booleans, options that can
  be repeated arrays, and where they are NAME=VALUE also tables. Paths are relative to the file.

A list on the command line replaces that of the environment, which replaces that of the file. The
file is that of the current folder, or else that of the root of its repository (the nearest folder
upwards with `.git`); in one folder `gml.toml` goes first, and a `pyproject.toml` without the table
is passed over. `gml.cli.shared.settings_file` says which files are trusted, and where they may put
outputs.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gml.cli.shared.command import Command
from gml.cli.shared.option_groups import RUN, with_heading
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.run import claim_input
from gml.cli.shared.setting_values import from_text, from_toml, is_on, takes_assignments
from gml.cli.shared.settings_file import folders, read_settings, require_below, require_trusted
from gml.errors import DataError, UsageError, listing, place, quote, unknown_name
from gml.ledger import note_digest
from gml.progress import StderrReporter

_OWN_FILE, _SHARED_FILE = "gml.toml", "pyproject.toml"
# Options that say where the settings are, or that are needed before they are read.
_NOT_CONFIGURED = {"config", "no-config", "debug", "dry-run", "help", "version"}


class ConfiguredCommand(Command):
    """A command with settings from the environment and from a file.

    `paths` are the keys whose values are paths, or NAME=PATH, of inputs; `outputs` those of
    outputs, to which every option of the type `OutputFile` belongs.
    """

    def __init__(
        self, *args: Any, paths: Iterable[str] = (), outputs: Iterable[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        typed = (key for key, p in self.configurable().items() if isinstance(p.type, OutputFile))
        self.outputs = frozenset((*outputs, *typed))
        self.paths = self.outputs.union(paths)
        self.params += with_heading(
            RUN,
            click.Option(
                ["--config"],
                metavar="FILE",
                expose_value=False,
                help="Take settings from this TOML file; by default from a gml.toml, or a "
                "pyproject.toml with a table tool.gml, here or in the root of the repository, "
                "that only you can write.",
            ),
            click.Option(
                ["--no-config"],
                is_flag=True,
                expose_value=False,
                help="Take no settings from a file.",
            ),
        )
        unknown = self.paths - self.configurable().keys()
        assert not unknown, f"{sorted(unknown)} are no settings of {self.name}"

    def configurable(self) -> dict[str, click.Parameter]:
        """The options and arguments by the keys that a file has for them."""
        keys = {_key(parameter): parameter for parameter in self.params}
        return {key: keys[key] for key in keys if key not in _NOT_CONFIGURED}

    def make_parser(self, ctx: click.Context) -> Any:
        """Take a lone argument for the first, though that takes several: others may be settings."""
        parser = super().make_parser(ctx)
        arguments = [str(p.name) for p in self.params if isinstance(p, click.Argument)]
        return _LoneArgumentFirst(parser, arguments) if len(arguments) > 1 else parser

    def parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse with the settings as defaults; an error in one names its place."""
        if ctx.resilient_parsing:
            return super().parsed(ctx, args)
        given = self.make_parser(ctx).parse_args(list(args))[0]
        asks_for_help = self.get_help_option(ctx)
        if asks_for_help is not None and given.get(str(asks_for_help.name)):
            return super().parsed(ctx, args)
        settings = self._settings(given.get("config"), bool(given.get("no_config")))
        ctx.default_map = settings.values
        ctx.meta["gml.config"] = settings
        try:
            rest = super().parsed(ctx, args)
        except click.BadParameter as error:
            origin = settings.origin(ctx, error.param)
            if isinstance(error, click.MissingParameter) and isinstance(
                error.param, click.Argument
            ):
                raise self._missing(error.param, ctx) from None
            if origin is None:
                raise
            raise UsageError(f"{origin}: {error.message.rstrip('.')}") from None
        settings.require_outputs_below(ctx)
        return rest

    def _missing(self, argument: click.Argument, ctx: click.Context) -> click.UsageError:
        """Say where an argument can be given, too."""
        key = _key(argument)
        return click.UsageError(
            f"Missing argument '{key.upper()}': name it, or put {key} = '...' under "
            f"[{self.name}] in a {_OWN_FILE}",
            ctx,
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; --verbose names the file."""
        settings: _Settings = ctx.meta["gml.config"]
        if settings.file is not None:
            quiet, verbose = (bool(ctx.params.get(name)) for name in ("quiet", "verbose"))
            reporter = StderrReporter(quiet=quiet, verbose=verbose)
            reporter.note(f"settings from {place(settings.file)}")
            if settings.is_writable:
                reporter.warn(f"{place(settings.file)}: others can write these settings")
        return super().invoke(ctx)

    def _settings(self, path: str | None, no_file: bool) -> _Settings:
        if path is not None and no_file:
            raise UsageError("--config and --no-config contradict each other")
        if not no_file and path is None:
            path = os.environ.get("GML_CONFIG") or None
            no_file = path is None and is_on("GML_NO_CONFIG")
        settings = _Settings()
        source = None if no_file else self._source(path)
        if source is not None:
            path = claim_input(source.file, "config")
            note_digest(path, hashlib.sha256(source.content).hexdigest())
            settings.file, settings.is_writable = source.file, source.is_writable
            self._take_table(source, settings)
        for key, parameter in self.configurable().items():
            variable = f"GML_{key.replace('-', '_').upper()}"
            text = os.environ.get(variable, "")
            if text:
                settings.put(parameter, from_text(parameter, text, variable), variable)
        return settings

    def _source(self, path: str | None) -> _Source | None:
        name = str(self.name)
        if path is None:
            return _nearest(name)
        source = _source_in(path, name)
        if source.table is None:
            tables = _titles(name)
            raise DataError(
                f"{path}: has no table {tables[0]} or {tables[1]} to take settings from"
            )
        return source

    def _take_table(self, source: _Source, settings: _Settings) -> None:
        valid = self.configurable()
        for written, value in (source.table or {}).items():
            key = written.replace("_", "-")
            where = f"{source.file}: {source.title}"
            if key not in valid:
                raise UsageError(f"{where}: {unknown_name('key', written, valid)}")
            parameter = valid[key]
            if str(parameter.name) in settings.values:
                raise UsageError(f"{where}: {quote(key)} is given twice, with - and with _")
            origin = f"{where} {key}"
            folder = os.path.dirname(source.file) if key in self.paths else ""  # noqa: PTH120
            settings.put(parameter, from_toml(parameter, value, origin, folder), origin)
            if key in self.outputs:
                settings.outputs[str(parameter.name)] = parameter


class _LoneArgumentFirst:
    """A parser that gives a lone argument to the first parameter, not to the last.

    The parser must not refer to this: it holds the context of the run, which would then live on.
    """

    def __init__(self, parser: Any, arguments: list[str]) -> None:
        self._parser = parser
        self._first, self._last = arguments[0], arguments[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def parse_args(self, args: list[str]) -> Any:
        given, left, order = self._parser.parse_args(args)
        lone = given[self._last]
        if isinstance(lone, str) and not isinstance(given[self._first], str | tuple):
            given[self._first], given[self._last] = (lone,), given[self._first]
        return given, left, order


def settings_file() -> str | None:
    """The file that the running command has settings from, by the name it was found under."""
    found: _Settings = click.get_current_context().meta["gml.config"]
    return found.file


@dataclass
class _Settings:
    """Values by the name of the parameter, and where each comes from."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    file: str | None = None
    is_writable: bool = False
    """Whether others could change the file."""
    outputs: dict[str, click.Parameter] = field(default_factory=dict)
    """Parameters whose value, from the file, says where to write."""

    def put(self, parameter: click.Parameter, value: Any, origin: str) -> None:
        """Take a value, in place of an earlier one."""
        self.values[str(parameter.name)] = value
        self.outputs.pop(str(parameter.name), None)
        self.origins[str(parameter.name)] = origin

    def origin(self, ctx: click.Context, parameter: click.Parameter | None) -> str | None:
        """Where the value in force comes from, unless the command line has one."""
        name = "" if parameter is None else str(parameter.name)
        used = ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        return self.origins.get(name) if used else None

    def require_outputs_below(self, ctx: click.Context) -> None:
        """Refuse an output of the file that lies elsewhere, unless another source overrides it."""
        folder = os.path.dirname(self.file or "")  # noqa: PTH120
        for name, parameter in self.outputs.items():
            origin = self.origin(ctx, parameter)
            if origin is None:
                continue
            values = self.values[name]
            for value in values if isinstance(values, list) else [values]:
                assigned = takes_assignments(parameter) and "=" in value
                require_below(folder, value.partition("=")[2] if assigned else value, origin)


@dataclass(frozen=True)
class _Source:
    """A file, the title and the table of the settings in it (None if it has none)."""

    file: str
    title: str
    table: Mapping[str, Any] | None
    content: bytes
    is_writable: bool


def _key(parameter: click.Parameter) -> str:
    """What a file calls a parameter: the long option, or the argument as the usage line has it."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name)).rstrip(".").lower().replace("_", "-")
    return max(parameter.opts, key=len).lstrip("-")


# --- finding the file --------------------------------------------------------------------------


def _titles(command: str) -> tuple[str, str]:
    return f"[{command}]", f"[tool.gml.{command}]"


def _nearest(command: str) -> _Source | None:
    for folder in folders():
        for name in (_OWN_FILE, _SHARED_FILE):
            path = folder / name
            if path.is_file():
                source = _source_in(os.path.relpath(path), command, found=True)
                if source.table is not None or name == _OWN_FILE:
                    return source
    return None


def _source_in(path: str, command: str, *, found: bool = False) -> _Source:
    """The settings in a file, which was found or else named."""
    raw = read_settings(path)
    if found and Path(path).name == _OWN_FILE:
        require_trusted(path, raw)
    content = _parsed(raw.content, path)
    own, shared = _titles(command)
    tables, title = content, own
    if Path(path).name == _SHARED_FILE or (command not in content and "tool" in content):
        tool = content.get("tool", {})
        tables, title = tool.get("gml", {}) if isinstance(tool, dict) else {}, shared
    if found and tables:
        require_trusted(path, raw)
    if not isinstance(tables, dict):
        raise UsageError(f"{path}: tool.gml is not a table")
    _require_command_names(path, tables, title)
    if not isinstance(tables.get(command, {}), dict):
        raise UsageError(f"{path}: {title.strip('[]')} is not a table")
    return _Source(path, title, tables.get(command), raw.content, raw.is_writable)


def _parsed(raw: bytes, path: str) -> dict[str, Any]:
    try:
        content = tomllib.loads(raw.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
        _require_usable(content)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not TOML: byte {error.start} is not UTF-8") from None
    except ValueError as error:
        raise DataError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply") from None
    return content


def _require_usable(value: Any, key: str = "") -> None:
    """Refuse what TOML says a reader need not hold, and a NUL, which no path can hold."""
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            _require_usable(item, f"{key}.{name}" if key else str(name))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{quote(key)} is an integer beyond 64 bits")
    elif isinstance(value, str) and "\0" in value:
        raise ValueError(f"{quote(key)} holds a NUL character")


def _require_command_names(path: str, tables: Mapping[str, Any], title: str) -> None:
    """Refuse a key outside of a table, and a table that no command takes settings from."""
    from gml.cli.main import COMMANDS

    command = title.strip("[]").rpartition(".")[2]
    for name in (name for name in tables if name != command):
        takers = _commands_with_settings()
        if name in takers:
            continue
        if name in COMMANDS:
            message = f"gml {name} takes no settings; there can be tables for {listing(takers)}"
        else:
            message = f"{unknown_name('table', name, takers)}; settings stand in {title}"
        raise UsageError(f"{path}: {message}")


def _commands_with_settings() -> list[str]:
    from gml.cli.main import COMMANDS, cli

    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in COMMANDS}
    return [name for name, command in found.items() if isinstance(command, ConfiguredCommand)]
