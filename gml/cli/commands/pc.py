"""gml pc DATA: the PC algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.knowledge_options import knowledge_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import GraphOutput, ReportOutput
from gml.cli.shared.output_options import graph_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.pc_options import pc_options
from gml.cli.shared.planning import dry_run_option
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml.verbs.pc import PcResult


@click.command(
    "pc",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml pc survey.csv                              # CPDAG as DOT on standard output\n"
    "  gml pc survey.csv -o graph.svg                 # a picture\n"
    "  gml pc survey.csv --alpha 0.001 --max-cond 3 -o graph.json\n"
    "  gml pc survey.csv --tiers 'Age,Sex < Education < Income' -f text\n"
    "  gml pc survey.csv --test-log log.jsonl -o graph.dot && gml explain log.jsonl Age Income\n"
    "  gml pc survey.csv --bootstrap 100 -o strengths.json\n"
    "  gml pc heights.csv --test fisher-z --dag -o dag.json\n"
    "  gml pc people.csv --numeric age,income         # numbers beside labels\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the graph so far was written.",
)
@data_options
@pc_options()
@knowledge_options
@click.option("--dag", is_flag=True, help="Write a DAG of the equivalence class instead.")
@click.option(
    "--sepsets",
    type=OutputFile(),
    metavar="FILE",
    help="Write what separated each pair to this file: .csv .json .txt …",
)
@click.option(
    "--test-log",
    type=OutputFile(),
    metavar="FILE.jsonl",
    help="Write every test to this file, for gml explain.",
)
@click.option(
    "--bootstrap",
    type=WholeRange(min=2),
    metavar="N",
    help="Average over N half-samples; edges carry strength and direction.",
)
@click.option(
    "--threshold",
    type=RealRange(min=0, max=1, min_open=True),
    help="Least strength of an edge with --bootstrap; by default found from the data.",
)
@max_seconds_option
@graph_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    keywords: dict[str, Any],
    dag: bool,
    sepsets: str | None,
    test_log: str | None,
    bootstrap: int | None,
    threshold: float | None,
    out: GraphOutput,
) -> int:
    """Learn a CPDAG from DATA by independence tests (the PC algorithm, order-independent).

    Two variables have an edge unless some set of neighbours makes them independent; arrows follow
    from colliders and Meek's rules. The result is always a valid CPDAG or, with knowledge, the
    maximally oriented PDAG: where tests contradict each other the weaker evidence gives way, and a
    warning names it.
    """
    from gml.verbs.pc import opened_log, pc

    separators = _separators(sepsets, bootstrap)
    if test_log == "-":
        raise UsageError("--test-log needs a file; standard output is for the graph")
    keywords = {**keywords, "threads": data.threads, "asked": chosen_options(), **data.reading}
    if bootstrap is not None:
        averaged = pc(
            data.path, bootstrap=bootstrap, threshold=threshold, test_log=test_log, **keywords
        )
        out.write(averaged.dag if dag and averaged.dag is not None else averaged.graph)
        return exit_code(averaged)
    with opened_log(test_log) as log:
        result = pc(data.path, threshold=threshold, test_log=log, **keywords)
        # First: a format may refuse the names, and then no other file appears either.
        out.write(result.dag if dag else result.graph)
        if separators is not None:
            separators.write(_sepset_rows(result))
    return exit_code(result)


def _separators(sepsets: str | None, bootstrap: int | None) -> ReportOutput | None:
    """Return where the separating sets go."""
    if sepsets is None:
        return None
    from gml.formats.suffixes import REPORT_SUFFIXES, format_of

    if bootstrap is not None:
        raise UsageError("--sepsets is about one run; leave out --bootstrap")
    if sepsets == "-":
        raise UsageError("--sepsets needs a file; standard output is for the graph")
    return ReportOutput(sepsets, format_of(sepsets, REPORT_SUFFIXES, or_option=""))


def _sepset_rows(result: PcResult) -> list[dict[str, Any]]:
    from gml.formats.reports.tests import numbers_of

    return [
        {
            "x": sepset.x,
            "y": sepset.y,
            "given": list(sepset.given),
            **numbers_of(sepset.result),
            "n": sepset.result.n,
        }
        for sepset in result.sepsets
    ]
