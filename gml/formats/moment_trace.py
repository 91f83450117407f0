"""The moments of a fit by (persistent) contrastive divergence as CSV: one line per step.

Line 0 has the observed moments. A moment is the mean of a product of contrasts, one per variable of
a term: for two levels each, of the product of −1 and 1. Its column is named by the variables, as a
CSV record, and a number where a term has more than one moment.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gml.atomic import whole_file
from gml.data.safe_cells import cell

if TYPE_CHECKING:
    from gml.model.undirected.chains.contrastive import ContrastiveStep, StepTrace
    from gml.model.undirected.terms import Terms

_FIELDS = ("step", "rate", "gap")


@contextmanager
def written_moment_trace(
    path: str | os.PathLike[str], terms: Terms, *, safe_csv: bool = False
) -> Iterator[StepTrace]:
    """Yield what takes the steps of a fit, into a file that appears whole."""
    with whole_file(path) as file:
        names = [cell(name, safe_csv) for name in _moment_names(terms)]
        file.write(_line((*_FIELDS, *names)))

        def write(step: ContrastiveStep) -> None:
            numbers = (step.rate, step.gap, *step.moments.tolist())
            file.write(_line((str(step.iteration), *map(repr, numbers))))

        yield write


def _moment_names(terms: Terms) -> Iterator[str]:
    """The names of the columns, in the order of the coefficients."""
    from gml.model.undirected.coefficients import Coefficients

    coefficients = Coefficients(terms)
    for t, scope in enumerate(terms.all):
        name = _line([terms.names[k] for k in scope]).decode().removesuffix("\n")
        n_moments = coefficients.of(t).size
        yield from [name] if n_moments == 1 else [f"{name} {k + 1}" for k in range(n_moments)]


def _line(fields: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue().encode()
