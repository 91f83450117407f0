"""Rows drawn from undirected models: exactly by the junction tree, or else by Gibbs sampling.

Where exact inference fits into the memory allowed, eliminating the variables one by one gives a
network of the same distribution (`Inference.posterior_steps`), and rows are drawn from that as from
any network: independent ones, in any order.

Otherwise they are states of Markov chains (gibbs.py), a row per chain, then again after `thin`
sweeps. The first half of all sweeps is left out, the second half is judged (convergence.py) by 128
states per chain, or by 32 768 states of all chains if these are few; as long as a moment has R̂
above 1.01, or an effective sample size below 400, the number of sweeps doubles. By default rows are
taken after every two autocorrelation times of the worst moment, which leaves correlations of about
e⁻⁴: rows are worth about as many independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, counted, parameter, require_whole
from gml.model.evidence import coded, resolved
from gml.model.junction_tree import NoRoom
from gml.model.posterior import table_steps
from gml.model.sample import Columns, Rows, draw_rows, table_plan
from gml.model.undirected.chains.convergence import Convergence, convergence
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.terms import Scope, Terms
from gml.progress import reporter
from gml.resources import require_memory

if TYPE_CHECKING:
    from gml.model.markovnet import MarkovNet

MOST_R_HAT = 1.01
FEWEST_SAMPLES = 400
FEWEST_STATES = 128
"""States of each chain that are judged: more if there are few chains."""
JUDGED_STATES = 1 << 15
"""States of all chains together, at least."""
MOST_SWEEPS = 1 << 16
"""All sweeps before the first row, unless `burn_in` says how many."""
_LONGER = 8
"""How many times as many sweeps as at first are judged after a `burn_in` that is given, at most: a
short run has a large R̂ even if it began well."""
N_CHAINS = 256


@dataclass(frozen=True)
class GibbsSettings:
    """How chains are run; what is None is found out.

    Parameters
    ----------
    burn_in
        Sweeps that are left out; as many, but no fewer than there are states to judge, follow, and
        up to eight times as many where these are too few to tell.
    thin
        Sweeps from one row of a chain to the next.
    chains
        How many chains there are.
    """

    burn_in: int | None = None
    thin: int | None = None
    chains: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("burn_in", 1), ("thin", 1), ("chains", 4)):
            if getattr(self, name) is not None:
                require_whole(least, **{name: getattr(self, name)})


def markov_rows(
    net: MarkovNet,
    evidence: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    missing_rate: float = 0.0,
    gibbs: GibbsSettings | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
) -> Rows:
    """Return the rows of a model, given evidence; says in a note how they are drawn.

    `gibbs`, if given, asks for Gibbs sampling even if exact rows could be drawn.
    """
    observed = resolved(net.variables, evidence)
    if gibbs is None:
        try:
            steps = table_steps(net, observed, max_memory=max_memory)
        except NoRoom:
            pass
        else:
            reporter().tell("rows are drawn exactly, by the junction tree")
            plan = table_plan(net.variables, steps, seed=seed, observed=observed)
            return Rows(net.variables, plan, seed, missing_rate)
    stream = gibbs_stream(net, observed, seed=seed, settings=gibbs, threads=threads)
    reporter().tell(stream.description)
    return Rows(net.variables, stream, seed, missing_rate)


def sample(
    net: MarkovNet,
    n: int,
    *,
    seed: int = 0,
    evidence: Mapping[str, Any] | None = None,
    gibbs: GibbsSettings | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
) -> Dataset:
    """Draw n rows; those of a larger n with the same seed begin with the same ones.

    Examples
    --------
    >>> from gml.model.markovnet import MarkovNet
    >>> from gml.model.undirected.potential import Potential
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> alike = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    >>> rows = sample(MarkovNet((a, b), (Potential((a, b), alike),)), 100)
    >>> bool((rows.columns[0] == rows.columns[1]).all())
    True
    """
    rows = markov_rows(
        net, evidence, seed=seed, gibbs=gibbs, threads=threads, max_memory=max_memory
    )
    return draw_rows(rows, n, threads=threads)


class GibbsStream:
    """Rows from chains that have converged: the states of all chains, then those after `thin`."""

    def __init__(
        self,
        variables: Sequence[Variable],
        chains: GibbsChains,
        found: Convergence,
        burn_in: int,
        thin: int,
    ) -> None:
        self.convergence = found
        self.burn_in = burn_in
        self.thin = thin
        rank = {name: k for k, name in enumerate(chains.terms.names)}
        self.order = [rank[variable.name] for variable in variables]
        """The variable of the chains in each column."""
        self.chains = chains
        self._beginning = (chains.states.copy(), chains.n_sweeps)

    @property
    def description(self) -> str:
        """How the rows are drawn, and how well that went."""
        found = self.convergence
        return (
            f"rows are drawn by Gibbs sampling: {counted(self.chains.n_chains, 'chain')} after "
            f"{counted(self.burn_in, 'sweep')} that are left out, every {self.thin} sweeps; "
            f"{_figures(found)}"
        )

    def start(self) -> GibbsRows:
        """Begin at the first row."""
        self.chains.states, self.chains.n_sweeps = self._beginning
        return GibbsRows(self)


class GibbsRows:
    """Draws the rows of a stream, in order."""

    def __init__(self, stream: GibbsStream) -> None:
        self._stream = stream
        self._next = 0

    def draw(self, first_row: int, columns: Columns) -> None:
        """Fill the columns with the rows from first_row on, which are the next ones."""
        chains = self._stream.chains
        if first_row < self._next - chains.n_chains:
            raise ValueError("rows of Markov chains are drawn in order")
        n_rows, done = len(columns[0]), 0
        while done < n_rows:
            chain = (first_row + done) % chains.n_chains
            while self._next <= first_row + done:
                chains.sweep(self._stream.thin)
                self._next += chains.n_chains
            size = min(chains.n_chains - chain, n_rows - done)
            for column, k in zip(columns, self._stream.order, strict=True):
                column[done : done + size] = chains.states[k, chain : chain + size]
            done += size


def gibbs_stream(
    net: MarkovNet,
    evidence: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    settings: GibbsSettings | None = None,
    threads: int | None = None,
) -> GibbsStream:
    """Run chains until they have converged; CannotAnswer with the figures if they do not."""
    settings = settings or GibbsSettings()
    n_chains = settings.chains or N_CHAINS
    terms, scopes, tables = _tables(net)
    fixed = {
        terms.names.index(net.variables[j].name): int(code)
        for j, code in coded(net.variables, evidence or {}).items()
    }
    chains = GibbsChains(
        terms,
        scopes,
        tables,
        n_chains=n_chains,
        seed=seed,
        fixed=fixed,
        threads=threads,
    )
    n_states = max(FEWEST_STATES, JUDGED_STATES // n_chains)
    require_memory(n_states * chains.states.nbytes, None, "the states of the chains")
    burn_in = settings.burn_in or n_states
    sweeps = max(burn_in, n_states)
    most = MOST_SWEEPS if settings.burn_in is None else 2 * _LONGER * sweeps
    chains.sweep(burn_in)
    while True:
        found = _judged(chains, n_states, sweeps, most)
        lost = np.isneginf(chains.log_weights(scopes, tables)).sum()
        if not lost and _is_good(found.convergence):
            break
        if 4 * sweeps > most:
            raise CannotAnswer(_refusal(chains, found.convergence, int(lost)))
        sweeps *= 2
        if settings.burn_in is None:
            burn_in = sweeps
    time = found.convergence.autocorrelation_time * found.interval
    thin = settings.thin or max(1, math.ceil(2 * time))
    return GibbsStream(net.variables, chains, found.convergence, burn_in, thin)


class _Judgement(NamedTuple):
    convergence: Convergence
    interval: int
    """Sweeps between the states that were judged."""


def _judged(chains: GibbsChains, n_states: int, sweeps: int, most: int) -> _Judgement:
    """Go on for so many sweeps, or somewhat more, and judge states on the way."""
    interval = -(-sweeps // n_states)
    draws = np.empty((n_states, *chains.states.shape), dtype=chains.states.dtype)
    for state in draws:
        chains.sweep(interval)
        state[:] = chains.states
        reporter().advance("sweeps", chains.n_sweeps, most)
    return _Judgement(convergence(chains.terms, draws), interval)


def _is_good(found: Convergence) -> bool:
    return found.r_hat <= MOST_R_HAT and found.samples >= FEWEST_SAMPLES


def _figures(found: Convergence) -> str:
    return (
        f"the worst R̂ is {found.r_hat:.4f}, the smallest effective sample size "
        f"{found.samples:.0f} of {found.draws} draws"
    )


def _refusal(chains: GibbsChains, found: Convergence, lost: int) -> str:
    # The first one was the start.
    n_sweeps = chains.n_sweeps - 1
    after = f"after {counted(n_sweeps, 'sweep')} of {counted(chains.n_chains, 'chain')}"
    if lost:
        what = f"{lost} of {counted(chains.n_chains, 'chain')} have found no possible state"
        return f"Gibbs sampling has not converged {after}: {what}"
    return (
        f"Gibbs sampling has not converged {after}: {_figures(found)}, where at most {MOST_R_HAT} "
        f"and at least {FEWEST_SAMPLES} are wanted; a larger {parameter('burn_in')} may "
        f"help, or more {parameter('max_memory')} for exact rows"
    )


def _tables(net: MarkovNet) -> tuple[Terms, list[Scope], list[NDArray[np.float64]]]:
    """The terms of a model by the order of names, what is impossible included."""
    terms = Terms.of(net.variables, [potential.names for potential in net.potentials])
    rank = {name: k for k, name in enumerate(terms.names)}
    scopes, tables = [], []
    for potential in net.potentials:
        places = [rank[name] for name in potential.names]
        order = sorted(range(len(places)), key=places.__getitem__)
        scopes.append(tuple(places[i] for i in order))
        tables.append(potential.table.transpose(order))
    return terms, scopes, tables
