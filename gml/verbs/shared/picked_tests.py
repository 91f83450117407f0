"""Which tests `auto` picks over a table with numbers, said once and recorded."""

from __future__ import annotations

from typing import Any

from gml.counts.counter import Counter
from gml.progress import reporter
from gml.verbs.shared.chosen_methods import DEFAULT_TEST, ChosenTest


def tests_picked(chosen: ChosenTest, counter: Counter) -> dict[str, Any]:
    """Say which tests are picked where, and return that for the provenance; empty for labels."""
    if chosen.name != DEFAULT_TEST:
        return {}
    from gml.independence.automatic import described_picks, picked_for

    picked = picked_for(counter.variables)
    if not picked:
        return {}
    reporter().tell(described_picks(picked))
    return {"picked": picked}
