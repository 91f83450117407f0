"""The graphical lasso on a table: gml.glasso, `gml glasso`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gml.errors import UsageError, counted, parameter
from gml.graph.provenance import Provenance
from gml.learners.glasso import GlassoResult, GlassoSettings, graphical_lasso, tell_of
from gml.progress import Deadline, reporter
from gml.verbs.shared.data_input import Data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.number_input import open_numbers
from gml.verbs.shared.recording import described, recorded, records_keywords


@front_door()
@records_keywords
def glasso(
    data: Data,
    *,
    l1: float | None = None,
    criterion: str | None = None,
    gamma: float | None = None,
    folds: int | None = None,
    seed: int | None = None,
    n_penalties: int | None = None,
    raw: bool = False,
    transform: str = "none",
    refit: bool | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **reading: Any,
) -> GlassoResult:
    """Learn a sparse undirected graph of numeric columns by the graphical lasso.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter, whose columns all hold numbers.
    l1
        The penalty, in units of correlations (of covariances with `raw`); chosen by default.
    criterion
        What chooses the penalty: `ebic`, the default, or `folds` for the held-out likelihood.
    gamma
        How much the extended BIC charges for the number of columns, 0.5 by default; with 0 it is
        the BIC.
    folds, seed
        How many folds, 10 by default, and the seed by which rows are put into them; a number of
        folds means `criterion="folds"`.
    n_penalties
        How many penalties are looked at, 100 by default.
    raw
        Penalise covariances, not correlations.
    transform
        `rank` or `normal` for correlations that no monotone change of a column changes: of ranks,
        or of normal scores.
    refit
        Fit graphs again without a penalty: by default where it is chosen, which is then a choice
        among these fits, and not where `l1` is given.
    max_seconds
        Stop after this time with the penalties looked at so far; the result says so.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **reading
        How to read the data; see `gml.read`.

    Returns
    -------
    GlassoResult
        With the `graph`, whose edges carry `partial_correlation`, the `precision` matrix, the
        penalty `l1`, the `path` of penalties and the duality `gap`.

    Examples
    --------
    >>> import gml
    >>> result = gml.glasso("sample_data/crops.csv")
    >>> result.graph.kind, result.graph.n_edges, round(result.l1, 4)
    ('undirected', 10, 0.108)
    """
    settings = _settings(
        l1=l1,
        criterion=criterion,
        gamma=gamma,
        folds=folds,
        seed=seed,
        n_penalties=n_penalties,
        raw=raw,
        transform=transform,
        refit=refit,
    )
    deadline = Deadline(max_seconds)
    counter = open_numbers(data, "glasso", threads=threads, **reading)
    result = graphical_lasso(counter, settings, threads=threads, deadline=deadline)
    tell_of(result)
    if result.least_eigenvalue is not None:
        reporter().note(
            "the correlations of ranks are those of no distribution: their least eigenvalue, "
            f"{result.least_eigenvalue:.3g}, was raised to 0"
        )
    if not result.complete:
        reporter().warn(
            f"stopped by {parameter('max_seconds')}: this is the best of "
            f"{counted(len(result.path), 'graph')}"
        )
    learning = Provenance.of(
        "glasso",
        options=recorded(asked, counter),
        settings=_shown(settings),
        rows=counter.n,
        **_found(result),
        data=counter.digest,
    )
    return described(result, counter, learning)


def _settings(**given: Any) -> GlassoSettings:
    """Check what was asked for; what was not has its default."""
    if given["l1"] is not None:
        for name in ("criterion", "gamma", "folds", "seed", "n_penalties"):
            if given[name] is not None:
                raise UsageError(
                    f"{parameter(name)} is about choosing a penalty, and {parameter('l1')} is one"
                )
    if given["criterion"] is None and given["folds"] is not None:
        given["criterion"] = "folds"
    owners = {"gamma": "ebic", "folds": "folds", "seed": "folds"}
    for name, owner in owners.items():
        if given[name] is not None and (given["criterion"] or "ebic") != owner:
            raise UsageError(f"{parameter(name)} belongs to {parameter('criterion', owner)}")
    return GlassoSettings(**{name: value for name, value in given.items() if value is not None})


def _shown(settings: GlassoSettings) -> dict[str, Any]:
    """What the provenance says of the settings in force."""
    chosen: dict[str, Any] = {"l1": settings.l1}
    if settings.l1 is None:
        chosen = {"criterion": settings.criterion, "n_penalties": settings.n_penalties}
        if settings.criterion == "ebic":
            chosen["gamma"] = settings.gamma
        else:
            chosen |= {"folds": settings.folds, "seed": settings.seed}
    scale = "covariance" if settings.raw else "correlation"
    return {**chosen, "scale": scale, "transform": settings.transform, "refit": settings.refits}


def _found(result: GlassoResult) -> dict[str, Any]:
    """What the provenance says of the result: the penalty, the path, and what no edge can say."""
    path: dict[str, list[Any]] = {
        "l1": [point.l1 for point in result.path],
        "edges": [point.edges for point in result.path],
        "log_likelihood": [point.log_likelihood for point in result.path],
        "ebic": [point.ebic for point in result.path],
    }
    chosen = result.chosen
    found: dict[str, Any] = {
        "l1": result.l1,
        "log_likelihood": chosen.log_likelihood,
        "ebic": chosen.ebic,
        "gap": chosen.gap,
    }
    if chosen.loss is not None:
        path["loss"] = [point.loss for point in result.path]
        path["error"] = [point.error for point in result.path]
        found |= {"loss": chosen.loss, "error": chosen.error}
    if len(result.path) > 1:
        found["path"] = path
    diagonal = result.precision.diagonal().tolist()
    found["precision_diagonal"] = dict(zip(result.graph.names, diagonal, strict=True))
    if result.least_eigenvalue is not None:
        found["least_eigenvalue"] = result.least_eigenvalue
    if not result.complete:
        found["complete"] = False
    return found
