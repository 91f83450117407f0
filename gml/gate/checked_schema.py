"""What a schema declares about the columns of a model that is checked, and what is left out."""

from __future__ import annotations

from dataclasses import replace

from gml.data.discretize import cuts_of_levels, interval_levels
from gml.data.levels import NA_LEVEL
from gml.data.options import ReadOptions
from gml.data.schema import Schema, with_levels
from gml.gate.families import CheckedModel


def declared_levels(schema: Schema, net: CheckedModel) -> dict[str, tuple[str, ...]]:
    """The levels declared by hand, intervals included; a profile has none for missing."""
    cut = {name: interval_levels(cuts) for name, cuts in schema.cuts.items()}
    declared = {**schema.levels, **schema.intervals, **cut}
    return {
        v.name: (*declared[v.name], *(level for level in v.levels or () if level == NA_LEVEL))
        for v in net.variables
        if v.name in declared
    }


def lenient(schema: Schema, net: CheckedModel) -> Schema:
    """A schema that expects levels but refuses none; intervals stay intervals."""
    levels = {v.name: v.levels for v in net.variables if v.levels is not None}
    cuts = {
        name: cuts
        for name, cuts in schema.cuts.items()
        if cuts_of_levels(levels.get(name, ())) != cuts
    }
    known = with_levels(replace(schema, cuts=cuts), levels)
    # Numbers of a column that was cut lie in its intervals.
    kinds = {name: kind for name, kind in schema.kinds.items() if name not in levels}
    return replace(known, levels={}, expected={**known.levels, **known.intervals}, kinds=kinds)


def left_out_of(options: ReadOptions, net: CheckedModel) -> tuple[str, ...]:
    """The columns of the model that the options leave out, or that never were columns."""
    chosen = net.names if options.columns is None else options.columns
    without = {*options.exclude, *net.graph.hidden}
    return tuple(name for name in net.names if name not in chosen or name in without)
