"""Where results go: standard output, or a file that appears whole."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.common_options import chosen_options, safe_csv_option
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.run import run_ledger
from gml.errors import OutputError, UsageError, printable_lines
from gml.ledger import goes_to_standard_output
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.counts.countfile import CountFile
    from gml.data.profile import Profile
    from gml.formats.reports.comparisons import ComparedPair
    from gml.formats.reports.rows import Rows
    from gml.gate.result import CheckReport
    from gml.graph.graph import Graph
    from gml.model.answer import Answer
    from gml.model.bayesnet import BayesNet
    from gml.scores.ranking import ScoredGraph

Function = TypeVar("Function", bound=Callable[..., Any])

_FOR_PEOPLE = ("text", "markdown")
_LINES = 256


def write_standard_output(content: bytes) -> None:
    """Write to standard output; a reader that went away is not an error."""
    stream_to_standard_output([content])


def stream_to_standard_output(pieces: Iterable[bytes | memoryview]) -> None:
    """Write pieces as they come; a reader that went away ends it without an error."""
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        abandon_standard_output()
    except OSError as error:
        abandon_standard_output()
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None


def abandon_standard_output() -> None:
    """Discard what Python still holds for a broken stream, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True)
class RowOutput:
    """Takes bytes, such as rows of CSV, piece by piece."""

    path: str | None

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Write the pieces as they come; a reader that went away ends it without an error."""
        if not goes_to_standard_output(self.path):
            from gml.atomic import streamed_file

            # A pipe that was closed must not hide the answer that the exit code gives.
            with contextlib.suppress(BrokenPipeError), streamed_file(str(self.path)) as file:
                for piece in pieces:
                    file.write(piece)
            return
        stream_to_standard_output(pieces)


@dataclass(frozen=True)
class CountFileOutput:
    """Takes the tables of a count file."""

    path: str

    def write(self, counts: CountFile) -> None:
        """Write a count file."""
        from gml.counts.count_parquet import encode_counts

        RowOutput(self.path).write([encode_counts(counts)])
        reporter().note(
            f"{counts.n} rows; {len(counts.sets)} tables, {len(counts.counts)} cells that are not "
            "empty"
        )


@dataclass(frozen=True)
class _Output:
    """A destination and a format."""

    path: str | None
    format: str

    def __post_init__(self) -> None:
        # JSON and SARIF have the hashes of all inputs, GraphML that of the data.
        if self.format in ("json", "sarif", "graphml"):
            run_ledger().wants_digests = True

    def _encode(self, lines: str) -> bytes:
        return (printable_lines(lines) if self.format in _FOR_PEOPLE else lines).encode("utf-8")

    def _send(self, text: str) -> None:
        RowOutput(self.path).write([self._encode(text)])


class ConvertedOutput(_Output):
    """Takes a graph or a model, already in the format."""

    def write(self, text: str) -> None:
        """Write the text."""
        self._send(text)


class GraphOutput(_Output):
    """Takes a graph."""

    def write(self, graph: Graph) -> None:
        """Write a learned graph, which records the options that it was asked for with."""
        from gml.formats.graphs import WRITERS

        learning = graph.learning.also(options=chosen_options())
        self._send(WRITERS[self.format](replace(graph, learning=learning)))


class ModelOutput(_Output):
    """Takes a model."""

    def text_of(self, net: BayesNet) -> str:
        """Return the text of a model, which records the options that it was asked for with."""
        from gml.formats.models import MODEL_WRITERS

        learning = net.learning.also(options=chosen_options())
        return MODEL_WRITERS[self.format](replace(net, learning=learning))

    def write(self, text: str) -> None:
        """Write the text of a model."""
        self._send(text)


class ReportOutput(_Output):
    """Takes rows of a report, which may be too many to hold."""

    def write(self, rows: Rows) -> None:
        """Write a report."""
        from gml.formats.reports.rows import FORMATS

        RowOutput(self.path).write(self._blocks(FORMATS[self.format](rows)))

    def _blocks(self, lines: Iterator[str]) -> Iterator[bytes]:
        """Join many short lines: standard output may have no buffer of its own."""
        while block := list(itertools.islice(lines, _LINES)):
            yield self._encode("".join(block))


class ScoreOutput(_Output):
    """Takes scored graphs."""

    def write(self, graphs: Sequence[ScoredGraph], n: float) -> None:
        """Write the graphs, the best first."""
        from gml.formats.reports.scores import FORMATS

        self._send(FORMATS[self.format](graphs, n))


class ComparisonOutput(_Output):
    """Takes compared graphs."""

    def write(self, pairs: Sequence[ComparedPair]) -> None:
        """Write what was found for each pair."""
        from gml.formats.reports.comparisons import FORMATS

        self._send(FORMATS[self.format](pairs))


class AnswerOutput(_Output):
    """Takes the answer to a query."""

    def write(self, answer: Answer) -> None:
        """Write the answer."""
        from gml.formats.reports.answers import FORMATS

        self._send(FORMATS[self.format](answer))


class CheckReportOutput(_Output):
    """Takes the report of a run of checks."""

    def write(self, report: CheckReport) -> None:
        """Write the report."""
        from gml.formats.reports.checks import FORMATS

        self._send(FORMATS[self.format](report))


class ProfileOutput(_Output):
    """Takes the profile of a table."""

    def write(self, profile: Profile) -> None:
        """Write the profile."""
        from gml.formats.reports.profiles import FORMATS

        self._send(FORMATS[self.format](profile))


class TextOutput(_Output):
    """Takes sentences, and the facts behind them."""

    def write(self, text: str, facts: dict[str, Any]) -> None:
        """Write the sentences, or the facts as JSON."""
        from gml.formats.json_document import SCHEMA, document_text

        self._send(text if self.format == "text" else document_text({"schema": SCHEMA, **facts}))


def graph_output(function: Function) -> Function:
    """-o and -f for graphs, injected as `out`."""
    from gml.formats.suffixes import GRAPH_SUFFIXES

    return _output(function, GraphOutput, GRAPH_SUFFIXES)


def graph_or_report_output(function: Function) -> Function:
    """-o for a graph, -f for it or for the report that takes its place, as `output`, `format_`."""
    from gml.formats.suffixes import GRAPH_SUFFIXES, REPORT_SUFFIXES

    formats = dict.fromkeys([*GRAPH_SUFFIXES.values(), *REPORT_SUFFIXES.values()])

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
        type=click.Choice(list(formats)),
        help="Output format of the graph, by default dot, or of the report, by default text.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, format_: str | None, **kwargs: Any) -> Any:
        return function(*args, outputs=GraphOrReport(output, format_), **kwargs)

    return safe_csv_option(wrapper)  # type: ignore[return-value]


@dataclass(frozen=True)
class GraphOrReport:
    """A graph for standard output or a file; or a report for the former and a graph for the latter.

    The format is that of the main result: of the graph if there is no report.
    """

    path: str | None
    format: str | None

    def graph(self, *, with_report: bool) -> GraphOutput | None:
        """Where the graph goes, if anywhere."""
        from gml.atomic import is_special
        from gml.formats.suffixes import GRAPH_SUFFIXES, format_of

        if with_report and self.path is None:
            return None
        given = None if with_report else self.format
        if given is not None and given not in GRAPH_SUFFIXES.values():
            raise UsageError(f"--format {given} is for reports, and the result is a graph")
        if given is None:
            special = self.path is None or self.path == "-" or is_special(self.path)
            given = "dot" if special else format_of(self.path or "", GRAPH_SUFFIXES, or_option="")
        return GraphOutput(self.path, given)

    def report(self) -> ReportOutput:
        """Where the report goes."""
        from gml.formats.suffixes import REPORT_SUFFIXES

        if self.format is not None and self.format not in REPORT_SUFFIXES.values():
            raise UsageError(f"--format {self.format} is for graphs, and the result is a report")
        if self.path is not None and goes_to_standard_output(self.path):
            raise UsageError("standard output is for the report; write the graph to a file")
        return ReportOutput(None, self.format or "text")


def model_output(function: Function) -> Function:
    """-o and -f for models, injected as `out`."""
    from gml.formats.suffixes import MODEL_SUFFIXES

    return _output(function, ModelOutput, MODEL_SUFFIXES)


def report_output(function: Function) -> Function:
    """-o and -f for reports, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, ReportOutput, REPORT_SUFFIXES)


def score_output(function: Function) -> Function:
    """-o and -f for scored graphs, injected as `out`."""
    from gml.formats.suffixes import REPORT_SUFFIXES

    return _output(function, ScoreOutput, REPORT_SUFFIXES)


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
    from gml.formats.suffixes import PROFILE_SUFFIXES

    return _output(function, ProfileOutput, PROFILE_SUFFIXES)


def text_output(function: Function) -> Function:
    """-o and -f for sentences, injected as `out`."""
    return _output(function, TextOutput, {".txt": "text", ".json": "json"})


def row_output(function: Function) -> Function:
    """-o for rows, injected as `out`."""

    @click.option("-o", "--output", type=OutputFile(), metavar="FILE", help="Write here, as CSV.")
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, **kwargs: Any) -> Any:
        return function(*args, out=RowOutput(output), **kwargs)

    return safe_csv_option(wrapper)  # type: ignore[return-value]


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
        help="Write nothing and exit 4 if a non-empty cell, a number of missing values or a "
        "difference between two tables stands for fewer than K rows.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str, **kwargs: Any) -> Any:
        return function(*args, out=CountFileOutput(output), **kwargs)

    return wrapper  # type: ignore[return-value]


def _output(
    function: Function,
    kind: type[_Output],
    suffixes: dict[str, str],
    without_suffix: Sequence[str] = (),
) -> Function:
    formats = list(dict.fromkeys([*suffixes.values(), *without_suffix]))
    default = formats[0]

    @click.option(
        "-o",
        "--output",
        type=OutputFile(),
        metavar="FILE",
        help="Write here; the suffix picks the format.",
    )
    @click.option(
        "-f",
        "--format",
        "format_",
        type=click.Choice(formats),
        help=f"Output format; by default {default}.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, output: str | None, format_: str | None, **kwargs: Any) -> Any:
        from gml.atomic import is_special
        from gml.formats.suffixes import format_of

        if format_ is None:
            special = output is None or output == "-" or is_special(output)
            format_ = default if special else format_of(output or "", suffixes)
        return function(*args, out=kind(output, format_), **kwargs)

    with_csv = safe_csv_option(wrapper) if "csv" in formats else wrapper
    return with_csv  # type: ignore[return-value]
