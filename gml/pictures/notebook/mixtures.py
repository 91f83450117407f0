"""Mixtures in notebooks: what the classes are like, and the mixtures that were fitted."""

from __future__ import annotations

from gml.errors import counted
from gml.model.mixtures.fitting import MixtureFit
from gml.model.mixtures.profiles import ClassProfiles
from gml.model.mixtures.result import MixtureResult, classes_in_words, summary_of
from gml.pictures.notebook.tables import block, folded, paragraph, table
from gml.pictures.plots.classes import class_plot
from gml.pictures.svg import Markup

_MOST_COLUMNS = 60


def profiles_html(profiles: ClassProfiles) -> str:
    """Return what the classes are like, as a plot and as a table."""
    rows = profiles.rows()
    whole = table(rows, headers=["column", "is", "level"])
    if len(profiles.columns) > _MOST_COLUMNS:
        return block(whole)
    return block(Markup(class_plot(profiles).svg), folded("figures", whole))


def fit_html(fit: MixtureFit) -> str:
    """Return the figures of a mixture."""
    return block(paragraph(repr(fit).strip("<>")), table([summary_of(fit)]))


def mixture_html(result: MixtureResult) -> str:
    """Return the plot of the classes, and the mixtures with their criteria."""
    chosen = result.chosen
    model = "" if chosen.covariance is None else f", covariances {chosen.covariance}"
    title = (
        f"Mixture: {classes_in_words(chosen.n_classes)}{model}, "
        f"log-likelihood {chosen.log_likelihood:.6g}, chosen by {result.criterion} among "
        f"{len(result.fits)}"
    )
    profiles = result.profiles
    shown: list[Markup] = [paragraph(title)]
    if len(profiles.columns) <= _MOST_COLUMNS:
        shown.append(Markup(class_plot(profiles).svg))
    else:
        shown.append(paragraph(f"{counted(len(profiles.columns), 'column')}, too many to plot"))
    rows = [summary_of(fit) for fit in result.fits]
    return block(*shown, folded("mixtures", table(rows, headers=["components", "covariance"])))
