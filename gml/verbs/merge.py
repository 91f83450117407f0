"""Merge: count files added up."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gml.counts.count_parquet import read_counts
from gml.counts.countfile import CountFile
from gml.counts.merging import merge_counts, require_room
from gml.counts.small_cells import require_large_cells
from gml.errors import UsageError
from gml.progress import reporter
from gml.verbs.shared.data_input import is_path, name_of
from gml.verbs.shared.front_door import front_door


@front_door(reading=())
def merge(*counts: str | os.PathLike[str] | CountFile, min_cell: int | None = None) -> CountFile:
    """Add up counts of parts of the data, as if all rows had been counted at once.

    They must count the same sets of the same columns in the same way, and columns must be of the
    same kinds. Labels of the data that only some of them have become levels of all; declared levels
    must be the same. Sums of numbers are exact, and so are theirs. The columns are in the order of
    the first.

    Parameters
    ----------
    *counts
        Paths of count files, or what `gml.count` returned.
    min_cell
        Refuse if a non-empty cell of the sum stands for fewer rows; see `gml.count`.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv")
    >>> half = gml.count(data, sets=[("smoke", "lung")])
    >>> gml.merge(half, half).n
    10000
    """
    if not counts:
        raise UsageError("name at least one count file to merge")
    names = [name_of(item, f"file {k + 1}") for k, item in enumerate(counts)]
    files: list[CountFile] = []
    for number, item in enumerate(counts):
        files.append(read_counts(item) if is_path(item) else _counted(item))
        require_room(files)
        reporter().advance("reading", number + 1, len(counts))
    merged = merge_counts(files, names)
    _warn_of_repeated_data(files, names)
    if min_cell is None:
        return merged
    require_large_cells(merged, min_cell)
    return merged.without_extremes()


def _counted(item: object) -> CountFile:
    if not isinstance(item, CountFile):
        raise UsageError(f"a {type(item).__name__} is not a count file; count it first: gml.count")
    return item


def _warn_of_repeated_data(files: Sequence[CountFile], names: Sequence[str]) -> None:
    first_with: dict[str, int] = {}
    for number, (file, name) in enumerate(zip(files, names, strict=True)):
        for digest in file.data if file.n else ():
            first = first_with.setdefault(digest, number)
            if first != number:
                reporter().warn(f"{name} and {names[first]} count the same data")
                break
