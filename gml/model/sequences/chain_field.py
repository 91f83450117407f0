"""Linear-chain conditional random fields (Lafferty, McCallum & Pereira 2001).

p(y | x) ∝ exp(Σ_t Σ_a x[t, a] w[a, y_t] + Σ_t v[y_{t-1}, y_t]) for the labels y of the rows of a
sequence, where a goes through the attributes of row t (attributes.py), and x is 1, or a number.
What the model says of rows is exact: probabilities of labels given all rows of the sequence by
forward–backward (Rabiner 1989), and the most probable labels of a sequence by Viterbi's algorithm.
Ties go to the lower label: in the last row of the sequence first, then in the row before given
that, and so on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from gml.calls import public
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, counted, listing
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.model.conditional.numeric_inputs import Scale
from gml.model.markovnet import COUPLING
from gml.model.sequences.attributes import Attributes
from gml.model.sequences.feature_table import FeatureTable
from gml.model.sequences.summary import ChainSummary
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import pandas as pd

    from gml.data.dataset import Dataset
    from gml.data.options import ReadOptions
    from gml.model.row_answers import DecodedRows, Predictions

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ChainField(AnswersSynonyms):
    """A model of the labels of sequences; `features` has a weight for each in `weights`.

    Examples
    --------
    >>> import gml
    >>> field = gml.crf("sample_data/icecream.csv", target="weather", sequence="diary")
    >>> field
    ChainField('weather' along 'diary', 1 input, 28 features: 'eaten')
    """

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
    summary: ChainSummary | None = None
    learning: Provenance = field(default_factory=Provenance)

    if TYPE_CHECKING:
        # The package adds these to the class: files and pictures are above this room.
        @staticmethod
        def from_file(path: str | os.PathLike[str]) -> ChainField: ...
        def to_file(self, path: str | os.PathLike[str], format: str | None = None) -> None: ...
        def _repr_html_(self) -> str | None: ...

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

    def __repr__(self) -> str:
        size = f"{counted(len(self.inputs), 'input')}, {counted(len(self.weights), 'feature')}"
        return (
            f"{type(self).__name__}({self.target.name!r} along {self.sequence!r}, {size}: "
            f"{listing(self.inputs) or 'nothing'})"
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels of the target."""
        return self.target.levels or ()

    @property
    def targets(self) -> tuple[Variable, ...]:
        """The target, as other fields have several."""
        return (self.target,)

    @property
    def n_parameters(self) -> int:
        """The number of weights."""
        return len(self.weights)

    @property
    def complete(self) -> bool:
        """Whether there was time to train it to the end."""
        return self.learning.get("complete", True) is not False

    @property
    def input_levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels of each input that training saw, where it saw any."""
        return self.attributes.input_levels

    @property
    def interval_levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels of inputs that are intervals, into which numbers of new rows are put."""
        return self.attributes.interval_levels

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The mean and the sd of each numeric input, in all rows of training."""
        return self.attributes.scales

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The target, then the inputs with the levels that training saw, or numbers."""
        inputs = (
            Variable(name, None if name in self.scales else self.input_levels.get(name, ()))
            for name in self.inputs
        )
        return (self.target, *inputs)

    @cached_property
    def graph(self) -> Graph:
        """The target joined with its inputs; the coupling is that of all rows of the window.

        It is the root mean square of the weights, each less the mean over the labels.
        """
        strengths = self._strengths()
        names = [self.target.name, *self.inputs]
        ends = [(*sorted((self.target.name, name)), strengths[name]) for name in self.inputs]
        return Graph.from_edges(
            names,
            [(a, "---", b, {COUPLING: strength}) for a, b, strength in sorted(ends)],
            kind="undirected",
            levels={v.name: v.levels for v in self.variables if v.levels},
            numeric=list(self.scales),
            learning=self.learning,
        )

    def _strengths(self) -> dict[str, float]:
        n_labels = self.features.n_labels
        squares = dict.fromkeys(self.inputs, 0.0)
        cells = dict.fromkeys(self.inputs, 0)
        attribute = self.features.state_attributes
        sums = np.bincount(attribute, self.state_weights, minlength=len(self.attributes))
        by_square = np.bincount(attribute, self.state_weights**2, minlength=len(self.attributes))
        # Σ (w − mean)² over the labels, those without a feature having the weight 0.
        spread = by_square - sums**2 / n_labels
        for block, start in zip(self.attributes.blocks, self.attributes.starts, strict=False):
            if block.column is not None:
                end = start + block.size
                squares[block.column] += math.fsum(spread[start:end].tolist())
                cells[block.column] += n_labels * block.size
        return {
            name: math.sqrt(max(0.0, squares[name]) / cells[name]) if cells[name] else 0.0
            for name in self.inputs
        }

    @property
    def state_weights(self) -> Numbers:
        """The weights of attributes with labels."""
        return self.weights[: len(self.features.states)]

    @cached_property
    def transitions(self) -> Numbers:
        """The weight of each label after each: first × second, 0 where there is no feature."""
        return self.features.transition_matrix(self.weights[len(self.features.states) :])

    @public
    def predict(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        target: str | None = None,
        *,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
        reading: ReadOptions | None = None,
    ) -> Predictions:
        """Find the most probable label of each row, given all rows of its sequence."""
        from gml.model.sequences.row_inference import ChainRowInference

        asked = ChainRowInference(self, None if target is None else [target], predict=True)
        return cast(
            "Predictions",
            asked.about(data, missing=missing, ignore_unknown=ignore_unknown, reading=reading),
        )

    @public
    def decode(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        *,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
        reading: ReadOptions | None = None,
    ) -> DecodedRows:
        """Find the most probable labels of each sequence as a whole, by Viterbi's algorithm."""
        from gml.model.sequences.row_inference import ChainRowInference

        asked = ChainRowInference(self, None, predict=False, decode=True)
        return cast(
            "DecodedRows",
            asked.about(data, missing=missing, ignore_unknown=ignore_unknown, reading=reading),
        )


class NoFiniteMaximum(CannotAnswer):
    """The likelihood grows without end, so that no weights maximise it."""
