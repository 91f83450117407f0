"""What all commands have in common: help in groups, and answers to wrong guesses."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.option_groups import HEADINGS, RUN, heading_of
from gml.errors import DataError
from gml.verbs.shared.planned_call import PlannedCall
from gml.verbs.shared.swapped import SwappedArguments


class Command(click.Command):
    """A command whose help lists options by what they are about."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command itself, followed by those of each heading."""
        found: dict[str | None, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                is_help = parameter is self.get_help_option(ctx)
                found.setdefault(RUN if is_help else heading_of(parameter), []).append(record)
        for heading in (None, *HEADINGS):
            if heading in found:
                with formatter.section(f"{heading} options" if heading else "Options"):
                    formatter.write_dl(found[heading])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; an unknown option is answered with the one that was meant."""
        # Parsing takes words off the list.
        typed = list(args)
        try:
            return self.parsed(ctx, args)
        except click.NoSuchOption as error:
            from gml.cli.shared.guesses import unknown_option

            raise click.UsageError(unknown_option(ctx, error.option_name, typed), ctx) from None

    def parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does."""
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, or plan it; if arguments were mixed up, say how they should stand."""
        try:
            return super().invoke(ctx)
        except PlannedCall as call:
            from gml.cli.shared.planning import write_planned

            return write_planned(call, ctx)
        except SwappedArguments as error:
            from gml.cli.shared.guesses import in_right_order

            raise in_right_order(error, ctx) from error
        except DataError as error:
            from gml.cli.shared.guesses import misplaced_file

            hint = misplaced_file(self, ctx)
            if hint is None:
                raise
            raise DataError(hint) from error
