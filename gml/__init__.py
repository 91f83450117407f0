"""gml learns graphical models from tabular data.

>>> import gml
>>> data = gml.read("sample_data/asia.csv")
>>> tree = gml.chow_liu(gml.MemoryCounter(data)).graph
>>> tree.n_edges
7

Names are loaded when they are first used, so that importing gml costs next to nothing.
"""

from __future__ import annotations

# Type checkers take it for true; to import it from typing would take most of the time of all.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from gml.counts.count_parquet import read_counts, write_counts
    from gml.counts.counter import Counter, Counts, TableSet
    from gml.counts.countfile import CountFile, count_sets
    from gml.counts.from_file import CountFileCounter
    from gml.counts.memory import MemoryCounter
    from gml.counts.merging import merge_counts
    from gml.data.dataset import Dataset, Variable
    from gml.data.reading import read
    from gml.formats.graphs import read_graph, write_graph
    from gml.formats.knowledge import read_knowledge
    from gml.formats.models import read_model, write_model
    from gml.gate.baseline import Baseline, baseline_of
    from gml.gate.result import Check, CheckReport
    from gml.gate.run import CheckSettings, check_model
    from gml.graph.comparison import compare_graphs
    from gml.graph.graph import Graph, Mark
    from gml.graph.knowledge import Knowledge
    from gml.independence.base import CIResult
    from gml.independence.implied import implied_independences
    from gml.independence.multiplicity import adjust
    from gml.independence.oracle import OracleTest
    from gml.independence.registry import TESTS
    from gml.learners.averaging import average_graphs, average_probabilities
    from gml.learners.bootstrap import bootstrap_samples, half_samples, learn_replicates
    from gml.learners.chowliu import chow_liu
    from gml.learners.exact import exact
    from gml.learners.ges import ges
    from gml.learners.hillclimb import hill_climb
    from gml.learners.imap import greedy_imap, minimal_imap
    from gml.learners.order_mcmc import order_mcmc
    from gml.learners.order_posterior import edge_posteriors
    from gml.learners.pc import pc
    from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
    from gml.model.compare import kl_divergence
    from gml.model.fit import fit
    from gml.model.inference import Inference
    from gml.progress import Deadline
    from gml.scores.base import total
    from gml.scores.registry import SCORES

__version__ = "0.1.0"

_HOMES = {
    "Baseline": "gml.gate.baseline",
    "BayesNet": "gml.model.bayesnet",
    "CIResult": "gml.independence.base",
    "CPT": "gml.model.bayesnet",
    "Check": "gml.gate.result",
    "CheckReport": "gml.gate.result",
    "CheckSettings": "gml.gate.run",
    "CountFile": "gml.counts.countfile",
    "CountFileCounter": "gml.counts.from_file",
    "Counter": "gml.counts.counter",
    "Counts": "gml.counts.counter",
    "Dataset": "gml.data.dataset",
    "Deadline": "gml.progress",
    "Graph": "gml.graph.graph",
    "Inference": "gml.model.inference",
    "Knowledge": "gml.graph.knowledge",
    "LinearGaussian": "gml.model.bayesnet",
    "Mark": "gml.graph.graph",
    "MemoryCounter": "gml.counts.memory",
    "OracleTest": "gml.independence.oracle",
    "SCORES": "gml.scores.registry",
    "TESTS": "gml.independence.registry",
    "TableSet": "gml.counts.counter",
    "Variable": "gml.data.dataset",
    "adjust": "gml.independence.multiplicity",
    "average_graphs": "gml.learners.averaging",
    "average_probabilities": "gml.learners.averaging",
    "baseline_of": "gml.gate.baseline",
    "bootstrap_samples": "gml.learners.bootstrap",
    "check_model": "gml.gate.run",
    "chow_liu": "gml.learners.chowliu",
    "compare_graphs": "gml.graph.comparison",
    "count_sets": "gml.counts.countfile",
    "edge_posteriors": "gml.learners.order_posterior",
    "exact": "gml.learners.exact",
    "fit": "gml.model.fit",
    "ges": "gml.learners.ges",
    "greedy_imap": "gml.learners.imap",
    "half_samples": "gml.learners.bootstrap",
    "hill_climb": "gml.learners.hillclimb",
    "implied_independences": "gml.independence.implied",
    "kl_divergence": "gml.model.compare",
    "learn_replicates": "gml.learners.bootstrap",
    "merge_counts": "gml.counts.merging",
    "minimal_imap": "gml.learners.imap",
    "order_mcmc": "gml.learners.order_mcmc",
    "pc": "gml.learners.pc",
    "read": "gml.data.reading",
    "read_counts": "gml.counts.count_parquet",
    "read_graph": "gml.formats.graphs",
    "read_knowledge": "gml.formats.knowledge",
    "read_model": "gml.formats.models",
    "total": "gml.scores.base",
    "write_counts": "gml.counts.count_parquet",
    "write_graph": "gml.formats.graphs",
    "write_model": "gml.formats.models",
}

__all__ = [
    "CPT",
    "SCORES",
    "TESTS",
    "Baseline",
    "BayesNet",
    "CIResult",
    "Check",
    "CheckReport",
    "CheckSettings",
    "CountFile",
    "CountFileCounter",
    "Counter",
    "Counts",
    "Dataset",
    "Deadline",
    "Graph",
    "Inference",
    "Knowledge",
    "LinearGaussian",
    "Mark",
    "MemoryCounter",
    "OracleTest",
    "TableSet",
    "Variable",
    "adjust",
    "average_graphs",
    "average_probabilities",
    "baseline_of",
    "bootstrap_samples",
    "check_model",
    "chow_liu",
    "compare_graphs",
    "count_sets",
    "edge_posteriors",
    "exact",
    "fit",
    "ges",
    "greedy_imap",
    "half_samples",
    "hill_climb",
    "implied_independences",
    "kl_divergence",
    "learn_replicates",
    "merge_counts",
    "minimal_imap",
    "order_mcmc",
    "pc",
    "read",
    "read_counts",
    "read_graph",
    "read_knowledge",
    "read_model",
    "total",
    "write_counts",
    "write_graph",
    "write_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gml' has no attribute {name!r}")
    import importlib

    found = getattr(importlib.import_module(_HOMES[name]), name)
    if _HOMES[name].startswith(("gml.model.", "gml.formats.models")):
        _give_files(importlib.import_module("gml.model.bayesnet").BayesNet)
    return found


def _give_files(net_type: Any) -> None:
    """Let models read and write files, of which the room of models itself knows nothing."""
    if hasattr(net_type, "from_file"):
        return

    def from_file(path: str | os.PathLike[str]) -> BayesNet:
        """Read a model file; its content tells the format."""
        from gml.formats.models import read_model

        return read_model(path)

    def to_file(self: BayesNet, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write a model file; the suffix picks the format."""
        from gml.formats.models import write_model

        write_model(self, path, format)

    net_type.from_file = staticmethod(from_file)
    net_type.to_file = to_file


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
