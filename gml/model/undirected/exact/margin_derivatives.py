"""How the margins of a model answer to its log-potentials: the covariances of its features.

The derivative of E[f] along a change δ of the log-potentials is Cov(f, δ) (Koller & Friedman 2009,
proposition 20.3). On a calibrated junction tree, E[δ | x_C] for every clique C follows from two
passes of conditional expectations over the separators, which are linear in δ; the change of the
margin of C is p(x_C) · (E[δ | x_C] − E[δ]). Any number of directions go through at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from gml.model.factor import margin_over
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.resources import budget_in_force, require_memory
from gml.stopping import check_stopped

Table = NDArray[np.float64]

# Directions whose tables stay in the cache.
_LARGEST_BATCH = 128


def covariance_times(engine: CliqueMargins, coefficients: Coefficients, v: Table) -> Table:
    """Return the covariance of the features, after `engine.of`, times columns.

    The generators are the first of the engine's scopes.
    """
    directions = coefficients.generators_of(v)
    derivatives = margin_derivatives(engine, directions)
    return coefficients.moments_of_generators(derivatives[: len(directions)])


def covariance_on_tree(
    engine: CliqueMargins, coefficients: Coefficients, *, max_memory: int | None = None
) -> Table:
    """Return the covariance of the features where `engine.of` was last asked.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> from gml.model.undirected.terms import Terms
    >>> terms = Terms.of([Variable("A", ("n", "y"))], [["A"]])
    >>> engine = CliqueMargins(terms, terms.generators)
    >>> _ = engine.of([np.log([0.25, 0.75])])
    >>> covariance_on_tree(engine, Coefficients(terms)).round(12).tolist()
    [[0.75]]
    """
    d = coefficients.size
    require_memory(8 * 2 * d * d, max_memory, "the covariance of the model's terms")
    per_direction = 32 * (engine.cells + d)
    width = min(d, _LARGEST_BATCH, budget_in_force(max_memory) // (2 * per_direction))
    width = max(1, width)
    found = np.empty((d, d))
    for start in range(0, d, width):
        stop = min(d, start + width)
        units = np.zeros((d, stop - start))
        units[np.arange(start, stop), np.arange(stop - start)] = 1.0
        found[:, start:stop] = covariance_times(engine, coefficients, units)
    found += found.T.copy()
    found *= 0.5
    return found


def margin_derivatives(engine: CliqueMargins, directions: Sequence[Table]) -> list[Table]:
    """Return the derivatives of the margins of `engine.scopes` where `engine.of` was last asked.

    Parameters
    ----------
    engine
        The junction tree, after `of`.
    directions
        A change of the log-potentials of each of the first scopes, with a last axis for the
        directions; the potentials of further scopes stay as they are.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> from gml.model.undirected.terms import Terms
    >>> terms = Terms.of([Variable("A", ("n", "y"))], [["A"]])
    >>> engine = CliqueMargins(terms, terms.generators)
    >>> _ = engine.of([np.log([0.25, 0.75])])
    >>> margin_derivatives(engine, [np.array([[0.0], [1.0]])])[0][:, 0].round(12).tolist()
    [-0.1875, 0.1875]
    """
    cliques, parents = engine.cliques, engine.parents
    n_directions = directions[0].shape[-1] if directions else 0
    sizes = engine.terms.sizes
    own = [np.zeros((*(sizes[k] for k in clique), n_directions)) for clique in cliques]
    for scope, (step, axes), table in zip(
        engine.scopes, engine.placements, directions, strict=False
    ):
        if step >= 0:
            own[step] += _spread(table, scope, axes, len(cliques[step]))
    tables = [engine.clique_table(s) for s in range(len(cliques))]
    messages: list[Table] = []
    # Children come before their parents.
    for s, clique in enumerate(cliques):
        check_stopped()
        separator = tables[s].sum(axis=-1, keepdims=True)
        given = np.divide(tables[s], separator, out=np.zeros_like(tables[s]), where=separator > 0)
        messages.append(np.einsum("...i,...ij->...j", given, own[s]))
        if parents[s] >= 0:
            target = cliques[parents[s]]
            at = [target.index(k) for k in clique[:-1]]
            own[parents[s]] += _spread(messages[s], clique[:-1], at, len(target))
    for s in reversed(range(len(cliques))):
        check_stopped()
        if parents[s] >= 0:
            clique, target = cliques[s][:-1], cliques[parents[s]]
            expected = _given_part(tables[parents[s]], own[parents[s]], target, clique)
            own[s] += (expected - messages[s])[..., None, :]
    for table, expected in zip(tables, own, strict=True):
        flat, weights = expected.reshape(-1, n_directions), table.reshape(-1)
        flat -= weights @ flat
        flat *= weights[:, None]
    return [
        np.zeros((*engine.terms.shape(scope), n_directions)) if step < 0
        else margin_over(own[step], (*axes, len(cliques[step]))).reshape(
            *engine.terms.shape(scope), n_directions
        )
        for scope, (step, axes) in zip(engine.scopes, engine.placements, strict=True)
    ]  # fmt: skip


def _spread(table: Table, scope: Sequence[int], axes: Sequence[int], n_axes: int) -> Table:
    """A table over some axes of a clique, to be added to one over all; the last axis stays."""
    varying = [size for size in table.shape[:-1] if size > 1] if scope else []
    squeezed = table.reshape(*varying, table.shape[-1])
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    shape = [1] * n_axes
    for i in order:
        shape[axes[i]] = squeezed.shape[i]
    return squeezed.transpose(*order, len(axes)).reshape(*shape, table.shape[-1])


def _given_part(table: Table, values: Table, clique: Sequence[int], part: Sequence[int]) -> Table:
    """Expectations of values over a clique given each cell of a part of it."""
    letters = ascii_letters[: len(clique)]
    kept = "".join(letters[clique.index(k)] for k in part)
    weighted = np.einsum(f"{letters},{letters}...->{kept}...", table, values)
    weights = np.einsum(f"{letters}->{kept}", table)[..., None]
    found: Table = np.divide(weighted, weights, out=np.zeros_like(weighted), where=weights > 0)
    return found
