"""How good values that were found together are, where the truth is known.

The accuracy is the share of rows in which all of them are right; the Hamming loss is the share of
single values that are wrong. Rows in which one of the true values is missing, or unknown to the
model, do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import counted
from gml.model.notebook_table import NotebookTable
from gml.model.prediction_metrics import MISSING, UNKNOWN, NotCounted
from gml.model.row_answers import Decoded

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class DecodedMetrics(NotebookTable):
    """How good the most probable values of several nodes together are."""

    targets: tuple[str, ...]
    rows: int
    right: int
    """Rows in which all values are right."""
    right_of: tuple[int, ...]
    """Rows in which the value of each node is."""
    not_counted: NotCounted

    @property
    def target(self) -> str:
        """The nodes, as a title has them."""
        return ", ".join(self.targets)

    @property
    def accuracy(self) -> float:
        """The share of rows in which all values are right."""
        return _share(self.right, self.rows)

    @property
    def hamming_loss(self) -> float:
        """The share of values that are wrong."""
        return 1 - _share(sum(self.right_of), self.rows * len(self.targets))

    def figures(self) -> dict[str, float]:
        """The figures by name."""
        return {"accuracy": self.accuracy, "hamming_loss": self.hamming_loss}

    def by_target(self) -> list[dict[str, Any]]:
        """One row per node, with the share of rows in which its value is right."""
        return [
            {"target": name, "rows": self.rows, "accuracy": _share(right, self.rows)}
            for name, right in zip(self.targets, self.right_of, strict=True)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per node."""
        import pandas as pd

        return pd.DataFrame(self.by_target())

    def __repr__(self) -> str:
        figures = ", ".join(f"{name}={value:.6g}" for name, value in self.figures().items())
        return f"DecodedMetrics({self.target!r}, {counted(self.rows, 'row')}: {figures})"


class DecodedTally:
    """Adds up values found together and truths, block by block."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self._variables = tuple(variables)
        self._rows = self._right = self._missing = self._unknown = 0
        self._right_of = np.zeros(len(variables), dtype=np.int64)

    def add(
        self,
        decoded: Decoded,
        truth: Mapping[str, NDArray[Any]],
        weights: NDArray[np.int64] | None = None,
    ) -> None:
        """Add rows: codes of true levels by node (`MISSING`, `UNKNOWN`)."""
        times = np.ones(len(decoded), dtype=np.int64) if weights is None else weights
        codes = np.column_stack([truth[v.name].astype(np.int64) for v in self._variables])
        missing = (codes == MISSING).any(axis=1)
        unknown = ~missing & (codes == UNKNOWN).any(axis=1)
        self._missing += int(times[missing].sum())
        self._unknown += int(times[unknown].sum())
        known = ~missing & ~unknown
        self._rows += int(times[known].sum())
        right = np.column_stack(
            [
                np.array([*(v.levels or ()), None], dtype=object)[codes[:, k]]
                == decoded.predicted[v.name]
                for k, v in enumerate(self._variables)
            ]
        )
        self._right += int(times[known & right.all(axis=1)].sum())
        self._right_of += (right[known] * times[known, None]).sum(axis=0)

    def metrics(self) -> DecodedMetrics:
        """What was found so far."""
        return DecodedMetrics(
            tuple(variable.name for variable in self._variables),
            self._rows,
            self._right,
            tuple(self._right_of.tolist()),
            NotCounted(self._missing, self._unknown),
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
