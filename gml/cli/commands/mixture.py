"""gml mixture DATA: classes that nobody recorded."""

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
from gml.cli.shared.data_options import DataRequest, mixture_data_options
from gml.cli.shared.em_options import limit_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.mixture_output import MixtureOutput
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output_options import mixture_output
from gml.cli.shared.parameter_types import name_list_option

_MODELS = ("EII", "VII", "EEI", "VVI", "EEE", "VVV")

_options = keyword_options(
    click.option(
        "--components",
        default="1..8",
        show_default=True,
        metavar="K",
        help="How many classes: 3, 1..8 or 2,4,6; of several, --criterion chooses.",
    ),
    name_list_option(
        "--covariance",
        choices=_MODELS,
        help_="Models of covariances to choose from, by mclust's names: EII,VII (one variance for "
        "all columns, or per class), EEI,VVI (one per column), EEE,VVV (with correlations); all "
        "by default.",
    ),
    click.option(
        "--criterion",
        type=click.Choice(["bic", "icl", "folds"]),
        default="bic",
        show_default=True,
        help="Choose by bic, by icl, which dislikes classes that overlap, or by rows left out.",
    ),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        metavar="K",
        help="Parts of the data for --criterion folds, which it implies; 10 by default.",
    ),
    click.option(
        "--name", default="class", show_default=True, metavar="NODE", help="Name of the class."
    ),
    click.option(
        "--gaussian",
        is_flag=True,
        help="Treat the columns as numbers, if neither --numeric nor a schema says.",
    ),
    click.option(
        "--regularise",
        type=RealRange(min=0),
        default=0.0,
        show_default=True,
        metavar="SHARE",
        help="Add this share of the variance of each column to that of each class.",
    ),
)


@click.command(
    "mixture",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml mixture survey.csv -f text                     # latent classes, 1 to 8\n"
    "  gml mixture survey.csv --components 3 -o classes.json\n"
    "  gml mixture flowers.csv --gaussian --components 1..6 -o classes.svg\n"
    "  gml mixture flowers.csv --gaussian --components 3 --covariance EEE,VVV -f text\n"
    "  gml mixture patients.csv --numeric age,weight --criterion icl -o classes.json\n"
    "  gml query classes.json --predict class --batch new.csv   # classes of new rows\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the best mixture so far was written.",
)
@mixture_data_options
@_options
@limit_options
@keyword_options(seed_option)
@max_seconds_option
@mixture_output
@common_options
def command(data: DataRequest, keywords: dict[str, Any], out: MixtureOutput) -> int:
    """Find classes of rows that nobody recorded, and fit what each is like.

    Labels make latent classes, numbers Gaussian mixtures, and both together classes of rows with
    both: within a class, labels are independent of one another and of the numbers. The number of
    classes and the model of covariances are chosen by --criterion; text and pictures show what the
    classes are like.

    Missing values are integrated out, which assumes that they are missing at random. The class is
    an ordinary node of the model, for gml query, sample and draw. Starts whose end has no bounded
    likelihood, as a class shrinks to a point, are discarded and counted.
    """
    from gml.verbs.mixture import mixture

    result = mixture(
        data.path,
        threads=data.threads,
        asked=chosen_options(),
        before=out.refuse_unwritable,
        **keywords,
        **data.reading,
    )
    out.write(out.content_with(result))
    return exit_code(result)
