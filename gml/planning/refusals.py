"""What a plan says would be refused, and what it cannot know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gml.data.options import STREAM
from gml.errors import CannotAnswer, DataError, GmlError, UsageError, counted, parameter
from gml.planning.pilots import Pilot
from gml.planning.plan import Memory, Plan, Refusal
from gml.planning.samples import Source
from gml.planning.watching import is_watched
from gml.resources import format_size


def refused_for(draft: Plan, error: GmlError, source: Source) -> Plan:
    """List what the rows are refused for; whatever else is wrong ends the plan."""
    message = str(error.args[0]) if error.args else str(error)
    is_of_rows = isinstance(error, DataError) and is_watched(error.source)
    if isinstance(error, UsageError) or (error.exit_code == 3 and not is_of_rows):
        raise error
    if source.n_rows < source.size.rows:
        message = f"in {counted(source.n_rows, 'row')} looked at: {message}"
    return replace(draft, refused=(Refusal(error.exit_code, message),))


def of_rows_needed(draft: Plan, options: Mapping[str, Any], *, is_one: bool) -> list[str]:
    """Say that a stream may not have the rows that are drawn from or split."""
    if draft.engine != STREAM or (is_one and options.get("folds") is None):
        return []
    assert draft.memory is not None
    if draft.memory.codes <= draft.memory.budget // 2:
        return []
    what = parameter("bootstrap" if options.get("folds") is None else "folds")
    return [
        f"{what} needs the rows in memory, which take more than half of {parameter('max_memory')}: "
        "the run is refused (exit 4) unless the different ones fit into a quarter of it"
    ]


def without_pilots(draft: Plan, error: CannotAnswer) -> Plan:
    """Say why nothing is known beyond the table: few rows were refused, which all may not be."""
    why = str(error.args[0]) if error.args else str(error)
    note = f"a pilot on fewer rows was refused, so work and time are not known: {why}"
    return replace(draft, notes=(*draft.notes, note))


def too_large(memory: Memory) -> tuple[Refusal, ...]:
    """Refuse the largest table, if memory does not hold it."""
    if memory.table <= memory.budget:
        return ()
    return (
        Refusal(
            4,
            f"a table would take up to {format_size(memory.table)}, more than "
            f"{parameter('max_memory')} allows ({format_size(memory.budget)})",
        ),
    )


def unfinished(*pilots: Pilot) -> list[str]:
    """Say which pilots were stopped, so that there is no upper end."""
    notes = []
    for pilot in pilots:
        if pilot.complete:
            continue
        how, what = "", "how much more there is to do"
        if pilot.watch.in_passes:
            how, what = " in passes", "how many passes are spared"
        notes.append(
            f"the pilot{how} on {counted(pilot.rows, 'row')} was stopped after "
            f"{pilot.seconds:.1f} s: {what} is not known"
        )
    return notes
