"""gml sample MODEL -n N: rows drawn from a model."""

from __future__ import annotations

import click

from gml.cli.assignments import assignments_option, resolve_assignments
from gml.cli.options import claim_input, common_options, seed_option
from gml.cli.output import RowOutput, require_writable, row_output
from gml.errors import UsageError

_MOST_ROWS = 1 << 62


@click.command(
    "sample",
    epilog="\b\nExamples:\n"
    "  gml sample model.json -n 1000 > rows.csv\n"
    "  gml sample alarm.bif -n 1000000 --seed 7 -o rows.csv\n"
    "  gml sample model.json -n 1000 --do Smoker=yes       # had everybody smoked\n"
    "  gml sample model.json -n 1000 --evidence Cancer=yes\n"
    "  gml sample model.json -n 1000 --missing-rate 0.05   # to try out --missing\n"
    "  gml sample model.json -n 10000 | gml pc -           # does PC find the model?",
)
@click.argument("model")
@click.option(
    "-n",
    type=click.IntRange(min=0, max=_MOST_ROWS),
    required=True,
    metavar="N",
    help="Number of rows.",
)
@assignments_option("--do", help_="Set nodes by hand, which cuts them from their parents.")
@assignments_option(
    "--evidence", help_="Values observed, after what --do sets: exact rows given these."
)
@click.option(
    "--weighted",
    is_flag=True,
    help='Rows that are not exact, with the likelihood of the evidence as last column "weight".',
)
@click.option(
    "--missing-rate",
    type=click.FloatRange(min=0, max=1),
    default=0.0,
    show_default=True,
    metavar="P",
    help="Leave each cell empty with this probability.",
)
@seed_option
@click.option("--threads", type=click.IntRange(min=1), help="Threads; all cores by default.")
@click.option("--max-memory", metavar="SIZE", help="Limit for --evidence; half of what is free.")
@row_output
@common_options
def command(
    model: str,
    n: int,
    do: tuple[str, ...],
    evidence: tuple[str, ...],
    weighted: bool,
    missing_rate: float,
    seed: int,
    threads: int | None,
    max_memory: str | None,
    out: RowOutput,
) -> None:
    """Draw rows from MODEL as CSV, with its labels, columns in its order.

    The same seed gives the same rows, whatever the number of threads; more rows with the same seed
    begin with the same ones.
    """
    from gml.counts.resources import parse_size
    from gml.formats.models import read_model
    from gml.model.sample import csv_chunks, intervene, network_rows

    claim_input(model)
    if out.path is not None:
        require_writable(out.path)
    if weighted and not evidence:
        raise UsageError("--weighted belongs to --evidence")
    budget = None if max_memory is None else parse_size(max_memory)
    net = read_model(model)
    done = resolve_assignments(do, net.variables, "--do")
    observed = resolve_assignments(evidence, net.variables, "--evidence")
    for name in observed:
        if name in done:
            raise UsageError(f"{name!r} cannot be both set by --do and observed")
    net = intervene(net, done)
    if observed and not weighted:
        from gml.model.posterior import posterior_rows

        rows = posterior_rows(
            net, observed, seed=seed, missing_rate=missing_rate, max_memory=budget
        )
    else:
        rows = network_rows(net, seed=seed, missing_rate=missing_rate, weighted=observed)
    out.write(csv_chunks(rows, n, threads=threads))
