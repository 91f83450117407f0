"""DATA that is a count file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml import ledger
from gml.cli.shared.options import DataRequest, was_given
from gml.errors import CannotAnswer, UsageError
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.counts.countfile import CountFile
    from gml.counts.from_file import CountFileCounter
    from gml.data.reading import Choice

_ABOUT_ROWS = (
    *("delimiter", "decimal", "encoding", "na", "weights", "weights_fractional"),
    *("bins", "discretize", "cut", "max_levels"),
)


def open_count_file(
    request: DataRequest, *, used: Choice | None, numeric: bool
) -> CountFileCounter:
    """Return the engine over the tables of a count file, for the columns used."""
    from gml.counts.count_parquet import read_counts
    from gml.counts.from_file import CountFileCounter
    from gml.counts.recoding import declared_recoding
    from gml.data.reading import choose_columns

    path = request.path
    if numeric:
        raise CannotAnswer(f"{path}: a count file has no numbers; give the rows themselves")
    for option in _ABOUT_ROWS:
        if was_given(option):
            flag = "--" + option.replace("_", "-")
            raise UsageError(f"{flag} is about rows, and {path} is a count file")
    counts = read_counts(path)
    if was_given("missing") and request.options.missing != counts.options.missing:
        raise UsageError(
            f"--missing {request.options.missing}: {path} was counted with --missing "
            f"{counts.options.missing}"
        )
    chosen = [
        counts.names[j] for j in choose_columns(counts.names, request.options, used, str(path))
    ]
    _warn_of_dropped_rows(counts, chosen)
    recodings = {
        name: new
        for name in chosen
        if (new := declared_recoding(counts, name, request.options, path)) is not None
    }
    return CountFileCounter(
        counts,
        columns=chosen,
        recodings=recodings,
        where=path,
        digest=ledger.current().digests.get(str(path)),
        threads=request.threads,
    )


def _warn_of_dropped_rows(counts: CountFile, chosen: list[str]) -> None:
    if counts.dropped and len(chosen) < len(counts.columns):
        reporter().warn(
            f"{counts.dropped} rows were dropped when counting, for missing values in any of "
            f"{len(counts.columns)} columns, of which {len(chosen)} are used here"
        )
