"""Where the report of raking goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml.cli.shared import colours
from gml.cli.shared.output import Output

if TYPE_CHECKING:
    from gml.model.raking.result import Raking


class RakingOutput(Output):
    """Takes what raking found."""

    colours = colours.TABLE

    def write(self, raking: Raking) -> None:
        """Write the summary and the targets."""
        from gml.formats.reports.raking import FORMATS

        self._send(FORMATS[self.format](raking, **self._how()))
