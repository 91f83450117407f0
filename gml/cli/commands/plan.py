"""gml plan COMMAND …: what a command would take, before it is run."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.output_options import plan_output
from gml.cli.shared.planning import PlanOutput, plan_into
from gml.cli.shared.run import run_ledger
from gml.errors import UsageError


@click.command(
    "plan",
    cls=Command,
    context_settings={"allow_interspersed_args": False},
    epilog="\b\nExamples:\n"
    "  gml plan pc survey.csv --alpha 0.001           # tests, memory and time of this command\n"
    "  gml pc survey.csv --alpha 0.001 --dry-run      # the same\n"
    "  gml plan -f json ges survey.parquet --max-memory 2G\n"
    "  gml plan exact survey.csv --max-parents 3\n"
    "  gml plan average survey.csv --by hc --bootstrap 500 --threads 8\n"
    "  gml plan check new.csv model.json\n"
    "\n\b\n"
    "Options of gml plan itself stand before COMMAND.",
)
@click.argument("name", metavar="COMMAND")
@click.argument("words", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@plan_output
@common_options
def command(name: str, words: tuple[str, ...], out: PlanOutput) -> None:
    """Say what COMMAND would take, and do not run it.

    The plan has rows, columns and levels, the expected number of tests or families by size, the
    largest table, memory, passes over the rows, and time; and what would be refused. It takes a
    second or two: a sample of the rows is read, and the command is run on a few of them. Numbers of
    tables are exact where they do not depend on the data; what a learner asks, and its time, are
    ranges. Times are CPU seconds on this machine, without the start of the program.

    There are plans of average, check, chowliu, count, exact, fit-params, ges, hc, imap, indtest, pc
    and score. DATA must be a file: standard input can be read only once.
    """
    from gml.cli.main import COMMANDS, cli
    from gml.cli.shared.guesses import unknown_command
    from gml.verbs.plan import PLANNED

    root = click.get_current_context().find_root()
    if name not in COMMANDS:
        raise click.UsageError(unknown_command(name, COMMANDS), root)
    if name not in PLANNED:
        raise UsageError(f"gml {name} has no plan; there are plans of {', '.join(PLANNED)}")
    planned = cli.get_command(root, name)
    assert planned is not None
    ledger = run_ledger()
    # A run of its own: its outputs are not those of this one, and none of them is written.
    with planned.make_context(f"gml {name}", list(words)) as context:
        plan_into(context, out, ledger)
        planned.invoke(context)
