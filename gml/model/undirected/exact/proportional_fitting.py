"""Iterative proportional fitting on a junction tree (Deming & Stephan 1940).

The table of one generator after the other is multiplied by its observed margin over the fitted one
(Jiroušek & Přeučil 1995): each step raises the likelihood as far as that generator can (Lauritzen
1996, section 4.3.1), and the margins converge at a geometric rate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.exact.moment_matching import MomentMatching
from gml.model.undirected.fitting import TOLERANCE
from gml.progress import Deadline, reporter

Table = NDArray[np.float64]


class Proportional(NamedTuple):
    """Log-potentials of the generators, after how many sweeps, and whether margins agree."""

    tables: list[Table]
    sweeps: int
    converged: bool


def proportional_fitting(problem: MomentMatching, deadline: Deadline) -> Proportional:
    """Match the margins of generators in turn until all of them agree."""
    observed = problem.observed
    forbidden = [np.where(s.possible, 0.0, -math.inf) for s in problem.supports]
    tables = [np.zeros(margin.shape) for margin in observed.margins]
    sweeps = 0
    while True:
        fitted = problem.engine.of([*tables, *forbidden]).margins
        gap = max(
            (
                float(np.abs(p - q).max(initial=0.0))
                for p, q in zip(fitted, observed.margins, strict=False)
            ),
            default=0.0,
        )
        if gap <= TOLERANCE or deadline.passed:
            return Proportional(tables, sweeps, gap <= TOLERANCE)
        reporter().advance("fitting: sweeps", sweeps, None)
        for g, wanted in enumerate(observed.margins):
            if g:
                fitted = problem.engine.of([*tables, *forbidden]).margins
            seen = (wanted > 0) & (fitted[g] > 0)
            tables[g][seen] += np.log(wanted[seen] / fitted[g][seen])
        sweeps += 1
