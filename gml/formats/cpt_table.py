"""Tables of a model for spreadsheets, one CSV file per node, and for people, as aligned text.

CSV has one row per cell: one column per parent, one for the level, named after the variable, `p`,
then `lower` and `upper` if intervals are known, `count` if counts are and `expected_count` if EM
expected some, in this order; if a node has such a name, the column is `p_`, `count_` and so on. A
node of numbers has one row per term:
`term`, `estimate`, `lower`, `upper`; where it has a regression per configuration of labels, the
columns of these parents come first, and `count`, the rows behind a regression, last.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gml.data.safe_cells import cell
from gml.formats.reports.em import dump_em_text
from gml.formats.text_room import require_table_text
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.network import Cpd
from gml.printable_text import visible
from gml.text_table import aligned

_NEVER_SEEN = "(never seen)"
# Digits after the point: what EM leaves to change is noise after them.
_LEFT_BY_EM = 9
# A share of the information that is shown as more than 0 %.
_NOTICEABLE = 0.005


def dump_table(cpd: Cpd, *, safe_csv: bool = False) -> str:
    """Return the distribution of one node as CSV; see `gml.data.safe_cells` for `safe_csv`."""
    require_table_text([cpd], "CSV")
    if isinstance(cpd, LinearGaussian):
        header = ["term", "estimate"] + ["lower", "upper"] * (cpd.intervals is not None)
        rows: Iterable[list[Any]] = _terms(cpd)
    elif isinstance(cpd, ConditionalGaussian):
        names = [parent.name for parent in cpd.label_parents]
        own = ["term", "estimate"] + ["lower", "upper"] * cpd.has_intervals
        own += ["count"] * (cpd.n is not None)
        header = [*names, *(unlike(column, names) for column in own)]
        rows = _terms_by_configuration(cpd)
    else:
        names = [*(parent.name for parent in cpd.parents), cpd.variable.name]
        own = ["p"] + ["lower", "upper"] * (cpd.intervals is not None)
        own += ["count"] * (cpd.counts is not None)
        own += ["expected_count"] * (cpd.expected_counts is not None)
        header = [*names, *(unlike(column, names) for column in own)]
        rows = _cells(cpd)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(cell(name, safe_csv) for name in header)
    writer.writerows([_known(value, safe_csv) for value in row] for row in rows)
    return text.getvalue()


def unlike(column: str, names: Sequence[str]) -> str:
    """Return a name for a column that is none of these names."""
    while column in names:
        column += "_"
    return column


def _known(value: Any, safe: bool) -> Any:
    """The shortest float that reads back, and nothing where a quantity does not apply."""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return cell(value, safe) if isinstance(value, str) else value


def _cells(cpt: CPT) -> Iterable[list[Any]]:
    table = cpt.table.tolist()
    intervals = None if cpt.intervals is None else cpt.intervals.tolist()
    counts = [
        counted.tolist() for counted in (cpt.counts, cpt.expected_counts) if counted is not None
    ]
    for row, labels in enumerate(cpt.configurations()):
        for column, level in enumerate(cpt.variable.levels or ()):
            line = [*labels, level, table[row][column]]
            if intervals is not None:
                line += intervals[row][column]
            yield [*line, *(counted[row][column] for counted in counts)]


def _terms(cpd: LinearGaussian) -> list[list[Any]]:
    names = ["(intercept)", *(parent.name for parent in cpd.parents), "(sd)"]
    estimates = [cpd.intercept, *cpd.coefficients, cpd.sd]
    bounds: Sequence[tuple[float, ...]] = cpd.intervals or [()] * len(names)
    return [
        [name, estimate, *pair]
        for name, estimate, pair in zip(names, estimates, bounds, strict=True)
    ]


def _terms_by_configuration(cpd: ConditionalGaussian) -> Iterable[list[Any]]:
    unknown = [math.nan, math.nan] * cpd.has_intervals
    for labels, line in zip(cpd.configurations(), cpd.regressions, strict=True):
        count = [line.n or 0] * (cpd.n is not None)
        for name, estimate, *bounds in _terms(line):
            yield [*labels, name, estimate, *(bounds or unknown), *count]


def dump_text(net: BayesNet) -> str:
    """Return the tables for people, numbers to 6 significant digits."""
    require_table_text(net.cpds, "text")
    fitted = net.learning.get("em")
    em = fitted if isinstance(fitted, dict) else {}
    parts = [dump_em_text(em)] if em else []
    missing = em.get("missing_information")
    for cpd in net.cpds:
        given = ", ".join(visible(parent.name) for parent in cpd.parents)
        title = f"{visible(cpd.variable.name)}{f' given {given}' if given else ''}"
        title += _about_fit(cpd, missing if isinstance(missing, dict) else {})
        if isinstance(cpd, LinearGaussian):
            behind = cpd.n if cpd.expected_n is None else cpd.expected_n
            if behind is not None:
                title += f"  ({behind:g} rows)"
            header = ["", "estimate"] + ["lower", "upper"] * (cpd.intervals is not None)
            rows = [[visible(row[0]), *map(_number, row[1:])] for row in _terms(cpd)]
            parts.append(_below(title, 1, [header, *rows]))
        elif isinstance(cpd, ConditionalGaussian):
            parts.append(_below(title, len(cpd.label_parents), _regressions(cpd)))
        else:
            parts.append(_below(title, len(cpd.parents), _table(cpd)))
    return "\n".join(parts)


def _about_fit(cpd: Cpd, missing: Mapping[str, Any]) -> str:
    """What is worth knowing of a distribution that was fitted to incomplete rows."""
    said = ["hidden"] * (isinstance(cpd, CPT) and cpd.hidden)
    share = missing.get(cpd.variable.name)
    if isinstance(share, float) and share > _NOTICEABLE:
        said.append(f"{share:.0%} of the information is missing")
    return f"  ({', '.join(said)})" if said else ""


def _table(cpt: CPT) -> list[list[str]]:
    levels = list(map(visible, cpt.variable.levels or ()))
    lines = [[*(visible(parent.name) for parent in cpt.parents), *levels]]
    behind = None
    if cpt.expected_counts is not None:
        lines[0].append("rows")
        behind = cpt.expected_counts.sum(axis=1).tolist()
    seen = cpt.seen
    table = cpt.table if behind is None else cpt.table.round(_LEFT_BY_EM)
    for row, labels in enumerate(cpt.configurations()):
        line = [*map(visible, labels), *map(_number, table[row].tolist())]
        if behind is not None:
            line.append(_number(behind[row]))
        if seen is not None and not seen[row]:
            line.append(_NEVER_SEEN)
        lines.append(line)
        if cpt.intervals is not None:
            bounds = [
                f"{_number(low)}..{_number(high)}" for low, high in cpt.intervals[row].tolist()
            ]
            lines.append([*[""] * len(labels), *bounds])
    return lines


def _regressions(cpd: ConditionalGaussian) -> list[list[str]]:
    """One line per configuration of the labels, with its terms and the rows behind them."""
    names = ["(intercept)", *(parent.name for parent in cpd.number_parents), "(sd)"]
    header = [*(parent.name for parent in cpd.label_parents), *names]
    expected = any(line.expected_n is not None for line in cpd.regressions)
    lines = [[*map(visible, header), *["rows"] * (expected or cpd.n is not None)]]
    for labels, line in zip(cpd.configurations(), cpd.regressions, strict=True):
        terms = _terms(line)
        n = line.expected_n if expected else line.n
        behind = [f"{n:g}" if n else _NEVER_SEEN] if expected or cpd.n is not None else []
        lines.append([*map(visible, labels), *(_number(term[1]) for term in terms), *behind])
        if line.intervals is not None:
            bounds = [f"{_number(low)}..{_number(high)}" for low, high in line.intervals]
            lines.append([*[""] * len(labels), *bounds])
    return lines


def _below(title: str, n_left: int, lines: list[list[str]]) -> str:
    """A table below its title, the first columns to the left and numbers to the right."""
    right = range(n_left, max(map(len, lines)))
    return "\n".join([title, *aligned(lines, right=right, indent="  ")]) + "\n"


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "-"
