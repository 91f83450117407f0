"""Where results go: standard output, or a file that appears whole."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from gml.cli.shared import colours
from gml.cli.shared.run import run_ledger
from gml.cli.shared.standard_output import shows_colours, stream_to_standard_output
from gml.errors import UsageError, counted, place, quote
from gml.formats.suffixes import PICTURE_SUFFIXES, PICTURES, RENDERED
from gml.ledger import goes_to_standard_output
from gml.printable_text import printable_lines
from gml.progress import reporter
from gml.terminal_style import HEADER, Rule, painted

if TYPE_CHECKING:
    from gml.counts.countfile import CountFile
    from gml.data.profile import Profile
    from gml.formats.reports.comparisons import ComparedPair
    from gml.formats.reports.predictions import AnyMetrics
    from gml.formats.reports.rows import Rows
    from gml.gate.deliveries import CheckReports
    from gml.gate.result import CheckReport
    from gml.graph.graph import Graph
    from gml.model.answer import Answer
    from gml.model.bayesnet import BayesNet
    from gml.model.conditional_models import Conditional
    from gml.model.markovnet import MarkovNet
    from gml.pictures.picture import Picture
    from gml.scores.ranking import ScoredGraph

_FOR_PEOPLE = ("text", "markdown")
# Formats that hold the hashes of all inputs.
_WITH_HASHES = ("json", "sarif")
_OF_TEXT = (".csv", ".tsv", ".json", ".jsonl", ".txt")
_LINES = 256


@dataclass(frozen=True)
class RowOutput:
    """Takes bytes, such as rows of CSV, piece by piece."""

    path: str | None
    safe_csv: bool = False
    """Whether whoever makes rows is to make them safe for spreadsheets."""

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Write the pieces as they come; a reader that went away ends it without an error."""
        if self.path is None or goes_to_standard_output(self.path):
            stream_to_standard_output(pieces)
            return
        from gml.atomic import streamed_file

        # A pipe that was closed must not hide the answer that the exit code gives.
        with contextlib.suppress(BrokenPipeError), streamed_file(self.path) as file:
            for piece in pieces:
                file.write(piece)


class TableOutput(RowOutput):
    """Takes rows of CSV, which a file may hold with tabs or compressed, as its name says."""

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Write the rows as they come."""
        from gml.atomic import names_file
        from gml.formats.row_files import encoded_rows

        super().write(encoded_rows(self.path, pieces) if names_file(self.path) else pieces)


@dataclass(frozen=True)
class CountFileOutput:
    """Takes the tables of a count file."""

    path: str

    def write(self, counts: CountFile) -> None:
        """Write a count file."""
        from gml.verbs.count import encode_counts

        if PurePath(self.path).suffix.lower() in _OF_TEXT:
            reporter().warn(f"{place(self.path)}: a count file is Parquet, whatever its name")
        RowOutput(self.path).write([encode_counts(counts)])
        reporter().note(
            f"{counted(counts.n, 'row')}; {counted(len(counts.sets), 'table')}, "
            f"{counted(len(counts.counts), 'cell')} not empty"
        )


@dataclass(frozen=True)
class Output:
    """A destination and a format."""

    path: str | None
    format: str
    safe_csv: bool = False
    colours: ClassVar[tuple[Rule, ...]] = ()
    """What is painted on a terminal."""

    def __post_init__(self) -> None:
        # GraphML holds the hash of the data.
        if self.format in (*_WITH_HASHES, "graphml"):
            run_ledger().wants_digests = True
        if self.format in PICTURES:
            require_picture(self.format, self.path)

    def _how(self) -> dict[str, Any]:
        """What the writer of the format takes beside the result."""
        if self.format in _WITH_HASHES:
            return {"inputs": run_ledger().input_hashes()}
        return {"safe_csv": self.safe_csv} if self.format == "csv" else {}

    def _encode(self, lines: str, *, at_start: bool = True) -> bytes:
        if self.format not in _FOR_PEOPLE:
            return lines.encode("utf-8")
        shown = printable_lines(lines)
        if self.format == "text" and shows_colours(self.path):
            shown = painted(shown, [r for r in self.colours if at_start or r is not HEADER])
        return shown.encode("utf-8")

    def _send(self, content: str | bytes) -> None:
        _warn_of_suffix(self.format, self.path)
        encoded = content if isinstance(content, bytes) else self._encode(content)
        RowOutput(self.path).write([encoded])


class ConvertedOutput(Output):
    """Takes a graph or a model, already in the format."""

    colours = colours.TABLE

    def write(self, content: str | bytes) -> None:
        """Write the text, or the bytes of a picture."""
        self._send(content)


class GraphOutput(Output):
    """Takes a graph."""

    colours = colours.TABLE

    def write(self, graph: Graph) -> None:
        """Write a graph, or a picture of it."""
        from gml.formats.graphs import WRITERS

        if self.format in PICTURES:
            self._send(_drawn(graph, self.format))
            return
        self._send(WRITERS[self.format](graph, **self._how()))


class ModelOutput(Output):
    """Takes a model."""

    colours = colours.MODEL

    def content_of(self, net: BayesNet | MarkovNet | Conditional) -> str | bytes:
        """Return the text of a model, or the bytes of a picture of it."""
        from gml.formats.models import MODEL_WRITERS

        if self.format in PICTURES:
            return _drawn(net, self.format)
        return MODEL_WRITERS[self.format](net, **self._how())

    def write(self, content: str | bytes) -> None:
        """Write the content."""
        self._send(content)


class FieldOutput(ModelOutput):
    """Takes a conditional random field, of which some formats hold only the graph."""

    def content_of(self, net: BayesNet | MarkovNet | Conditional) -> str | bytes:
        """Return the text of the field or of its graph, or the bytes of a picture."""
        from gml.formats.graphs import WRITERS

        if self.format in ("json", "text") or self.format in PICTURES:
            return super().content_of(net)
        return WRITERS[self.format](net.graph, **self._how())


class MarkovOutput(ModelOutput):
    """Takes an undirected model, of which some formats hold only the graph."""

    def content_of(self, net: BayesNet | MarkovNet | Conditional) -> str | bytes:
        """Return the text of the model or of its graph, or the bytes of a picture."""
        from gml.formats.graphs import WRITERS
        from gml.formats.losses import lost_by, warn_of_loss
        from gml.formats.models import MODEL_WRITERS

        if self.format in MODEL_WRITERS or self.format in PICTURES:
            content = super().content_of(net)
            if self.format in MODEL_WRITERS:
                warn_of_loss(self.format, lost_by(self.format, net))
            return content
        return WRITERS[self.format](net.graph, **self._how())


class PictureOutput(Output):
    """Takes a picture."""

    def write(self, picture: Picture, *, scale: float) -> None:
        """Write the picture, or its graph in box characters."""
        if self.format == "text":
            self.write_text(picture.text)
            return
        self._send(picture.encoded(self.format, scale=scale))

    def write_text(self, text_of: Callable[..., str]) -> None:
        """Write what is drawn in characters for a terminal of a `width` and an `encoding`."""
        self._send(text_of(**self._terminal()))

    def _terminal(self) -> dict[str, Any]:
        """How wide the terminal is, and what it can show; nothing is known of a file or a pipe."""
        if not _to_terminal(self.path):
            return {}
        import shutil

        width = shutil.get_terminal_size().columns
        return {"width": width, "encoding": sys.stdout.encoding}


def require_picture(format: str, path: str | None) -> None:
    """Refuse, before any work, a picture that cannot be made, or that no terminal can show."""
    from gml.verbs.draw import require_renderer

    require_renderer(format)
    if format in RENDERED and _to_terminal(path):
        raise UsageError(f"{format.upper()} is not for a terminal; name a file with -o")


def _warn_of_suffix(format: str, path: str | None) -> None:
    """Warn of a picture that is no text, where its name says that it is, or that it is another."""
    suffix = PurePath(path or "").suffix.lower()
    if format in RENDERED and PICTURE_SUFFIXES.get(suffix, format) != format:
        reporter().warn(
            f"{quote(str(path))} becomes {format.upper()}, as --format says, not "
            f"{suffix[1:].upper()}"
        )


def _to_terminal(path: str | None) -> bool:
    return (path is None or goes_to_standard_output(path)) and sys.stdout.isatty()


def _drawn(source: Graph | BayesNet | MarkovNet | Conditional, format: str) -> bytes:
    from gml.verbs.draw import draw

    return draw(source).encoded(format)


class ReportOutput(Output):
    """Takes rows of a report, which may be too many to hold."""

    colours = colours.TABLE

    def write(self, rows: Rows) -> None:
        """Write a report."""
        from gml.formats.reports.rows import FORMATS

        RowOutput(self.path).write(self._blocks(FORMATS[self.format](rows, **self._how())))

    def _blocks(self, lines: Iterator[str]) -> Iterator[bytes]:
        """Join many short lines: standard output may have no buffer of its own."""
        at_start = True
        while block := list(itertools.islice(lines, _LINES)):
            yield self._encode("".join(block), at_start=at_start)
            at_start = False


class ScoreOutput(Output):
    """Takes scored graphs."""

    colours = colours.TABLE

    def write(self, graphs: Sequence[ScoredGraph], n: float) -> None:
        """Write the graphs, the best first."""
        from gml.formats.reports.scores import FORMATS

        self._send(FORMATS[self.format](graphs, n, **self._how()))


class ComparisonOutput(Output):
    """Takes compared graphs."""

    colours = colours.COMPARISON

    def write(self, pairs: Sequence[ComparedPair]) -> None:
        """Write what was found for each pair."""
        from gml.formats.reports.comparisons import FORMATS

        self._send(FORMATS[self.format](pairs, **self._how()))


class AnswerOutput(Output):
    """Takes the answer to a query."""

    colours = colours.ANSWER

    def write(self, answer: Answer) -> None:
        """Write the answer."""
        from gml.formats.reports.answers import FORMATS

        self._send(FORMATS[self.format](answer, **self._how()))


class MetricsOutput(Output):
    """Takes how good predictions are."""

    colours = colours.TABLE

    def write(self, metrics: AnyMetrics) -> None:
        """Write the figures."""
        from gml.formats.reports.predictions import FORMATS

        self._send(FORMATS[self.format](metrics, **self._how()))


class CheckReportOutput(Output):
    """Takes the report of a run of checks."""

    colours = colours.CHECK

    def write(self, report: CheckReport | CheckReports) -> None:
        """Write the report."""
        from gml.formats.reports.checks import FORMATS

        self._send(FORMATS[self.format](report, **self._how()))


class ProfileOutput(Output):
    """Takes the profile of a table."""

    colours = colours.TABLE

    def write(self, profile: Profile) -> None:
        """Write the profile."""
        from gml.formats.reports.profiles import FORMATS

        self._send(FORMATS[self.format](profile, **self._how()))


class TextOutput(Output):
    """Takes sentences, and the facts behind them."""

    colours = colours.TEXT

    def write(self, text: str, facts: dict[str, Any]) -> None:
        """Write the sentences, or the facts as JSON."""
        from gml.formats.json_document import SCHEMA, document_text

        if self.format == "json":
            text = document_text({"schema": SCHEMA, **facts}, **self._how())
        self._send(text)


@dataclass(frozen=True)
class GraphOrReport:
    """A graph for standard output or a file; or a report for the former and a graph for the latter.

    The format is that of the main result: of the graph if there is no report.
    """

    path: str | None
    format: str | None
    safe_csv: bool = False

    def graph(self, *, with_report: bool) -> GraphOutput | None:
        """Where the graph goes, if anywhere."""
        from gml.atomic import names_file
        from gml.formats.suffixes import GRAPH_SUFFIXES, PICTURE_SUFFIXES, format_of

        suffixes = {**GRAPH_SUFFIXES, **PICTURE_SUFFIXES}
        if with_report and self.path is None:
            return None
        given = None if with_report else self.format
        if given is not None and given not in suffixes.values():
            raise UsageError(f"--format {given} is for reports, and the result is a graph")
        if given is None:
            given = "dot"
            if names_file(self.path):
                given = format_of(self.path, suffixes, or_option="")
        return GraphOutput(self.path, given)

    def report(self) -> ReportOutput:
        """Where the report goes."""
        from gml.formats.suffixes import REPORT_SUFFIXES

        if self.format is not None and self.format not in REPORT_SUFFIXES.values():
            raise UsageError(f"--format {self.format} is for graphs, and the result is a report")
        if self.path is not None and goes_to_standard_output(self.path):
            raise UsageError("standard output is for the report; write the graph to a file")
        return ReportOutput(None, self.format or "text", self.safe_csv)
