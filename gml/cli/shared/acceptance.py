"""What `gml check` knows of a model's acceptance, and `--write-baseline`, which accepts it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gml.cli.shared.run import claim_input, run_ledger
from gml.errors import UsageError, counted
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.gate.baseline import Baseline
    from gml.gate.result import CheckReport
    from gml.model.bayesnet import BayesNet

_SHOWN = 20
_OTHER_MODEL = "the baseline was written for another model; accept this one with --write-baseline"
_OTHER_ROWS = (
    "these are not the rows that the model was fitted on: what changed since then is accepted too"
)


@dataclass(frozen=True)
class Acceptance:
    """What was accepted before, and where to write what is accepted now, if it is to be."""

    known: Baseline
    read: str | None
    write: str | None

    def notes(self, model_path: str) -> tuple[str, ...]:
        """Warn if the baseline was written for another model."""
        digest = run_ledger().digests.get(model_path)
        if self.known.model in (None, f"sha256:{digest}") or digest is None:
            return ()
        reporter().warn(_OTHER_MODEL)
        return (_OTHER_MODEL,)

    def accepted(self, report: CheckReport) -> tuple[CheckReport, Baseline]:
        """Accept all that was found; in the report it is known from now on."""
        from gml.gate.baseline import Baseline, baseline_of
        from gml.gate.result import BASELINED, FAIL, WARN

        found = baseline_of(report.checks, report.rows)
        merged = Baseline(
            self.known.accepted | found.accepted,
            {**self.known.references, **found.references},
            report.rows,
        )
        fresh = report.ranked(FAIL, WARN)
        notes = [f"accepted: {check.message}" for check in fresh[:_SHOWN]]
        if len(fresh) > _SHOWN:
            notes.append(f"and {len(fresh) - _SHOWN} more are accepted")
        notes.append(
            f"{counted(len(found.accepted), 'violation')} accepted, written to {self.write}"
        )
        checks = tuple(
            replace(check, status=BASELINED) if check.id in merged.accepted else check
            for check in report.checks
        )
        return replace(report, checks=checks, notes=(*report.notes, *notes)), merged

    def save(self, baseline: Baseline) -> None:
        """Write the baseline: after the reports, so that one that fails leaves the old one."""
        from gml.atomic import write_whole
        from gml.formats.baseline import dump_baseline

        assert self.write is not None
        write_whole(self.write, dump_baseline(baseline).encode())


def read_acceptance(baseline: str | None, write_baseline: str | None) -> Acceptance:
    """Read the baseline.

    To accept a model anew, what settings name is left aside, and what is not there yet is none.
    Named on the command line beside --write-baseline, a baseline is added to.
    """
    from gml.formats.baseline import read_baseline
    from gml.gate.baseline import Baseline

    for option, path in (("--baseline", baseline), ("--write-baseline", write_baseline)):
        if path == "-":
            raise UsageError(f"{option}: a baseline is a file, not a stream")
    source = click.get_current_context().get_parameter_source("baseline")
    if write_baseline is not None and baseline is not None:
        is_named = source is click.core.ParameterSource.COMMANDLINE
        is_there = baseline != write_baseline or Path(baseline).exists()
        baseline = baseline if is_named and is_there else None
    known = Baseline()
    if baseline is not None:
        # What is written in its own place is no input: it would be another one each time.
        if baseline != write_baseline:
            claim_input(baseline, "baseline")
        known = read_baseline(baseline)
    if write_baseline is not None:
        # The baseline is JSON, whatever the report is.
        run_ledger().wants_digests = True
    return Acceptance(known, baseline, write_baseline)


def note_on_rows(net: BayesNet, data_path: str) -> tuple[str, ...]:
    """Say so where a model is accepted on other rows than its own; of counts it is not known."""
    from gml.data.parquet import is_count_file

    if data_path != "-" and is_count_file(data_path):
        return ()
    fitted_on, digest = net.learning.get("data"), run_ledger().digests.get(data_path)
    differ = isinstance(fitted_on, str) and digest is not None and not fitted_on.endswith(digest)
    return (_OTHER_ROWS,) if differ else ()
