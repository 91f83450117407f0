"""The mutual information of all pairs of columns, in nats.

Of labels it is G/2n; of numbers −½ ln(1 − r²), as if they were normal. Columns that are linear
functions of one another would have no bound: their r² is taken to be 1 − 10⁻¹².
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.counts.questions import pair_block
from gml.data.dataset import Variable
from gml.errors import UsageError, listing, parameter
from gml.progress import reporter
from gml.resources import require_memory

_BLOCK = 1 << 14
LEAST_REST = 1e-12
"""The least 1 − r²."""


def information_matrix(counter: Counter) -> NDArray[np.float64]:
    """Return the mutual information of every two columns; the diagonal is 0.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv", columns=["smoke", "bronc"]))
    >>> information_matrix(counter).round(4).tolist()
    [[0.0, 0.0494], [0.0494, 0.0]]
    """
    size = len(counter.variables)
    _require_one_kind(counter.variables)
    require_memory(8 * size * size, None, f"the matrix of {size} columns")
    found = np.zeros((size, size))
    numeric = counter.variables[0].is_continuous if size else False
    n_pairs = size * (size - 1) // 2
    for start in range(0, n_pairs, _BLOCK):
        x, y = pair_block(size, start, min(start + _BLOCK, n_pairs))
        values = _of_numbers(counter, x, y) if numeric else _of_labels(counter, x, y)
        found[x, y] = found[y, x] = values
        reporter().advance("pairs", start + len(x), n_pairs)
    return found


def _require_one_kind(variables: tuple[Variable, ...]) -> None:
    numbers = [variable.name for variable in variables if variable.is_continuous]
    if numbers and len(numbers) < len(variables):
        raise UsageError(
            f"labels and numbers ({listing(numbers)}) have no mutual information here; cut numbers "
            f"into intervals ({parameter('bins', 5)}, or {parameter('cut')})"
        )


def _of_labels(counter: Counter, x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    pairs = np.column_stack([x, y]).astype(np.int32)
    found = counter.pair_statistics(pairs)
    information: NDArray[np.float64] = found.g / (2 * np.maximum(found.n, 1))
    return information


def _of_numbers(
    counter: Counter, x: NDArray[np.int64], y: NDArray[np.int64]
) -> NDArray[np.float64]:
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return np.array([_of_two_numbers(counter, *counter.order.sorted(pair)) for pair in pairs])


def _of_two_numbers(counter: Counter, x: int, y: int) -> float:
    (xx, xy), (_, yy) = counter.moments([x, y]).cross
    if not xx or not yy:
        return 0.0
    return -0.5 * math.log(max((xx * yy - xy * xy) / (xx * yy), LEAST_REST))
