"""gml profile DATA: what a table looks like, and the schema that other commands enforce."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import DataRequest, profiling_data_options
from gml.cli.shared.output import ProfileOutput
from gml.cli.shared.output_options import profile_output
from gml.errors import UsageError


@click.command(
    "profile",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml profile survey.csv                        # a table for people\n"
    "  gml profile survey.csv -o schema.json         # the schema\n"
    "  gml pc new.csv --levels schema.json           # exits 3 if a value is not declared\n"
    "  gml profile survey.csv --bins 4 -o schema.json   # the cut points too\n"
    "  gml profile more.csv --levels schema.json -o schema2.json\n"
    "  gml profile counts.csv --weights Freq -o schema.json\n"
    "  gml profile survey.csv --missing-patterns   # what is missing together",
)
@profiling_data_options
@click.option(
    "--missing-patterns",
    is_flag=True,
    help="Also say which columns are missing together, and test whether values are missing "
    "completely at random (Little).",
)
@profile_output
@common_options
def command(data: DataRequest, missing_patterns: bool, out: ProfileOutput) -> None:
    """Show the columns of DATA, or write the schema that other commands enforce.

    The table is for people: what columns look like, their levels, missing values. -o schema.json
    (or -f json) writes the schema: levels in order, cut points, types, and how DATA is read:
    delimiter, decimal mark, encoding, missing tokens and policy, columns left out, as far as
    options say so.

    With --levels, other commands read new data in exactly this way: the same levels in the same
    order, the same intervals, the same missing tokens; a value that the schema does not know is an
    error. Missing values are counted here, never refused. Edit the file if need be: add levels that
    may occur but did not.

    No column is refused: identifiers, dates, free text and numbers are recognised and summed up,
    and what cannot be in a schema is marked, with the option that would make it a column of one.
    """
    from gml.verbs.profile import profile

    if missing_patterns and out.format in ("csv", "jsonl"):
        raise UsageError(
            f"--missing-patterns: {out.format} has one row per column; use -f text or json"
        )
    out.write(
        profile(data.path, missing_patterns=missing_patterns, threads=data.threads, **data.reading)
    )
