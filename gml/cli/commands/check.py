"""gml check DATA MODEL: does the model still hold on new data?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.check_reports import CheckOutput, check_output
from gml.cli.shared.common_options import alpha_option, common_options, seed_option
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.parameter_types import OutputFile, name_list_option
from gml.cli.shared.run import claim_input, run_ledger
from gml.cli.shared.settings import ConfiguredCommand, settings_file
from gml.errors import UsageError, with_flags

if TYPE_CHECKING:
    from gml.verbs.check import CheckReport


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
    outputs=("report",),
    epilog="\b\nExamples:\n"
    "  gml check new.csv model.json\n"
    "  gml check train.csv model.json --write-baseline accepted.json   # once, with the model\n"
    "  gml check new.csv model.json --baseline accepted.json --report junit=check.xml\n"
    "  gml check new.csv model.json --min-effect 0.02 --severity fit=warn -f markdown\n"
    "  gml check new.csv model.json --families schema,tables -f github\n"
    "  gml check                                # data and model from gml.toml\n"
    "\n\b\n"
    "Exit codes: 0 the model holds, 1 it does not, 4 there are no rows to check.",
)
@data_options
@click.argument("model_path", metavar="MODEL")
@alpha_option("Chance of a false alarm in the whole run.", 0.01)
@click.option(
    "--min-effect",
    multiple=True,
    metavar="[FAMILY=]X",
    callback=_effects,
    help="Fail only if the effect is at least this: total variation for a row of a table, nats for "
    "a relation, nats per row for the fit, share of rows for the schema (repeatable).",
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
@click.option("--baseline", metavar="FILE", help="Accept the violations listed in this file.")
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
@common_options
def command(
    data: DataRequest,
    model_path: str,
    alpha: float,
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

    Four families of checks: schema (columns, unknown values, missing rates), tables (each row of
    each table, and each table as a whole, against the counts that the model was fitted on),
    structure (the independences that the graph implies, and its edges) and fit (are rows less
    likely than they were?). If nothing has changed, the chance of a false alarm in the whole run
    is at most --alpha, however many checks there are: p-values are adjusted together (Holm). No
    learned graph is quite true, so accept a model with --write-baseline on the data that it was
    fitted on. Missing values are treated as they were when it was fitted, unless --missing is
    given.
    """
    from gml.verbs.check import check

    report = check(
        data.path,
        claim_input(model_path, "model"),
        alpha=alpha,
        min_effect=min_effect,
        families=families,
        severity=severity,
        warn_only=warn_only,
        baseline=_known_baseline(baseline, write_baseline),
        unlikely_rows=unlikely_rows,
        seed=seed,
        threads=data.threads,
        **data.reading,
    )
    if write_baseline is None:
        out.write(_for_the_shell(report))
        return 1 if report.failed else 0
    from gml.formats.baseline import write_baseline as write

    accepted = report.accepted()
    report = _for_the_shell(report.known_in(accepted))
    *notes, last = report.notes
    out.write(replace(report, notes=(*notes, f"{last}, written to {write_baseline}")))
    # After the reports, so that one that fails leaves the old one.
    write(accepted, write_baseline, inputs=run_ledger().input_hashes())
    return 0


def _for_the_shell(report: CheckReport) -> CheckReport:
    """The report with flags for parameters, and the file that its settings come from."""
    notes = tuple(with_flags(note, "min_effect", "write_baseline") for note in report.notes)
    return replace(report, notes=notes, settings=settings_file())


def _known_baseline(baseline: str | None, write_baseline: str | None) -> str | None:
    """Claim the baseline that is to be read, and return its path.

    To accept a model again, a baseline that settings name is ignored, and so is one that does not
    exist yet. Named on the command line together with --write-baseline, a baseline is added to.
    """
    for option, path in (("--baseline", baseline), ("--write-baseline", write_baseline)):
        if path == "-":
            raise UsageError(f"{option}: a baseline is a file, not a stream")
    if write_baseline is not None:
        # The baseline is JSON, whatever the report is.
        run_ledger().wants_digests = True
        source = click.get_current_context().get_parameter_source("baseline")
        is_named = source is click.core.ParameterSource.COMMANDLINE
        if baseline is None or not is_named:
            return None
        # A file that is replaced is not an input: it would be another one each time.
        if baseline == write_baseline:
            return baseline if Path(baseline).exists() else None
    return None if baseline is None else claim_input(baseline, "baseline")
