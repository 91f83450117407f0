"""Where stochastic approximation starts: at the maximum of the pseudo-likelihood, or near it."""

from __future__ import annotations

from dataclasses import replace

from gml.counts.counter import Counter
from gml.model.undirected.fitting import Fitted, NoPseudoMaximum, Penalty
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.terms import Terms
from gml.progress import Deadline


def pseudo_start(
    counter: Counter,
    terms: Terms,
    penalty: Penalty,
    threads: int | None,
    max_memory: int | None,
    deadline: Deadline | None,
) -> Fitted:
    """Return the maximum of the pseudo-likelihood; if there is none, of one with a ridge.

    The latter counts as not converged.
    """

    def fitted(penalty: Penalty) -> Fitted:
        return fit_pseudo(
            counter,
            terms,
            penalty=penalty,
            threads=threads,
            max_memory=max_memory,
            deadline=deadline,
        )

    try:
        return fitted(penalty)
    except NoPseudoMaximum:
        ridge = Penalty(l1=penalty.l1, l2=max(1.0, penalty.l2))
        return replace(fitted(ridge), converged=False)
