"""A run of checks: deliveries are read and asked about, then decided on together.

Reports stand in the order of the deliveries. A delivery that cannot be read or asked about has a
report that says why, and the others are decided on without it: with `together` the p-values of all
of them are adjusted as one family, otherwise those of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.errors import (
    CannotAnswer,
    DataError,
    MissingTable,
    nearest_name,
    parameter,
    quote,
)
from gml.gate.acceptance import unknown_ids
from gml.gate.checked_data import CheckedData, CheckedReading
from gml.gate.result import CheckReport, Rejection
from gml.gate.run import Examined, conclude, examine
from gml.gate.settings import CheckSettings
from gml.model.baseline import Baseline
from gml.model.bayesnet import BayesNet
from gml.progress import reporter
from gml.verbs.shared.data_input import Data, require_whole_rows
from gml.verbs.shared.deliveries import rejected, rejection


@dataclass(frozen=True)
class CheckRun:
    """A model, and how deliveries are held against it."""

    net: BayesNet
    model: str
    settings: CheckSettings
    known: Baseline

    def examined(self, data: Data, reader: CheckedReading, *, raises: bool) -> Delivery:
        """Read a delivery and ask everything about it; why that cannot be is raised or noted."""
        try:
            checked = _found(data, reader)
            require_whole_rows(checked.counter.unit)
            return Delivery(reader.data, checked, self._asked(checked))
        except (DataError, CannotAnswer) as error:
            if raises:
                raise
            # Its traceback would keep what was read of the delivery.
            problem = rejection(error.with_traceback(None), [reader.data])
            return Delivery(reader.data, problem=problem)

    def _asked(self, checked: CheckedData) -> Examined:
        try:
            return examine(
                self.net,
                checked.counter,
                self.settings,
                baseline=self.known,
                context=checked.context,
            )
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
        """Warn of what the baseline accepts although no check of the model has that name."""
        read = [delivery.asked for delivery in deliveries if delivery.asked is not None]
        if not read:
            return ()
        asked = {question.check.id: None for examined in read for question in examined.questions}
        notes = []
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


def _found(data: Data, reader: CheckedReading) -> CheckedData:
    if isinstance(data, Dataset):
        return reader.of_dataset(data)
    return reader.of_counter(data) if isinstance(data, Counter) else reader.of_source(data)


def _way_to_tables(
    lacking: frozenset[str], net: BayesNet, settings: CheckSettings, model: str
) -> str:
    """Say how to count what a check needs, and what can be checked without it."""
    families = ({cpd.variable, *cpd.parents} for cpd in net.cpds)
    of_family = any(lacking == {variable.name for variable in members} for members in families)
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
