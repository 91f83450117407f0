"""The questions that a model of numbers is asked.

Families come in the order schema, tables, structure, fit; in each, columns in that of the model.
"""

from __future__ import annotations

from collections.abc import Mapping

from gml.data.dataset import Dataset
from gml.gate.asked import Asked
from gml.gate.check import UnlikelyRow
from gml.gate.gaussian_families import gaussian_families
from gml.gate.gaussian_fit import gaussian_fit_check, least_likely_rows
from gml.gate.gaussian_schema import gaussian_schema_checks
from gml.gate.gaussian_structure import gaussian_structure_checks
from gml.gate.gaussian_tables import gaussian_table_checks
from gml.gate.number_questions import questions_about_numbers
from gml.gate.number_rows import number_rows, without_far_rows
from gml.gate.question import Question
from gml.gate.repeat_checks import RowRepeats, all_are_copies
from gml.gate.settings import CheckSettings, Context
from gml.model.baseline import Reference
from gml.model.bayesnet import BayesNet, LinearGaussian

NOTHING_KEPT = (
    "the model keeps nothing of the rows that it was fitted on (an older version made it, or the "
    "rows counted in part), so tables, edges, drift and fit cannot be compared; fit it again"
)
OF_EM = (
    "regressions that EM fitted to incomplete rows keep nothing of these, so that their tables, "
    "edges and fit cannot be compared"
)


def notes_on_kept(net: BayesNet, lacking: bool) -> list[str]:
    """Say that regressions cannot be compared with rows, and why, where that is so."""
    if not lacking:
        return []
    return [OF_EM if isinstance(net.learning.get("em"), dict) else NOTHING_KEPT]


def gaussian_questions(
    net: BayesNet,
    data: Dataset,
    settings: CheckSettings,
    context: Context,
    *,
    repeats: RowRepeats | None,
    references: Mapping[str, Reference],
) -> Asked:
    """Ask what the families are about."""
    present = [name for name in net.names if name in data.names]
    rows = number_rows(data.select(present))
    near, notes = without_far_rows(rows, context.numbers_before)
    found = gaussian_families(net, near, settings.alpha)
    questions: list[Question] = []
    unlikely: tuple[UnlikelyRow, ...] = ()
    if "schema" in settings.families:
        questions += gaussian_schema_checks(net, rows, context)
        numbers = context.numbers(net.names)
        questions += questions_about_numbers(numbers, repeats, all_are_copies)
    if "tables" in settings.families:
        questions += gaussian_table_checks(found, len(net.names))
    if "structure" in settings.families:
        questions += gaussian_structure_checks(
            net.graph, near, found, alpha=settings.alpha, references=references
        )
    if "fit" in settings.families:
        fit, errors = gaussian_fit_check(net, found, near)
        questions.append(fit)
        if errors is not None:
            unlikely = least_likely_rows(net, near, errors, settings.unlikely_rows)
    lacking = [c for c in net.cpds if isinstance(c, LinearGaussian) and c.rows is None]
    return Asked(questions, unlikely, [*notes, *notes_on_kept(net, bool(lacking))])
