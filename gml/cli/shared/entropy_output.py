"""Where results of maximum entropy go: models of labels, and densities of a numeric variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from gml.cli.shared.output import MarkovOutput, TableOutput
from gml.cli.shared.run import was_given
from gml.errors import UsageError
from gml.formats.suffixes import PICTURES

if TYPE_CHECKING:
    from gml.model.entropy.density import Density
    from gml.model.markovnet import MarkovNet


class EntropyOutput(MarkovOutput):
    """Takes an undirected model, or the density of a numeric variable."""

    def content_with(self, found: MarkovNet | Density, quantiles: Sequence[float]) -> str | bytes:
        """Return the text of what was found, or the bytes of a picture of it."""
        from gml.formats.density import DENSITY_WRITERS
        from gml.verbs.maxent import as_density

        density = as_density(found)
        if density is None:
            if self.format == "csv":
                raise UsageError("--format csv is for a numeric variable; a model has no CSV")
            return self.content_of(cast("MarkovNet", found))
        if self.format in PICTURES:
            from gml.verbs.maxent import draw_density

            return draw_density(density, quantiles).encoded(self.format)
        if self.format not in DENSITY_WRITERS:
            raise UsageError(
                f"--format {self.format} is for models of labels; a density is written as "
                f"{', '.join(DENSITY_WRITERS)} or a picture"
            )
        return DENSITY_WRITERS[self.format](density, quantiles, **self._how())

    def require_rows(self) -> None:
        """Refuse, before any work, a format that draws are not written in."""
        from gml.atomic import names_file
        from gml.formats.row_files import require_row_suffix

        if was_given("format_") and self.format != "csv":
            raise UsageError(f"draws are written as CSV, not as {self.format}")
        if names_file(self.path):
            require_row_suffix(self.path)

    def write_draws(self, density: Density, n: int, seed: int) -> None:
        """Write draws as CSV, piece by piece."""
        from gml.formats.density import draws_csv

        TableOutput(self.path).write(draws_csv(density, n, seed=seed, safe_csv=self.safe_csv))
