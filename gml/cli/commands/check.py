"""gml check DATA... MODEL: does the model still hold on new data?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.check_reports import CheckOutput, check_output
from gml.cli.shared.common_options import alpha_option, common_options, seed_option
from gml.cli.shared.data_options import DeliveriesRequest, deliveries_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.parameter_types import OutputFile, name_list_option
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input, run_ledger
from gml.cli.shared.settings import ConfiguredCommand, settings_file
from gml.errors import GmlError, UsageError, with_flags
from gml.progress import say

if TYPE_CHECKING:
    from gml import Baseline
    from gml.verbs.check import CheckReport, CheckReports


def _severities(ctx: click.Context, param: click.Parameter, value: Any) -> dict[str, str]:
    from gml.verbs.check import problem_with_family

    found = {}
    for item in value:
        family, _, severity = item.partition("=")
        _refuse(problem_with_family(family), ctx, param)
        if severity not in ("warn", "fail"):
            _refuse(f"{item!r}: write {family}=warn or {family}=fail", ctx, param)
        found[family] = severity
    return found


def _effects(ctx: click.Context, param: click.Parameter, value: Any) -> dict[str, float]:
    """By family; a number alone is for all families, unless one has its own."""
    from gml.verbs.check import FAMILIES, problem_with_effect, problem_with_family

    general: dict[str, float] = {}
    special: dict[str, float] = {}
    for item in value:
        family, equals, text = item.rpartition("=")
        if equals:
            _refuse(problem_with_family(family), ctx, param)
        try:
            effect = float(text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not a number", ctx, param) from None
        _refuse(problem_with_effect(effect, family or None), ctx, param)
        if equals:
            special[family] = effect
        else:
            general = dict.fromkeys(FAMILIES, effect)
    return general | special


def _refuse(problem: str | None, ctx: click.Context, param: click.Parameter) -> None:
    if problem is not None:
        raise click.BadParameter(problem, ctx, param)


@click.command(
    "check",
    cls=ConfiguredCommand,
    paths=("data", "model", "levels", "baseline"),
    outputs=("report", "spool"),
    epilog="\b\nExamples:\n"
    "  gml check new.csv model.json\n"
    "  gml check monday.csv tuesday.csv model.json --report junit=check.xml\n"
    "  gml check deliveries/ model.json --alpha-per file   # all files of a folder\n"
    "  gml check train.csv model.json --write-baseline accepted.json   # once, with the model\n"
    "  gml check new.csv model.json --baseline accepted.json --report junit=check.xml\n"
    "  gml check new.csv model.json --min-effect 0.02 --severity fit=warn -f markdown\n"
    "  gml check new.csv model.json --families schema,tables -f github\n"
    "  gml check                                # data and model from gml.toml\n"
    "\n\b\n"
    "Exit codes: 0 the model holds, 1 it does not, 3 an input is rejected, 4 there are no rows\n"
    "to check. Of several files the worst counts: 3, then 4, then 1; all others are checked.",
)
@deliveries_options
@click.argument("model_path", metavar="MODEL")
@alpha_option("Chance of a false alarm in the whole run.", 0.01)
@click.option(
    "--alpha-per",
    type=click.Choice(["run", "file"]),
    default="run",
    show_default=True,
    help="Let --alpha be the chance for all DATA together, or for each file.",
)
@click.option(
    "--min-effect",
    multiple=True,
    metavar="[FAMILY=]X",
    callback=_effects,
    help="Fail only if the effect is at least this: share of rows for the schema (total variation "
    "for a drift), total variation for tables (of a model of numbers: sd of the errors, ln sd), "
    "nats for the structure, nats per row for the fit (repeatable).",
)
@name_list_option(
    "--families",
    help_="Run only these checks: schema,tables,structure,fit.",
    choices=("schema", "tables", "structure", "fit"),
)
@click.option(
    "--severity",
    multiple=True,
    metavar="FAMILY=warn|fail",
    callback=_severities,
    help="Whether a failure of this family fails or only warns (repeatable); fails by default.",
)
@click.option("--warn-only", is_flag=True, help="Let failures only warn, and exit 0.")
@click.option(
    "--baseline",
    metavar="FILE",
    help="Accept the violations listed in this file, in place of those that the model holds.",
)
@click.option(
    "--write-baseline",
    type=OutputFile(),
    metavar="FILE",
    help="Accept all violations found: write them and the state of the rest, and exit 0.",
)
@click.option(
    "--unlikely-rows",
    type=WholeRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Show this many of the least likely rows.",
)
@seed_option
@check_output
@dry_run_option
@common_options
def command(
    data: DeliveriesRequest,
    model_path: str,
    alpha: float,
    alpha_per: str,
    min_effect: dict[str, float],
    families: tuple[str, ...],
    severity: dict[str, str],
    warn_only: bool,
    baseline: str | None,
    write_baseline: str | None,
    unlikely_rows: int,
    seed: int,
    out: CheckOutput,
) -> int:
    """Check whether MODEL still holds on DATA, and say which relation broke.

    DATA are one or more tables, or folders of them, which count as their files (a folder of Parquet
    alone is one table).

    Four families of checks: schema (columns, unknown values, missing rates), tables (each row of
    each table, and each table as a whole, against the counts that the model was fitted on),
    structure (the independences that the graph implies, and its edges) and fit (are rows less
    likely than they were?). If nothing has changed, the chance of a false alarm in the whole run
    is at most --alpha, however many checks there are: p-values are adjusted together (Holm). No
    learned graph is quite true, so accept a model when it is fitted (gml fit-params --accept), or
    with --write-baseline on the data that it was fitted on. The table is read, and missing values
    are treated, as when it was fitted, unless options say otherwise.
    """
    with out.reporting(lambda error: _rejected(data.paths, model_path, (alpha, alpha_per), error)):
        from gml.verbs.check import CheckReports, check

        checked, request = data.claimed()
        several = not isinstance(checked, str)
        if several and write_baseline is not None:
            raise UsageError(
                "--write-baseline accepts one delivery, the rows behind the model, not several"
            )
        report: CheckReport | CheckReports = check(
            checked,
            claim_input(model_path, "model"),
            alpha=alpha,
            alpha_per=alpha_per,
            min_effect=min_effect,
            families=families,
            severity=severity,
            warn_only=warn_only,
            baseline=_known_baseline(baseline, write_baseline),
            unlikely_rows=unlikely_rows,
            seed=seed,
            threads=request.threads,
            **request.reading,
        )
    if isinstance(report, CheckReports):
        return _write_sections(report, out)
    if write_baseline is None:
        out.write(_for_the_shell(report))
        return report.exit_code
    from gml.formats.baseline import write_baseline as write

    accepted = report.accepted()
    report = _for_the_shell(report.known_in(accepted))
    out.write(replace(report, notes=(*report.notes, f"baseline written to {write_baseline}")))
    # After the reports, so that one that fails leaves the old one.
    write(accepted, write_baseline, inputs=run_ledger().input_hashes())
    return 0


def _write_sections(reports: CheckReports, out: CheckOutput) -> int:
    """Write the report on several deliveries, and a line on each that could not be checked."""
    found = tuple(replace(_for_the_shell(report), settings=None) for report in reports)
    notes = tuple(map(with_flags, reports.notes))
    out.write(replace(reports, reports=found, notes=notes, settings=settings_file()))
    rejected = [report.error for report in found if report.error is not None]
    for error in rejected:
        say("error: ", error.message)
    if rejected:
        # As after any error, nothing else is written.
        raise click.exceptions.Exit(reports.exit_code)
    return reports.exit_code


def _rejected(
    paths: Sequence[str], model_path: str, level: tuple[float, str], error: GmlError
) -> CheckReport | CheckReports:
    """The report on a run that an input has ended: every delivery was left unchecked."""
    from gml.verbs.check import CheckReports
    from gml.verbs.shared.deliveries import names_folder, rejected, rejection

    files = [*paths, *(item.path for item in run_ledger().inputs)]
    problem = rejection(error, files)
    reports = [_for_the_shell(rejected(problem, path, model_path, level[0])) for path in paths]
    if len(reports) == 1 and not names_folder(paths[0]):
        return reports[0]
    sections = tuple(replace(report, settings=None) for report in reports)
    return CheckReports(sections, level[0], model_path, level[1], settings=settings_file())


def _for_the_shell(report: CheckReport) -> CheckReport:
    """The report with flags for parameters, and the file that its settings come from."""
    notes = tuple(map(with_flags, report.notes))
    error = report.error
    if error is not None:
        error = replace(error, message=with_flags(f"{error.cause}"))
    return replace(report, notes=notes, settings=settings_file(), error=error)


def _known_baseline(baseline: str | None, write_baseline: str | None) -> str | Baseline | None:
    """Claim the baseline that is to be read, and return its path; None is that of the model.

    To accept a model again, a baseline that settings name is ignored, and so is that of the model
    and one that does not exist yet. Named on the command line together with --write-baseline, a
    baseline is added to.
    """
    from gml import Baseline

    for option, path in (("--baseline", baseline), ("--write-baseline", write_baseline)):
        if path == "-":
            raise UsageError(f"{option}: a baseline is a file, not a stream")
    if write_baseline is not None:
        # The baseline is JSON, whatever the report is.
        run_ledger().wants_digests = True
        source = click.get_current_context().get_parameter_source("baseline")
        is_named = source is click.core.ParameterSource.COMMANDLINE
        if baseline is None or not is_named:
            return Baseline()
        # A file that is replaced is not an input: it would be another one each time.
        if baseline == write_baseline:
            return baseline if Path(baseline).exists() else Baseline()
    return None if baseline is None else claim_input(baseline, "baseline")
