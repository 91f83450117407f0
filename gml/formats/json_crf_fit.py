"""What the file of a conditional random field says of its fit."""

from __future__ import annotations

from typing import Any

from gml.formats.checked_objects import checked
from gml.model.conditional.figures import FieldFigures, TargetFigures
from gml.model.conditional.summary import FieldSummary

_NUMBER = (int, float)
_FIT: dict[str, tuple[type, ...]] = {
    "algorithm": (str,),
    "rows": _NUMBER,
    "distinct_inputs": (int,),
    "weights": (int,),
    "nonzero": (int,),
    "converged": (bool,),
    "iterations": (int,),
    **dict.fromkeys(("gradient", "log_likelihood", "objective", "l1", "l2"), _NUMBER),
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
    """Read what a file says of the fit; None if it says nothing."""
    if given is None:
        return None
    found = checked(given, _FIT, 'the "fit"', _MAYBE)
    path = found.pop("l2_path", [])
    steps = [checked(step, _STEP, '"l2_path" of the "fit"') for step in path]
    found["training"] = _figures(found["training"], '"training" of the "fit"')
    if "heldout" in found:
        found["heldout"] = _figures(found["heldout"], '"heldout" of the "fit"')
    for name in ("gradient", "log_likelihood", "objective", "l1", "l2"):
        found[name] = float(found[name])
    return FieldSummary(
        **found, path=tuple((float(step["l2"]), float(step["log_loss"])) for step in steps)
    )


def _figures(given: Any, what: str) -> FieldFigures:
    found = checked(given, _FIGURES, what)
    targets = tuple(
        TargetFigures(**checked(one, _OF_TARGET, f'"targets" of {what}'))
        for one in found.pop("targets")
    )
    return FieldFigures(**found, targets=targets)
