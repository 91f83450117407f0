"""Options that mean the same in every command that has them.

Each decorator declares options, consumes their raw values and injects one object, so that commands
get `out`, `deadline` and the like instead of a dozen strings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import click

from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import Real, RealRange, WholeRange
from gml.cli.shared.option_groups import OUTPUT, RUN, under
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.run import run_ledger, was_given
from gml.cli.shared.run_options import DEBUG, IF_CHANGED, MAX_MEMORY, QUIET, THREADS, VERBOSE
from gml.progress import StderrReporter, reporting_to
from gml.resources import available_threads, limited_to, parse_size
from gml.verbs.shared.unrecorded import UNRECORDED

Function = TypeVar("Function", bound=Callable[..., Any])

_OUT_OF_TIME = 5

_THREADS_PER_CORE = 4


def chosen_options() -> dict[str, Any]:
    """Return the options that were given and affect the result, for `learning` in the output."""
    context = click.get_current_context()
    outputs = {
        parameter.name
        for parameter in context.command.params
        if isinstance(parameter.type, OutputFile)
    }
    return {
        keyword: list(value) if isinstance(value, tuple) else value
        for name, value in sorted(context.params.items())
        if (keyword := name.rstrip("_").removesuffix("_path")) not in UNRECORDED
        and name not in outputs
        and was_given(name)
    }


class _Timed(Protocol):
    @property
    def complete(self) -> bool: ...


def exit_code(result: _Timed) -> int:
    """Return the exit code of a learner, which --max-seconds may have stopped."""
    return 0 if result.complete else _OUT_OF_TIME


def _limit_memory(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Put the budget in force for the whole run, before any other option is looked at."""
    if value is not None and not ctx.resilient_parsing:
        ctx.with_resource(limited_to(parse_size(value)))


safe_csv_option = under(OUTPUT)(
    click.option(
        "--safe-csv",
        is_flag=True,
        help="In CSV, put ' before a text that a spreadsheet would run as a formula.",
    )
)


@under(RUN)
def common_options(function: Function) -> Function:
    """The options of every command; runs it with a reporter on standard error.

    --if-changed and --depfile are about all files that are written, whichever option names them.
    """

    @IF_CHANGED.declared()
    @click.option(
        "--depfile",
        type=OutputFile(),
        metavar="FILE",
        help="Write which files were made from which, for Make to include.",
    )
    @MAX_MEMORY.declared(is_eager=True, expose_value=False, callback=_limit_memory)
    @QUIET.declared()
    @VERBOSE.declared()
    @DEBUG.declared()
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        if_changed: bool,
        depfile: str | None,
        quiet: bool,
        verbose: bool,
        debug: bool,
        **kwargs: Any,
    ) -> Any:
        run_ledger().keeps_unchanged = if_changed
        with reporting_to(StderrReporter(quiet=quiet, verbose=verbose)):
            if depfile is None:
                return function(*args, **kwargs)
            from gml.cli.shared.depfile import writing_depfile

            with writing_depfile(depfile):
                return function(*args, **kwargs)

    return cast(Function, wrapper)


def _usable(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    # Each has its own buffers, and more than a few per core only wait for one another.
    return None if value is None else min(value, _THREADS_PER_CORE * available_threads())


threads_option = THREADS.declared(type=WholeRange(min=1), callback=_usable)


def probability(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Check that an option is a probability above 0."""
    if value is not None and not 0 < value <= 1:
        raise click.BadParameter(f"{value} is not between 0 and 1", ctx, param)
    return value


def alpha_option(help_: str, default: float = 0.05) -> Callable[[Function], Function]:
    """--alpha P."""
    return click.option(
        "--alpha", type=Real(), default=default, show_default=True, callback=probability, help=help_
    )


max_seconds_option = keyword_options(
    click.option(
        "--max-seconds",
        type=RealRange(min=0),
        help="Stop after this many seconds with the best so far, and exit 5.",
    ),
    heading=RUN,
)
"""--max-seconds S, injected in `keywords`."""

seed_option = under(RUN)(
    click.option(
        "--seed",
        # Any integer seeds a generator, however large.
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of the random numbers.",
    )
)
