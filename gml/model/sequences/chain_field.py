"""Linear-chain conditional random fields (Lafferty, McCallum & Pereira 2001).

p(y | x) ∝ exp(Σ_t Σ_a w[a, y_t] + Σ_t v[y_{t-1}, y_t]) for the labels y of the rows of a sequence,
where a goes through the attributes of row t (attributes.py). What the model says of rows is exact:
probabilities of labels given all rows of the sequence by forward–backward (Rabiner 1989), and the
most probable labels of a sequence by Viterbi's algorithm. Ties go to the lower label: in the last
row of the sequence first, then in the row before given that, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.data.discretize import cuts_of_levels
from gml.errors import CannotAnswer
from gml.model.sequences.attributes import Attributes
from gml.model.sequences.feature_table import FeatureTable

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChainField:
    """A model of the labels of sequences; `features` has a weight for each in `weights`."""

    sequence: str
    """The column of identifiers that it was learned with."""
    target: Variable
    inputs: tuple[str, ...]
    """The columns that attributes are made of, by name."""
    window: int
    attributes: Attributes
    features: FeatureTable
    weights: Numbers
    """Of attributes with labels, then of transitions, in the order of the features."""

    def __post_init__(self) -> None:
        self.weights.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        """Whether two fields say the same in all figures."""
        if not isinstance(other, ChainField):
            return NotImplemented
        return (
            (self.sequence, self.target, self.inputs, self.window, self.attributes)
            == (other.sequence, other.target, other.inputs, other.window, other.attributes)
            and np.array_equal(self.features.states, other.features.states)
            and np.array_equal(self.features.transitions, other.features.transitions)
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels of the target."""
        return self.target.levels or ()

    @property
    def state_weights(self) -> Numbers:
        """The weights of attributes with labels."""
        return self.weights[: len(self.features.states)]

    @cached_property
    def transitions(self) -> Numbers:
        """The weight of each label after each: first × second, 0 where there is no feature."""
        return self.features.transition_matrix(self.weights[len(self.features.states) :])

    @cached_property
    def interval_levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of inputs that are intervals, into which numbers of new rows are put."""
        found: dict[str, tuple[str, ...]] = {}
        for block in self.attributes.blocks:
            if block.column is not None and block.offset == 0:
                found[block.column] = block.levels
        return {
            name: levels for name, levels in found.items() if cuts_of_levels(levels) is not None
        }


class NoFiniteMaximum(CannotAnswer):
    """The likelihood grows without end, so that no weights maximise it."""
