"""The Newton step of a penalised precision matrix, in NumPy (precision_step.h says how)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.stopping import check_stopped

Numbers = NDArray[np.float64]


def precision_step(
    gradient: Numbers,
    covariance: Numbers,
    precision: Numbers,
    penalties: Numbers,
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    accuracy: float,
    most_sweeps: int,
) -> tuple[Numbers, int]:
    """The Newton step of a penalised precision matrix in some pairs, and its sweeps."""
    size = len(gradient)
    step, image = np.zeros((size, size)), np.zeros((size, size))
    largest_ever = 0.0
    for sweep in range(1, most_sweeps + 1):
        check_stopped()
        largest = 0.0
        for i in range(size):
            of_i = covariance[i]
            for j in columns[starts[i] : starts[i + 1]].tolist():
                of_j = covariance[j]
                curvature = of_i[j] ** 2 + (of_i[i] * of_j[j] if i != j else 0.0)
                slope = gradient[i, j] + of_j @ image[:, i]
                now = precision[i, j] + step[i, j]
                aim = now - slope / curvature
                change = math.copysign(max(0.0, abs(aim) - penalties[i, j] / curvature), aim) - now
                if change == 0:
                    continue
                step[i, j] += change
                image[i] += change * of_j
                if i != j:
                    step[j, i] += change
                    image[j] += change * of_i
                largest = max(largest, abs(change) * math.sqrt(curvature))
        largest_ever = max(largest_ever, largest)
        if largest <= accuracy * largest_ever:
            return step, sweep
    return step, most_sweeps
