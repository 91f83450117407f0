"""Asking a model about rows of evidence: what answers, whatever the model is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import UsageError, parameter, quote, unknown_name
from gml.model.evidence import Circumstances
from gml.model.gaussian import means_of_rows
from gml.model.inference import Inference, most_probable
from gml.model.mixed.mixture import Components, bounds_of, mixture_quantiles
from gml.model.mixed.rows import MixedRowAnswers, MixedRows, moments_of
from gml.model.model import AskedModel
from gml.model.network import Network
from gml.model.row_answers import (
    LevelPredictions,
    NumberPredictions,
    Numbers,
    RowAnswers,
    RowDistributions,
    RowMarginals,
    RowMoments,
)


class RowInference:
    """Answers about targets, or predicts one, from blocks of evidence."""

    def __init__(
        self,
        given: Circumstances[AskedModel],
        targets: Sequence[str],
        *,
        predict: bool,
        interval: float | None = None,
        max_memory: int | None = None,
    ) -> None:
        self._set_up(given, targets, predict=predict)
        self._inference: Inference | None = None
        self._mixed: MixedRows | None = None
        net = given.net
        has_numbers = any(v.is_continuous for v in net.variables if v.name in targets)
        if interval is not None and not has_numbers:
            raise UsageError(
                f"{parameter('interval')} is for numbers, and {quote(targets[0])} has levels"
            )
        self._bounds = None if interval is None else bounds_of(interval)
        if isinstance(net, Network) and net.is_mixed:
            self._mixed = MixedRows(net, targets, max_memory=max_memory)
        elif not (isinstance(net, Network) and net.is_gaussian):
            self._inference = Inference(net, max_memory=max_memory)

    def _set_up(
        self, given: Circumstances[AskedModel], targets: Sequence[str], *, predict: bool
    ) -> None:
        for name in targets:
            _require_target(given, name)
        self.given = given
        self.targets = tuple(targets)
        self.predicts = predict
        self.decodes = False
        """Whether the most probable values of the targets together are asked for."""
        self._levels = {v.name: v.levels or () for v in given.net.variables}

    @property
    def needed(self) -> tuple[str, ...]:
        """The nodes that every row has to observe."""
        return ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns that a file of answers has."""
        return [name for name, _ in self._of_none().written()]

    def of(self, names: Sequence[str], evidence: NDArray[Any]) -> RowAnswers:
        """Return the answers to evidence: rows × names."""
        if not len(evidence):
            return self._of_none()
        if self._mixed is not None:
            return self._both(self._mixed.of(names, evidence))
        if self._inference is None:
            assert isinstance(self.given.net, Network)
            return self._numbers(*means_of_rows(self.given.net, self.targets, names, evidence))
        return self._labels(*self._inference.marginals_of_rows(self.targets, names, evidence))

    def _of_none(self) -> RowAnswers:
        if self._mixed is not None:
            variables = {v.name: v for v in self.given.net.variables}
            none = Components(np.empty((0, 1)), np.empty((0, 1)), np.empty((0, 1)))
            tables = {
                name: np.empty((0, len(self._levels[name])))
                for name in self.targets
                if not variables[name].is_continuous
            }
            numbers = {name: none for name in self.targets if name not in tables}
            return self._both(MixedRowAnswers(tables, numbers, np.empty(0)))
        if self._inference is None:
            nothing = np.empty((0, len(self.targets)))
            return self._numbers(nothing, nothing)
        tables = {name: np.empty((0, len(self._levels[name]))) for name in self.targets}
        return self._labels(tables, np.empty(0))

    def _numbers(self, mean: Numbers, sd: Numbers) -> RowAnswers:
        bounds = None
        if self._bounds is not None:
            z = kernel.active().normal_quantile(np.array(self._bounds))
            bounds = mean[..., None] + z * sd[..., None]
        if self.predicts:
            own = None if bounds is None else bounds[:, 0]
            return NumberPredictions(self.targets[0], mean[:, 0], sd[:, 0], bounds=own)
        return RowMoments(self.targets, mean, sd, bounds=bounds)

    def _both(self, found: MixedRowAnswers) -> RowAnswers:
        """Answers about labels and numbers."""
        if self.predicts and found.tables:
            return self._labels(found.tables, found.log_evidence)
        moments = {name: moments_of(own) for name, own in found.numbers.items()}
        bounds = {}
        if self._bounds is not None:
            bounds = {name: self._limits(own) for name, own in found.numbers.items()}
        if self.predicts:
            (target,) = self.targets
            return NumberPredictions(
                target,
                *moments[target],
                components=found.numbers[target],
                bounds=bounds.get(target),
            )
        levels = {name: self._levels[name] for name in self.targets}
        return RowDistributions(levels, found.tables, moments, bounds, found.log_evidence)

    def _limits(self, components: Components) -> Numbers:
        """The bounds of the interval asked for, by row."""
        possible = np.flatnonzero(~np.isnan(components.weight).any(axis=1))
        found = np.full((len(components.weight), 2), np.nan)
        some = [figures[possible] for figures in components]
        for k, p in enumerate(self._bounds or ()):
            found[possible, k] = mixture_quantiles(p, *some)
        return found

    def _labels(self, tables: Mapping[str, Numbers], log_p: Numbers) -> RowAnswers:
        levels = {name: self._levels[name] for name in self.targets}
        if not self.predicts:
            return RowMarginals(levels, tables, log_p)
        (target,) = self.targets
        predicted = np.array([*levels[target], None], dtype=object)[
            np.where(log_p > -math.inf, most_probable(tables[target]), len(levels[target]))
        ]
        return LevelPredictions(target, predicted, levels[target], tables[target], log_p)


def _require_target(given: Circumstances[AskedModel], name: str) -> None:
    """Refuse a target that is not a node, or whose value is known."""
    if name not in given.net.names:
        raise UsageError(unknown_name("node", name, given.net.names))
    if name in given.evidence or name in given.do:
        raise UsageError(f"{quote(name)} is observed or set, and also asked for")
