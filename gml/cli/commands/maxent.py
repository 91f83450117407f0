"""gml maxent CONSTRAINTS: the distribution of largest entropy."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    seed_option,
    threads_option,
)
from gml.cli.shared.entropy_output import EntropyOutput
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output_options import entropy_output
from gml.cli.shared.parameter_types import NameList
from gml.cli.shared.run import claim_input
from gml.errors import UsageError, quote

_MOST_DRAWS = 1 << 40


@click.command(
    "maxent",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml maxent constraints.json -f text             # probabilities, multipliers, …\n"
    "  gml maxent margins.csv -o model.json            # then gml query, gml sample, …\n"
    "  gml maxent new_margins.csv --reference model.json -o updated.json\n"
    "  gml maxent survey_totals.csv --normalise -o model.json\n"
    "  gml maxent wait.json --quantiles 0.5,0.95 -f text   # a numeric variable\n"
    "  gml maxent wait.json -o wait.svg\n"
    "  gml maxent wait.json --draws 1000 --seed 7 > waits.csv\n"
    "\n\b\n"
    "CONSTRAINTS in JSON; gml help constraints has the CSV:\n"
    '  {"constraints": [\n'
    '     {"margin": ["A", "B"], "counts": {"n": {"x": 1, "z": 2}, "y": {"x": 3, "z": 4}}},\n'
    '     {"expectation": {"die": {"1": 1, "2": 2, "3": 3}}, "equals": 2.5},\n'
    '     {"probability": {"A": "y"}, "given": {"B": "z"}, "at_most": 0.3, "name": "cap"}]}\n'
    '  {"numeric": {"name": "wait", "support": [0, null], "mean": 2, "variance": 1.5}}\n'
    "\n\b\n"
    "Exit code 3: the constraints contradict one another; those that do are named.\n"
    "Exit code 4: no distribution has the largest entropy, or it could not be found.",
)
@click.argument("constraints_path", metavar="CONSTRAINTS")
@keyword_options(
    click.option(
        "--normalise",
        is_flag=True,
        help="Scale every margin to 1, whatever its values add up to.",
    ),
    click.option(
        "--max-seconds",
        type=RealRange(min=0, min_open=True),
        metavar="S",
        help="Give up after S seconds (exit code 4).",
    ),
    threads_option,
)
@click.option(
    "--reference",
    metavar="MODEL",
    help="Find the distribution nearest to this model: the smallest D(p‖model).",
)
@click.option(
    "--quantiles",
    type=NameList(),
    metavar="P,P",
    help="Of a numeric variable: these quantiles, such as 0.05,0.5,0.95. By default text has those "
    "of 0.025,0.25,0.5,0.75,0.975, and other formats have none.",
)
@click.option(
    "--draws",
    type=WholeRange(min=0, max=_MOST_DRAWS),
    metavar="N",
    help="Of a numeric variable: write N draws as CSV.",
)
@seed_option
@entropy_output
@common_options
def command(
    constraints_path: str,
    keywords: dict[str, Any],
    reference: str | None,
    quantiles: tuple[str, ...] | None,
    draws: int | None,
    seed: int,
    out: EntropyOutput,
) -> None:
    """Find the distribution of largest entropy under CONSTRAINTS: margins, expectations, moments.

    Of all distributions that meet the constraints, it is the one that says nothing else; with
    --reference, the one nearest to a model. The answer is an undirected model that every other
    command takes, with a multiplier per constraint. A numeric variable with given moments gives a
    density.
    """
    from gml.verbs.maxent import maxent, require_density

    shares = _shares(quantiles)
    path = claim_input(constraints_path, "constraints")
    model = None if reference is None else claim_input(reference, "reference")
    if draws is not None:
        out.require_rows()
    found = maxent(path, model, asked=chosen_options(), **keywords)
    if draws is not None:
        out.write_draws(require_density(found, "draws"), draws, seed)
        return
    if shares:
        require_density(found, "quantiles")
    out.write(out.content_with(found, shares))


def _shares(given: tuple[str, ...] | None) -> list[float]:
    """Read the probabilities of quantiles."""
    found = []
    for text in given or ():
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UsageError(f"--quantiles must be numbers between 0 and 1, not {quote(text)}")
        found.append(share)
    return found
