"""Several deliveries, checked in one run.

Their p-values are one family by default, so that the run as a whole raises a false alarm with
probability at most α, however many deliveries there are. A delivery that cannot be checked is
reported as that, and does not hold back the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gml.gate.check import STATUSES
from gml.gate.result import CheckReport
from gml.printable_text import printable

RUN, FILE = "run", "file"
ALPHA_PER = (RUN, FILE)
"""What α is the chance of a false alarm in."""

# The worst last: what was not checked may be anything, and what is no table can never be checked.
_EXIT_CODES = (0, 1, 4, 3)


@dataclass(frozen=True)
class CheckReports:
    """One report per delivery, in the order in which they were given.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot", accept=True)
    >>> found = gml.check([net.sample(1000, seed=1), net.sample(2000, seed=2)], net)
    >>> found.failed, [report.rows for report in found.reports]
    (False, [1000, 2000])
    """

    reports: tuple[CheckReport, ...]
    alpha: float
    model: str
    alpha_per: str = RUN
    notes: tuple[str, ...] = ()
    settings: str | None = None
    """The file that the settings of the run come from."""

    @property
    def failed(self) -> bool:
        """Whether any delivery fails, or could not be checked."""
        return any(report.failed for report in self.reports)

    @property
    def exit_code(self) -> int:
        """What `gml check` returns: 3 if an input was rejected, else 4, else 1, else 0."""
        codes = [report.exit_code for report in self.reports]
        return max(codes, key=_EXIT_CODES.index, default=0)

    @property
    def counts(self) -> dict[str, int]:
        """The number of checks per status in all deliveries, the most urgent first."""
        found = [report.counts for report in self.reports]
        return {status: sum(counts[status] for counts in found) for status in STATUSES}

    def __iter__(self) -> Iterator[CheckReport]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    def __repr__(self) -> str:
        shown = "\n".join(f"{printable(report.data)}: {report!r}" for report in self.reports)
        return f"CheckReports({'fail' if self.failed else 'pass'})\n{shown}"
