"""Data as a user has them (a file, a DataFrame, a Dataset, an engine) and how to read them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from gml import ledger
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.discretize import Binning, parse_binning
from gml.data.missing import apply_missing_policy
from gml.data.options import ReadOptions
from gml.data.reading import Choice, choose_columns, read_dataset
from gml.data.schema import Schema, read_schema, with_levels
from gml.errors import CannotAnswer, UsageError, parameter, unknown_name

if TYPE_CHECKING:
    pass

Path = str | os.PathLike[str]

READING = (
    *("columns", "exclude", "delimiter", "decimal", "encoding", "na", "missing", "weights"),
    *("weights_fractional", "bins", "discretize", "cut", "levels", "max_levels"),
)
"""The keywords that say how to read data, as the data options of the command line."""

_FOR_FRAMES = ("columns", "exclude", "missing", "weights")


def is_path(data: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether data are named, not given."""
    return isinstance(data, str | os.PathLike)


def name_of(data: object, otherwise: str) -> str:
    """How a report calls what was given: by its path, if it has one."""
    return os.fspath(data) if is_path(data) else otherwise


def read_options(data: object, reading: Mapping[str, Any]) -> ReadOptions:
    """Return what keywords ask of the reader, if they go with the data.

    Examples
    --------
    >>> read_options("survey.csv", {"bins": 4, "cut": {"age": [18, 65]}}).cuts["age"].cuts
    (18.0, 65.0)
    """
    if not (is_path(data) or is_frame(data) or isinstance(data, Dataset) or _is_engine(data)):
        raise UsageError(
            f"a {type(data).__name__} is no data; give a path, a DataFrame, a Dataset or an engine"
        )
    for name in reading:
        if name not in READING:
            raise UsageError(unknown_name("parameter", name, READING))
        if not (is_path(data) or is_frame(data)):
            raise UsageError(
                f"{parameter(name)} is about reading, and the data were read already; give the "
                "path or the DataFrame instead"
            )
        if is_frame(data) and name not in _FOR_FRAMES:
            raise UsageError(f"{parameter(name)} is about files, and a DataFrame is given")
    asked = dict(reading)
    cut, levels = asked.pop("cut", None), asked.pop("levels", None)
    for name in ("columns", "exclude", "na"):
        if asked.get(name) is not None:
            asked[name] = _names(asked[name])
    return ReadOptions(
        cuts={name: _binning(how) for name, how in (cut or {}).items()},
        schema=_schema(levels),
        digest=ledger.current().wants_digests,
        **asked,
    )


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _binning(how: str | Sequence[float] | Binning) -> Binning:
    if isinstance(how, Binning):
        return how
    if isinstance(how, str):
        return parse_binning(how)
    return parse_binning(",".join(repr(float(cut)) for cut in how))


def _schema(levels: Path | Mapping[str, Sequence[str]] | Schema | None) -> Schema:
    if levels is None or isinstance(levels, Schema):
        return levels or Schema()
    if isinstance(levels, Mapping):
        return with_levels(Schema(), {name: tuple(found) for name, found in levels.items()})
    return read_schema(levels)


def is_frame(data: object) -> bool:
    """Whether data are a pandas DataFrame."""
    # Without an import of pandas, which takes half a second.
    return type(data).__module__.partition(".")[0] == "pandas"


def _is_engine(data: object) -> bool:
    return callable(getattr(data, "tables", None))


def dataset_of(
    data: Any,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    numeric: Sequence[str] = (),
) -> Dataset:
    """Return the rows of the columns used; `numeric` columns of a DataFrame stay numbers."""
    if is_path(data):
        return read_dataset(data, options, used=used)
    if isinstance(data, MemoryCounter):
        data = data.dataset
    if isinstance(data, Dataset):
        return data if used is None else data.select(used(data.names))
    if not is_frame(data):
        raise CannotAnswer("rows are needed, which this engine does not have")
    names = [str(name) for name in data.columns]
    chosen = [names[j] for j in choose_columns(names, options, used, "the DataFrame")]
    kept = [*chosen, *([] if options.weights is None else [options.weights])]
    there = [name for name in numeric if name in chosen]
    frame = data.set_axis(names, axis=1)[kept]
    dataset = Dataset.from_frame(frame, weights=options.weights, numeric=there)
    return apply_missing_policy(dataset, options.missing, "the DataFrame")


def as_found(options: ReadOptions) -> ReadOptions:
    """The same options for rows whose missing cells are to be seen."""
    return replace(options, missing="available")
