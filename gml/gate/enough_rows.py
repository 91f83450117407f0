"""How few rows are too few for an average, a covariance or a regression to say anything."""

from __future__ import annotations

_LEAST = 30
_PER_TERM = 10


def enough_rows(n: int, n_terms: int = 1) -> bool:
    """Whether so many rows can tell about so many terms.

    Examples
    --------
    >>> enough_rows(29), enough_rows(30), enough_rows(39, 4), enough_rows(40, 4)
    (False, True, False, True)
    """
    return n >= max(_LEAST, _PER_TERM * n_terms)
