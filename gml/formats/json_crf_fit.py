"""What the file of a conditional random field says of its fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gml.formats.checked_objects import checked
from gml.model.conditional.figures import FieldFigures, TargetFigures
from gml.model.conditional.penalised_fit import Figures, PenalisedFit
from gml.model.conditional.summary import FieldSummary

Fit = TypeVar("Fit", bound=PenalisedFit[Any])

_NUMBER = (int, float)
_REALS = ("gradient", "log_likelihood", "objective", "l1", "l2")
_FIT: dict[str, tuple[type, ...]] = {
    "algorithm": (str,),
    "rows": _NUMBER,
    "nonzero": (int,),
    "converged": (bool,),
    "iterations": (int,),
    **dict.fromkeys(_REALS, _NUMBER),
    "training": (dict,),
}
_MAYBE: dict[str, tuple[type, ...]] = {
    "heldout": (dict,),
    "heldout_by": (str,),
    "folds": (int,),
    "l2_path": (list,),
}
_FIGURES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("rows", "accuracy", "log_loss", "hamming_loss"), _NUMBER),
    "targets": (list,),
}
_OF_TARGET: dict[str, tuple[type, ...]] = {
    "target": (str,),
    **dict.fromkeys(("accuracy", "majority", "log_loss"), _NUMBER),
}
_STEP: dict[str, tuple[type, ...]] = dict.fromkeys(("l2", "log_loss"), _NUMBER)


def fit_of(given: Any) -> FieldSummary | None:
    """Read what a file says of the fit of a table; None if it says nothing."""
    return None if given is None else read_fit(given, FieldSummary, _figures)


def read_fit(given: Any, kind: type[Fit], figures: Callable[[Any, str], Figures]) -> Fit:
    """Read what a file says of the fit of a field, whose figures `figures` reads."""
    own: dict[str, tuple[type, ...]] = dict.fromkeys(kind.counted, (int,))
    found = checked(given, _FIT | own, 'the "fit"', _MAYBE)
    steps = [checked(step, _STEP, '"l2_path" of the "fit"') for step in found.pop("l2_path", [])]
    for name in ("training", "heldout"):
        if name in found:
            found[name] = figures(found[name], f'"{name}" of the "fit"')
    for name in _REALS:
        found[name] = float(found[name])
    return kind(**found, path=tuple((float(step["l2"]), float(step["log_loss"])) for step in steps))


def _figures(given: Any, what: str) -> FieldFigures:
    found = checked(given, _FIGURES, what)
    targets = tuple(
        TargetFigures(**checked(one, _OF_TARGET, f'"targets" of {what}'))
        for one in found.pop("targets")
    )
    return FieldFigures(**found, targets=targets)
