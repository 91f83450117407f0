"""gml.sample: rows drawn from a model, as a table or as CSV text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gml.data.dataset import Dataset
from gml.data.options import DEFAULT_NA
from gml.errors import UsageError, listing, parameter
from gml.model.evidence import circumstances
from gml.model.markovnet import MarkovNet
from gml.model.sample import Rows, csv_chunks, draw_rows, network_rows
from gml.progress import reporter
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.model_input import AskedSource, open_model


@front_door(reading=())
def sample(
    model: AskedSource,
    n: int,
    *,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    seed: int = 0,
    weighted: bool = False,
    missing_rate: float = 0.0,
    burn_in: int | None = None,
    thin: int | None = None,
    chains: int | None = None,
    threads: int | None = None,
) -> Dataset:
    """Draw rows from a model, exact ones if there is evidence.

    The same seed gives the same rows, whatever the number of threads; more rows with the same seed
    begin with the same ones.

    Rows of an undirected model are exact where the junction tree fits into memory, and otherwise
    drawn by Gibbs sampling: CannotAnswer if the chains do not converge (split R̂ above 1.01, or an
    effective sample size below 400, of a level or of a pair that a term joins).

    Parameters
    ----------
    model
        A network or an undirected model, or a file of one.
    n
        Number of rows.
    evidence
        Values observed, after what `do` sets.
    do
        Values set by hand, which cuts nodes off from their parents; a warning names the arrows that
        this rests on and the data leave open.
    seed
        Seed of the random numbers.
    weighted
        Whether to draw weighted rows, not exact ones; a weight is the likelihood of the evidence.
    missing_rate
        The probability with which each cell is missing.
    burn_in
        For Gibbs sampling, which this asks for: sweeps that are left out; by default as many as the
        chains need to converge, but no more than 32 768.
    thin
        The same: sweeps from one row of a chain to the next; by default two autocorrelation times.
    chains
        The same: number of chains, 256 by default.
    threads
        By default all cores.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> rows = sample(net, 1000, do={"smoke": "no"}, seed=1)
    >>> set(rows.to_frame()["smoke"])
    {'no'}
    """
    gibbs = {"burn_in": burn_in, "thin": thin, "chains": chains}
    rows = _rows(model, evidence, do, seed, weighted, missing_rate, gibbs, threads)
    return draw_rows(rows, n, threads=threads)


def sample_csv(
    model: AskedSource,
    n: int,
    *,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    seed: int = 0,
    weighted: bool = False,
    missing_rate: float = 0.0,
    burn_in: int | None = None,
    thin: int | None = None,
    chains: int | None = None,
    threads: int | None = None,
    safe_csv: bool = False,
) -> Iterator[memoryview]:
    """Return the same rows as pieces of CSV text, for any number of them in little memory.

    A piece is to be used before the next one is asked for. Weights are a last column, "weight".
    With `safe_csv`, texts that a spreadsheet would run as formulas have an apostrophe before them.
    """
    gibbs = {"burn_in": burn_in, "thin": thin, "chains": chains}
    rows = _rows(model, evidence, do, seed, weighted, missing_rate, gibbs, threads)
    _warn_of_missing_tokens(rows)
    return csv_chunks(rows, n, threads=threads, safe_csv=safe_csv)


def _rows(
    model: AskedSource,
    evidence: Mapping[str, Any] | None,
    do: Mapping[str, Any] | None,
    seed: int,
    weighted: bool,
    missing_rate: float,
    gibbs: Mapping[str, int | None],
    threads: int | None,
) -> Rows:
    check_weighted(weighted, evidence)
    net = open_model(model)
    asked = {name: value for name, value in gibbs.items() if value is not None}
    if isinstance(net, MarkovNet):
        if do:
            raise UsageError(
                f"{parameter('do')} is for directed models: an undirected one has no arrows to cut"
            )
        if weighted:
            raise UsageError(
                f"{parameter('weighted')} is for directed models: rows of an undirected one given "
                "evidence need no weights"
            )
        from gml.model.undirected.chains.sampling import GibbsSettings, markov_rows

        return markov_rows(
            net,
            evidence,
            seed=seed,
            missing_rate=missing_rate,
            gibbs=GibbsSettings(**asked) if asked else None,
            threads=threads,
        )
    for name in asked:
        raise UsageError(
            f"{parameter(name)} is for undirected models: rows of a directed one are exact"
        )
    given = circumstances(net, evidence, do)
    given.warn_of_open_arrows()
    if given.evidence and not weighted:
        from gml.model.posterior import posterior_rows

        return posterior_rows(given.net, given.evidence, seed=seed, missing_rate=missing_rate)
    return network_rows(given.net, seed=seed, missing_rate=missing_rate, weighted=given.evidence)


def check_weighted(weighted: bool, evidence: object) -> None:
    """Refuse weights if there is no evidence that they could account for."""
    if weighted and not evidence:
        raise UsageError(f"{parameter('weighted')} belongs to {parameter('evidence')}")


def _warn_of_missing_tokens(rows: Rows) -> None:
    tokens = {
        level
        for variable in rows.variables
        for level in variable.levels or ()
        if level.strip(" ") in DEFAULT_NA
    }
    if tokens:
        reporter().warn(
            f"a level is named {listing(sorted(tokens))}, which other commands read as missing; "
            f"give them the model, or {parameter('na')}"
        )
