"""Linear programmes, by HiGHS: the one place that solves them.

They decide what no descent can: whether constraints, targets or maxima exist at all. HiGHS does not
look up while it works, so it works in a thread of its own, and an interrupt need not wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.pool import in_order
from gml.progress import Deadline


def solved_programme(
    costs: NDArray[np.float64],
    *,
    deadline: Deadline | None = None,
    method: str = "highs",
    options: Mapping[str, float] | None = None,
    **programme: Any,
) -> Any:
    """Minimise costs · x as scipy's `linprog` does, and return what that does.

    It ends by the deadline, with a status that is not 0.

    Examples
    --------
    >>> found = solved_programme(np.array([1.0, 2.0]), A_eq=np.ones((1, 2)), b_eq=np.ones(1))
    >>> found.status, found.x.tolist()
    (0, [1.0, 0.0])
    """
    from scipy.optimize import linprog

    chosen = dict(options or {})
    if deadline is not None:
        chosen["time_limit"] = deadline.remaining

    def work(is_wanted: bool) -> Any:
        return linprog(costs, method=method, options=chosen, **programme) if is_wanted else None

    # Two, because a single piece of work is done by the thread that asks.
    found, _ = in_order(work, [True, False], 2)
    return found
