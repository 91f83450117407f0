"""The report of raking: a summary, and for each target the share before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gml.errors import agreeing, counted
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text, encode
from gml.formats.reports.rows import Row, as_csv, as_markdown, as_text
from gml.model.raking.projection import CONVERGED
from gml.model.raking.result import Raking, row_of


def as_object(raking: Raking) -> dict[str, Any]:
    """Return the JSON object."""
    return {
        "rows": raking.rows,
        "left_out": raking.left_out,
        "without_weight": raking.without_weight,
        "bounds": None if raking.bounds is None else list(raking.bounds),
        "iterations": raking.iterations,
        "largest_residual": raking.largest_residual,
        "design_effect": raking.design_effect,
        "effective_rows": raking.effective_rows,
        "smallest_weight": raking.smallest,
        "largest_weight": raking.largest,
        "targets": [
            {
                "margin": list(cell.names),
                "levels": list(cell.levels),
                "rows": cell.rows,
                "before": cell.before,
                "target": cell.target,
                "after": cell.after,
            }
            for cell in raking.cells
        ],
    }


def summary(raking: Raking) -> str:
    """One line for people."""
    n_margins = len({cell.names for cell in raking.cells})
    said = [
        f"{counted(raking.rows, 'row')}, {counted(n_margins, 'margin')} met after "
        f"{counted(raking.iterations, 'step')} (residuals {_size(raking)})",
        f"weights from {raking.smallest:.4g} to {raking.largest:.4g}",
        f"design effect {raking.design_effect:.4g}, so {raking.effective_rows:.6g} effective rows",
    ]
    if raking.without_weight:
        n_rows = raking.without_weight
        said.append(f"{counted(n_rows, 'row')} {agreeing(n_rows, 'has', 'have')} the weight 0")
    return "; ".join(said)


def _size(raking: Raking) -> str:
    """How large residuals are; below what is asked for, only rounding decides."""
    found = raking.largest_residual
    return f"below {CONVERGED:g}" if found < CONVERGED else f"up to {found:.2g}"


def _table(raking: Raking) -> list[Row]:
    return [row_of(cell) for cell in raking.cells]


def _as_json(raking: Raking, *, inputs: Hashes = NO_INPUTS) -> str:
    return document_text({"schema": SCHEMA, **as_object(raking)}, inputs)


def _as_csv(raking: Raking, *, safe_csv: bool = False) -> str:
    return as_csv(_table(raking), safe_csv=safe_csv)


FORMATS: dict[str, Callable[..., str]] = {
    "text": lambda raking: f"{summary(raking)}\n{as_text(_table(raking))}",
    "json": _as_json,
    "jsonl": lambda raking: encode(as_object(raking)) + "\n",
    "csv": _as_csv,
    "markdown": lambda raking: f"{summary(raking)}\n\n{as_markdown(_table(raking))}",
}
"""From a raking to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
