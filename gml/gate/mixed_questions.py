"""The questions that a model of numbers is asked, or of labels and numbers.

A label has no parents that are numbers, so the labels by themselves are a model of labels, and are
asked what such a model is (`level_questions`). Numbers are asked about their regression, or that of
each configuration of the labels that they depend on. Families come in the order schema, tables,
structure, fit; in each, columns in that of the model as far as they have questions of their own.
Without labels, the fit has a test of its own (`gaussian_fit`), which needs no shares by
configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gml.counts.chunked_rows import ChunkedRows
from gml.counts.counter import Counter
from gml.counts.number_rows import NumberReader
from gml.counts.row_sums import NumberTable
from gml.data.dataset import Variable
from gml.errors import DataError, parameter, quote
from gml.gate.asked import Asked
from gml.gate.check import ERRORS, UnlikelyRow
from gml.gate.clique_tables import has_counts
from gml.gate.families import family_counts
from gml.gate.far_rows import without_far_rows
from gml.gate.gaussian_fit import gaussian_fit_check
from gml.gate.gaussian_schema import number_schema_checks, presence_checks
from gml.gate.level_questions import column_counts
from gml.gate.margins import column_margins
from gml.gate.mixed_families import (
    NumberNode,
    number_cpds,
    number_nodes,
    number_nodes_of_sums,
)
from gml.gate.mixed_fit import mixed_fit_check
from gml.gate.mixed_structure import edge_checks, mixed_structure_checks
from gml.gate.mixed_tables import mixed_table_checks
from gml.gate.number_questions import questions_about_numbers
from gml.gate.question import Question
from gml.gate.range_checks import drift_checks
from gml.gate.repeat_checks import RowRepeats, all_are_copies
from gml.gate.schema_checks import ColumnCounts, schema_checks
from gml.gate.selection import weak_parents
from gml.gate.settings import CheckSettings, Context
from gml.gate.structure_checks import structure_checks
from gml.gate.table_checks import table_checks
from gml.model.baseline import Reference
from gml.model.bayesnet import CPT, BayesNet

NOTHING_KEPT = (
    "the model keeps nothing of the rows that it was fitted on (an older version made it, or the "
    "rows counted in part), so tables, edges, drift and fit cannot be compared; fit it again"
)
OF_EM = (
    "of regressions that EM fitted with hidden parents, or with too few rows that have all their "
    "values, the model keeps no rows, so that their tables, edges and fit cannot be compared"
)


def notes_on_kept(net: BayesNet, lacking: bool) -> list[str]:
    """Say that regressions cannot be compared with rows, and why, where that is so."""
    if not lacking:
        return []
    return [OF_EM if isinstance(net.learning.get("em"), dict) else NOTHING_KEPT]


def mixed_questions(
    net: BayesNet,
    counter: Counter,
    rows: ChunkedRows,
    settings: CheckSettings,
    context: Context,
    *,
    repeats: RowRepeats | None,
    references: Mapping[str, Reference],
) -> Asked:
    """Ask what the families are about."""
    labels = BayesNet(tuple(cpd for cpd in net.cpds if isinstance(cpd, CPT)))
    table = NumberTable(rows, NumberReader.of(rows.variables, labels.names, rows.decimal))
    numeric = {cpd.variable.name for cpd in number_cpds(net)}
    before = {name: found for name, found in context.numbers_before.items() if name in numeric}
    near, notes = without_far_rows(table, before, context.as_read)
    counter = counter.select([name for name in labels.names if name in rows.names])
    families = family_counts(labels, counter)
    selection = weak_parents(families, len(net.names), settings.alpha)
    nodes = number_nodes(net, near, settings.alpha)
    columns = column_counts(labels, counter)
    questions: list[Question] = []
    unlikely: tuple[UnlikelyRow, ...] = ()
    if "schema" in settings.families:
        questions += _schema(net, labels, table, columns, context)
        numbers = context.numbers(net.names)
        questions += questions_about_numbers(numbers, repeats, all_are_copies)
        for name in (name for name in labels.names if name in numbers):
            questions += drift_checks(name, *numbers[name])
    if "tables" in settings.families:
        asked = table_checks(families, selection)
        for node in nodes:
            asked += mixed_table_checks(node, len(net.names))
        questions += _in_order(net, asked)
    if "structure" in settings.families:
        questions += structure_checks(
            labels.graph,
            counter,
            families,
            selection,
            alpha=settings.alpha,
            references=references,
        )
        questions += mixed_structure_checks(
            net.graph, near, nodes, labels.names, alpha=settings.alpha, references=references
        )
    if "fit" in settings.families:
        if labels.cpds:
            fit, unlikely = mixed_fit_check(net, families, nodes, selection, near, settings)
        else:
            lines = [family for node in nodes for family in node.families]
            fit, unlikely = gaussian_fit_check(net, lines, near, settings.unlikely_rows)
        questions.append(fit)
    lacking = _is_lacking(net)
    if not has_counts(labels):
        notes = [*notes, "the model has no counts, and so its tables are taken as exact"]
    margins = column_margins(labels, columns, families)
    return Asked(questions, unlikely, [*notes, *notes_on_kept(net, lacking)], margins)


def _is_lacking(net: BayesNet) -> bool:
    """Whether nothing is kept of the rows behind some regression."""
    # A configuration that no row was of has nothing to keep.
    fitted = [
        line
        for cpd in number_cpds(net)
        for line in cpd.regressions
        if line.n is not None or line.expected_n or not cpd.label_parents
    ]
    return not fitted or any(line.rows is None for line in fitted)


SUMS_ALONE = (
    "there are sums of numbers, and no rows, so that ranges, drift, errors, the independences of "
    "numbers and the fit were not looked at"
)


def questions_of_sums(
    net: BayesNet,
    counter: Counter,
    settings: CheckSettings,
    context: Context,
    *,
    references: Mapping[str, Reference],
) -> Asked:
    """Ask what tables of labels, and sums of numbers within their configurations, can answer."""
    labels = BayesNet(tuple(cpd for cpd in net.cpds if isinstance(cpd, CPT)))
    there = {variable.name: variable for variable in counter.variables}
    _require_kinds(net, there, counter.where)
    of_labels = counter.select([name for name in labels.names if name in there])
    families = family_counts(labels, of_labels)
    selection = weak_parents(families, len(net.names), settings.alpha)
    columns = column_counts(labels, of_labels)
    nodes: list[NumberNode] = []
    if {"tables", "structure"} & {*settings.families}:
        nodes = number_nodes_of_sums(net, counter, settings.alpha)
    questions: list[Question] = []
    if "schema" in settings.families:
        asked = schema_checks(labels, columns, context)
        for cpd in number_cpds(net):
            asked += presence_checks(cpd.variable.name, there, context)
        questions += _in_order(net, asked)
    if "tables" in settings.families:
        asked = table_checks(families, selection)
        for node in nodes:
            of_node = mixed_table_checks(node, len(net.names))
            asked += [question for question in of_node if question.check.kind != ERRORS]
        questions += _in_order(net, asked)
    if "structure" in settings.families:
        questions += structure_checks(
            labels.graph,
            of_labels,
            families,
            selection,
            alpha=settings.alpha,
            references=references,
        )
        questions += edge_checks(nodes, settings.alpha)
    notes = [SUMS_ALONE, *notes_on_kept(net, _is_lacking(net))]
    return Asked(questions, (), notes, column_margins(labels, columns, families))


def _require_kinds(net: BayesNet, there: Mapping[str, Variable], where: str) -> None:
    for variable in net.variables:
        found = there.get(variable.name)
        if found is not None and found.is_continuous != variable.is_continuous:
            kinds = ("labels", "numbers")
            mine, theirs = (kinds[some.is_continuous] for some in (variable, found))
            raise DataError(
                f"{where}: {quote(variable.name)} was counted as {theirs}, and the model has "
                f"{mine}; count the rows again with {parameter('graph')}, the model"
            )


def _schema(
    net: BayesNet,
    labels: BayesNet,
    table: NumberTable,
    columns: Mapping[str, ColumnCounts],
    context: Context,
) -> list[Question]:
    questions = schema_checks(labels, columns, context)
    return _in_order(net, [*questions, *number_schema_checks(number_cpds(net), table, context)])


def _in_order(net: BayesNet, questions: Sequence[Question]) -> list[Question]:
    """Questions about single columns, in the order of the model."""
    return sorted(questions, key=lambda question: net.index(question.check.variables[0]))
