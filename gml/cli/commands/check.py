"""gml check DATA MODEL: does the model still hold on new data?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.acceptance import note_on_rows, read_acceptance
from gml.cli.shared.check_reports import CheckOutput, check_output
from gml.cli.shared.common_options import alpha_option, common_options, seed_option
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.parameter_types import OutputFile, name_list_option
from gml.cli.shared.run import claim_input, run_ledger
from gml.cli.shared.settings import ConfiguredCommand, settings_file
from gml.errors import CannotAnswer, MissingTable, UsageError, place, unknown_name
from gml.gate.result import FAMILIES

if TYPE_CHECKING:
    from gml.cli.shared.check_data import CheckedData
    from gml.gate.baseline import Baseline
    from gml.gate.result import CheckReport
    from gml.gate.run import CheckSettings
    from gml.model.bayesnet import BayesNet

_WITHOUT_BASELINE = (
    "no baseline: if the data of the model break independences too, accept them once, by gml check "
    "TRAIN MODEL --write-baseline FILE"
)


def _severities(ctx: click.Context, param: click.Parameter, value: Any) -> dict[str, str]:
    found = {}
    for item in value:
        family, _, severity = item.partition("=")
        _require_family(family, ctx, param)
        if severity not in ("warn", "fail"):
            raise click.BadParameter(f"{item!r}: write {family}=warn or {family}=fail", ctx, param)
        found[family] = severity
    return found


def _effects(ctx: click.Context, param: click.Parameter, value: Any) -> dict[str, float]:
    """By family; a number alone is for all of them, whatever else is said for one."""
    general: dict[str, float] = {}
    special: dict[str, float] = {}
    for item in value:
        family, equals, text = item.rpartition("=")
        if equals:
            _require_family(family, ctx, param)
        try:
            effect = float(text)
        except ValueError:
            effect = math.nan
        if not 0 <= effect < math.inf:
            raise click.BadParameter(f"{text!r} is not a number of at least 0", ctx, param)
        if effect > 1 and family not in ("structure", "fit"):
            raise click.BadParameter(
                f"{item!r}: total variation and shares of rows are at most 1", ctx, param
            )
        if equals:
            special[family] = effect
        else:
            general = dict.fromkeys(FAMILIES, effect)
    return general | special


def _require_family(name: str, ctx: click.Context, param: click.Parameter) -> None:
    if name not in FAMILIES:
        raise click.BadParameter(unknown_name("family", name, FAMILIES), ctx, param)


def _families(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in FAMILIES:
            raise UsageError(f"--families: {unknown_name('family', name, FAMILIES)}")
    return names or FAMILIES


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
    "  gml check                                # data and model as gml.toml says\n"
    "\n\b\n"
    "Exit codes: 0 the model holds, 1 it does not, 4 there are no rows to tell.",
)
@data_options
@click.argument("model_path", metavar="MODEL")
@alpha_option("Chance of a false alarm, for the whole run.", 0.01)
@click.option(
    "--min-effect",
    multiple=True,
    metavar="[FAMILY=]X",
    callback=_effects,
    help="Fail only where the effect is at least this: total variation of a table's row, nats of a "
    "relation, nats a row of the fit, share of rows of the schema (repeatable).",
)
@name_list_option("--families", help_="Look at these only: schema,tables,structure,fit.")
@click.option(
    "--severity",
    multiple=True,
    metavar="FAMILY=warn|fail",
    callback=_severities,
    help="What a failure means (repeatable); fail by default.",
)
@click.option("--warn-only", is_flag=True, help="Failures only warn, and the answer is yes.")
@click.option("--baseline", metavar="FILE", help="Accept the violations that this file knows.")
@click.option(
    "--write-baseline",
    type=OutputFile(),
    metavar="FILE",
    help="Accept all violations found: write them, and how the rest looks, and exit 0.",
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
    likely than they were?). If nothing
    changed, the answer is no with a chance of at most --alpha for the whole run, however many
    checks there are: p-values are adjusted together (Holm). No learned graph is quite true, so
    accept a model with --write-baseline on the data that it was fitted on. Missing values are
    treated as when it was fitted, unless --missing is given.
    """
    from gml.gate.run import CheckSettings

    claim_input(model_path, "model")
    chosen = _families(families)
    acceptance = read_acceptance(baseline, write_baseline)
    settings = CheckSettings(
        alpha=alpha,
        min_effect=min_effect,
        families=chosen,
        warn=FAMILIES if warn_only else [name for name in severity if severity[name] == "warn"],
        seed=seed,
        threads=data.threads,
        unlikely_rows=unlikely_rows,
    )
    net = _read_model(model_path)
    notes = acceptance.notes(model_path)
    report = _run(data, net, settings, acceptance.known, place(model_path))
    report = replace(report, notes=(*report.notes, *notes), settings=settings_file())
    if write_baseline is not None:
        report = replace(report, notes=(*report.notes, *note_on_rows(net, data.path)))
        report, accepted = acceptance.accepted(report)
        out.write(report)
        acceptance.save(accepted)
        return 0
    without = acceptance.read is None
    if without and any(c.kind == "independence" for c in report.ranked("fail", "warn")):
        report = replace(report, notes=(*report.notes, _WITHOUT_BASELINE))
    out.write(report)
    return 1 if report.failed else 0


def _read_model(model_path: str) -> BayesNet:
    """Read the model and hash it, to know whether it is the one of the baseline."""
    from gml.formats.models import read_model

    kept = run_ledger()
    # Its hash costs nothing; that of the data is asked for only where an output holds it.
    wanted, kept.wants_digests = kept.wants_digests, True
    net = read_model(model_path)
    kept.wants_digests = wanted
    return net


def _run(
    data: DataRequest, net: BayesNet, settings: CheckSettings, known: Baseline, model: str
) -> CheckReport:
    from gml.cli.shared.check_data import read_checked_data
    from gml.gate.run import check_model

    checked = read_checked_data(data, net, model)
    try:
        report = check_model(
            net, checked.counter, settings, baseline=known, context=checked.context
        )
    except MissingTable as error:
        way_out = _way_to_tables(error.names, net, settings, model)
        raise CannotAnswer(f"{error.lacking}; a check needs more tables: {way_out}") from None
    return _located(report, checked)


def _way_to_tables(
    lacking: frozenset[str], net: BayesNet, settings: CheckSettings, model: str
) -> str:
    """Say how to count what a check asks for, and what can be checked without it."""
    families = ({cpd.variable, *cpd.parents} for cpd in net.cpds)
    of_family = any(lacking == {variable.name for variable in members} for members in families)
    without = {"schema"} if of_family else {"schema", "tables"}
    rest = [name for name in settings.families if name in without]
    wanted = "--implied" if "structure" in settings.families else "--graph"
    less = f", or --families {','.join(rest)}" if 0 < len(rest) < len(settings.families) else ""
    return f"gml count DATA {wanted} {model}{less}"


def _located(report: CheckReport, checked: CheckedData) -> CheckReport:
    """Give rows the numbers and lines that they have in the file."""
    shown = [check for check in report.checks if check.row is not None]
    wanted = {row.row for row in report.unlikely} | {check.row for check in shown if check.row}
    places = checked.places(wanted)

    def found(row: int) -> dict[str, Any]:
        number, line = places[row]
        return {"row": number, "line": line}

    return replace(
        report,
        unlikely=tuple(replace(row, **found(row.row)) for row in report.unlikely),
        checks=tuple(
            check if check.row is None else replace(check, **found(check.row))
            for check in report.checks
        ),
    )
