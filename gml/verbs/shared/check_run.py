"""A run of checks: deliveries are read and asked about, then decided on together.

Reports stand in the order of the deliveries. A delivery that cannot be read or asked about has a
report that says why, and the others are decided on without it: with `together` the p-values of all
of them are adjusted as one family, otherwise those of each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.dialect import first_said
from gml.data.options import ReadingKeywords, given_keywords, reading_options, schema_of
from gml.errors import (
    CannotAnswer,
    DataError,
    MissingTable,
    Note,
    nearest_name,
    parameter,
    place,
    quote,
)
from gml.formats.baseline import read_baseline
from gml.formats.models import read_model
from gml.gate.acceptance import unknown_ids
from gml.gate.checked_data import CheckedData, CheckedReading
from gml.gate.clique_tables import members_of_tables
from gml.gate.families import CheckedModel
from gml.gate.result import WITHOUT_BASELINE, CheckReport, Rejection
from gml.gate.run import Examined, conclude, examine
from gml.gate.settings import CheckSettings
from gml.ledger import Ledger, RunPath, note_digest, wants_digest
from gml.model.baseline import Baseline
from gml.model.bayesnet import BayesNet
from gml.model.conditional_models import Conditional
from gml.model.markovnet import MarkovNet
from gml.progress import reporter
from gml.verbs.shared.data_input import Data, name_of, require_whole_rows
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.deliveries import rejected, rejection
from gml.verbs.shared.graph_input import no_joint_model
from gml.verbs.shared.model_input import ModelSource, require_model


@dataclass(frozen=True)
class CheckRun:
    """A model, and how deliveries are held against it."""

    net: CheckedModel
    model: str
    settings: CheckSettings
    known: Baseline
    about_baseline: tuple[str, ...] = ()
    """What is to be said about the baseline before any delivery is read."""
    digest: str | None = None
    """SHA-256 of the file of the model, if it was one."""

    @classmethod
    def of(
        cls,
        model: ModelSource,
        settings: CheckSettings,
        baseline: str | os.PathLike[str] | Baseline | None,
    ) -> CheckRun:
        """Read the model, and what was accepted before: by default what the model itself holds."""
        known = baseline if isinstance(baseline, Baseline | None) else read_baseline(baseline)
        net, digest = _read_model(model)
        notes: tuple[str, ...] = ()
        if known is not None:
            notes = _notes_on_model(known, digest)
        elif net.baseline is None:
            notes = (WITHOUT_BASELINE,)
        name = place(name_of(model, "model"))
        return cls(net, name, settings, known or net.baseline or Baseline(), notes, digest)

    def agreed(self, reading: ReadingKeywords) -> ReadingKeywords:
        """Return the keywords of reading as the model says, where they say nothing else.

        Those that contradict it are refused; a schema may add levels.
        """
        source = "the model" if self.digest is None else self.model
        declared = DeclaredColumns.of(self.net.graph, source)
        schema = declared.schema_beside(schema_of(reading.get("levels") or {}))
        policy = {name: said for name, said in declared.dialect.items() if name == "missing"}
        if "missing" in schema.dialect or reading.get("missing") is None:
            # What a schema says stands there as a keyword, too (`front_door`).
            reading = {**reading, "missing": None}
        schema = replace(schema, dialect=first_said([policy, schema.dialect]))
        reading = {**reading, "levels": schema}
        options = reading_options(**reading)
        declared.require_agreement(options, given_keywords(reading), adds_levels=True)
        return reading

    def reading(self, data: Data, name: str, reading: ReadingKeywords) -> CheckedReading:
        """How to read a delivery, which reports call so; keywords are not for what was read."""
        if isinstance(data, Dataset | Counter):
            reading = {}
        options = replace(reading_options(**reading), digest=wants_digest(data))
        threads = self.settings.threads
        options = replace(options, threads=threads)
        given = frozenset(given_keywords(reading))
        return CheckedReading(self.net, self.model, name, options, given, threads)

    def examined(self, data: Data, reader: CheckedReading, *, raises: bool) -> Delivery:
        """Read a delivery and ask everything about it; why that cannot be is raised or noted."""
        try:
            return self.asked(reader.data, self.read(data, reader))
        except (DataError, CannotAnswer) as error:
            if raises:
                raise
            # Its traceback would keep what was read of the delivery.
            problem = rejection(error.with_traceback(None), [reader.data])
            return Delivery(reader.data, problem=problem)

    def read(self, data: Data, reader: CheckedReading) -> CheckedData:
        """Read a delivery."""
        checked = _found(data, reader)
        require_whole_rows(checked.counter.unit)
        return checked

    def asked(self, name: str, checked: CheckedData) -> Delivery:
        """Ask everything about a delivery that was read."""
        try:
            examined = examine(
                self.net,
                checked.counter,
                self.settings,
                baseline=self.known,
                context=checked.context,
            )
            return Delivery(name, checked, examined)
        except MissingTable as error:
            way_out = _way_to_tables(error.names, self.net, self.settings, self.model)
            raise CannotAnswer(f"{error.lacking}; a check needs more tables: {way_out}") from None

    def reports(self, deliveries: Sequence[Delivery], *, together: bool) -> list[CheckReport]:
        """Decide, on all deliveries together or on each, and return the report on each."""
        asked = [delivery.asked for delivery in deliveries if delivery.asked is not None]
        groups = [asked] if together else [[examined] for examined in asked]
        decided = (report for group in groups for report in conclude(group, self.settings))
        return [self._report(delivery, decided) for delivery in deliveries]

    def _report(self, delivery: Delivery, decided: Iterator[CheckReport]) -> CheckReport:
        if delivery.problem is not None:
            return rejected(delivery.problem, delivery.name, self.model, self.settings.alpha)
        assert delivery.checked is not None
        report = _located(next(decided), delivery.checked)
        return replace(report, fitted_on=delivery.checked.fitted_on)

    def notes(self, deliveries: Sequence[Delivery]) -> tuple[str, ...]:
        """What to say of the run; warn of what the baseline accepts that is no check."""
        read = [delivery.asked for delivery in deliveries if delivery.asked is not None]
        notes = list(self.about_baseline)
        if not read:
            return tuple(notes)
        asked = {question.check.id: None for examined in read for question in examined.questions}
        for name in unknown_ids(self.net, asked, self.known.accepted):
            near = nearest_name(name, asked)
            hint = "" if near is None else f"; did you mean {quote(near)}?"
            notes.append(
                f"the baseline accepts {quote(name)}, which is no check of the model{hint}"
            )
            reporter().warn(notes[-1])
        return tuple(notes)


@dataclass(frozen=True)
class Delivery:
    """What was read and asked, or why it could not be."""

    name: str
    checked: CheckedData | None = None
    asked: Examined | None = None
    problem: Rejection | None = None


def _read_model(model: ModelSource) -> tuple[CheckedModel, str | None]:
    """Return the model, and the hash of its file, which tells whether a baseline is for it."""
    require_model(model)
    if isinstance(model, Conditional):
        raise no_joint_model("the model")
    if isinstance(model, BayesNet | MarkovNet):
        return model, None
    # Its hash costs nothing; that of the data is asked for only where an output holds it.
    own = Ledger(wants_digests=True)
    path = RunPath(os.fspath(model), own)
    net = read_model(path)
    if isinstance(net, Conditional):
        raise no_joint_model(place(model))
    digest = own.digests.get(path)
    note_digest(model, digest)
    return net, digest


def _notes_on_model(known: Baseline, digest: str | None) -> tuple[str, ...]:
    """Warn if the baseline was written for another model."""
    if known.model in (None, f"sha256:{digest}") or digest is None:
        return ()
    other = (
        "the baseline was written for another model; accept this one with "
        f"{parameter('write_baseline')}"
    )
    reporter().warn(other)
    return (Note(other),)


def _found(data: Data, reader: CheckedReading) -> CheckedData:
    if isinstance(data, Dataset):
        return reader.of_dataset(data)
    return reader.of_counter(data) if isinstance(data, Counter) else reader.of_source(data)


def _way_to_tables(
    lacking: frozenset[str], net: CheckedModel, settings: CheckSettings, model: str
) -> str:
    """Say how to count what a check needs, and what can be checked without it."""
    of_family = lacking in map(frozenset, members_of_tables(net))
    without = {"schema"} if of_family else {"schema", "tables"}
    rest = [name for name in settings.families if name in without]
    wanted = parameter("implied" if "structure" in settings.families else "graph")
    less = ""
    if 0 < len(rest) < len(settings.families):
        less = f", or {parameter('families')} {','.join(rest)}"
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
