"""--dry-run and `gml plan`: what a run would take, in place of the run.

The words are parsed as ever, and the command calls its verb; there the call is caught, since the
ledger of the run says that it is only planned (`gml.verbs.shared.planned_call`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gml.cli.shared import colours
from gml.cli.shared.option_groups import RUN, under
from gml.cli.shared.output import Output
from gml.cli.shared.run import run_ledger
from gml.ledger import Ledger

if TYPE_CHECKING:
    from gml.verbs.plan import Plan
    from gml.verbs.shared.planned_call import PlannedCall

_OUTPUT, _LEDGER = "gml.plan_output", "gml.plan_ledger"


class PlanOutput(Output):
    """Takes a plan."""

    colours = colours.TABLE

    def write(self, plan: Plan) -> None:
        """Write the plan; it holds no hashes, as the inputs were not read as a whole."""
        from gml.formats.reports.plans import FORMATS

        how = {"safe_csv": self.safe_csv} if self.format == "csv" else {}
        self._send(FORMATS[self.format](plan, **how))


def _only_plan(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        run_ledger().only_planned = True


dry_run_option = under(RUN)(
    click.option(
        "--dry-run",
        is_flag=True,
        expose_value=False,
        callback=_only_plan,
        help="Say what this would take (rows, tests or tables, memory, time) and do nothing; as "
        "gml plan does, which has other formats.",
    )
)
"""--dry-run."""


def plan_into(ctx: click.Context, out: PlanOutput, ledger: Ledger) -> None:
    """Let the command of a context be planned only, and the plan go where another run says."""
    run_ledger().only_planned = True
    ctx.meta[_OUTPUT] = out
    ctx.meta[_LEDGER] = ledger


def write_planned(call: PlannedCall, ctx: click.Context) -> None:
    """Plan a call that was caught, and write the plan."""
    from gml.verbs.plan import plan

    kept: Ledger | None = ctx.meta.get(_LEDGER)
    if kept is not None:
        # The plan itself must not replace what would be read.
        for item in run_ledger().inputs:
            kept.claim(item)
    out: PlanOutput = ctx.meta.get(_OUTPUT) or PlanOutput(None, "text")
    out.write(plan(call.command, call.data, *call.given, **call.keywords))
