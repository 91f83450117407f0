"""Where the reports of `gml check` go: one to standard output or a file, others to files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.option_groups import OUTPUT, under
from gml.cli.shared.output import CheckReportOutput
from gml.cli.shared.output_options import check_report_output
from gml.cli.shared.run import plan_output, run_ledger, was_given
from gml.errors import CannotAnswer, DataError, GmlError, OutputError, unknown_name
from gml.ledger import STANDARD_OUTPUT
from gml.progress import reporter, say
from gml.resources import lack_behind

if TYPE_CHECKING:
    from gml.formats.reports.checks.wording import Reported

Function = TypeVar("Function", bound=Callable[..., Any])

_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True)
class CheckOutput:
    """Takes the report of a run of checks, for every place it goes to."""

    main: CheckReportOutput
    others: tuple[CheckReportOutput, ...] = ()

    @property
    def _all(self) -> tuple[CheckReportOutput, ...]:
        return (self.main, *self.others)

    def plan_summary(self) -> None:
        """Make sure that the summary of the step, which annotations add to, is a separate file."""
        path = os.environ.get(_SUMMARY)
        if path and any(out.format == "github" for out in self._all):
            run_ledger().plan(path, _SUMMARY)

    def write(self, report: Reported, *, requested: bool = False) -> None:
        """Write all reports, the files first; one that fails does not hold back the rest.

        Annotations for GitHub come with the summary of the step, which has what they leave out.
        With `requested`, the report on standard output is left out unless it was asked for.
        """
        failed: GmlError | None = None
        asked = not requested or any(map(was_given, ("output", "format_")))
        for out in (*self.others, *([self.main] if asked else [])):
            try:
                out.write(report)
            except GmlError as error:
                failed = failed or error
        if any(out.format == "github" for out in self._all):
            from gml.formats.reports.checks import FORMATS

            append_step_summary(FORMATS["markdown"](report))
        if failed is not None:
            raise failed

    @contextmanager
    def reporting(self, problem: Callable[[GmlError], Reported]) -> Iterator[None]:
        """Report an input that is rejected, or holds no answer, before the run ends with that."""
        try:
            yield
        except OutputError:
            raise
        except (DataError, CannotAnswer) as error:
            self._write_problem(problem(error))
            raise
        except Exception as error:
            lack = lack_behind(error)
            if lack is None:
                raise
            self._write_problem(problem(CannotAnswer(lack)))
            raise CannotAnswer(lack) from None

    def _write_problem(self, report: Reported) -> None:
        try:
            self.write(report, requested=True)
        except GmlError as error:
            # What is wrong with the input matters more, and says how the run ends.
            say("error: ", f"{error}")


@under(OUTPUT)
def check_output(function: Function) -> Function:
    """-o, -f and --report for checks, injected as `out`."""

    @click.option(
        "--report",
        "reports",
        multiple=True,
        metavar="FORMAT=FILE",
        callback=_parsed_reports,
        help="Write another report to a file: junit=out.xml (repeatable).",
    )
    @functools.wraps(function)
    def wrapper(
        *args: Any, out: CheckReportOutput, reports: Sequence[tuple[str, str]], **kwargs: Any
    ) -> Any:
        others = tuple(CheckReportOutput(path, form) for form, path in reports)
        outputs = CheckOutput(out, others)
        outputs.plan_summary()
        return function(*args, out=outputs, **kwargs)

    return check_report_output(wrapper)  # type: ignore[return-value]


def _parsed_reports(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> list[tuple[str, str]]:
    from gml.formats.reports.checks import FORMATS

    found = []
    for item in value:
        form, equals, path = item.partition("=")
        if not equals or not path:
            raise click.BadParameter(
                f"{item!r}: write FORMAT=FILE, as in junit=out.xml", ctx, param
            )
        if form not in FORMATS:
            raise click.BadParameter(unknown_name("format", form, FORMATS), ctx, param)
        if path == STANDARD_OUTPUT:
            run_ledger().plan(path, f"--report {form}")
        else:
            path = plan_output(path, f"--report {form}")
        found.append((form, path))
    return found


def append_step_summary(text: str) -> None:
    """Add Markdown to the summary of a step of GitHub Actions; elsewhere do nothing."""
    path = os.environ.get(_SUMMARY)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        reporter().warn(f"cannot add to the summary of the step, {path!r}: {error.strerror}")
