"""gml indtest DATA X Y: is X independent of Y given Z?"""

from __future__ import annotations

from typing import Any

import click

from gml import ADJUSTMENTS
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.output import ReportOutput
from gml.cli.shared.output_options import report_output
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input
from gml.cli.shared.test_options import test_options


@click.command(
    "indtest",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml indtest survey.csv Age Vote --given Region,Sex\n"
    "  gml indtest survey.csv Age Vote --expect independent -o /dev/null || echo changed\n"
    "  gml indtest survey.csv --all-pairs --adjust holm -f csv\n"
    "  gml indtest survey.csv --implied model.dot --adjust bh\n"
    "  gml indtest small.csv A B --test permutation --permutations 20000 --seed 1\n"
    "  gml indtest heights.csv father son --test fisher-z --transform rank\n"
    "  gml indtest people.csv age sex --given income --numeric age,income\n"
    "  gml indtest heights.csv father son --given sex --numeric father,son --test kci\n"
    "\n\b\n"
    "Exit codes with --expect: 0 as expected, 1 not, 4 the data cannot tell.",
)
@data_options
@keyword_options(
    click.argument("x", required=False),
    click.argument("y", required=False),
    name_list_option("-z", "--given", help_="Condition on these: A,B."),
    click.option("--all-pairs", is_flag=True, help="Test every pair of columns."),
    click.option(
        "--implied",
        metavar="GRAPH",
        help="Test what a DAG or an undirected graph implies, pair by pair.",
    ),
)
@test_options("auto", alpha=0.05, df="full")
@keyword_options(
    click.option(
        "--adjust",
        type=click.Choice(ADJUSTMENTS),
        default="none",
        show_default=True,
        help="Adjust p-values for the number of tests.",
    ),
)
@click.option(
    "--expect",
    type=click.Choice(["independent", "dependent"]),
    help="Exit 1 if a verdict differs from this, 4 if the data cannot tell.",
)
@report_output
@dry_run_option
@common_options
def command(
    data: DataRequest, keywords: dict[str, Any], expect: str | None, out: ReportOutput
) -> int:
    """Test whether X and Y are independent, given other columns.

    The report has the statistic, degrees of freedom, p-value and its logarithm, the mutual
    information in nats, Cramér's V and a verdict: independent, dependent, or insufficient when the
    data cannot tell. Tests that look at rows (hsic, dcor, kci, rcit) also say their bandwidths and
    regularisers, and where p is from.
    """
    from gml.verbs.indtest import indtest

    if "implied" in keywords:
        keywords["implied"] = claim_input(keywords["implied"], "implied")
    report = indtest(data.path, threads=data.threads, **keywords, **data.reading)
    out.write(report)
    return 0 if expect is None else _answer(report.verdicts, expect)


def _answer(verdicts: set[str], expect: str) -> int:
    if verdicts <= {expect}:
        return 0
    opposite = {"independent": "dependent", "dependent": "independent"}[expect]
    return 1 if opposite in verdicts else 4
