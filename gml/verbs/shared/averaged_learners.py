"""What `average` averages over: learners on samples of the rows, or posteriors over orders."""

from __future__ import annotations

BY_SAMPLES = ("hc", "ges", "pc", "mrf")
BY_ORDERS = ("exact", "order-mcmc")
BY_SCORE = ("hc", "ges", *BY_ORDERS)
"""Over DAGs, by a score."""
BY = (*BY_SAMPLES, *BY_ORDERS)
MOST_PARENTS = 3
"""The most parents of a node that order-mcmc allows unless told otherwise."""
