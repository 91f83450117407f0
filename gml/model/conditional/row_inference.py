"""Rows of evidence for a conditional field: posteriors, predictions and joint decoding.

A row must have every input. A cell that is missing or no level of its column is an error, unless
unknown values are ignored: then the row has none of the features of that column, so that a number
is as good as the mean. Columns of targets
that are not asked for are evidence, as in other models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import UsageError, listing, parameter
from gml.model.conditional.prediction import FieldPredictor
from gml.model.conditional.questions import require_targets
from gml.model.evidence import Circumstances, resolved
from gml.model.row_answers import Decoded, RowAnswers
from gml.model.row_inference import RowInference

if TYPE_CHECKING:
    from gml.model.conditional.field import ConditionalField

Codes = NDArray[np.int64]


class FieldRowInference(RowInference):
    """Answers about targets, predicts one, or decodes several together, from blocks of evidence."""

    def __init__(
        self,
        field: ConditionalField,
        targets: Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        do: Mapping[str, Any] | None = None,
        *,
        predict: bool,
        decode: bool = False,
        max_memory: int | None = None,
    ) -> None:
        if do:
            raise UsageError(
                f"{parameter('do')} cuts nodes off from their parents, and a conditional field has "
                "none"
            )
        require_targets(field, targets)
        given: Circumstances[Any] = Circumstances(field, {}, resolved(field.variables, evidence))
        self._set_up(given, targets, predict=predict)
        self.decodes = decode
        self._field = field
        self._predictor = FieldPredictor(field.terms, field.tables, max_memory=max_memory)

    @property
    def needed(self) -> tuple[str, ...]:
        """The inputs, which every row must have."""
        return tuple(variable.name for variable in self._field.inputs)

    def of(self, names: Sequence[str], evidence: NDArray[Any]) -> RowAnswers:
        """Return the answers to evidence: rows × names."""
        if not len(evidence):
            return self._of_none()
        terms = self._field.terms
        inputs = self._columns(names, evidence, terms.inputs)
        observed = None
        if any(target.name in names for target in terms.targets):
            observed = self._columns(names, evidence, terms.targets).astype(np.int64)
        place = {target.name: k for k, target in enumerate(terms.targets)}
        if self.decodes:
            best = self._predictor.best(inputs, observed)
            chosen = {name: best.levels[:, place[name]] for name in self.targets}
            return self._decoded(chosen, best.log_probability)
        found = self._predictor.posteriors(inputs, observed)
        tables = {name: found.targets[place[name]] for name in self.targets}
        return self._labels(tables, found.log_evidence)

    def _of_none(self) -> RowAnswers:
        if self.decodes:
            nothing = np.empty(0, dtype=np.int64)
            return self._decoded(dict.fromkeys(self.targets, nothing), np.empty(0))
        tables = {name: np.empty((0, len(self._levels[name]))) for name in self.targets}
        return self._labels(tables, np.empty(0))

    def _decoded(self, codes: Mapping[str, Codes], log_p: NDArray[np.float64]) -> Decoded:
        predicted = {
            name: np.array(self._levels[name], dtype=object)[codes[name]] for name in self.targets
        }
        return Decoded(predicted, log_p)

    def _columns(
        self, names: Sequence[str], evidence: NDArray[Any], wanted: Sequence[Variable]
    ) -> NDArray[Any]:
        """Codes of some nodes, -1 where nothing is known, and numbers, NaN there."""
        found = np.full((len(evidence), len(wanted)), -1, dtype=evidence.dtype)
        for k, variable in enumerate(wanted):
            if variable.name in names:
                column = evidence[:, list(names).index(variable.name)]
                # Where there are numbers, a level that is not known is NaN, too.
                found[:, k] = column if variable.is_continuous else np.nan_to_num(column, nan=-1)
        return found


def all_targets(field: ConditionalField, evidence: Mapping[str, Any] | None) -> list[str]:
    """Return the targets that are not observed; refuse a question about none."""
    found = [target.name for target in field.targets if target.name not in (evidence or {})]
    if not found:
        raise UsageError(
            f"{listing(target.name for target in field.targets)} are all observed: nothing is left "
            "to be found"
        )
    return found
