"""gml merge COUNTS…: count files added up."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import CountFileOutput
from gml.cli.shared.output_options import count_file_output
from gml.cli.shared.run import claim_input
from gml.errors import UsageError


@click.command(
    "merge",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml merge part-*.parquet -o all.parquet\n"
    "  gml merge all.parquet today.parquet -o all.parquet\n"
    "  gml merge january.parquet february.parquet --min-cell 10 -o year.parquet\n"
    "  gml merge hospital-*.parquet -o - > all.parquet && gml chowliu all.parquet",
)
@click.argument("paths", metavar="COUNTS...", nargs=-1, required=True)
@count_file_output
@common_options
def command(paths: tuple[str, ...], min_cell: int | None, out: CountFileOutput) -> None:
    """Add up count files (gml count), as if all rows had been counted at once.

    The files must count the same sets of the same columns in the same way. Labels of the data that
    only some of them have become levels of all; declared levels must be the same, and intervals
    that --bins chose from the data of one file do not fit the others: fix them with --cut or
    --levels when counting. Columns must be of the same kinds: count with the same --levels
    schema.json. Sums of numbers are exact, whatever the order of the files. The columns are in the
    order of the first file, which -o may replace.
    """
    from gml.verbs.merge import merge

    files = []
    for k, path in enumerate(paths):
        if path == "-":
            raise UsageError("a count file is not read from standard input; name the file")
        files.append(claim_input(path, "counts", several=True, replaceable=k == 0))
    out.write(merge(*files, min_cell=min_cell))
