"""gml learns graphical models from tabular data.

What a command does, the function of the same name does (with `_` for `-`); its options are
keywords, and it returns what the command writes. Data are a path, a DataFrame, a Dataset or an
engine; graphs and models are paths or objects.

>>> import gml
>>> data = gml.read("sample_data/asia.csv")
>>> tree = gml.chow_liu(gml.MemoryCounter(data)).graph
>>> gml.compare("sample_data/asia.dot", tree).distance
7
>>> net = gml.fit(gml.read_graph("sample_data/asia.dot"), gml.MemoryCounter(data))
>>> gml.check("sample_data/asia.csv", net).failed
False

Names are loaded when they are first used, so that importing gml costs next to nothing.
"""

from __future__ import annotations

# Type checkers take it for true; to import it from typing would take most of the time of all.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from gml.counts.count_parquet import read_counts, write_counts
    from gml.counts.counter import Counter
    from gml.counts.countfile import CountFile
    from gml.counts.memory import MemoryCounter
    from gml.data.dataset import Dataset, Variable
    from gml.data.reading import read
    from gml.formats.baseline import read_baseline, write_baseline
    from gml.formats.graphs import read_graph, write_graph
    from gml.formats.knowledge import read_knowledge
    from gml.formats.models import read_model, write_model
    from gml.gate.baseline import Baseline
    from gml.gate.result import CheckReport
    from gml.graph.graph import Graph, Mark
    from gml.graph.knowledge import Knowledge
    from gml.independence.oracle import OracleTest
    from gml.independence.registry import TESTS
    from gml.learners.chowliu import chow_liu
    from gml.learners.exact import exact
    from gml.learners.ges import ges
    from gml.learners.hillclimb import hill_climb
    from gml.learners.pc import pc
    from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
    from gml.model.fit import fit
    from gml.model.query import Inference
    from gml.scores.registry import SCORES
    from gml.verbs.check import check
    from gml.verbs.compare import compare
    from gml.verbs.convert import convert
    from gml.verbs.count import count
    from gml.verbs.explain import explain
    from gml.verbs.merge import merge
    from gml.verbs.profile import profile
    from gml.verbs.verify import verify

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
    "Inference": "gml.model.query",
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
    "baseline_of": "gml.gate.result",
    "bootstrap_samples": "gml.learners.bootstrap",
    "check": "gml.verbs.check",
    "check_model": "gml.gate.run",
    "chow_liu": "gml.learners.chowliu",
    "compare": "gml.verbs.compare",
    "compare_graphs": "gml.graph.comparison",
    "convert": "gml.verbs.convert",
    "count": "gml.verbs.count",
    "count_sets": "gml.counts.countfile",
    "edge_posteriors": "gml.learners.order_posterior",
    "exact": "gml.learners.exact",
    "explain": "gml.verbs.explain",
    "fit": "gml.model.fit",
    "ges": "gml.learners.ges",
    "greedy_imap": "gml.learners.imap",
    "half_samples": "gml.learners.bootstrap",
    "hill_climb": "gml.learners.hillclimb",
    "implied_independences": "gml.independence.implied",
    "kl_divergence": "gml.model.compare",
    "learn_replicates": "gml.learners.bootstrap",
    "merge": "gml.verbs.merge",
    "merge_counts": "gml.counts.merging",
    "minimal_imap": "gml.learners.imap",
    "order_mcmc": "gml.learners.order_mcmc",
    "pc": "gml.learners.pc",
    "profile": "gml.verbs.profile",
    "read": "gml.data.reading",
    "read_baseline": "gml.formats.baseline",
    "read_counts": "gml.counts.count_parquet",
    "read_graph": "gml.formats.graphs",
    "read_knowledge": "gml.formats.knowledge",
    "read_model": "gml.formats.models",
    "total": "gml.scores.base",
    "verify": "gml.verbs.verify",
    "write_baseline": "gml.formats.baseline",
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
    "CheckReport",
    "CountFile",
    "Counter",
    "Dataset",
    "Graph",
    "Inference",
    "Knowledge",
    "LinearGaussian",
    "Mark",
    "MemoryCounter",
    "OracleTest",
    "Variable",
    "check",
    "chow_liu",
    "compare",
    "convert",
    "count",
    "exact",
    "explain",
    "fit",
    "ges",
    "hill_climb",
    "merge",
    "pc",
    "profile",
    "read",
    "read_baseline",
    "read_counts",
    "read_graph",
    "read_knowledge",
    "read_model",
    "verify",
    "write_baseline",
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
