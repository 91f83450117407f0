"""Fill the missing values of a table by a model: gml.impute, `gml impute`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gml.data.dataset import Dataset
from gml.data.frames import is_frame
from gml.errors import UsageError, agreeing, counted, kind_of, parameter
from gml.model.evidence import circumstances
from gml.model.imputation import Filled, Imputer
from gml.model.predict import different_values, observed_values, read_nodes
from gml.model.row_evidence import RowEvidence
from gml.verbs.shared.cut_columns import CutColumns
from gml.verbs.shared.filled_frame import filled_frame, with_numbers
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.imputation_draws import each_draw, require_method
from gml.verbs.shared.imputed_rows import (
    FilledCell,
    dataset_of,
    filled_cells,
    require_some_columns,
    warn_of_unfilled,
    with_holes,
)
from gml.verbs.shared.model_input import ModelSource, open_directed_model

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Imputation", "impute"]


@dataclass(frozen=True, repr=False)
class Imputation:
    """Tables without holes: one, or one per draw; and the cells that were filled in each."""

    datasets: tuple[Dataset, ...]
    """The columns that are nodes, with the levels of the model."""
    cells: tuple[tuple[FilledCell, ...], ...]
    given: pd.DataFrame | Dataset
    """The table with its holes."""

    def __repr__(self) -> str:
        drawn = f", {counted(len(self.datasets), 'draw')}" if len(self.datasets) > 1 else ""
        rows = len({cell.row for cell in self.cells[0]})
        n_rows = self.datasets[0].n_rows
        return (
            f"<Imputation: {counted(len(self.cells[0]), 'cell')} filled in {rows} of "
            f"{counted(n_rows, 'row')}{drawn}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the cells that were filled, by the first of several draws."""
        from gml.pictures.notebook.tables import block, paragraph, table

        heading = paragraph(repr(self).strip("<>"))
        return block(heading, table([cell._asdict() for cell in self.cells[0]], headers=["row"]))

    def to_frame(self, draw: int | None = None) -> pd.DataFrame:
        """Return a table as a DataFrame, of which only the holes differ from the one given.

        One that was read from a path has the columns that are nodes. Draws count from 0 on, and
        where there are several, `draw` must say which.
        """
        draw = self._draw(draw)
        variables = {v.name: v for v in self.datasets[draw].variables}
        if not isinstance(self.given, Dataset):
            return filled_frame(self.given, self.cells[draw], variables)
        table = with_numbers(self.given, self.cells[draw])
        return filled_frame(table, self.cells[draw], variables)

    def cells_frame(self, draw: int | None = None) -> pd.DataFrame:
        """Return the cells that were filled: row (from 1 on), column, value, how sure that is."""
        import pandas as pd

        return pd.DataFrame(self.cells[self._draw(draw)], columns=list(FilledCell._fields))

    def _draw(self, draw: int | None) -> int:
        n_draws = len(self.datasets)
        if draw is None and n_draws == 1:
            return 0
        if isinstance(draw, int | np.integer) and 0 <= draw < n_draws:
            return int(draw)
        which = f"0 to {n_draws - 1}" if n_draws > 1 else "0"
        said = "must say which" if draw is None else f"must be {which}, not {draw!r}"
        there = counted(n_draws, "draw")
        raise UsageError(
            f"{parameter('draw')} {said}: there {agreeing(n_draws, 'is', 'are')} {there}"
            + (f", {which}" if draw is None else "")
        )


@front_door()
def impute(
    data: str | os.PathLike[str] | pd.DataFrame | Dataset,
    model: ModelSource,
    *,
    method: str | None = None,
    draws: int | None = None,
    seed: int = 0,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    threads: int | None = None,
    max_memory: int | None = None,
) -> Imputation:
    """Fill the missing values of the columns that are nodes of a model.

    Parameters
    ----------
    data
        Rows: a path, a DataFrame or a Dataset. Columns that are not nodes stay as they are.
    model
        A network of labels, numbers or both, or a path.
    method
        `mpe`, the default: the most probable values of all that a row lacks, together;
        `marginal`: each cell by itself, the most probable level or the mean; `draw`: drawn together
        from their distribution given the row.
    draws
        Make so many tables, for multiple imputation: each is drawn with parameters of its own,
        fitted by EM to a bootstrap sample of the rows.
    seed
        Of draws.
    missing, ignore_unknown
        As in `gml.query(batch=…)`: whether missing cells observe the level NA, and whether values
        that are not levels count as missing, and so are filled.
    threads
        Threads of fits; all cores by default.
    max_memory
        Bytes that tables may take; by default half of what is free.

    Examples
    --------
    >>> import gml
    >>> import pandas as pd
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> frame = pd.DataFrame({"smoke": ["yes", None], "lung": [None, "yes"]})
    >>> found = gml.impute(frame, net)
    >>> found.to_frame()
      smoke lung
    0   yes   no
    1   yes  yes
    >>> found.cells_frame().round(3)[["row", "column", "value", "probability"]]
       row column value  probability
    0    1   lung    no        0.908
    1    2  smoke   yes        0.899
    """
    method = require_method(method, draws)
    net = open_directed_model(model, "impute")
    frame = data if is_frame(data) else None
    if isinstance(data, str | os.PathLike):
        data = read_nodes(data, net)
    if not isinstance(data, Dataset) and frame is None:
        raise UsageError(
            f"{parameter('data')} must be a path, a Dataset or a DataFrame, not {kind_of(data)}"
        )
    names = list(data.names) if isinstance(data, Dataset) else [str(name) for name in data.columns]
    require_some_columns(net, names, "the table")
    rows = RowEvidence(
        circumstances(net, None, None),
        names,
        (),
        "data",
        missing=missing,
        ignore_unknown=ignore_unknown,
        decimal=data.decimal if isinstance(data, Dataset) else ".",
    )
    values = observed_values(rows, data)
    rows.warn()
    evidence = with_holes(values)
    weights = data.weights if isinstance(data, Dataset) else None
    incomplete = replace(dataset_of(net, rows.names, evidence), weights=weights)
    datasets, cells = [], []
    for drawn in each_draw(
        net, incomplete, draws, seed=seed, threads=threads, max_memory=max_memory
    ):
        fill = Imputer(drawn.net, rows.names, method=method, seed=drawn.seed, max_memory=max_memory)
        found: Filled = fill.fill(evidence)
        warn_of_unfilled(found.impossible, "data")
        cut = CutColumns(net, rows.names, seed=drawn.seed if method == "draw" else None)
        for column in cut.positions:
            cut.see(column, different_values(data, rows.at[column]))
        numbers = cut.numbers(evidence, found.values)
        cut.warn()
        datasets.append(replace(dataset_of(net, rows.names, found.values), weights=weights))
        cells.append(tuple(cell for cell, _, _ in filled_cells(fill, evidence, found, numbers)))
    return Imputation(tuple(datasets), tuple(cells), data)
