"""gml learns graphical models from tabular data.

What a command does, the function of the same name does (with `_` for `-`); its options are
keywords, and it returns what the command writes. Data are a path, a DataFrame, a Dataset or a
Counter; graphs and models are paths or objects.

>>> import gml
>>> result = gml.pc("sample_data/asia.csv", alpha=0.01)
>>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
>>> gml.compare(net, result).distance
1
>>> round(net.query("lung", {"xray": "yes"})["lung"]["yes"], 4)
0.4783
>>> gml.check("sample_data/asia.csv", net).failed
False

Names are loaded when they are first used, so that importing gml costs next to nothing.
"""

from __future__ import annotations

# Type checkers take it to be true; importing it from typing would take most of the import time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gml.counts.count_file_engine import CountFileCounter as CountFileCounter
    from gml.counts.count_parquet import read_counts, write_counts
    from gml.counts.counter import Counter
    from gml.counts.counter import Counts as Counts
    from gml.counts.counter import TableSet as TableSet
    from gml.counts.countfile import CountFile
    from gml.counts.countfile import count_sets as count_sets
    from gml.counts.memory import MemoryCounter
    from gml.counts.merging import merge_counts as merge_counts
    from gml.data.dataset import Dataset, Variable
    from gml.data.options import ReadingKeywords as ReadingKeywords
    from gml.data.options import ReadOptions as ReadOptions
    from gml.data.options import reading_options as reading_options
    from gml.data.reading import read
    from gml.data.resampling import bootstrap_samples as bootstrap_samples
    from gml.errors import CannotAnswer as CannotAnswer
    from gml.errors import DataError as DataError
    from gml.errors import GmlError, GmlWarning
    from gml.errors import GraphError as GraphError
    from gml.errors import UsageError as UsageError
    from gml.formats.baseline import read_baseline, write_baseline
    from gml.formats.graphs import read_graph, write_graph
    from gml.formats.knowledge import read_knowledge
    from gml.formats.models import read_model, write_model
    from gml.formats.test_log import TestLog
    from gml.gate.check import Check as Check
    from gml.gate.deliveries import CheckReports
    from gml.gate.result import CheckReport
    from gml.gate.result import baseline_of as baseline_of
    from gml.gate.run import check_model as check_model
    from gml.gate.settings import CheckSettings as CheckSettings
    from gml.graph.comparison import compare_graphs as compare_graphs
    from gml.graph.edges import Edge, Mark
    from gml.graph.graph import Graph
    from gml.graph.knowledge import Knowledge
    from gml.independence.base import CIResult as CIResult
    from gml.independence.implied import implied_independences as implied_independences
    from gml.independence.multiplicity import adjust as adjust
    from gml.independence.oracle import OracleTest
    from gml.independence.registry import ADJUSTMENTS as ADJUSTMENTS
    from gml.independence.registry import DF as DF
    from gml.independence.registry import TESTS
    from gml.independence.registry import check_test as check_test
    from gml.learners.averaging import average_graphs as average_graphs
    from gml.learners.averaging import average_probabilities as average_probabilities
    from gml.learners.bootstrap import half_samples as half_samples
    from gml.learners.bootstrap import learn_replicates as learn_replicates
    from gml.learners.decomposable import forward_decomposable as forward_decomposable
    from gml.learners.imap import greedy_imap as greedy_imap
    from gml.learners.imap import minimal_imap as minimal_imap
    from gml.learners.order_mcmc import order_mcmc as order_mcmc
    from gml.learners.order_posterior import edge_posteriors as edge_posteriors
    from gml.model.baseline import Baseline
    from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
    from gml.model.compare import kl_divergence as kl_divergence
    from gml.model.conditional.field import ConditionalField
    from gml.model.entropy.constraints import Conditional as Conditional
    from gml.model.entropy.constraints import Expectation as Expectation
    from gml.model.entropy.constraints import Margin as Margin
    from gml.model.entropy.density import Density
    from gml.model.factor import Factor
    from gml.model.inference import Inference
    from gml.model.markovnet import MarkovNet
    from gml.model.mixed.inference import MixedInference
    from gml.model.sequences.chain_field import ChainField
    from gml.pictures.picture import Picture
    from gml.progress import Deadline as Deadline
    from gml.scores.base import total as total
    from gml.scores.choosing import check_score_options as check_score_options
    from gml.scores.choosing import check_scores as check_scores
    from gml.scores.options import EDGE_PENALTY as EDGE_PENALTY
    from gml.scores.options import PENALTY as PENALTY
    from gml.scores.registry import RIVALS as RIVALS
    from gml.scores.registry import SCORES
    from gml.scores.registry import SEARCH_SCORES as SEARCH_SCORES
    from gml.scores.registry import scores_without_ceilings as scores_without_ceilings
    from gml.verbs.average import average
    from gml.verbs.check import check
    from gml.verbs.chowliu import chowliu
    from gml.verbs.chowliu import chowliu as chow_liu
    from gml.verbs.compare import compare
    from gml.verbs.convert import convert
    from gml.verbs.count import count
    from gml.verbs.crf import crf
    from gml.verbs.draw import draw
    from gml.verbs.exact import exact
    from gml.verbs.explain import explain
    from gml.verbs.fit_params import fit_params
    from gml.verbs.fit_params import fit_params as fit
    from gml.verbs.ges import ges
    from gml.verbs.glasso import glasso
    from gml.verbs.hc import hc
    from gml.verbs.hc import hc as hill_climb
    from gml.verbs.help import help
    from gml.verbs.imap import imap
    from gml.verbs.impute import impute
    from gml.verbs.indtest import indtest
    from gml.verbs.maxent import maxent
    from gml.verbs.merge import merge
    from gml.verbs.mixture import mixture
    from gml.verbs.mrf import mrf
    from gml.verbs.notears import notears
    from gml.verbs.open_stream import open_stream
    from gml.verbs.pc import pc
    from gml.verbs.plan import plan
    from gml.verbs.profile import profile
    from gml.verbs.query import query
    from gml.verbs.rake import rake
    from gml.verbs.report import report
    from gml.verbs.sample import sample
    from gml.verbs.score import score
    from gml.verbs.verify import verify

__version__ = "0.1.0"

_LEARN = ("average", "chowliu", "exact", "explain", "ges", "glasso", "hc", "imap", "notears", "pc")
_MODELS = ("convert", "crf", "fit_params", "impute", "maxent", "mixture", "mrf", "query", "sample")
_ABOUT_THEM = ("compare", "draw", "indtest", "report", "score")
_TABLES = ("check", "count", "help", "merge", "open_stream", "plan", "profile", "rake", "verify")
_HOMES = {verb: f"gml.verbs.{verb}" for verb in _LEARN + _MODELS + _ABOUT_THEM + _TABLES} | {
    "Baseline": "gml.model.baseline",
    "BayesNet": "gml.model.bayesnet",
    "CPT": "gml.model.bayesnet",
    "ChainField": "gml.model.sequences.chain_field",
    "CheckReport": "gml.gate.result",
    "CheckReports": "gml.gate.deliveries",
    "ConditionalField": "gml.model.conditional.field",
    "ConditionalGaussian": "gml.model.bayesnet",
    "CountFile": "gml.counts.countfile",
    "Counter": "gml.counts.counter",
    "Dataset": "gml.data.dataset",
    "Density": "gml.model.entropy.density",
    "Edge": "gml.graph.edges",
    "Factor": "gml.model.factor",
    "GmlError": "gml.errors",
    "GmlWarning": "gml.errors",
    "Graph": "gml.graph.graph",
    "Inference": "gml.model.inference",
    "MixedInference": "gml.model.mixed.inference",
    "Knowledge": "gml.graph.knowledge",
    "LinearGaussian": "gml.model.bayesnet",
    "Mark": "gml.graph.edges",
    "MarkovNet": "gml.model.markovnet",
    "MemoryCounter": "gml.counts.memory",
    "OracleTest": "gml.independence.oracle",
    "Picture": "gml.pictures.picture",
    "SCORES": "gml.scores.registry",
    "TESTS": "gml.independence.registry",
    "TestLog": "gml.formats.test_log",
    "Variable": "gml.data.dataset",
    "read": "gml.data.reading",
    "read_baseline": "gml.formats.baseline",
    "read_counts": "gml.counts.count_parquet",
    "read_graph": "gml.formats.graphs",
    "read_knowledge": "gml.formats.knowledge",
    "read_model": "gml.formats.models",
    "write_baseline": "gml.formats.baseline",
    "write_counts": "gml.counts.count_parquet",
    "write_graph": "gml.formats.graphs",
    "write_model": "gml.formats.models",
}
_ALIASES = {
    "chow_liu": "chowliu",
    "fit": "fit_params",
    "hill_climb": "hc",
}
# Building blocks, for those who know what they want.
_PARTS = {
    "ADJUSTMENTS": "gml.independence.registry",
    "CIResult": "gml.independence.base",
    "CannotAnswer": "gml.errors",
    "Check": "gml.gate.check",
    "CheckSettings": "gml.gate.settings",
    "Conditional": "gml.model.entropy.constraints",
    "CountFileCounter": "gml.counts.count_file_engine",
    "Counts": "gml.counts.counter",
    "DF": "gml.independence.registry",
    "DataError": "gml.errors",
    "Deadline": "gml.progress",
    "EDGE_PENALTY": "gml.scores.options",
    "Expectation": "gml.model.entropy.constraints",
    "GraphError": "gml.errors",
    "Margin": "gml.model.entropy.constraints",
    "PENALTY": "gml.scores.options",
    "ReadOptions": "gml.data.options",
    "ReadingKeywords": "gml.data.options",
    "RIVALS": "gml.scores.registry",
    "SEARCH_SCORES": "gml.scores.registry",
    "TableSet": "gml.counts.counter",
    "UsageError": "gml.errors",
    "adjust": "gml.independence.multiplicity",
    "average_graphs": "gml.learners.averaging",
    "average_probabilities": "gml.learners.averaging",
    "baseline_of": "gml.gate.result",
    "bootstrap_samples": "gml.data.resampling",
    "check_model": "gml.gate.run",
    "check_score_options": "gml.scores.choosing",
    "check_scores": "gml.scores.choosing",
    "check_test": "gml.independence.registry",
    "compare_graphs": "gml.graph.comparison",
    "count_sets": "gml.counts.countfile",
    "edge_posteriors": "gml.learners.order_posterior",
    "forward_decomposable": "gml.learners.decomposable",
    "greedy_imap": "gml.learners.imap",
    "half_samples": "gml.learners.bootstrap",
    "implied_independences": "gml.independence.implied",
    "kl_divergence": "gml.model.compare",
    "learn_replicates": "gml.learners.bootstrap",
    "merge_counts": "gml.counts.merging",
    "minimal_imap": "gml.learners.imap",
    "order_mcmc": "gml.learners.order_mcmc",
    "reading_options": "gml.data.options",
    "scores_without_ceilings": "gml.scores.registry",
    "total": "gml.scores.base",
}

__all__ = [
    "CPT",
    "SCORES",
    "TESTS",
    "Baseline",
    "BayesNet",
    "ChainField",
    "CheckReport",
    "CheckReports",
    "ConditionalField",
    "ConditionalGaussian",
    "CountFile",
    "Counter",
    "Dataset",
    "Density",
    "Edge",
    "Factor",
    "GmlError",
    "GmlWarning",
    "Graph",
    "Inference",
    "Knowledge",
    "LinearGaussian",
    "Mark",
    "MarkovNet",
    "MemoryCounter",
    "MixedInference",
    "OracleTest",
    "Picture",
    "TestLog",
    "Variable",
    "average",
    "check",
    "chow_liu",
    "chowliu",
    "compare",
    "convert",
    "count",
    "crf",
    "draw",
    "exact",
    "explain",
    "fit",
    "fit_params",
    "ges",
    "glasso",
    "hc",
    "help",
    "hill_climb",
    "imap",
    "impute",
    "indtest",
    "maxent",
    "merge",
    "mixture",
    "mrf",
    "notears",
    "open_stream",
    "pc",
    "plan",
    "profile",
    "query",
    "rake",
    "read",
    "read_baseline",
    "read_counts",
    "read_graph",
    "read_knowledge",
    "read_model",
    "report",
    "sample",
    "score",
    "verify",
    "write_baseline",
    "write_counts",
    "write_graph",
    "write_model",
]


if not TYPE_CHECKING:

    def __getattr__(name):
        import importlib

        home = _ALIASES.get(name, name)
        module = _HOMES.get(home) or _PARTS.get(home)
        if module is None:
            refuse = importlib.import_module("gml.synonyms").refuse_name
            try:
                refuse(name, _HOMES, __dir__())
            except AttributeError as error:
                # Its traceback ends with the line that asked.
                error.__traceback__ = None
                raise
        found = getattr(importlib.import_module(module), home)
        importlib.import_module("gml.verbs.object_methods").give_methods()
        return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
