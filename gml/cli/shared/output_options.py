"""-o and -f: where a result goes and in which format, injected as one object that takes it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gml.cli.shared.common_options import safe_csv_option
from gml.cli.shared.entropy_output import EntropyOutput
from gml.cli.shared.mixture_output import MixtureOutput
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.option_groups import OUTPUT, under
from gml.cli.shared.output import (
    AnswerOutput,
    CheckReportOutput,
    ComparisonOutput,
    CountFileOutput,
    FieldOutput,
    GraphOrReport,
    GraphOutput,
    MarkovOutput,
    ModelOutput,
    Output,
    PictureOutput,
    ProfileOutput,
    ReportOutput,
    RowOutput,
    ScoreOutput,
    TableOutput,
    TextOutput,
)
from gml.cli.shared.parameter_types import OutputFile, OutputFormat
from gml.cli.shared.run import plan_result

Function = TypeVar("Function", bound=Callable[..., Any])

_OUTPUT_FILE = under(OUTPUT)(
    click.option(
        "-o",
        "--output",
        type=OutputFile(),
        metavar="FILE",
        help="Write here; the suffix picks the format.",
    )
)


def graph_output(function: Function) -> Function:
    """-o and -f for graphs and pictures of them, injected as `out`."""
    from gml.formats.suffixes import GRAPH_SUFFIXES, PICTURE_SUFFIXES

    return _output(function, GraphOutput, {**GRAPH_SUFFIXES, **PICTURE_SUFFIXES})


@under(OUTPUT)
def graph_or_report_output(function: Function) -> Function:
    """-o for a graph, -f for it or for the report that takes its place, as `output`, `format_`."""
    from gml.formats.suffixes import GRAPH_SUFFIXES, PICTURES, REPORT_SUFFIXES

    formats = dict.fromkeys([*GRAPH_SUFFIXES.values(), *PICTURES, *REPORT_SUFFIXES.values()])

    @click.option(
        "-o",
        "--output",
        type=OutputFile(),
        metavar="FILE",
        help="Write the graph here; the suffix picks the format.",
    )
    @click.option(
        "-f",
        "--format",
        "format_",
        type=OutputFormat(list(formats)),
        help="Output format: of the graph, dot by default, or of the report, text by default.",
    )
    @functools.wraps(function)
    def wrapper(
        *args: Any, output: str | None, format_: str | None, safe_csv: bool, **kwargs: Any
    ) -> Any:
        plan_result(output)
        return function(*args, outputs=GraphOrReport(output, format_, safe_csv), **kwargs)

    return safe_csv_option(wrapper)  # type: ignore[return-value]


def model_output(function: Function) -> Function:
    """-o and -f for models and pictures of them, injected as `out`."""
    from gml.formats.suffixes import MODEL_SUFFIXES, PICTURE_SUFFIXES

    return _output(function, ModelOutput, {**MODEL_SUFFIXES, **PICTURE_SUFFIXES})


def mixture_output(function: Function) -> Function:
    """-o and -f for mixtures and pictures of their classes, injected as `out`."""
    from gml.formats.suffixes import MODEL_SUFFIXES, PICTURE_SUFFIXES

    return _output(function, MixtureOutput, {**MODEL_SUFFIXES, **PICTURE_SUFFIXES})


def markov_output(function: Function) -> Function:
    """-o and -f for undirected models, their graphs and pictures of them, injected as `out`."""
    from gml.formats.suffixes import MARKOV_SUFFIXES, PICTURE_SUFFIXES

    return _output(function, MarkovOutput, {**MARKOV_SUFFIXES, **PICTURE_SUFFIXES})


def entropy_output(function: Function) -> Function:
    """-o and -f for undirected models, and for densities, injected as `out`."""
    from gml.formats.suffixes import MARKOV_SUFFIXES, PICTURE_SUFFIXES

    return _output(function, EntropyOutput, {**MARKOV_SUFFIXES, ".csv": "csv", **PICTURE_SUFFIXES})


def field_output(function: Function) -> Function:
    """-o and -f for conditional random fields, their graphs and pictures, injected as `out`."""
    from gml.formats.suffixes import FIELD_SUFFIXES, PICTURE_SUFFIXES

    return _output(function, FieldOutput, {**FIELD_SUFFIXES, **PICTURE_SUFFIXES})


def picture_output(function: Function) -> Function:
    """-o and -f for pictures, injected as `out`."""
    from gml.formats.suffixes import DRAWING_SUFFIXES

    return _output(function, PictureOutput, DRAWING_SUFFIXES)


def report_output(function: Function) -> Function:
    """-o and -f for reports, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, ReportOutput, REPORT_SUFFIXES)


def score_output(function: Function) -> Function:
    """-o and -f for scored graphs, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, ScoreOutput, REPORT_SUFFIXES)


def plan_output(function: Function) -> Function:
    """-o and -f for plans, injected as `out`."""
    from gml.cli.shared.planning import PlanOutput
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, PlanOutput, REPORT_SUFFIXES)


def comparison_output(function: Function) -> Function:
    """-o and -f for compared graphs, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, ComparisonOutput, REPORT_SUFFIXES)


def answer_output(function: Function) -> Function:
    """-o and -f for answers, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, AnswerOutput, REPORT_SUFFIXES)


def check_report_output(function: Function) -> Function:
    """-o and -f for the report of checks, injected as `out`."""
    from gml.formats.suffixes import CHECK_SUFFIXES

    return _output(function, CheckReportOutput, CHECK_SUFFIXES, without_suffix=("github",))


def profile_output(function: Function) -> Function:
    """-o and -f for profiles, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, ProfileOutput, REPORT_SUFFIXES)


def text_output(function: Function) -> Function:
    """-o and -f for sentences, injected as `out`."""
    return _output(function, TextOutput, {".txt": "text", ".json": "json"})


@under(OUTPUT)
def row_output(function: Function) -> Function:
    """-o for rows, injected as `out`."""

    @click.option(
        "-o",
        "--output",
        type=OutputFile(),
        metavar="FILE",
        help="Write here, as CSV, or with tabs for .tsv; .gz, .bz2 and .xz are compressed.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, safe_csv: bool, **kwargs: Any) -> Any:
        from gml.atomic import names_file
        from gml.formats.row_files import require_row_suffix

        if names_file(output):
            require_row_suffix(output)
        plan_result(output)
        return function(*args, out=TableOutput(output, safe_csv), **kwargs)

    return safe_csv_option(wrapper)  # type: ignore[return-value]


@under(OUTPUT)
def file_output(function: Function) -> Function:
    """-o for a text that has one format, injected as `out`."""

    @click.option("-o", "--output", type=OutputFile(), metavar="FILE", help="Write here.")
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, **kwargs: Any) -> Any:
        plan_result(output)
        return function(*args, out=RowOutput(output), **kwargs)

    return wrapper  # type: ignore[return-value]


@under(OUTPUT)
def page_output(function: Function) -> Function:
    """-o for a page, injected as `out`."""

    @click.option(
        "-o", "--output", type=OutputFile(), metavar="FILE.html", help="Write the page here."
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, **kwargs: Any) -> Any:
        from gml.atomic import names_file
        from gml.formats.suffixes import PAGE_SUFFIXES, format_of

        if names_file(output):
            format_of(output, PAGE_SUFFIXES, or_option="")
        plan_result(output)
        return function(*args, out=RowOutput(output), **kwargs)

    return wrapper  # type: ignore[return-value]


@under(OUTPUT)
def count_file_output(function: Function) -> Function:
    """-o and --min-cell for count files, injected as `out` and `min_cell`."""

    @click.option(
        "-o",
        "--output",
        type=OutputFile(),
        metavar="FILE",
        required=True,
        help="Write here, as Parquet; - for standard output, to redirect into a file.",
    )
    @click.option(
        "--min-cell",
        type=WholeRange(min=1),
        metavar="K",
        help="Write nothing and exit 4 if a cell that is not empty stands for fewer than K rows, "
        "or missing values do, or what two tables differ by.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str, **kwargs: Any) -> Any:
        plan_result(output)
        return function(*args, out=CountFileOutput(output), **kwargs)

    return wrapper  # type: ignore[return-value]


def _output(
    function: Function,
    kind: type[Output],
    suffixes: dict[str, str],
    without_suffix: Sequence[str] = (),
) -> Function:
    formats = list(dict.fromkeys([*suffixes.values(), *without_suffix]))
    default = formats[0]
    has_csv = "csv" in formats

    @_OUTPUT_FILE
    @under(OUTPUT)(
        click.option(
            "-f",
            "--format",
            "format_",
            type=OutputFormat(formats),
            help=f"Output format; {default} by default.",
        )
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, format_: str | None, **kwargs: Any) -> Any:
        from gml.atomic import names_file
        from gml.formats.suffixes import format_of

        if format_ is None:
            format_ = (
                format_of(output, suffixes, in_python=False) if names_file(output) else default
            )
        plan_result(output)
        safe_csv = has_csv and kwargs.pop("safe_csv")
        return function(*args, out=kind(output, format_, safe_csv), **kwargs)

    with_csv = safe_csv_option(wrapper) if has_csv else wrapper
    return with_csv  # type: ignore[return-value]
