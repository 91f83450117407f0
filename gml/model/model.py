"""What inference on tables asks of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gml.data.dataset import Variable
    from gml.model.factor import Factor


class TableModel(Protocol):
    """P(x) is the product of the factors, but for a constant."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The nodes, all with levels."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Tables over some of them each."""
