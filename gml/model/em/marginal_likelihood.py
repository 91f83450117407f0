"""The marginal likelihood of incomplete rows, approximately (Cheeseman & Stutz 1996).

With D what was seen, θ̂ the tables of MAP-EM and D* the rows as θ̂ expects them (fractional counts),

    ln p(D) ≈ ln p(D*) + ln p(D | θ̂) − ln p(D* | θ̂),

of which the first term is the score bdeu of the expected counts, and the others put right that D*
was never seen (Chickering & Heckerman 1997, Machine Learning 29:181, section 4.4, who find it the
best of the cheap approximations). θ̂ has the pseudo-counts of the same prior. Where nothing is
missing it is bdeu itself. That the levels of hidden nodes could be numbered in other ways is left
out of account, as it is for every other score.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter
from gml.model.bayesnet import CPT
from gml.model.em.fitting import EmFit

NAME = "Cheeseman-Stutz"


def cheeseman_stutz(found: EmFit, ess: float) -> float:
    """Return the approximation for tables that were fitted with the prior bdeu of this size."""
    if not found.counts_all:
        raise CannotAnswer(
            "bdeu of incomplete rows needs the expected counts of all of them, which would take "
            f"too much memory; allow more ({parameter('max_memory')}), or use bic"
        )
    parts = [found.report.log_likelihood]
    for cpd in found.net.cpds:
        assert isinstance(cpd, CPT) and cpd.expected_counts is not None
        counts = cpd.expected_counts
        parts.append(_log_marginal(counts, ess / counts.size))
        held = counts > 0
        parts.append(-float(np.sum(counts[held] * np.log(cpd.table[held]))))
    return math.fsum(parts)


def _log_marginal(counts: NDArray[np.float64], alpha: float) -> float:
    """Σⱼ ln Γ(rα)/Γ(rα+nⱼ) + Σₖ ln Γ(α+nⱼₖ)/Γ(α)."""
    whole = counts.shape[1] * alpha
    of_rows = [math.lgamma(whole) - math.lgamma(whole + n) for n in counts.sum(axis=1).tolist()]
    of_cells = [math.lgamma(alpha + n) - math.lgamma(alpha) for n in counts.reshape(-1).tolist()]
    return math.fsum(of_rows) + math.fsum(of_cells)
