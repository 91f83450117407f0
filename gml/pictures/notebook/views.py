"""Which objects a notebook shows, and how: methods that are given to classes of the rooms below.

Only this module is loaded with the classes; what makes a picture or a table is loaded when a
notebook asks for it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import gml.model.notebook_table  # noqa: F401

_SVG, _HTML = "_repr_svg_", "_repr_html_"
_VIEWS = (
    ("graph.graph", "Graph", _SVG, "graphs.graph_svg"),
    ("graph.graph", "Graph", _HTML, "graphs.graph_html"),
    ("graph.knowledge", "Knowledge", _HTML, "reports.knowledge_html"),
    ("data.profile", "Profile", _HTML, "reports.profile_html"),
    ("data.missing_patterns", "MissingPatterns", _HTML, "reports.patterns_html"),
    ("learners.averaging", "Averaged", _HTML, "graphs.learned_html"),
    ("learners.chowliu", "ChowLiuResult", _HTML, "graphs.learned_html"),
    ("learners.explain", "Explanation", _HTML, "reports.explanation_html"),
    ("learners.imap", "ImapResult", _HTML, "graphs.learned_html"),
    ("learners.pc", "PcResult", _HTML, "graphs.learned_html"),
    ("learners.search", "SearchResult", _HTML, "graphs.learned_html"),
    ("model.conditional.field", "ConditionalField", _HTML, "conditional.field_html"),
    ("model.sequences.chain_field", "ChainField", _HTML, "conditional.chain_html"),
    ("model.mixtures.result", "MixtureResult", _HTML, "mixtures.mixture_html"),
    ("model.mixtures.profiles", "ClassProfiles", _HTML, "mixtures.profiles_html"),
    ("model.mixtures.fitting", "MixtureFit", _HTML, "mixtures.fit_html"),
    ("model.markovnet", "MarkovNet", _HTML, "undirected.undirected_html"),
    ("model.undirected.potential", "Potential", _HTML, "undirected.term_html"),
    ("model.undirected.quality.summary", "FitSummary", _HTML, "undirected.fit_html"),
    ("model.network", "Network", _HTML, "models.model_html"),
    ("model.network", "CPT", _HTML, "models.cpt_html"),
    ("model.regressions", "LinearGaussian", _HTML, "models.regression_html"),
    ("model.regressions", "ConditionalGaussian", _HTML, "models.regressions_html"),
    ("model.notebook_table", "NotebookTable", _HTML, "answers.table_html"),
    ("planning.plan", "Plan", _HTML, "plans.plan_html"),
    ("planning.plan", "Plan", "__str__", "plans.plan_text"),
    ("gate.result", "CheckReport", _HTML, "reports.check_html"),
    ("gate.deliveries", "CheckReports", _HTML, "reports.checks_html"),
)
"""Home and class, method, and the function of this folder that it calls."""


def give_views() -> None:
    """Give their methods to the classes that are loaded, and do not have them yet."""
    for home, name, method, function in _VIEWS:
        # A module that is still being loaded has no class yet.
        shown = getattr(sys.modules.get(f"gml.{home}"), name, None)
        if shown is not None and method not in vars(shown):
            setattr(shown, method, _view(function))


def _view(function: str) -> Callable[[object], str | None]:
    home, _, name = function.partition(".")

    def view(self: object) -> str | None:
        show: Callable[[object], str | None]
        show = getattr(importlib.import_module(f"gml.pictures.notebook.{home}"), name)
        return show(self)

    return view
