"""What people call commands, options, functions and attributes of gml, by habit of other packages.

The command line answers with its own words, and Python with its own, from the same tables. Hints
are for people at run time: type checkers never see what they are about.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from gml.calls import ends_at_caller
from gml.errors import UsageError, nearest_name, parameter

_FIT = "gml fit-params DATA GRAPH -o model.json"
_FIELD = "gml mrf DATA, or gml mrf DATA GRAPH"
_CONDITIONAL = "gml crf DATA --target COLUMN"
_LEARN = "gml ges DATA (or pc, hc, exact, chowliu)"
_PREDICT = "gml query MODEL --predict COLUMN --batch ROWS.csv"
_DRAW = "gml draw GRAPH -o graph.svg (a model too; or gml pc DATA -o graph.svg)"

COMMANDS_MEANT = {
    "fit": _FIT,
    "estimate": _FIT,
    "parameters": _FIT,
    "params": _FIT,
    "cpt": _FIT,
    "cpts": _FIT,
    "em": "gml fit-params DATA GRAPH --missing em",
    "lca": "gml fit-params DATA GRAPH --hidden Class=3",
    "latent": "gml fit-params DATA GRAPH --hidden Class=3",
    "predict": _PREDICT,
    "classify": _PREDICT,
    "plot": _DRAW,
    "show": _DRAW,
    "render": _DRAW,
    "view": _DRAW,
    "visualize": _DRAW,
    "visualise": _DRAW,
    "picture": _DRAW,
    "learn": _LEARN,
    "train": _LEARN,
    "structure": _LEARN,
    "discover": _LEARN,
    "search": _LEARN,
    "graph": _LEARN,
    **dict.fromkeys(
        ("ising", "isingfit", "markov", "mrfs", "undirected", "loglin", "loglinear", "ipf"), _FIELD
    ),
    **dict.fromkeys(
        ("crfs", "crfsuite", "conditional", "logistic", "logit", "multinom"), _CONDITIONAL
    ),
    "infer": "gml query MODEL --target A --evidence B=x",
    "inference": "gml query MODEL --target A --evidence B=x",
    "ask": "gml query MODEL --target A --evidence B=x",
    "posterior": "gml query MODEL --target A --evidence B=x",
    "do": "gml query MODEL --target A --do B=x",
    "validate": "gml check DATA MODEL",
    "drift": "gml check DATA MODEL",
    "monitor": "gml check DATA MODEL",
    "gate": "gml check DATA MODEL",
    "describe": "gml profile DATA",
    "summary": "gml profile DATA",
    "summarize": "gml profile DATA",
    "info": "gml profile DATA",
    "schema": "gml profile DATA -o schema.json",
    "head": "gml profile DATA",
    "stats": "gml profile DATA",
    "test": "gml indtest DATA X Y --given A,B",
    "citest": "gml indtest DATA X Y --given A,B",
    "independence": "gml indtest DATA X Y --given A,B",
    "correlation": "gml indtest DATA --all-pairs",
    "tree": "gml chowliu DATA",
    "chow-liu": "gml chowliu DATA",
    "tan": "gml chowliu DATA --class COLUMN",
    "bootstrap": "gml average DATA --by hc, or gml pc DATA --bootstrap 100",
    "stability": "gml average DATA --by hc, or gml pc DATA --bootstrap 100",
    "strength": "gml average DATA --by hc, or gml pc DATA --bootstrap 100",
    "simulate": "gml sample MODEL -n 1000",
    "generate": "gml sample MODEL -n 1000",
    "draws": "gml sample MODEL -n 1000",
    "diff": "gml compare GRAPH GRAPH",
    "shd": "gml compare GRAPH GRAPH",
    "distance": "gml compare GRAPH GRAPH",
    "evaluate": "gml score DATA GRAPH --folds 10, or gml compare TRUTH GRAPH",
    "eval": "gml score DATA GRAPH --folds 10, or gml compare TRUTH GRAPH",
    "cv": "gml score DATA GRAPH --folds 10",
    "cross-validate": "gml score DATA GRAPH --folds 10",
    "bic": "gml score DATA GRAPH --score bic",
    "bdeu": "gml score DATA GRAPH --score bdeu",
    "export": "gml convert IN OUT",
    "import": "gml convert IN OUT",
    "why": "gml explain LOG A B, with the log of gml pc --test-log",
    "hillclimb": "gml hc DATA",
    "hill-climb": "gml hc DATA",
    "tabu": "gml hc DATA --tabu 15",
    "mmhc": "gml hc DATA",
    "k2": "gml imap DATA --order A,B,C --score k2",
    "fges": "gml ges DATA",
    "mcmc": "gml average DATA --by order-mcmc",
    "hash": "gml verify FILE",
    "version": "gml --version",
    "man": "gml help",
    "complete": "gml completion bash|zsh|fish",
}
"""What there is instead of a command that is not."""

OPTIONS_MEANT: Mapping[str, tuple[str, ...]] = {
    "--delimiter": ("--sep", "--separator", "--delim", "--field-separator"),
    "--format": ("--output-format", "--out-format", "--fmt", "--type", "--to"),
    "--output": ("--out", "--outfile", "--output-file", "--save", "--save-to", "--dest"),
    "--columns": (
        *("--cols", "--col", "--column", "--variables", "--vars", "--nodes", "--features"),
        *("--select", "--usecols", "--use", "--include", "--fields"),
    ),
    "--exclude": ("--drop", "--ignore", "--without", "--skip", "--omit", "--leave-out"),
    "--alpha": (
        *("--significance", "--significance-level", "--p-value", "--pvalue", "--level", "--sig"),
        "--threshold",
    ),
    "--threads": ("--jobs", "--n-jobs", "--cores", "--workers", "--cpus", "--parallel", "-j"),
    "--max-seconds": ("--timeout", "--time-limit", "--max-time", "--time"),
    "--max-memory": ("--memory", "--mem", "--ram"),
    "--engine stream": ("--stream", "--streaming", "--out-of-core", "--chunksize", "--low-memory"),
    "--spool": ("--tmp-dir", "--temp-dir", "--tmpdir", "--cache-dir"),
    "--na": ("--nan", "--na-values", "--missing-values", "--null", "--missing-token"),
    "--missing drop": ("--dropna", "--drop-na", "--drop-missing", "--complete-cases"),
    "--missing em": ("--em", "--incomplete"),
    "--hidden": ("--latent", "--latents", "--hidden-nodes", "--unobserved", "--nclass"),
    "--em-restarts": ("--n-init", "--nrep", "--starts", "--em-starts"),
    "--em-steps": ("--max-iter", "--maxiter", "--iterations", "--em-iterations"),
    "--seed": ("--random-state", "--random-seed", "--rng"),
    "--given": ("--cond", "--conditioning", "--conditional", "--conditioned-on", "--z", "--by"),
    "--require": (
        *("--whitelist", "--white-list", "--required", "--allow", "--must", "--fixed-edges"),
        "--required-edges",
    ),
    "--forbid": (
        *("--blacklist", "--black-list", "--forbidden", "--forbidden-edges", "--disallow"),
        "--exclude-edges",
    ),
    "--tiers": ("--tier", "--temporal-order", "--layers"),
    "--knowledge": ("--prior-knowledge", "--background", "--constraints", "--bk"),
    "--bootstrap": ("--boot", "--replicates", "--resamples", "--reps"),
    "--weights": ("--weight", "--sample-weight", "--freq", "--counts", "--weight-column"),
    "--ess": ("--iss", "--equivalent-sample-size", "--imaginary-sample-size"),
    "--score": (
        *("--metric", "--criterion", "--scoring", "--scoring-method", "--scores", "--score-type"),
    ),
    "--test": (
        *("--ci-test", "--citest", "--indep-test", "--ci", "--independence-test", "--statistic"),
    ),
    "--bins": ("--nbins", "--n-bins", "--buckets", "--quantiles", "--num-bins"),
    "--discretize": ("--discretise", "--binning", "--discretization"),
    "--evidence": ("--observe", "--observed", "--given", "--where", "--condition", "-e"),
    "--do": ("--intervene", "--intervention", "--set"),
    "--target": ("--query", "--variable", "--node", "--var", "--of"),
    "--predict": ("--target", "--label", "--class", "--response", "--y"),
    "--class": ("--target", "--label", "--response", "--class-column", "--tan", "--y"),
    "--folds": ("--cv", "--kfold", "--k-fold", "--cross-validate", "--n-folds"),
    "--max-parents": ("--maxp", "--max-indegree", "--max-in-degree", "--indegree"),
    "--max-cond": ("--depth", "--max-depth", "--max-cond-size", "--max-k", "--max-sx"),
    "--max-levels": ("--max-categories", "--cardinality"),
    "--levels": ("--schema", "--dtypes", "--types", "--state-names", "--states"),
    "--numeric": ("--continuous", "--numbers", "--float"),
    "--quiet": ("--silent", "--no-warnings", "--no-progress", "-s"),
    "--verbose": ("--log", "--info", "--progress"),
    "--batch": ("--rows", "--data", "--input", "--file", "--csv"),
    "--permutations": ("--n-permutations", "--perms", "--resamples"),
    "--adjust": ("--correction", "--p-adjust", "--multiple-testing", "--fdr"),
    "--all-pairs": ("--all", "--pairs", "--pairwise"),
    "--order": ("--ordering", "--node-order"),
    "--min-effect": ("--effect", "--effect-size", "--tolerance"),
    "--config": ("--settings", "--configuration", "--toml"),
    "-n": ("--n", "--size", "--samples", "--n-samples", "--num", "--count", "--nrows", "--rows"),
    "--encoding": ("--charset",),
    "--restarts": ("--restart", "--random-restarts"),
    "--prior": ("--smoothing", "--laplace", "--pseudocounts"),
    "--method bayes": ("--bayesian", "--bayes"),
    "--around": ("--focus", "--near", "--center", "--centre", "--neighbours", "--neighbors"),
    "--against": ("--compare", "--reference", "--truth", "--diff"),
    "--theme dark": ("--dark",),
    "--theme": ("--style", "--colors", "--colours"),
    "--layout": ("--engine", "--prog"),
    "--scale": ("--dpi", "--zoom", "--resolution"),
}
"""Options, with what others call them; in Python they are keywords, without the dashes."""

NAMES_MEANT = {
    **dict.fromkeys(
        ("read_csv", "read_table", "read_parquet", "load_data", "from_csv"),
        "gml.read(path), or give the path itself as data",
    ),
    **dict.fromkeys(("from_pandas", "dataframe"), "gml.Dataset.from_frame(frame)"),
    **dict.fromkeys(
        ("load", "load_model", "from_file"),
        "gml.read_model(path), gml.read_graph(path), or gml.read(path) for a table",
    ),
    **dict.fromkeys(("bifreader", "read_bif"), "gml.read_model(path)"),
    **dict.fromkeys(
        ("save", "write", "dump", "save_model", "to_file", "bifwriter", "write_bif"),
        "gml.write_model(net, path) or gml.write_graph(graph, path)",
    ),
    **dict.fromkeys(
        ("predict", "predict_proba", "predict_probability", "classify"),
        "net.predict(data, column), or gml.query(net, column, batch=data) for all probabilities",
    ),
    **dict.fromkeys(
        ("bayesiannetwork", "bayesianmodel", "discretebayesiannetwork", "bn_fit", "cpds"),
        "gml.fit(data, graph)",
    ),
    **dict.fromkeys(("maximumlikelihoodestimator", "bayesianestimator"), "gml.fit(data, graph)"),
    **dict.fromkeys(
        ("dag", "pdag", "digraph", "model2network"),
        'gml.Graph.from_edges(["A", "B"], [("A", "-->", "B")])',
    ),
    "tabularcpd": "gml.CPT(variable, parents, table)",
    **dict.fromkeys(
        ("variableelimination", "beliefpropagation", "cpquery", "querygrain"),
        "gml.query(net, target, evidence)",
    ),
    **dict.fromkeys(("hillclimbsearch", "tabu_search"), "gml.hc(data)"),
    **dict.fromkeys(("ci_test", "cit", "chi_square"), 'gml.indtest(data, "A", "B", ["C"])'),
    "boot_strength": 'gml.average(data, by="hc")',
}
"""What the package has for names of others, in lower case, beside what commands are called."""

_FIT_RESULT = "gml.fit(data, result)"
ATTRIBUTES_MEANT: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("save", "write", "dump", "export", "to_json", "to_bif"): {
        "to_file": "to_file(path)",
        "marks": "gml.write_graph(graph, path)",
        "graph": "gml.write_graph(result, path)",
        "to_frame": "to_frame().to_csv(path)",
    },
    ("load", "read"): {
        "from_file": "from_file(path)",
        "marks": "gml.read_graph(path)",
        "to_frame": "gml.read(path)",
    },
    ("nodes", "vertices", "node_names"): {"names": "names", "graph": "graph.names"},
    ("edges", "arcs"): {"edges": "edges", "graph": "graph.edges"},
    ("get_parents", "predecessors", "parents"): {
        "parents": "parents(name)",
        "graph": "graph.parents(name)",
    },
    ("get_children", "successors", "children"): {
        "children": "children(name)",
        "graph": "graph.children(name)",
    },
    ("neighbors", "get_neighbors", "neighbours"): {
        "neighbours": "neighbours(name)",
        "graph": "graph.neighbours(name)",
    },
    ("has_edge",): {"adjacent": "adjacent(a, b)", "graph": "graph.adjacent(a, b)"},
    ("cpds", "get_cpds", "cpts", "parameters"): {
        "cpds": "cpds, or net[name] for one",
        "potentials": "potentials",
        "tables": "tables",
        "marks": "gml.fit(data, graph).cpds",
        "graph": f"{_FIT_RESULT}.cpds",
    },
    ("fit", "estimate"): {
        "marks": "gml.fit(data, graph)",
        "cpds": "gml.fit(data, net)",
        "graph": _FIT_RESULT,
    },
    ("predict_proba", "predict_probability"): {
        "predict": "gml.query(net, name, batch=data), or predict(data, name)",
        "graph": f"gml.query({_FIT_RESULT}, name, batch=data)",
    },
    ("predict",): {"marks": "gml.fit(data, graph).predict", "graph": f"{_FIT_RESULT}.predict"},
    ("simulate", "rvs", "generate"): {
        "sample": "sample(n)",
        "marks": "gml.fit(data, graph).sample(n)",
        "graph": f"{_FIT_RESULT}.sample(n)",
    },
    ("infer", "posterior", "query_proba", "conditional"): {"query": "query(target, evidence)"},
    ("p", "pvalue", "pval", "p_val", "p_values"): {"p_value": "p_value"},
    ("loglik", "log_prob", "loglikelihood"): {"log_likelihood": "log_likelihood(data)"},
    ("plot", "draw", "show", "view", "render"): {
        "marks": "gml.draw(graph)",
        "cpds": "gml.draw(net)",
        "potentials": "gml.draw(net)",
        "graph": "gml.draw(result)",
    },
    ("shape", "head", "columns", "describe", "to_csv", "to_pandas", "df", "dataframe"): {
        "to_frame": "to_frame()",
    },
}
"""What an object has instead of an attribute, by what it has: the first that it has counts."""


class UnknownAttribute(UsageError, AttributeError):
    """An attribute that others have, and how gml calls it."""


def parameter_meant(name: str, known: Collection[str]) -> str | None:
    """Return the parameter that is meant by one that a function does not have, if it is known.

    Examples
    --------
    >>> from gml.errors import unmarked
    >>> print(unmarked(parameter_meant("max_indegree", ["max_parents"])))
    `max_parents`
    >>> parameter_meant("max_indegree", ["alpha"])
    """
    flag = "--" + name.lower().replace("_", "-").replace(".", "-")
    for meant, words in OPTIONS_MEANT.items():
        option, _, value = meant.partition(" ")
        own = option.lstrip("-").replace("-", "_")
        found = next((one for one in (own, own + "_") if one in known), None)
        if found is not None and flag in words:
            return parameter(found, value or None)
    return None


def refuse_name(name: str, verbs: Mapping[str, str], names: Collection[str]) -> NoReturn:
    """Say that the package has no such name, and what it has instead.

    Examples
    --------
    >>> refuse_name("load_data", {}, [])
    Traceback (most recent call last):
    gml.synonyms.UnknownAttribute: gml has no 'load_data'; use gml.read(path), or give the path \
itself as data
    """
    said, plain = f"gml has no {name!r}", name.lower()
    words = COMMANDS_MEANT.get(plain.replace("_", "-"), "").split(" ")
    verb = words[1].replace("-", "_") if len(words) > 1 else ""
    if plain in NAMES_MEANT:
        said += f"; use {NAMES_MEANT[plain]}"
    elif verb in verbs:
        said += f"; use gml.{verb}, which help(gml.{verb}) explains"
    elif (near := nearest_name(name, names)) is not None:
        said += f"; did you mean gml.{near}?"
    raise UnknownAttribute(said)


class AnswersSynonyms:
    """An object that says what it calls an attribute that others call otherwise."""

    if not TYPE_CHECKING:

        @ends_at_caller
        def __getattr__(self, name: str) -> Any:
            # A property that failed is looked up once more, and says why.
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            for words, meant in ATTRIBUTES_MEANT.items():
                if name.lower() in words:
                    own = {*dir(type(self)), *vars(self)}
                    use = next((meant[key] for key in meant if key in own), None)
                    if use is not None:
                        raise UnknownAttribute(f"{said}; use {use}")
            error = UnknownAttribute(said)
            # By these Python finds similar names, and offers them.
            error.name, error.obj = name, self
            raise error
