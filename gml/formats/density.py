"""Densities of one numeric variable, as `gml maxent` writes them: JSON, text and CSV.

JSON of kind "density" (schema gml/1) is a report, not a model over labels: "multipliers" are the
numbers by power of x whose sum is ln of the density, less "log_normaliser"; "moments" has what was
given and what is expected, "table" x, density and P(X ≤ x) on an even grid (of an unbounded support
all but the tails of 0.0001), "quantiles" those asked for. CSV has the table alone.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gml.data.safe_cells import cell
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text
from gml.model.entropy.density import Density
from gml.printable_text import visible
from gml.text_table import aligned

KIND = "density"
_SHOWN = (0.025, 0.25, 0.5, 0.75, 0.975)
_INDENT = "  "


def dump_density_json(
    density: Density, quantiles: Sequence[float] = (), *, inputs: Hashes = NO_INPUTS
) -> str:
    """Return the JSON of a density."""
    content: dict[str, Any] = {"schema": SCHEMA, "kind": KIND, **density.written()}
    if quantiles:
        content["quantiles"] = [
            {"share": share, "value": _finite(value)}
            for share, value in zip(quantiles, density.quantile(quantiles).tolist(), strict=True)
        ]
    if density.learning:
        content["learning"] = density.learning.written()
    return document_text(content, inputs)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def dump_density_text(density: Density, quantiles: Sequence[float] = ()) -> str:
    """Return what there is to say about a density, numbers to 10 significant digits.

    Examples
    --------
    >>> from gml.model.entropy.constraints import NumericMoments
    >>> from gml.model.entropy.density_fit import fit_density
    >>> print(dump_density_text(fit_density(NumericMoments("wait", (0.0, math.inf), {1: 2.0}))))
    wait: density on [0, ∞) of largest entropy
      entropy                       1.693147181
      mean                          2
      variance                      4
      largest residual of a moment  below 1e-12
    <BLANKLINE>
    ln density = Σ multiplier · x^k − 0.6931471806
      k  multiplier  given  expected
      1        -0.5      2         2
    <BLANKLINE>
    quantiles
      0.025  0.05063561597
      0.25    0.5753641449
      0.5      1.386294361
      0.75     2.772588722
      0.975    7.377758908
    <BLANKLINE>
    """
    low, high = density.support
    start = f"[{low:g}" if math.isfinite(low) else "(−∞"
    stop = f"{high:g}]" if math.isfinite(high) else "∞)"
    facts = [
        ["entropy", _number(density.entropy)],
        ["mean", _number(density.mean)],
        ["variance", _number(density.variance)],
        ["largest residual of a moment", _residual(density.residual)],
    ]
    title = f"{visible(density.name)}: density on {start}, {stop} of largest entropy"
    parts = [[title, *aligned(facts, indent=_INDENT)]]
    lines = [["k", "multiplier", "given", "expected"]]
    lines += [
        [
            str(k),
            _number(multiplier),
            _number(density.given[k]),
            _number(density.expectation(k)),
        ]
        for k, multiplier in density.multipliers.items()
    ]
    if density.powers:
        about = f"ln density = Σ multiplier · x^k − {_number(density.log_normaliser)}"
        parts.append([about, *aligned(lines, right=range(4), indent=_INDENT)])
    shares = list(quantiles or _SHOWN)
    values = density.quantile(shares).tolist()
    rows = [[f"{share:g}", _number(value)] for share, value in zip(shares, values, strict=True)]
    parts.append(["quantiles", *aligned(rows, right={1}, indent=_INDENT)])
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts)


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # What rounding leaves of 0 says nothing.
    return f"{value:.10g}" if abs(value) >= 1e-14 else "0"


def _residual(residual: float) -> str:
    return f"{residual:.3g}" if residual >= 1e-12 else "below 1e-12"


def dump_density_csv(
    density: Density, quantiles: Sequence[float] = (), *, safe_csv: bool = False
) -> str:
    """Return the table of a density; asked for quantiles, these."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if quantiles:
        writer.writerow(["share", cell(density.name, safe_csv)])
        values = density.quantile(quantiles).tolist()
        writer.writerows(zip(quantiles, map(repr, values), strict=True))
        return text.getvalue()
    writer.writerow([cell(density.name, safe_csv), "density", "cumulative"])
    columns = [map(repr, column.tolist()) for column in density.table()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def draws_csv(
    density: Density, n: int, *, seed: int = 0, safe_csv: bool = False
) -> Iterator[bytes]:
    """Yield n draws as CSV, a column of numbers."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([cell(density.name, safe_csv)])
    yield text.getvalue().encode("utf-8")
    for block in density.draws(n, seed=seed):
        yield "".join(f"{value!r}\n" for value in block.tolist()).encode("utf-8")


DENSITY_WRITERS: dict[str, Callable[..., str]] = {
    "json": dump_density_json,
    "text": dump_density_text,
    "csv": dump_density_csv,
}
"""From a density and quantiles to text."""
