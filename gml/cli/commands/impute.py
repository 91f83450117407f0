"""gml impute DATA MODEL: fill the missing values of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options, seed_option, threads_option
from gml.cli.shared.data_options import row_reading_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import RowOutput, TableOutput
from gml.cli.shared.output_options import row_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.run import claim_input, plan_output
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml.verbs.shared.imputation_draws import FilledFiles

_MOST_DRAWS = 10_000


@click.command(
    "impute",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml impute survey.csv model.json -o filled.csv\n"
    "  gml impute survey.csv model.json --cells filled_cells.csv -o filled.csv\n"
    "  gml impute survey.csv model.json --method draw --seed 7 -o drawn.csv\n"
    "  gml impute survey.csv model.json --draws 5 -o drawn.csv   # drawn.1.csv … drawn.5.csv\n"
    "  gml fit-params survey.csv graph.dot --missing em | gml impute survey.csv - -o filled.csv",
)
@click.argument("data", metavar="DATA")
@click.argument("model", metavar="MODEL")
@click.option(
    "--method",
    type=click.Choice(["mpe", "marginal", "draw"]),
    help="The most probable values of a row together [default], each cell by itself (the most "
    "probable level, the mean of a number), or values drawn together.",
)
@click.option(
    "--draws",
    type=WholeRange(min=1, max=_MOST_DRAWS),
    metavar="N",
    help="Multiple imputation: write N files, OUT.1.csv and so on (of one draw OUT.1.csv, too), "
    "each drawn with parameters of its own, which EM fits to a bootstrap sample of the rows.",
)
@click.option(
    "--cells",
    type=OutputFile(),
    metavar="FILE",
    help="Also list every cell that was filled, as CSV: row, column, value, its probability, or "
    "the standard deviation of a number.",
)
@click.option(
    "--missing",
    type=click.Choice(["unobserved", "level"]),
    default="unobserved",
    show_default=True,
    help="Fill missing cells, or keep them where their node has a level NA.",
)
@click.option(
    "--ignore-unknown",
    is_flag=True,
    help="Fill cells that are not levels of their node, too.",
)
@row_reading_options
@seed_option
@threads_option
@row_output
@common_options
def command(
    data: str,
    model: str,
    method: str | None,
    draws: int | None,
    cells: str | None,
    missing: str,
    ignore_unknown: bool,
    reading: dict[str, Any],
    seed: int,
    threads: int | None,
    out: TableOutput,
) -> None:
    """Fill the missing values of DATA by MODEL, and write the table as CSV.

    Cells of columns that are nodes of MODEL are filled given all that their row has; everything
    else stays as it is: other cells, delimiter, quotes, line ends, encoding. A column that MODEL
    cut into intervals is filled with numbers, by what MODEL keeps of those that it was fitted on.
    Values are taken to be missing at random: that is, whether a value is missing depends only on
    values that are there. One filled table pretends to know what it does not: for standard errors
    use --draws, and pool the results (docs/imputation.md).

    Rows are read and written block by block, except that --draws holds the columns of MODEL in
    memory to fit them.
    """
    from gml.verbs.shared.imputation_draws import fill_files, require_method
    from gml.verbs.shared.model_input import open_directed_model

    chosen = require_method(method, draws)
    files = _files(out.path, cells, draws, data)
    source = claim_input(data, "data")
    net = open_directed_model(claim_input(model, "model"), "impute")
    fill_files(
        net,
        source,
        files,
        _write,
        method=chosen,
        draws=draws,
        seed=seed,
        reading=reading,
        threads=threads,
        safe_csv=out.safe_csv,
        missing=missing,
        ignore_unknown=ignore_unknown,
    )


def _write(path: str | None, text: Iterator[bytes]) -> None:
    """Write a table, compressed as its name says; which delimiter it has was seen to."""
    from gml.atomic import names_file
    from gml.formats.row_files import compressed_rows

    RowOutput(path).write(compressed_rows(path, text) if names_file(path) else text)


def _files(
    output: str | None, cells: str | None, draws: int | None, data: str
) -> list[FilledFiles]:
    """Where each filled table goes, and the list of its cells."""
    from gml.atomic import names_file
    from gml.formats.row_files import numbered_path
    from gml.verbs.shared.imputation_draws import FilledFiles

    if cells == "-":
        raise UsageError("--cells needs a file: standard output is for the filled table")
    if draws is None:
        return [FilledFiles(output, cells)]
    if not names_file(output):
        raise UsageError("--draws writes several files, and so needs -o FILE")
    if data == "-":
        raise UsageError("--draws reads DATA several times, so that it cannot be standard input")
    found = []
    for k in range(1, draws + 1):
        own = plan_output(numbered_path(output, k), "-o")
        listed = None if cells is None else plan_output(numbered_path(cells, k), "--cells")
        found.append(FilledFiles(own, listed))
    return found
