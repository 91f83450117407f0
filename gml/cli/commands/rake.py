"""gml rake DATA --targets FILE: rows with weights that give them known margins."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import DataRequest, raking_data_options
from gml.cli.shared.output import RowOutput, TableOutput
from gml.cli.shared.output_options import row_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.raking_output import RakingOutput
from gml.cli.shared.run import claim_input
from gml.errors import UsageError, quote
from gml.progress import reporter


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """Read --bounds L,U."""
    if value is None:
        return None
    from gml.verbs.shared.raked_table import checked_bounds

    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not two numbers such as 0.3,3", ctx, param
        ) from None
    checked_bounds(numbers, shown=value)
    return numbers


@click.command(
    "rake",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml rake survey.csv --targets census.csv -o weighted.csv\n"
    "  gml rake survey.csv --targets census.csv --bounds 0.3,3 --report raking.txt -o w.csv\n"
    "  gml rake survey.csv --targets census.json --cut age=18,30,65 > weighted.csv\n"
    "  gml rake panel.csv --targets census.csv --weights-fractional design --weight-name final\n"
    "  gml fit-params weighted.csv graph.dot --exclude id --weights-fractional weight\n"
    "\n\b\n"
    "Targets in CSV: a column per variable, empty where a margin does not have it, and count or\n"
    "probability (or share, proportion, percent, n); the same in JSON:\n"
    '  sex,age,count      {"sex": {"m": 490, "f": 510},\n'
    '  m,,490              "age": {"young": 300, "old": 700}}\n'
    "  f,,510\n"
    "  ,young,300\n"
    "  ,old,700\n"
    "\n\b\n"
    "With --cut age=30,65 the levels are '[-inf,30)', '[30,65)' and '[65,inf)': in CSV, targets\n"
    "name them in double quotes, for they have commas:\n"
    "  age,count\n"
    '  "[-inf,30)",300\n'
    '  "[30,65)",500\n'
    '  "[65,inf)",200\n'
    "\n\b\n"
    "Exit code 4: no weights meet the targets; the message names the cells that lack rows.",
)
@raking_data_options
@click.option(
    "--targets",
    required=True,
    metavar="FILE",
    help="Margins that the weighted rows are to have: CSV or JSON (gml help constraints).",
)
@click.option(
    "--bounds",
    callback=_numbers,
    metavar="L,U",
    help="Keep each weight between L and U times what it was before (calibration, logit distance).",
)
@click.option("--normalise", is_flag=True, help="Scale every margin to 1, whatever it adds up to.")
@click.option(
    "--weight-name",
    default="weight",
    show_default=True,
    metavar="NAME",
    help="Name of the column of weights, which comes last.",
)
@click.option(
    "--report",
    type=OutputFile(),
    metavar="FILE",
    help="Write the share of each target before and after, and the design effect; the suffix picks "
    "the format.",
)
@row_output
@common_options
def command(
    data: DataRequest,
    targets: str,
    bounds: list[float] | None,
    normalise: bool,
    weight_name: str,
    report: str | None,
    out: TableOutput,
) -> None:
    """Weight the rows of DATA so that they have known margins: raking.

    Of all weights with these margins, those are found that are nearest to equal ones (or to
    --weights): iterative proportional fitting, by Newton's method. They add up to the number of
    rows. DATA is written as it is, with one more column, which other commands take as
    --weights-fractional weight.

    Every level of a column with targets must have one. Rows with missing values there are refused,
    left out (--missing drop), or have the level NA, for which there must be a target (--missing
    level).
    """
    from gml.atomic import names_file
    from gml.formats.reports.raking import summary
    from gml.formats.row_files import compressed_rows
    from gml.verbs.shared.weighted_rows import raked_rows

    report_out = _report_output(report, out)
    keywords: dict[str, Any] = {**data.reading}
    output = out.path if names_file(out.path) else None
    with raked_rows(
        data.path,
        claim_input(targets, "targets"),
        bounds=bounds,
        normalise=normalise,
        weight_name=weight_name,
        safe_csv=out.safe_csv,
        output=output,
        **keywords,
    ) as (raking, rows):
        RowOutput(out.path).write(rows if output is None else compressed_rows(output, rows))
    reporter().tell(summary(raking))
    if report_out is not None:
        report_out.write(raking)


def _report_output(path: str | None, out: TableOutput) -> RakingOutput | None:
    """Where the report goes, if anywhere."""
    if path is None:
        return None
    if path == "-":
        raise UsageError("--report needs a file; standard output is for the rows")
    from pathlib import Path

    from gml.formats.suffixes import REPORT_SUFFIXES, format_of

    if Path(path).suffix.lower() not in REPORT_SUFFIXES:
        raise UsageError(f"--report {quote(path)}: use one of {' '.join(REPORT_SUFFIXES)}")
    return RakingOutput(path, format_of(path, REPORT_SUFFIXES, or_option=""), out.safe_csv)
