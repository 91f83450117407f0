"""gml sample MODEL -n N: rows drawn from a model."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options, seed_option, threads_option
from gml.cli.shared.model_arguments import ModelRequest, model_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import TableOutput
from gml.cli.shared.output_options import row_output

_MOST_ROWS = 1 << 62
_MOST_SWEEPS = 1 << 40
_MOST_CHAINS = 1 << 20


@click.command(
    "sample",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml sample model.json -n 1000 > rows.csv\n"
    "  gml sample alarm.bif -n 1000000 --seed 7 -o rows.csv.gz\n"
    "  gml sample model.json -n 1000 --do Smoker=yes       # if everybody smoked\n"
    "  gml sample model.json -n 1000 --evidence Cancer=yes\n"
    "  gml sample model.json -n 1000 --missing-rate 0.05   # to try out --missing\n"
    "  gml sample model.json -n 10000 | gml pc -           # does PC find the model?",
)
@model_options
@click.option(
    "-n",
    type=WholeRange(min=0, max=_MOST_ROWS),
    required=True,
    metavar="N",
    help="Number of rows.",
)
@click.option(
    "--weighted",
    is_flag=True,
    help='Draw weighted rows, not exact ones: a last column "weight" has the likelihood of the '
    "evidence.",
)
@click.option(
    "--missing-rate",
    type=RealRange(min=0, max=1),
    default=0.0,
    show_default=True,
    metavar="P",
    help="Leave each cell empty with this probability.",
)
@click.option(
    "--burn-in",
    type=WholeRange(min=1, max=_MOST_SWEEPS),
    metavar="N",
    help="Undirected models: draw rows by Gibbs sampling, and leave out this many sweeps "
    "[default: exact rows where they fit into memory, or else as many sweeps as the chains need].",
)
@click.option(
    "--thin",
    type=WholeRange(min=1, max=_MOST_SWEEPS),
    metavar="N",
    help="Gibbs sampling: sweeps from one row of a chain to the next [default: two "
    "autocorrelation times].",
)
@click.option(
    "--chains",
    type=WholeRange(min=4, max=_MOST_CHAINS),
    metavar="N",
    help="Gibbs sampling: number of chains [default: 256].",
)
@seed_option
@threads_option
@row_output
@common_options
def command(
    model: ModelRequest,
    n: int,
    weighted: bool,
    missing_rate: float,
    burn_in: int | None,
    thin: int | None,
    chains: int | None,
    seed: int,
    threads: int | None,
    out: TableOutput,
) -> None:
    """Draw rows from MODEL as CSV, with its labels and its order of columns.

    The same seed gives the same rows, whatever the number of threads; more rows with the same seed
    begin with the same ones.

    If rows under --do rest on arrows that the data leave open, a warning names these, as in
    gml query.

    Rows of an undirected model are exact where the junction tree fits into memory (--max-memory),
    and otherwise drawn by Gibbs sampling, until the chains have converged (exit code 4 if they do
    not): a note says which, with the worst R-hat and effective sample size.
    """
    from gml.verbs.sample import check_weighted, sample_csv

    check_weighted(weighted, model.evidence)
    rows = sample_csv(
        **model.read(),
        n=n,
        seed=seed,
        weighted=weighted,
        missing_rate=missing_rate,
        burn_in=burn_in,
        thin=thin,
        chains=chains,
        threads=threads,
        safe_csv=out.safe_csv,
    )
    out.write(rows)
