"""What fitting mixtures found: the model that was chosen, and all that it was chosen from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gml.graph.graph import Graph
from gml.model.bayesnet import BayesNet
from gml.model.mixtures.fitting import MixtureFit
from gml.model.mixtures.profiles import ClassProfiles, class_profiles
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class MixtureResult(AnswersSynonyms):
    """The model, whose last node is the class, and the mixtures that were fitted.

    `chosen` is the one among `fits` that `criterion` is highest for; `complete` is False where time
    ran out before all were fitted.
    """

    model: BayesNet
    chosen: MixtureFit
    fits: tuple[MixtureFit, ...] = field(repr=False)
    criterion: str
    rows: int | float
    complete: bool = True

    def __repr__(self) -> str:
        shape = "" if self.chosen.covariance is None else f" {self.chosen.covariance}"
        found = f"{len(self.fits)} fitted" + ("" if self.complete else ", more were asked for")
        return (
            f"<MixtureResult: {classes_in_words(self.chosen.n_classes)}{shape} by "
            f"{self.criterion}, of {found}>"
        )

    if TYPE_CHECKING:
        # The package adds it to the class: pictures are above this room.
        def _repr_html_(self) -> str | None: ...

    @property
    def name(self) -> str:
        """The node of the class."""
        return self.model.names[-1]

    @property
    def graph(self) -> Graph:
        """The graph of the model."""
        return self.model.graph

    @property
    def profiles(self) -> ClassProfiles:
        """What the classes are like."""
        return class_profiles(self.model, self.name)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: one row per mixture that was fitted, with its criteria."""
        import pandas as pd

        return pd.DataFrame([summary_of(fit) for fit in self.fits])


def classes_in_words(count: int) -> str:
    """Return a number of classes.

    Examples
    --------
    >>> classes_in_words(1), classes_in_words(3)
    ('1 class', '3 classes')
    """
    return f"{count} class{'es'[: 2 * (count != 1)]}"


def summary_of(fit: MixtureFit) -> dict[str, object]:
    """The figures of a mixture by name; None where one does not apply."""
    table = fit.table
    return {
        "components": fit.n_classes,
        "covariance": fit.covariance,
        "log_likelihood": fit.log_likelihood,
        "parameters": fit.n_parameters,
        "rank": fit.rank,
        "bic": fit.bic,
        "icl": fit.icl,
        "held_out": fit.held_out,
        "entropy": fit.entropy,
        "g2": None if table is None else table.g2,
        "df": None if table is None else table.df,
        "insufficient": None if table is None else not table.is_sufficient,
        "starts": len(fit.ends),
        "times_best": fit.times_best,
        "discarded": len(fit.discarded),
        "converged": fit.converged,
    }
