"""Where mixtures go: the model, its classes in words, or a picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gml.cli.shared.output import ModelOutput
from gml.formats.suffixes import PICTURES

if TYPE_CHECKING:
    from gml.data.dataset import Variable
    from gml.model.mixtures.result import MixtureResult


class MixtureOutput(ModelOutput):
    """Takes a mixture."""

    def refuse_unwritable(self, variables: Sequence[Variable]) -> None:
        """Refuse columns that the format of the file cannot hold."""
        from gml.formats.models import refuse_unwritable

        refuse_unwritable(variables, self.format)

    def content_with(self, result: MixtureResult) -> str | bytes:
        """Return the text of the model or of the classes, or the bytes of a picture of these."""
        if self.format == "text":
            from gml.formats.reports.mixture import dump_mixture_text

            return dump_mixture_text(result)
        if self.format in PICTURES:
            from gml.verbs.draw import draw

            return draw(result.model, kind="classes").encoded(self.format)
        return self.content_of(result.model)
