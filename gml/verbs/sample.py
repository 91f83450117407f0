"""gml.sample: rows drawn from a model, as a table or as CSV text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gml.data.dataset import Dataset
from gml.data.options import DEFAULT_NA
from gml.errors import UsageError, listing, parameter
from gml.model.evidence import circumstances
from gml.model.sample import Rows, csv_chunks, draw_rows, network_rows
from gml.progress import reporter
from gml.verbs.shared.keywords import answers_misspelling
from gml.verbs.shared.model_input import ModelSource, open_directed_model


@answers_misspelling(reading=())
def sample(
    model: ModelSource,
    n: int,
    *,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    seed: int = 0,
    weighted: bool = False,
    missing_rate: float = 0.0,
    threads: int | None = None,
) -> Dataset:
    """Draw rows from a model, exact ones if there is evidence.

    The same seed gives the same rows, whatever the number of threads; more rows with the same seed
    begin with the same ones.

    Parameters
    ----------
    model
        A network, or a file of one.
    n
        Number of rows.
    evidence
        Values observed, after what `do` sets.
    do
        Values set by hand, which cuts nodes off from their parents.
    seed
        Seed of the random numbers.
    weighted
        Whether to draw weighted rows, not exact ones; a weight is the likelihood of the evidence.
    missing_rate
        The probability with which each cell is missing.
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
    rows = _rows(model, evidence, do, seed, weighted, missing_rate)
    return draw_rows(rows, n, threads=threads)


def sample_csv(
    model: ModelSource,
    n: int,
    *,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    seed: int = 0,
    weighted: bool = False,
    missing_rate: float = 0.0,
    threads: int | None = None,
    safe_csv: bool = False,
) -> Iterator[memoryview]:
    """Return the same rows as pieces of CSV text, for any number of them in little memory.

    A piece is to be used before the next one is asked for. Weights are a last column, "weight".
    With `safe_csv`, texts that a spreadsheet would run as formulas have an apostrophe before them.
    """
    rows = _rows(model, evidence, do, seed, weighted, missing_rate)
    _warn_of_missing_tokens(rows)
    return csv_chunks(rows, n, threads=threads, safe_csv=safe_csv)


def _rows(
    model: ModelSource,
    evidence: Mapping[str, Any] | None,
    do: Mapping[str, Any] | None,
    seed: int,
    weighted: bool,
    missing_rate: float,
) -> Rows:
    check_weighted(weighted, evidence)
    given = circumstances(open_directed_model(model, "sample"), evidence, do)
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
