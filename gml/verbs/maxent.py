"""The distribution of largest entropy under constraints: gml.maxent, `gml maxent`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from gml import __version__
from gml.data.frames import is_frame
from gml.errors import UsageError, kind_of, parameter
from gml.formats.constraints import constraints_of, read_constraints, require_known
from gml.formats.constraints_csv import constraints_of_csv
from gml.graph.provenance import Provenance
from gml.model.bayesnet import BayesNet
from gml.model.entropy.constraints import Constraints, NumericMoments
from gml.model.entropy.density import Density
from gml.model.markovnet import MarkovNet
from gml.pictures.picture import Picture
from gml.progress import Deadline
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.model_input import ModelSource, open_model
from gml.verbs.shared.raking_targets import text_of_frame
from gml.verbs.shared.recording import records_keywords

if TYPE_CHECKING:
    import pandas as pd

ConstraintSource: TypeAlias = (
    "str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any] | pd.DataFrame | Constraints | "
    "NumericMoments"
)


@front_door(
    reading=(),
    elsewhere={
        "quantiles": "a Density has them: gml.maxent(…).quantile([0.05, 0.5, 0.95])",
        "draws": "a Density makes them: gml.maxent(…).sample(1000, seed=0)",
        "seed": "it goes with draws: gml.maxent(…).sample(1000, seed=0)",
    },
)
@records_keywords
def maxent(
    constraints: ConstraintSource,
    reference: ModelSource | None = None,
    *,
    normalise: bool = False,
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
) -> MarkovNet | Density:
    """Find the distribution of largest entropy, or nearest to a reference, under constraints.

    Parameters
    ----------
    constraints
        A JSON or CSV file; the same as Python objects, {"constraints": [...]} or the list alone;
        or {"numeric": {...}} for one numeric variable; or a DataFrame like a CSV file.
    reference
        A model, or a file of one: then D(p‖reference) is least (an information projection).
    normalise
        Scale every margin to 1, whatever its values add up to.
    max_seconds
        Give up after this time: what does not meet the constraints is of no use.
    threads
        By default all cores.
    asked
        What the provenance records as asked for; by default the keywords of the call.

    Returns
    -------
    MarkovNet or Density
        A model that every other function takes, with the entropy, the divergence, the residuals
        and the multipliers as `learning["maxent"]`; or the density of a numeric variable.

    Examples
    --------
    >>> import gml
    >>> faces = {str(face): face for face in range(1, 7)}
    >>> net = gml.maxent([{"expectation": {"die": faces}, "equals": 4.5}])
    >>> round(net.query("die")["die"]["6"], 8)
    0.34749407
    >>> round(net.learning["maxent"]["constraints"][0]["multiplier"], 6)
    0.371049
    >>> wait = gml.maxent({"numeric": {"name": "wait", "support": [0, None], "mean": 2}})
    >>> round(wait.entropy, 9)
    1.693147181
    """
    if max_seconds is not None and not max_seconds > 0:
        raise UsageError(f"{parameter('max_seconds')} must be positive, not {max_seconds!r}")
    deadline = Deadline(max_seconds)
    model = None if reference is None else _labels_only(open_model(reference))
    levels = None if model is None else {v.name: v.levels or () for v in model.variables}
    found = _opened(constraints, normalise, levels)
    learning = Provenance(
        {"command": "maxent", "options": dict(asked or {}), "version": __version__}
    )
    if isinstance(found, NumericMoments):
        if model is not None:
            raise UsageError(
                f"{parameter('reference')} is a model over labels, and the constraints are about "
                "a numeric variable"
            )
        from gml.model.entropy.density_fit import fit_density

        return replace(fit_density(found, deadline=deadline), learning=learning)
    from gml.model.entropy.projection import project

    net = project(found, model, deadline=deadline, threads=threads)
    return replace(net, learning=learning.also(**net.learning))


def _labels_only(model: BayesNet | MarkovNet) -> BayesNet | MarkovNet:
    if model.is_gaussian or model.is_mixed:
        raise UsageError(f"{parameter('reference')} must be a model over labels, not over numbers")
    return model


def _opened(
    source: ConstraintSource, normalise: bool, levels: Mapping[str, Sequence[str]] | None
) -> Constraints | NumericMoments:
    if isinstance(source, Constraints | NumericMoments):
        if isinstance(source, Constraints):
            require_known(source, levels)
        return source
    if isinstance(source, str | os.PathLike):
        return read_constraints(source, normalise=normalise, levels=levels)
    if is_frame(source):
        found = constraints_of_csv(text_of_frame(source), "the constraints", normalise=normalise)
        require_known(found, levels)
        return found
    if isinstance(source, Sequence):
        source = {"constraints": list(source)}
    if not isinstance(source, Mapping):
        raise UsageError(
            f"{parameter('constraints')} must be a path, a dict, a list of constraints or a "
            f"DataFrame, not {kind_of(source)}"
        )
    return constraints_of(source, "the constraints", normalise=normalise, levels=levels)


def draw_density(density: Density, quantiles: Sequence[float] = ()) -> Picture:
    """Return a picture of a density, with quantiles marked."""
    from gml.pictures.plots.density import density_plot

    return density_plot(density, quantiles=quantiles)


def as_density(found: MarkovNet | Density) -> Density | None:
    """Return what was found if it is a density."""
    return found if isinstance(found, Density) else None


def require_density(found: MarkovNet | Density, option: str) -> Density:
    """Refuse a model of labels where only a density will do."""
    if not isinstance(found, Density):
        more = "; gml sample draws rows from the model" if option == "draws" else ""
        raise UsageError(f"{parameter(option)} is for a numeric variable{more}")
    return found
