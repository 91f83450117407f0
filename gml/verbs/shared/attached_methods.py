"""Methods of data, graphs and models that need rooms above their own: files, frames, pictures.

The package gives them to the classes when a name of it is first used, so that the modules of the
classes know nothing of formats and pictures.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    import pandas as pd
    import pydot

    from gml.data.dataset import Dataset
    from gml.data.options import ReadingKeywords
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet

# What a notebook shows of an object: home and class, method, and the function that makes it.
_VIEWS = (
    ("graph.graph", "Graph", "_repr_svg_", "graphs.graph_svg"),
    ("graph.graph", "Graph", "_repr_html_", "graphs.graph_html"),
    ("graph.knowledge", "Knowledge", "_repr_html_", "reports.knowledge_html"),
    ("data.profile", "Profile", "_repr_html_", "reports.profile_html"),
    ("learners.averaging", "Averaged", "_repr_html_", "graphs.learned_html"),
    ("learners.chowliu", "ChowLiuResult", "_repr_html_", "graphs.learned_html"),
    ("learners.explain", "Explanation", "_repr_html_", "reports.explanation_html"),
    ("learners.imap", "ImapResult", "_repr_html_", "graphs.learned_html"),
    ("learners.pc", "PcResult", "_repr_html_", "graphs.learned_html"),
    ("learners.search", "SearchResult", "_repr_html_", "graphs.learned_html"),
    ("model.network", "Network", "_repr_html_", "models.model_html"),
    ("model.network", "CPT", "_repr_html_", "models.cpt_html"),
    ("model.network", "LinearGaussian", "_repr_html_", "models.regression_html"),
    ("model.answer", "Answer", "_repr_html_", "answers.answer_html"),
    ("model.answer", "Distribution", "_repr_html_", "answers.distribution_html"),
    ("model.row_answers", "RowAnswers", "_repr_html_", "answers.row_answers_html"),
    ("model.prediction_metrics", "LevelMetrics", "_repr_html_", "answers.metrics_html"),
    ("model.prediction_metrics", "NumberMetrics", "_repr_html_", "answers.metrics_html"),
    ("gate.result", "CheckReport", "_repr_html_", "reports.check_html"),
    ("gate.deliveries", "CheckReports", "_repr_html_", "reports.checks_html"),
)


def give_methods() -> None:
    """Let data, graphs and models be made of what their own modules know nothing of."""
    homes = ("data.dataset", "graph.graph", "model.bayesnet")
    datasets, graphs, models = (sys.modules.get(f"gml.{home}") for home in homes)
    if datasets is not None and not hasattr(datasets.Dataset, "from_frame"):
        datasets.Dataset.from_frame = staticmethod(_from_frame)
    if graphs is not None and not hasattr(graphs.Graph, "to_pydot"):
        graphs.Graph.to_pydot = _to_pydot
        graphs.Graph.from_pydot = staticmethod(_from_pydot)
    if models is not None and not hasattr(models.BayesNet, "to_file"):
        models.BayesNet.to_file = _to_file
        models.BayesNet.from_file = staticmethod(_from_file)
    if models is not None and "gml.cli" not in sys.modules:
        # A model loads them when it is asked, which is too late for what a notebook shows.
        import gml.model.prediction_metrics
        import gml.model.row_answers  # noqa: F401
    _give_views()


def _give_views() -> None:
    """Let a notebook show what is loaded: pictures are above the rooms of these classes."""
    for home, name, method, function in _VIEWS:
        module = sys.modules.get(f"gml.{home}")
        # A module that is still being loaded has no class yet.
        shown = getattr(module, name, None)
        if shown is not None and method not in vars(shown):
            setattr(shown, method, _view(function))


def _view(function: str) -> Callable[[object], str | None]:
    """Return a method that loads the pictures when a notebook asks for one."""

    def view(self: object) -> str | None:
        home, _, name = function.partition(".")
        shown: str | None
        shown = getattr(importlib.import_module(f"gml.pictures.notebook.{home}"), name)(self)
        return shown

    return view


def _from_frame(frame: pd.DataFrame, **reading: Unpack[ReadingKeywords]) -> Dataset:
    """Code a pandas DataFrame, as if it were written to a CSV file and read from there.

    Keyword arguments are those of `gml.read`. A missing cell is an error unless `missing` says
    otherwise. Categories are declared levels.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> frame = pd.DataFrame({"A": ["x", None, "y"], "B": [0.5, 1.5, 2.5]})
    >>> data = gml.Dataset.from_frame(frame, missing="level", numeric="B")
    >>> data.variables[0].levels, data.columns[1]
    (('x', 'y', 'NA'), array([0.5, 1.5, 2.5]))
    """
    from gml.data.frames import read_frame
    from gml.data.options import reading_options

    return read_frame(frame, reading_options(**reading))


def _to_pydot(self: Graph) -> pydot.Dot:
    """Return a pydot graph, for Graphviz."""
    from gml.formats.pydot_graph import to_pydot

    return to_pydot(self)


def _from_pydot(graph: pydot.Dot) -> Graph:
    """Make a graph from a pydot graph."""
    from gml.formats.pydot_graph import from_pydot

    return from_pydot(graph)


def _from_file(path: str | os.PathLike[str]) -> BayesNet:
    """Read a model file; its content tells the format."""
    from gml.formats.models import read_model

    return read_model(path)


def _to_file(self: BayesNet, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a model file; the suffix picks the format."""
    from gml.formats.models import write_model

    write_model(self, path, format)
