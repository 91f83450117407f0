"""Rows of sequences for a chain field: labels with their probabilities, or whole sequences decoded.

All rows of a sequence bear on the label of each, so a table is read as a whole. A cell of an input
that is missing, or has a value that training did not see, is an error that names its line, unless
unknown values are ignored: then the row has none of the features of that cell. Where training took
missing cells as saying nothing (`missing="available"`), so do these rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.levels import NA_LEVEL
from gml.data.options import ReadOptions
from gml.data.sequences import SequenceRows, read_sequences, sequences_of
from gml.data.source import ByteSource
from gml.errors import DataError, UsageError, parameter, quote
from gml.model.prediction_metrics import Tally
from gml.model.row_answers import DecodedRows, LevelPredictions, RowAnswers, RowMarginals
from gml.model.row_evidence import missing_input, warn_of_left_out, warn_of_unknown
from gml.model.sequences.decoding import ChainAnswers, prediction_options

if TYPE_CHECKING:
    import pandas as pd

    from gml.model.sequences.chain_field import ChainField

_MISSING = ("unobserved", "level")


class ChainRowInference:
    """What is asked of the rows of sequences: probabilities, a prediction, or decoding."""

    def __init__(
        self,
        field: ChainField,
        targets: Sequence[str] | None,
        *,
        predict: bool,
        decode: bool = False,
    ) -> None:
        own = field.target.name
        for name in targets or ():
            if name != own:
                raise UsageError(
                    f"{quote(name)} is not what the chain field is about; it can be asked about "
                    f"{quote(own)}"
                )
        self.field = field
        self.targets = (own,)
        self.predicts = predict
        self.decodes = decode

    @property
    def columns(self) -> list[str]:
        """The names of the columns that a file of answers has."""
        nothing = np.empty((0, len(self.field.labels)))
        return [name for name, _ in self._answers(nothing, np.empty(0, np.int64)).written()]

    def about(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        *,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
        reading: ReadOptions | None = None,
        threads: int | None = None,
        source: ByteSource | None = None,
    ) -> RowAnswers:
        """Return the answers for all rows of a table, in its order, and how good they are.

        `source` has the bytes of a file that is open already.
        """
        if missing not in _MISSING:
            choices = " or ".join(map(repr, _MISSING))
            raise UsageError(f"{parameter('missing')} must be {choices}, not {missing!r}")
        rows = self._rows(data, missing, reading or ReadOptions(), source)
        self._require_kinds(rows)
        if not ignore_unknown:
            self._require_known(rows)
        found = ChainAnswers(self.field, rows, threads=threads)
        if found.unseen:
            warn_of_unknown(dict(sorted(found.unseen.items())))
        gaps = _gaps(rows, self.field.inputs)
        if gaps and not self._knows_gaps:
            warn_of_left_out(gaps)
        codes = found.codes("viterbi" if self.decodes else "posterior")
        answers = self._answers(found.probabilities, codes)
        if not isinstance(data, str | os.PathLike | Dataset):
            answers = replace(answers, index=data.index)
        if rows.target is None:
            return answers
        if isinstance(answers, DecodedRows):
            return replace(answers, metrics=found.metrics("viterbi"))
        if isinstance(answers, LevelPredictions):
            tally = Tally(self.field.target.name, self.field.labels)
            tally.add(answers, found.true_codes(), losses=found.losses)
            return replace(answers, metrics=tally.metrics())
        return answers

    def _answers(self, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> RowAnswers:
        name, labels = self.field.target.name, self.field.labels
        certain = np.zeros(len(probabilities))
        if not (self.predicts or self.decodes):
            return RowMarginals({name: labels}, {name: probabilities}, certain)
        predicted = np.array(labels, dtype=object)[codes]
        if self.predicts:
            return LevelPredictions(name, predicted, labels, probabilities, certain)
        own = probabilities[np.arange(len(codes)), codes]
        return DecodedRows(name, predicted, own)

    def _rows(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        missing: str,
        reading: ReadOptions,
        source: ByteSource | None,
    ) -> SequenceRows:
        field = self.field
        policy = "level" if missing == "level" else "available"
        if isinstance(data, Dataset):
            return sequences_of(
                data,
                sequence=field.sequence,
                target=field.target.name,
                inputs=field.inputs,
                missing=policy,
                is_training=False,
            )
        options = prediction_options(field.attributes, replace(reading, missing=policy))
        return read_sequences(
            data,
            options,
            sequence=field.sequence,
            target=field.target.name,
            inputs=field.inputs,
            is_training=False,
            source=source,
        )

    @property
    def _knows_gaps(self) -> bool:
        """Whether training had rows without the features of missing cells, as far as recorded."""
        return self.field.learning.options.get("missing") == "available"

    def _require_kinds(self, rows: SequenceRows) -> None:
        """Refuse rows that were read before, with numbers where the field has levels, or levels."""
        for name in self.field.inputs:
            is_number = rows.inputs.variables[rows.inputs.index(name)].is_continuous
            if is_number != (name in self.field.scales):
                has, wants = ("numbers", "levels") if is_number else ("levels", "numbers")
                raise DataError(
                    f"{rows.where}: column {quote(name)} has {has}, and the model was fitted to "
                    f"{wants}; read it so"
                )

    def _require_known(self, rows: SequenceRows) -> None:
        """Refuse a cell of an input that is missing, or that training did not see."""
        for name in self.field.inputs:
            column = rows.inputs.columns[rows.inputs.index(name)]
            variable = rows.inputs.variables[rows.inputs.index(name)]
            levels = variable.levels or ()
            known = {*self.field.input_levels.get(name, ())}
            gaps = missing_mask(column)
            if variable.is_continuous:
                if gaps.any() and not self._knows_gaps:
                    where = f"{rows.where}: {rows.line(int(np.argmax(gaps)))}: column {quote(name)}"
                    raise DataError(missing_input(where, variable))
                continue
            unknown = np.array([level not in known for level in levels] + [False])
            bad = unknown[np.where(gaps, -1, column.astype(np.int64))]
            if not self._knows_gaps:
                bad |= gaps
            if not bad.any():
                continue
            row = int(np.argmax(bad))
            where = f"{rows.where}: {rows.line(row)}: column {quote(name)}"
            if gaps[row] or levels[int(column[row])] == NA_LEVEL:
                raise DataError(missing_input(where, Variable(name, tuple(known))))
            leaves = f"{parameter('ignore_unknown')} leaves out what it would add"
            value = quote(levels[int(column[row])])
            raise DataError(f"{where}: {value} was not seen in training; {leaves}")


def _gaps(rows: SequenceRows, inputs: Sequence[str]) -> dict[str, int]:
    """How many cells of inputs are missing, where any is."""
    columns = ((name, rows.inputs.columns[rows.inputs.index(name)]) for name in inputs)
    counts = {name: int(np.count_nonzero(missing_mask(column))) for name, column in columns}
    return {name: count for name, count in counts.items() if count}
