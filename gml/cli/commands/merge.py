"""gml merge COUNTS…: count files added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import CountFileOutput, count_file_output
from gml.cli.shared.run import claim_input
from gml.errors import UsageError
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.counts.countfile import CountFile


@click.command(
    "merge",
    epilog="\b\nExamples:\n"
    "  gml merge part-*.parquet -o all.parquet\n"
    "  gml merge january.parquet february.parquet --min-cell 10 -o year.parquet\n"
    "  gml merge hospital-*.parquet -o - > all.parquet && gml chowliu all.parquet",
)
@click.argument("paths", metavar="COUNTS...", nargs=-1, required=True)
@count_file_output
@common_options
def command(paths: tuple[str, ...], out: CountFileOutput) -> None:
    """Add up count files (gml count): the result is that of counting all rows at once.

    The files count the same sets of the same columns in the same way. Labels of the data that only
    some of them have become levels of all; declared levels must be the same, and intervals that
    --bins chose on the data of one file do not go with others: fix them by --cut or --levels when
    counting. The columns stand in the order of the first file.
    """
    from gml.counts.count_parquet import read_counts
    from gml.counts.merging import merge_counts, require_room

    for path in paths:
        if path == "-":
            raise UsageError("a count file is not read from standard input; name the file")
        claim_input(path, "counts", several=True)
    files = []
    for number, path in enumerate(paths):
        files.append(read_counts(path))
        require_room(files)
        reporter().advance("reading", number + 1, len(paths))
    merged = merge_counts(files, paths)
    _warn_of_repeated_data(files, paths)
    out.write(merged)


def _warn_of_repeated_data(files: Sequence[CountFile], paths: Sequence[str]) -> None:
    first_with: dict[str, int] = {}
    for number, (file, path) in enumerate(zip(files, paths, strict=True)):
        for digest in file.data if file.n else ():
            first = first_with.setdefault(digest, number)
            if first != number:
                reporter().warn(f"{path} and {paths[first]} count the same data")
                break
