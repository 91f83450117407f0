"""What a fit of an undirected model says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class FitSummary:
    """How a model was fitted, and how well; what is not known, or means nothing, is None.

    aic and bic are the log-likelihood less the dimension and ½ ln n times it. `g2` and `x2` compare
    with the saturated model. `gap` is the largest difference of a fitted margin of a generator from
    the observed one, in probabilities. `zeros` are combinations of levels, of some columns each,
    that the maximum of the likelihood, which lies at infinity, makes impossible: of how many there
    are, the first ones, as levels by name.
    """

    method: str
    """exact, pl, pcd or cd."""
    algorithm: str
    """closed form, ipf, l-bfgs, …"""
    rows: int | float
    dimension: int
    converged: bool
    iterations: int = 0
    gap: float | None = None
    log_likelihood: float | None = None
    pseudo_log_likelihood: float | None = None
    aic: float | None = None
    bic: float | None = None
    g2: float | None = None
    x2: float | None = None
    df: int | None = None
    g2_p_value: float | None = None
    g2_log10_p: float | None = None
    x2_p_value: float | None = None
    x2_log10_p: float | None = None
    entropy: float | None = None
    log_z: float | None = None
    log_z_error: float | None = None
    """Standard error of ln Z by annealing; None if ln Z is exact."""
    log_z_samples: float | None = None
    """Effective sample size of the annealing; None if ln Z is exact."""
    n_zeros: int = 0
    zeros: tuple[Mapping[str, str], ...] = field(default=())
    l1: float = 0.0
    l2: float = 0.0
    smoothing: float = 0.0
    n_dropped: int = 0
    """Terms that l1 made exactly 0, which the model is without; the dimension counts them."""

    def written(self) -> dict[str, Any]:
        """Return the fields as a file has them."""
        return asdict(self) | {"zeros": [dict(cell) for cell in self.zeros]}
