"""What a chain field says of rows: labels, their probabilities, and how good both are.

`viterbi` takes the most probable labels of a whole sequence, `posterior` the most probable label of
each row given all rows of its sequence; the first is right about whole sequences as often as can
be, the second about rows. Ties go to the lower label (chain_field.py), in `posterior` as well.
Values that training did not see have no feature: such rows are decided by what else is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.options import ReadOptions
from gml.data.sequences import SequenceRows
from gml.errors import require_one_of
from gml.kernel.pool import in_order
from gml.model.sequences.attributes import Attributes
from gml.model.sequences.chain_metrics import UNKNOWN, ChainMetrics
from gml.model.sequences.feature_table import TABLES_OF_KERNEL, Cells, require_pairs_of_labels
from gml.model.sequences.log_marginals import log_marginals
from gml.model.sequences.objective import spans_of
from gml.resources import available_threads, require_memory

if TYPE_CHECKING:
    from gml.model.sequences.chain_field import ChainField

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Kind = TypeVar("Kind", bound=np.generic)

DECODERS = ("viterbi", "posterior")
_TIE = 1e-12
# Probabilities that are hardly above it may be sums of which some became 0.
_FEW_DIGITS = 1e-200


def prediction_options(attributes: Attributes, options: ReadOptions) -> ReadOptions:
    """Return the options to read new rows with: what training took for numbers are numbers, and
    where it cut numbers they are put into its intervals."""
    known = {*options.levels.levels, *options.levels.intervals, *options.levels.cuts, *options.cut}
    found = {name: at for name, at in attributes.interval_levels.items() if name not in known}
    schema = replace(
        options.levels,
        intervals={**options.levels.intervals, **found},
        expected={**options.levels.expected, **found},
    )
    numeric = tuple(dict.fromkeys((*options.numeric, *attributes.scales)))
    return replace(options, levels=schema, bins=None, numeric=numeric, kinds="labels")


class ChainAnswers:
    """What a field says of the rows of sequences, row by row as in their table.

    Examples
    --------
    >>> import pandas as pd
    >>> from gml.data.sequences import read_sequences
    >>> from gml.model.sequences.training import train_chain
    >>> frame = pd.DataFrame({"id": [1, 1, 2, 2], "word": ["the", "dog", "a", "cat"],
    ...                       "tag": ["D", "N", "D", "N"]})
    >>> rows = read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    >>> found = ChainAnswers(train_chain(rows, l2=0.1).field, rows)
    >>> found.labels(), found.metrics().accuracy
    (['D', 'N', 'D', 'N'], 1.0)
    """

    def __init__(
        self, model: ChainField, rows: SequenceRows, *, threads: int | None = None
    ) -> None:
        self.model = model
        self.rows = rows
        self.unseen = model.attributes.unseen(rows)
        """How many cells of each input have a value that training did not see."""
        self._threads = threads or available_threads()
        self._cells = Cells.of(model.features)
        self._weights = self._cells.weights(model.state_weights)
        self._layout = layout = self._cells.layout(
            model.attributes.of_rows(rows), rows.starts, model.features.n_labels
        )
        self._spans = spans_of(rows.starts)
        longest = int(np.diff(rows.starts).max(initial=0))
        width = 2 * (layout.width + 4)
        require_memory(8 * self._threads * longest * width, None, "the longest sequence")
        at_once = min(self._threads, len(self._spans))
        require_pairs_of_labels(model.features.n_labels, 1 + TABLES_OF_KERNEL * at_once)
        self._kernel = kernel.active().ChainRows(layout)

    @cached_property
    def probabilities(self) -> Numbers:
        """The probability of each label (rows × labels) given all rows of the sequence."""
        n_rows, n_labels = self.rows.n_rows, self.model.features.n_labels
        require_memory(16 * n_rows * n_labels, None, "the probabilities of all rows")
        found = np.empty((n_rows, n_labels))
        self._in_spans(
            lambda span: self._kernel.marginals(self._weights, self.model.transitions, span, found)
        )
        return self._as_in_table(found)

    @cached_property
    def viterbi(self) -> Integers:
        """The most probable labels of each sequence, as codes."""
        found = np.empty(self.rows.n_rows, dtype=np.int32)
        self._in_spans(
            lambda span: self._kernel.viterbi(self._weights, self.model.transitions, span, found)
        )
        return self._as_in_table(found).astype(np.int64)

    @cached_property
    def posterior(self) -> Integers:
        """The most probable label of each row, as a code."""
        shares = self.probabilities
        reached = shares >= shares.max(axis=1, keepdims=True) * (1 - _TIE)
        found: Integers = np.argmax(reached, axis=1)
        return found

    @cached_property
    def losses(self) -> Numbers:
        """−ln p of the true label of each row, NaN where none is known."""
        true = self.true_codes()
        found = np.full(len(true), np.nan)
        counts = np.flatnonzero(true >= 0)
        own = self.probabilities[counts, true[counts]]
        is_plain = own > _FEW_DIGITS
        found[counts[is_plain]] = -np.log(own[is_plain])
        small = np.zeros(len(true), dtype=np.bool_)
        small[counts[~is_plain]] = True
        in_order = np.flatnonzero(small[self.rows.order])
        sequences = np.searchsorted(self.rows.starts, in_order, side="right") - 1
        for sequence in np.unique(sequences).tolist():
            start = int(self.rows.starts[sequence])
            logs = log_marginals(self._layout, self._weights, self.model.transitions, sequence)
            for place in in_order[sequences == sequence].tolist():
                row = self.rows.order[place]
                found[row] = -logs[place - start, true[row]]
        return found

    def codes(self, decoder: str = "viterbi") -> Integers:
        """Return the label of each row as a code, by `viterbi` or `posterior`."""
        require_one_of("decode", decoder, DECODERS)
        return self.viterbi if decoder == "viterbi" else self.posterior

    def labels(self, decoder: str = "viterbi") -> list[str]:
        """Return the label of each row."""
        levels = self.model.labels
        return [levels[code] for code in self.codes(decoder).tolist()]

    def metrics(self, decoder: str = "viterbi") -> ChainMetrics:
        """Return how good labels and probabilities are, where the table has the truth."""
        true = self.true_codes()
        return ChainMetrics.of(
            self.model.target.name, true, self.codes(decoder), self.losses, self.rows
        )

    def log_probability(self, codes: Integers, sequence: int) -> float:
        """Return ln p of labels (codes, row by row as in the table) of one sequence."""
        targets = codes[self.rows.order].astype(np.int32)
        out = np.zeros_like(self._weights), np.zeros_like(self.model.transitions)
        span = sequence, sequence + 1
        return -self._kernel.gradient(self._weights, self.model.transitions, targets, span, out)

    def true_codes(self) -> Integers:
        """The label that the table has for each row: -1 for none, UNKNOWN for one not learned."""
        levels = () if self.rows.target is None else self.rows.target.levels or ()
        code = {label: k for k, label in enumerate(self.model.labels)}
        lookup = np.array([*(code.get(level, UNKNOWN) for level in levels), -1])
        return lookup[self.rows.labels]

    def _in_spans(self, work: Callable[[tuple[int, int]], None]) -> None:
        for _ in in_order(work, self._spans, self._threads):
            pass

    def _as_in_table(self, found: NDArray[Kind]) -> NDArray[Kind]:
        restored = np.empty_like(found)
        restored[self.rows.order] = found
        return restored
