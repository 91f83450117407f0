"""gml crf DATA --target Y [GRAPH]: a conditional random field."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
    seed_option,
)
from gml.cli.shared.data_options import DataRequest, field_data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import FieldOutput
from gml.cli.shared.output_options import field_output
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.run import claim_input


class _NumberOrAuto(RealRange):
    """A number, or the word auto."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value if value == "auto" else super().convert(value, param, ctx)


_field_options = keyword_options(
    click.option(
        "--sequence",
        metavar="COLUMN",
        help="Rows with the same value here are a chain, in the order of the file: the label of a "
        "row depends on that before it, too.",
    ),
    click.option(
        "--window",
        type=WholeRange(min=0),
        default=1,
        show_default=True,
        metavar="N",
        help="With --sequence: how many rows before and after a row are used.",
    ),
    click.option(
        "--l2",
        type=_NumberOrAuto(min=0),
        default=1.0,
        show_default=True,
        metavar="WEIGHT",
        help="Nats that the sum of the squared weights costs; auto: the one of 10^-3, 10^-2.5, …, "
        "10^2 with the smallest log loss by folds.",
    ),
    click.option(
        "--l1",
        type=RealRange(min=0),
        default=0.0,
        metavar="WEIGHT",
        help="Nats that the sum of the weights' sizes costs; weak weights become exactly 0.",
    ),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        metavar="K",
        help="Report how well rows that were not fitted are predicted, by K-fold cross-validation; "
        "10 for --l2 auto.",
    ),
    click.option(
        "--holdout", metavar="FILE", help="Report how well the rows of FILE are predicted."
    ),
)


@click.command(
    "crf",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml crf patients.csv --target Cancer -o field.json\n"
    "  gml crf patients.csv --target Cancer,Bronchitis -f text   # report, strongest features\n"
    "  gml crf patients.csv --target Cancer --l2 auto -o field.json\n"
    "  gml crf patients.csv --target Cancer --numeric Age,Weight -o field.json\n"
    "  gml crf patients.csv graph.dot --target Cancer,Bronchitis --folds 10 -f text\n"
    "  gml crf old.csv --target Cancer --holdout new.csv -f text\n"
    "  gml query field.json --predict Cancer --batch new.csv -o predicted.csv\n"
    "  gml crf words.csv --target tag --sequence sentence --window 2 -o tagger.json\n"
    "  gml query tagger.json --mpe --batch new.csv -o tagged.csv\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the model as it was then was written.",
)
@field_data_options
@click.argument("graph_path", metavar="[GRAPH]", required=False)
@name_list_option(
    "-t", "--target", help_="The columns y to be predicted: A,B; the others are x.", required=True
)
@_field_options
@keyword_options(seed_option)
@max_seconds_option
@field_output
@common_options
def command(
    data: DataRequest,
    graph_path: str | None,
    target: tuple[str, ...],
    keywords: dict[str, Any],
    out: FieldOutput,
) -> int:
    """Fit a conditional random field to DATA: p(y | x) of some columns, given the others.

    There is a weight for each level of a target, for each level of it with a level of an input, and
    for each pair of levels of two targets that are joined: all are, or those that an edge of GRAPH
    joins (a DAG is moralised). An input of numbers (--numeric) has one for each level of a target,
    which the number multiplies, standardised by the mean and sd of DATA. They maximise the
    conditional likelihood less a penalty. With one target this is multinomial logistic regression.

    With --sequence, rows are the links of chains: there is a weight for each label with each level
    of an input in the row or near it (--window), and for each label after another, where training
    saw them together. Levels of inputs may be words, as many as there are.

    gml query asks the model about its targets: for one case, which must give every input, or
    for each row of a file (--batch, --predict, --mpe).
    """
    from gml.verbs.crf import crf
    from gml.verbs.shared.graph_input import given_graph
    from gml.verbs.shared.swapped import answering_swapped

    graph = None
    if graph_path is not None:
        with answering_swapped(data.path, graph_path):
            graph = given_graph(claim_input(graph_path, "graph"), takes_fields=True)
    if "holdout" in keywords:
        keywords["holdout"] = claim_input(keywords["holdout"], "holdout")
    net = crf(
        data.path,
        graph,
        target=target,
        threads=data.threads,
        asked=chosen_options(),
        **keywords,
        **data.reading,
    )
    out.write(out.content_of(net))
    return exit_code(net)
