"""The questions that a model of numbers is asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gml.data.dataset import Dataset
from gml.gate.baseline import Reference
from gml.gate.gaussian_families import gaussian_families
from gml.gate.gaussian_fit import gaussian_fit_check, least_likely_rows
from gml.gate.gaussian_schema import gaussian_schema_checks
from gml.gate.gaussian_structure import gaussian_structure_checks
from gml.gate.gaussian_tables import gaussian_table_checks
from gml.gate.number_rows import number_rows
from gml.gate.question import Asked, Question
from gml.gate.result import UnlikelyRow
from gml.gate.schema_checks import MissingCells
from gml.model.bayesnet import BayesNet, LinearGaussian

NOTHING_KEPT = (
    "the model keeps nothing of the rows that it was fitted on (an older version made it, or the "
    "rows counted in part), so tables, edges, drift and fit cannot be compared; fit it again"
)


def gaussian_questions(
    net: BayesNet,
    data: Dataset,
    *,
    families: Collection[str],
    alpha: float,
    decimal: str,
    left_out: Collection[str],
    other_columns: Collection[str],
    missing_before: Mapping[str, MissingCells],
    missing_now: Mapping[str, MissingCells],
    references: Mapping[str, Reference],
    unlikely_rows: int,
) -> Asked:
    """Ask what the families are about."""
    rows = number_rows(data.select([name for name in net.names if name in data.names]), decimal)
    found = gaussian_families(net, rows, alpha)
    questions: list[Question] = []
    unlikely: tuple[UnlikelyRow, ...] = ()
    if "schema" in families:
        questions += gaussian_schema_checks(
            net,
            rows,
            left_out=left_out,
            other_columns=other_columns,
            missing_before=missing_before,
            missing_now=missing_now,
        )
    if "tables" in families:
        questions += gaussian_table_checks(found, len(net.names))
    if "structure" in families:
        questions += gaussian_structure_checks(
            net.graph, rows, found, alpha=alpha, references=references
        )
    if "fit" in families:
        fit, errors = gaussian_fit_check(net, found, rows)
        questions.append(fit)
        if errors is not None:
            unlikely = least_likely_rows(net, rows, errors, unlikely_rows)
    lacking = [c for c in net.cpds if isinstance(c, LinearGaussian) and c.rows is None]
    return Asked(questions, unlikely, [NOTHING_KEPT] if lacking else [])
