"""Gibbs sampling of undirected models: many chains at once.

A sweep draws every variable, in the order of names, from its distribution given all others (Geman
& Geman 1984). The random bits of a draw depend only on the seed, the sweep, the name of the
variable and the chain, so that no number of threads shows, and more chains begin with the same
ones.

A cell of −∞ counts as an enormous loss here, whatever the temperature: a chain that starts where
the model has probability 0 leaves, a violation at a time, and one that is inside stays there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.name_keys import keys_of_names
from gml.errors import require_whole
from gml.kernel.gibbs_plan import GROUP, GibbsPlan, ScopeLayout
from gml.kernel.pool import in_order
from gml.model.undirected.terms import Scope, Terms
from gml.resources import available_threads, require_memory

Table = NDArray[np.float64]

_IMPOSSIBLE = -1e9
# Cells of the lists of thresholds of a variable; they pay off if there are not far fewer draws.
_FEWEST_CELLS = 1024
_MOST_CELLS = 8192
# Draws below which threads take longer to start than to work.
_DRAWS_PER_THREAD = 1 << 20


def flat(tables: Sequence[Table]) -> Table:
    """Return the cells of all tables in one row, the last axis fastest."""
    parts = (np.asarray(table, dtype=np.float64).reshape(-1) for table in tables)
    return np.concatenate([np.empty(0), *parts])


class GibbsChains:
    """The states of some chains, and the tables that they are drawn from.

    The chains start from independent, even draws.

    Parameters
    ----------
    terms
        The variables, in the order of names.
    scopes, tables
        Log-potentials, one table per scope; −∞ is allowed.
    n_chains
        How many chains there are.
    seed
        Seed of the random numbers.
    fixed
        Levels, by variable, that are observed and stay.
    changing
        Whether log-potentials are to change with every sweep, so that long lists do not pay off.
    threads
        By default all cores.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> always_alike = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    >>> chains = GibbsChains(terms, [(0, 1)], [always_alike], n_chains=100)
    >>> chains.sweep(3)
    >>> bool((chains.states[0] == chains.states[1]).all())
    True
    """

    def __init__(
        self,
        terms: Terms,
        scopes: Sequence[Scope],
        tables: Sequence[Table],
        *,
        n_chains: int,
        seed: int = 0,
        fixed: Mapping[int, int] | None = None,
        changing: bool = False,
        threads: int | None = None,
    ) -> None:
        require_whole(1, n_chains=n_chains)
        self.terms = terms
        self.scopes = tuple(scopes)
        self.n_chains = n_chains
        self.n_sweeps = 0
        """Sweeps so far, each of which has random numbers of its own."""
        self._threads = threads
        self._layouts: dict[tuple[Scope, ...], ScopeLayout] = {}
        sizes = terms.sizes
        width = np.uint8 if max(sizes, default=1) <= 256 else np.uint16
        room = -(-n_chains // GROUP) * GROUP
        fixed = dict(fixed or {})
        drawn = [k for k, size in enumerate(sizes) if size > 1 and k not in fixed]
        most_cells = min(_MOST_CELLS, max(_FEWEST_CELLS, 4 * n_chains))
        if changing:
            most_cells = min(_MOST_CELLS, n_chains // 4)
        keys = keys_of_names(terms.names, seed, "gibbs")
        plan = GibbsPlan.of(self.scopes, sizes, keys, drawn=drawn, most_cells=most_cells)
        codes = len(sizes) * room * np.dtype(width).itemsize
        require_memory(codes + 9 * plan.n_listed, None, "the chains of the sampler")
        self._states = np.zeros((len(sizes), room), dtype=width)
        for k, code in fixed.items():
            self._states[k] = code
        self._n_drawn = len(drawn)
        self._sampler = kernel.active().GibbsSampler(plan)
        self.set_tables(tables)
        self.sweep(beta=0.0)

    @property
    def states(self) -> NDArray[Any]:
        """Variables × chains: the codes that each chain is at, which may be overwritten."""
        return self._states[:, : self.n_chains]

    @states.setter
    def states(self, codes: NDArray[Any]) -> None:
        self._states[:, : self.n_chains] = codes

    def set_tables(self, tables: Sequence[Table]) -> None:
        """Go on with other log-potentials of the same scopes."""
        self.set_numbers(flat(tables))

    def set_numbers(self, numbers: Table) -> None:
        """Go on with other log-potentials, all cells in one row; it is not copied."""
        self._numbers = numbers
        self._impossible = np.isneginf(self._numbers)
        self._beta: float | None = None

    def sweep(self, n_sweeps: int = 1, *, beta: float = 1.0) -> None:
        """Draw every variable of every chain so many times; log-potentials count `beta` times."""
        if beta != self._beta:
            numbers = np.where(self._impossible, 0.0, self._numbers) * beta
            if beta:
                numbers[self._impossible] = _IMPOSSIBLE
            self._sampler.set_tables(numbers)
            self._beta = beta
        room = self._states.shape[1]
        draws = self._n_drawn * room * n_sweeps
        threads = min(self._threads or available_threads(), 1 + draws // _DRAWS_PER_THREAD)
        step = -(-room // (threads * GROUP)) * GROUP

        def draw(first: int) -> None:
            last = min(first + step, room)
            self._sampler.sweep(self._states, first, last, self.n_sweeps, n_sweeps)

        for _ in in_order(draw, range(0, room, step), threads):
            pass
        self.n_sweeps += n_sweeps

    def margins(self, scopes: Sequence[Scope]) -> list[Table]:
        """Return the shares of chains in the cells of each scope."""
        layout = self._layout(scopes)
        shares = kernel.active().count_states(layout, self._states, self.n_chains) / self.n_chains
        ends = layout.tables.tolist()
        shape = self.terms.shape
        return [shares[ends[k] : ends[k + 1]].reshape(shape(s)) for k, s in enumerate(scopes)]

    def log_weights(self, scopes: Sequence[Scope], tables: Sequence[Table]) -> Table:
        """Return, for each chain, the sum of what the tables have where it is."""
        return self.sums(scopes, flat(tables))

    def sums(self, scopes: Sequence[Scope], numbers: Table) -> Table:
        """Return the same, given the cells of all tables in one row."""
        layout = self._layout(scopes)
        return kernel.active().sum_states(layout, self._states, self.n_chains, numbers)

    def _layout(self, scopes: Sequence[Scope]) -> ScopeLayout:
        key = tuple(scopes)
        if key not in self._layouts:
            self._layouts[key] = ScopeLayout.of(key, self.terms.sizes)
        return self._layouts[key]
