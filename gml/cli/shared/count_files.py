"""DATA that is a count file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml.cli.shared.options import DataRequest, was_given
from gml.errors import CannotAnswer

if TYPE_CHECKING:
    from gml.counts.from_file import CountFileCounter
    from gml.data.reading import Choice


def open_count_file(
    request: DataRequest, *, used: Choice | None, numeric: bool
) -> CountFileCounter:
    """Return the engine over the tables of a count file, for the columns used."""
    import click

    from gml.counts.opening import open_counts

    if numeric:
        raise CannotAnswer(f"{request.path}: a count file has no numbers; give the rows themselves")
    given = [name for name in click.get_current_context().params if was_given(name)]
    return open_counts(
        request.path, request.options, given=given, used=used, threads=request.threads
    )
