"""Plans of runs, in sessions and in notebooks. Whoever shows one has the room of plans already."""

from __future__ import annotations

from typing import Any

from gml.formats.reports.plans import as_text, lines_of_plan
from gml.pictures.notebook.tables import block, strong, table


def plan_html(plan: Any) -> str:
    """Return what a run would take, as a table."""
    return block(strong(f"gml {plan.command}"), table(lines_of_plan(plan), headers=["what"]))


def plan_text(plan: Any) -> str:
    """Return what a run would take, as the command line writes it."""
    return as_text(plan).rstrip("\n")
