"""The questions that a model of tables is asked, directed or not.

Families come in the order schema, tables, structure, fit; in each, columns in that of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.errors import CannotAnswer
from gml.gate.asked import Asked
from gml.gate.check import UnlikelyRow
from gml.gate.clique_tables import clique_tables, has_counts
from gml.gate.families import (
    CheckedModel,
    FamilyCounts,
    counts_beside,
    family_counts,
)
from gml.gate.fit_checks import fit_check
from gml.gate.likely_rows import has_rows, likely_rows
from gml.gate.margins import column_margins
from gml.gate.number_questions import questions_about_numbers
from gml.gate.question import Question
from gml.gate.range_checks import drift_checks
from gml.gate.rarefaction import OtherReasons
from gml.gate.repeat_checks import RowRepeats, all_are_copies, other_reasons
from gml.gate.schema_checks import ColumnCounts, schema_checks
from gml.gate.selection import Selection, weak_parents
from gml.gate.settings import CheckSettings, Context
from gml.gate.structure_checks import structure_checks
from gml.gate.table_checks import table_checks
from gml.gate.undirected_fit import undirected_fit
from gml.model.baseline import Reference
from gml.model.markovnet import MarkovNet
from gml.model.training import Repeats
from gml.model.undirected.directed import directed


def level_questions(
    net: CheckedModel,
    counter: Counter,
    settings: CheckSettings,
    context: Context,
    *,
    repeats: RowRepeats | None,
    references: Mapping[str, Reference],
) -> Asked:
    """Ask what the families are about."""
    # The schema needs single columns only, and a count file may have no more.
    families = _families(net, counter) if set(settings.families) - {"schema"} else []
    selection = weak_parents(families, len(net.names), settings.alpha)
    notes = []
    if not has_counts(net):
        notes.append("the model has no counts, and so its tables are taken as exact")
    if "fit" in settings.families and not has_rows(counter):
        notes.append("a count file has no rows, so the fit was not looked at")
    questions: list[Question] = []
    unlikely: tuple[UnlikelyRow, ...] = ()
    columns = column_counts(net, counter) if "schema" in settings.families else {}
    if "schema" in settings.families:
        questions += schema_checks(net, columns, context)
        numbers, reasons = context.numbers(net.names), _reasons(net, counter, families, settings)
        questions += questions_about_numbers(numbers, repeats, reasons)
        for name, (before, now) in numbers.items():
            questions += drift_checks(name, before, now)
    if "tables" in settings.families:
        questions += table_checks(families, selection)
    if "structure" in settings.families:
        questions += structure_checks(
            net.graph,
            counter,
            families,
            selection,
            alpha=settings.alpha,
            references=references,
        )
    if "fit" in settings.families:
        fit, unlikely = _fit(net, counter, families, selection, settings)
        questions.append(fit)
    return Asked(questions, unlikely, notes, column_margins(net, columns, families))


def _families(net: CheckedModel, counter: Counter) -> list[FamilyCounts]:
    if isinstance(net, MarkovNet):
        return counts_beside(clique_tables(net), counter, of_cliques=True)
    return family_counts(net, counter)


def _reasons(
    net: CheckedModel,
    counter: Counter,
    families: Sequence[FamilyCounts],
    settings: CheckSettings,
) -> Callable[[Repeats, int], OtherReasons]:
    def found(old: Repeats, size: int) -> OtherReasons:
        if isinstance(net, MarkovNet):
            try:
                network = directed(net).net
            except CannotAnswer:
                return all_are_copies(old, size)
            counts: Sequence[FamilyCounts] = family_counts(network, counter)
        else:
            network, counts = net, families or family_counts(net, counter)
        return other_reasons(network, counts, old, size, settings.seed)

    return found


def column_counts(net: CheckedModel, counter: Counter) -> dict[str, ColumnCounts]:
    """Count the levels of each column of a model that the new rows have."""
    wanted = [j for j, v in enumerate(counter.variables) if v.name in net.names]
    found = {}
    for j, counts in zip(wanted, counter.tables([TableSet((j,)) for j in wanted]), strict=True):
        variable = counter.variables[j]
        # Without rows no configuration was seen, not even the empty one.
        cells: NDArray[np.int64] = counts.table.sum(axis=0)
        found[variable.name] = ColumnCounts(variable.levels or (), cells)
    return found


def _fit(
    net: CheckedModel,
    counter: Counter,
    families: Sequence[FamilyCounts],
    selection: Selection,
    settings: CheckSettings,
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    if isinstance(net, MarkovNet):
        return undirected_fit(net, counter, families, selection, settings)
    found = likely_rows(families, counter, settings) if families else None
    fit = fit_check(net, families, selection, found, counter.n)
    return fit, () if found is None else found.unlikely
