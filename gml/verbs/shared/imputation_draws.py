"""What imputation fills: one table, or one per draw, with a model and a seed of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gml.atomic import names_file
from gml.data.dataset import Dataset
from gml.errors import UsageError, parameter, require_whole
from gml.model.bayesnet import BayesNet
from gml.model.em.parameter_draws import parameter_draws
from gml.model.imputation import METHODS
from gml.model.predict import options_as_learned
from gml.verbs.shared.imputed_rows import csv_of_imputed, incomplete_rows, listing_cells


class Draw(NamedTuple):
    """What fills one table."""

    net: BayesNet
    seed: int
    """Of its cells."""


class FilledFiles(NamedTuple):
    """Where a filled table goes, and the list of its cells."""

    table: str | None
    cells: str | None


def require_method(method: str | None, draws: int | None) -> str:
    """Return how holes are filled; several draws are drawn."""
    if draws is not None:
        require_whole(1, draws=draws)
        if method not in (None, "draw"):
            raise UsageError(
                f"{parameter('draws')} fills with draws, which {parameter('method', method)} "
                "contradicts"
            )
        return "draw"
    if method is not None and method not in METHODS:
        choices = ", ".join(METHODS)
        raise UsageError(f"{parameter('method')} must be one of {choices}, not {method!r}")
    return method or "mpe"


def each_draw(
    net: BayesNet,
    rows: Dataset | None,
    draws: int | None,
    *,
    seed: int,
    threads: int | None = None,
    max_memory: int | None = None,
) -> Iterator[Draw]:
    """Yield the model itself, or for each draw one with parameters of its own, fitted to rows."""
    if draws is None or rows is None:
        yield Draw(net, seed)
        return
    drawn = parameter_draws(net, rows, draws, seed=seed, threads=threads, max_memory=max_memory)
    for k, own in enumerate(drawn):
        yield Draw(own, _seed_of_draw(seed, k))


def _seed_of_draw(seed: int, draw: int) -> int:
    """The seed of the cells of a draw; that of the first is the seed."""
    stream = np.random.SeedSequence(seed, spawn_key=(draw,))
    return int(stream.generate_state(1)[0]) if draw else seed


def fill_files(
    net: BayesNet,
    data: str,
    files: Sequence[FilledFiles],
    write: Callable[[str | None, Iterator[bytes]], None],
    *,
    method: str,
    draws: int | None,
    seed: int,
    reading: Mapping[str, Any],
    threads: int | None = None,
    safe_csv: bool = False,
    **how: Any,
) -> None:
    """Fill the holes of a file once, or once per draw; `write` takes each table as CSV text.

    `reading` are keywords of reading; what they do not say is as for the rows of the model.
    `how` are `missing` and `ignore_unknown`.
    """
    options = options_as_learned(net.learning, **reading)
    rows = None if draws is None else incomplete_rows(net, data, reading=options, **how)
    drawn = each_draw(net, rows, draws, seed=seed, threads=threads)
    for own, to in zip(drawn, files, strict=True):
        with listing_cells(to.cells, safe_csv=safe_csv, decimal=options.decimal) as listed:
            text = csv_of_imputed(
                own.net,
                data,
                method=method,
                seed=own.seed,
                reading=options,
                safe_csv=safe_csv,
                listed=listed,
                numbers_of=net,
                output=to.table if names_file(to.table) else None,
                **how,
            )
            write(to.table, text)
