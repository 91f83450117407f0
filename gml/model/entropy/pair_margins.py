"""ln Z and all margins of models of pairs, two levels each, that no junction tree has room for.

Every state is looked at, 2ⁿ of them, but none is kept: the kernel adds up blocks of 2²⁰ states
(pair_sums.h), and what is left of a block are its sums and those of single variables and pairs. So
30 variables take a fraction of a second, and each further one twice as long; memory stays flat.
Blocks are added up in one order, whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import CannotAnswer
from gml.kernel.layout import PAIR_BITS, PairSums
from gml.kernel.pool import in_order
from gml.model.undirected.exact.clique_margins import Moments
from gml.model.undirected.terms import Scope, Terms
from gml.resources import available_threads

Table = NDArray[np.float64]

MOST_PAIRED = 34
"""Variables beyond which a pass over all states takes minutes."""
_BLOCKS_AT_ONCE = 16
# exp of more is no double.
_LARGEST = 690.0


def is_model_of_pairs(sizes: Sequence[int], scopes: Sequence[Scope]) -> bool:
    """Whether all variables have two levels, and no table is over more than two of them.

    Examples
    --------
    >>> is_model_of_pairs([2, 2, 2], [(0, 1), (2,)]), is_model_of_pairs([2, 3], [(0, 1)])
    (True, False)
    """
    return set(sizes) <= {2} and all(len(scope) <= 2 for scope in scopes)


class PairMargins:
    """Margins of scopes of one or two variables, again and again for other log-potentials.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> variables = [Variable(f"v{k:02}", ("n", "y")) for k in range(20)]
    >>> terms = Terms.of(variables, [["v00", "v19"]])
    >>> found = PairMargins(terms, [(0, 19)]).of([np.log([[1.0, 2.0], [3.0, 4.0]])])
    >>> found.margins[0].round(12).tolist()
    [[0.1, 0.2], [0.3, 0.4]]
    >>> round(found.log_z - math.log(10 * 2**18), 12)
    0.0
    """

    def __init__(
        self, terms: Terms, scopes: Sequence[Scope], *, threads: int | None = None
    ) -> None:
        self.terms = terms
        self.scopes = tuple(scopes)
        self._threads = threads or available_threads()
        self._n = len(terms.variables)
        # Fewer variables than those within are as many with some that are tied to none.
        n = max(self._n, 2 * PAIR_BITS)
        n_outer = n - 2 * PAIR_BITS
        # The first variables are the outer ones.
        self._outer = np.arange(n_outer)
        self._middle = np.arange(n_outer, n_outer + PAIR_BITS)
        self._inner = np.arange(n_outer + PAIR_BITS, n)
        self._room = n
        self._bits = _bits_of(PAIR_BITS)
        self._outer_bits = _bits_of(n_outer)

    def of(self, log_tables: Sequence[Table]) -> Moments:
        """Return ln Z and the margins of the scopes for their log-potentials, all finite."""
        constant, fields, couplings = self._as_fields(log_tables)
        parts = self._sums(fields, couplings)
        log_z, singles, pairs = self._moments(parts)
        # Of the inner pairs, the largest weight was divided out.
        return Moments(
            log_z + constant + self._largest_inner,
            [self._margin(s, singles, pairs) for s in self.scopes],
        )

    def _as_fields(self, log_tables: Sequence[Table]) -> tuple[float, Table, Table]:
        """Write a sum of tables as a constant, fields of 1s, and couplings of two 1s."""
        n = self._room
        constants = [(self._n - n) * math.log(2)]
        fields, couplings = np.zeros(n), np.zeros((n, n))
        for scope, table in zip(self.scopes, log_tables, strict=True):
            if not np.isfinite(table).all():
                raise CannotAnswer(
                    "cells that are impossible are beyond what a model of all pairs of so many "
                    "variables can be solved with"
                )
            constants.append(float(table.flat[0]))
            if len(scope) == 1:
                fields[scope[0]] += table[1] - table[0]
                continue
            i, j = scope
            fields[i] += table[1, 0] - table[0, 0]
            fields[j] += table[0, 1] - table[0, 0]
            joint = table[1, 1] - table[1, 0] - table[0, 1] + table[0, 0]
            couplings[i, j] += joint
            couplings[j, i] += joint
        self._require_range(fields, couplings)
        return math.fsum(constants), fields, couplings

    def _require_range(self, fields: Table, couplings: Table) -> None:
        inner = self._inner
        highest = fields[inner] + np.maximum(couplings[inner], 0.0).sum(axis=1)
        lowest = fields[inner] + np.minimum(couplings[inner], 0.0).sum(axis=1)
        if max(float(np.maximum(highest, 0).sum()), float(-lowest.min())) > _LARGEST:
            raise CannotAnswer(
                "the multipliers grow beyond what doubles can hold: the constraints are next to a "
                "contradiction, or make cells impossible"
            )

    def _sums(self, fields: Table, couplings: Table) -> list[PairSums]:
        outer, middle, inner, bits = self._outer, self._middle, self._inner, self._bits
        among_middle = _energies(bits, couplings[np.ix_(middle, middle)])
        among_inner = _energies(bits, couplings[np.ix_(inner, inner)])
        self._largest_inner = float(among_inner.max())
        blocks = np.empty((len(self._outer_bits), 1 + 2 * PAIR_BITS))
        blocks[:, 0] = self._outer_bits @ fields[outer] + _energies(
            self._outer_bits, couplings[np.ix_(outer, outer)]
        )
        for at, group in ((1, middle), (1 + PAIR_BITS, inner)):
            across = couplings[np.ix_(outer, group)]
            blocks[:, at : at + PAIR_BITS] = fields[group] + self._outer_bits @ across
        between = np.ascontiguousarray(couplings[np.ix_(middle, inner)])
        weights = np.exp(among_inner - self._largest_inner)

        def add_up(first: int) -> PairSums:
            some = blocks[first : first + _BLOCKS_AT_ONCE]
            found: PairSums = kernel.active().pair_sums(among_middle, weights, between, some)
            return found

        return list(in_order(add_up, range(0, len(blocks), _BLOCKS_AT_ONCE), self._threads))

    def _moments(self, parts: Sequence[PairSums]) -> tuple[float, Table, Table]:
        """Return ln of the sum, and the probabilities of 1s and of pairs of them."""
        scales = np.concatenate([part.scales for part in parts])
        top = float(scales.max())
        moments = np.concatenate([part.moments for part in parts])
        moments *= np.exp(scales - top)[:, None, None]
        whole = moments.sum(axis=0)
        total = float(whole[0, 0])
        weights = np.exp([part.scale - top for part in parts])[:, None]
        by_inner, by_middle = (
            (np.stack([getattr(part, name) for part in parts]) * weights).sum(axis=0)
            for name in ("by_inner", "by_middle")
        )
        outer, middle, inner = self._outer, self._middle, self._inner
        pairs = np.zeros((self._room, self._room))
        pairs[np.ix_(middle, middle)] = _pair_moments(self._bits, by_middle)
        pairs[np.ix_(inner, inner)] = _pair_moments(self._bits, by_inner)
        pairs[np.ix_(inner, middle)] = whole[1:, 1:]
        pairs[np.ix_(middle, inner)] = whole[1:, 1:].T
        bits = self._outer_bits
        pairs[np.ix_(outer, outer)] = _pair_moments(bits, moments[:, 0, 0])
        for k, own in enumerate(bits.T):
            chosen = moments[own > 0].sum(axis=0)
            pairs[k, middle] = pairs[middle, k] = chosen[0, 1:]
            pairs[k, inner] = pairs[inner, k] = chosen[1:, 0]
        pairs /= total
        return top + math.log(total), np.diag(pairs).copy(), pairs

    def _margin(self, scope: Scope, singles: Table, pairs: Table) -> Table:
        if len(scope) == 1:
            p = float(singles[scope[0]])
            return np.array([1 - p, p])
        i, j = scope
        p, q, both = float(singles[i]), float(singles[j]), float(pairs[i, j])
        return np.array([[1 - p - q + both, q - both], [p - both, both]])


def _bits_of(n_bits: int) -> Table:
    """Return all configurations of so many variables: the k-th is 1 where 2ᵏ is in the number."""
    found: Table = (np.arange(1 << n_bits)[:, None] >> np.arange(n_bits) & 1).astype(np.float64)
    return found


def _energies(bits: Table, couplings: Table) -> Table:
    """Return the sums of couplings of pairs of 1s."""
    found: Table = ((bits @ np.triu(couplings, 1)) * bits).sum(axis=1)
    return found


def _pair_moments(bits: Table, weights: Table) -> Table:
    """Return the weights of all pairs of 1s, in sums whose order no number of threads changes."""
    found = np.empty((bits.shape[1],) * 2)
    for k, own in enumerate(bits.T):
        chosen = own > 0
        found[k] = (bits[chosen] * weights[chosen, None]).sum(axis=0)
    return found
