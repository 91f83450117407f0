"""What there is to choose from: tests, scores, formats and the like, as the registries have it.

Nothing that computes is loaded for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gml.calls import public
from gml.errors import EXIT_CODES, Note, UsageError, parameter, unknown_name, unmarked, with_flags
from gml.formats.suffixes import (
    CHECK_SUFFIXES,
    DRAWING_SUFFIXES,
    GRAPH_SUFFIXES,
    MODEL_SUFFIXES,
    REPORT_SUFFIXES,
)
from gml.independence.registry import TESTS, KnownTest
from gml.parameters import Entry
from gml.scores.registry import SCORES, KnownScore
from gml.text_table import aligned
from gml.verbs.shared.topic_text import entry_block, entry_lead, wrapped


@dataclass(frozen=True, repr=False)
class Topic:
    """A topic: what it is about, and its entries, each a name and facts about it.

    `about` and entries name parameters as Python does; `text` is for people.
    """

    name: str
    title: str
    about: str
    entries: tuple[Mapping[str, Any], ...]

    @property
    def text(self) -> str:
        """The topic for people, with flags for parameters."""
        return self._written(with_flags)

    def _written(self, write: Callable[[str], str]) -> str:
        about = self.about.marked if isinstance(self.about, Note) else self.about
        blocks = [self.title, wrapped(write(about))]
        entries = [write(entry_block(entry)) for entry in self.entries]
        if any("\n" in entry for entry in entries):
            return "\n\n".join([*blocks, *entries]) + "\n"
        are_numbers = all(str(entry["name"]).isdecimal() for entry in self.entries)
        lines = [(f"{entry['name']}:", write(entry_lead(entry))) for entry in self.entries]
        table = aligned(lines, right={0} if are_numbers else ())
        return "\n\n".join([*blocks, "\n".join(table)]) + "\n"

    def facts(self) -> dict[str, Any]:
        """The topic for programs."""
        return {
            "topic": self.name,
            "title": self.title,
            "about": self.about,
            "entries": [dict(entry) for entry in self.entries],
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        """The text with parameters as Python has them, which is what a session shows."""
        return self._written(unmarked).rstrip("\n")


@functools.partial(public, choices={"topic": lambda _: TOPICS})
def help(topic: str) -> Topic:
    """Explain a topic, such as tests, scores, undirected, formats or exit-codes.

    Parameters
    ----------
    topic
        Its name; the command also takes that of a command.

    Returns
    -------
    Topic
        With a `title`, what it is `about`, and `entries`; `text` is for people.

    Examples
    --------
    >>> import gml
    >>> [entry["name"] for entry in gml.help("tests").entries][:3]
    ['auto', 'g', 'chi2']
    >>> gml.help("exit-codes").entries[1]["meaning"]
    'the question was answered no'
    """
    topic = OTHER_NAMES.get(topic, topic)
    if topic not in TOPICS:
        raise UsageError(unknown_name("topic", str(topic), TOPICS))
    title, make = TOPICS[topic]
    about, entries = make()
    return Topic(topic, title, Note(about), tuple(entries))


Content = tuple[str, list[dict[str, Any]]]


def _tests() -> Content:
    about = (
        f"Tests of independence of x and y given Z, for {parameter('test')}. A test for labels "
        "counts a table; one for numbers uses covariances; one for both turns labels into "
        "indicators of levels or groups of rows, or compares rows with one another."
    )
    return about, [_test_entry(test) for test in TESTS.values()]


def _test_entry(test: KnownTest) -> dict[str, Any]:
    return {
        **_entry(test),
        "statistic": test.statistic,
        "computes": test.formula,
        "dependent if": test.rule,
        "p-value": test.p_value,
        "options": _options_of(test),
    }


def _scores() -> Content:
    about = (
        f"Scores of a graph, for {parameter('score')}; higher is better. The score of a graph is "
        "the sum over its nodes. Equivalent: DAGs that no data can tell apart score the same. "
        "Undirected graphs without a cycle of four or more nodes that no edge cuts short have the "
        "equivalent scores of their DAGs, others loglik, aic and bic."
    )
    return about, [_score_entry(score) for score in SCORES.values()]


def _score_entry(score: KnownScore) -> dict[str, Any]:
    return {
        **_entry(score),
        "a node's part": score.formula,
        "equivalent": score.equivalent,
        "options": _options_of(score),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {"name": entry.name, "is": entry.summary, "for": list(entry.columns)}


def _options_of(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "name": option.name,
            "help": option.help,
            "default": option.default,
            **({"choices": list(option.choices)} if option.choices else {}),
        }
        for option in entry.options
    ]


_UNDIRECTED = (
    (
        "structure",
        "forward",
        "greedy search over decomposable graphs, edge by edge",
        "score max_clique",
    ),
    ("structure", "tree", "the tree of Chow & Liu, or a forest", "prune alpha"),
    (
        "structure",
        "l1",
        "the neighbours of each column by a penalised regression",
        "criterion gamma rule",
    ),
    ("structure", "complete", "all pairs of columns", ""),
    ("method", "auto", "exact where its tables are small, else pl and then pcd", ""),
    ("method", "exact", "maximum likelihood, by inference on a junction tree", ""),
    ("method", "pl", "pseudo-likelihood: each column given all others, for any graph", ""),
    ("method", "pcd", "persistent contrastive divergence: chains of Gibbs samples", "chains trace"),
    (
        "method",
        "cd",
        "the same with chains that start again from the rows at every step",
        "chains trace",
    ),
    ("coding", "sum-to-zero", "terms that add up to 0 over each of their columns: ±J", ""),
    ("coding", "01", "for two levels each, terms that count where all are the second: θ", ""),
)


def _undirected() -> Content:
    about = (
        "gml mrf (gml.mrf) fits p(x) = exp(Σ λ(x_c)) / Z. The factors are over the cliques of a "
        f"graph, as {parameter('clique')} lists them, or over those of a {parameter('structure')} "
        f"that it learns. {parameter('method')} says how the terms λ are fitted, and "
        f"{parameter('coding')} how they are written. query, sample, score, check, draw and report "
        "take such a model like any other."
    )
    return about, [
        {
            "name": name,
            "is": shown,
            "chosen by": Note(parameter(option, name)),
            "see also": Note(", ".join(map(parameter, others.split()))) if others else None,
        }
        for option, name, shown, others in _UNDIRECTED
    ]


def _formats() -> Content:
    about = (
        "Files are read by their content, compressed (.gz .bz2 .xz .zst) or not, and written by "
        f"their suffix, unless {parameter('format')} says otherwise. DATA is CSV, TSV, Parquet or "
        "a count file. Where a graph or a model is written, so is a picture of it, if the suffix "
        "says so; gml draw has more to say on pictures. PNG and PDF need the extra draw."
    )
    kinds = {
        "graph": GRAPH_SUFFIXES,
        "model": MODEL_SUFFIXES,
        "picture": DRAWING_SUFFIXES,
        "report": REPORT_SUFFIXES,
        "report of checks": CHECK_SUFFIXES,
    }
    return about, [
        {
            "name": form,
            "holds": kind,
            "suffixes": [suffix for suffix, picked in suffixes.items() if picked == form],
            "can be read": kind in ("graph", "model") and form != "text",
        }
        for kind, suffixes in kinds.items()
        for form in dict.fromkeys(suffixes.values())
    ]


MISSING = {
    "error": "refuse them, with their number by column",
    "drop": Note(
        "leave out rows with a missing value in a column used, if enough stay "
        f"({parameter('min_complete')})"
    ),
    "level": "a last level of its own, named NA",
    "available": "each table uses the rows that are complete in its own columns",
    "em": "fit-params, score, hc, ges and mixture: a model is fitted to what was seen of each row",
}
"""What is done about missing values, by the name of the choice."""


def _missing() -> Content:
    from gml.data.options import DEFAULT_NA

    tokens = ", ".join(token or "an empty cell" for token in DEFAULT_NA)
    about = (
        f"A cell is missing if it is {tokens}; {parameter('na')} replaces this list, and a "
        f"declared level is never missing. gml profile {parameter('missing_patterns')} shows what "
        "is missing together, and tests whether that has to do with values. gml impute fills gaps "
        f"by a model. {parameter('hidden')} makes hidden nodes of nodes that are no columns, "
        f"such as classes: fit-params and score fit them by EM. gml pc "
        f"{parameter('missing', 'available')} {parameter('missing_correction', 'mvpc')} removes "
        f"edges that only missing values make. {parameter('missing')} says what is done with "
        "missing cells:"
    )
    return about, [{"name": name, "does": does} for name, does in MISSING.items()]


def _knowledge() -> Content:
    about = (
        "What learners are told beforehand. Edges within a tier are allowed. A name with a comma "
        "or an arrow goes into double quotes. Knowledge that contradicts itself is refused."
    )
    return about, [
        {
            "name": "require",
            "means": "the edge must be there",
            "in Python": "require=[('A', 'B')]",
            "in a shell": "--require 'A->B'",
        },
        {
            "name": "forbid",
            "means": "the edge must not be there",
            "in Python": "forbid=[('C', 'A')]",
            "in a shell": "--forbid 'C->A'",
        },
        {
            "name": "tiers",
            "means": "no edge leads to an earlier tier",
            "in Python": "tiers=[['A', 'B'], 'C', 'D']",
            "in a shell": "--tiers 'A,B < C < D'",
        },
        {
            "name": "knowledge",
            "means": "all of it from a JSON or Tetrad file",
            "example": '{"require": [["A","B"]], "forbid": [["C","A"]], "tiers": [["A"],["C"]]}',
        },
    ]


def _constraints() -> Content:
    from gml.verbs.shared.constraint_forms import CONSTRAINT_FORMS

    about = (
        'What gml maxent and gml rake take: a JSON file {"constraints": [...]}, where "variables" '
        "may declare levels in their order and any constraint may have a name, or CSV. rake takes "
        "margins alone."
    )
    return about, [
        {"name": name, "means": means, "example": example}
        for name, means, example in CONSTRAINT_FORMS
    ]


_PICTURES = (
    ("graph", "a graph, or a model with the distribution of each node", "graph.json"),
    ("matrix", "a heat map: mutual information in a table or a model, or strengths", "data.csv"),
    ("trace", "the score of a search by step, from the file of hc --trace", "trace.csv"),
    ("strengths", "how certain edges are, from a graph of gml average", "averaged.json"),
    ("losses", "the held-out loss of graphs", "data.csv a.dot b.dot"),
    ("cpt", "the table of a node, with its intervals", "model.json --node A"),
    ("classes", "what the classes of a mixture are like", "model.json"),
)


def _pictures() -> Content:
    about = (
        f"gml draw (gml.draw) makes pictures; {parameter('kind')} says of what. The suffix of the "
        "file picks svg, png, pdf, html or text. Any command that writes a graph writes a picture "
        "of it too, by the same suffixes. gml report (gml.report) makes a page to explore."
    )
    return about, [
        {
            "name": name,
            "is": shown,
            "in a shell": f"gml draw --kind {name} {given} -o {name}.svg",
        }
        for name, shown, given in _PICTURES
    ]


_ENGINES = (
    ("auto", "the default: memory, or a stream where the table would not fit"),
    ("memory", "codes in memory, a byte per label and eight per number"),
    ("stream", "codes in a file, read once for every batch of questions; for tables beyond memory"),
    ("spark", "Apache Spark, on this machine or a cluster; needs Java 17 and the extra spark"),
)


def _engines() -> Content:
    about = (
        f"Who counts the rows, for {parameter('engine')}; the answers are the same to the last "
        f"bit. {parameter('max_memory')} is what tables may take, by default half of what is free; "
        f"what would take more is refused before it is made (exit 4). {parameter('spool')} names "
        f"the folder for the file of a stream, {parameter('spool_keep')} keeps it for the next "
        f"run, and {parameter('master')} says where Spark runs. gml plan says beforehand what a "
        "command takes, and a count file (gml count) serves in place of the rows."
    )
    return about, [{"name": name, "is": shown} for name, shown in _ENGINES]


def _exit_codes() -> Content:
    about = "What the exit code of a command says; in Python, `exit_code` of the error."
    return about, [
        {"name": str(code), "code": code, "meaning": meaning}
        for code, meaning in EXIT_CODES.items()
    ]


TOPICS: dict[str, tuple[str, Callable[[], Content]]] = {
    "tests": ("Independence tests", _tests),
    "scores": ("Scores of graphs", _scores),
    "undirected": ("Undirected models", _undirected),
    "formats": ("File formats", _formats),
    "missing": ("Missing values", _missing),
    "knowledge": ("Knowledge about edges", _knowledge),
    "constraints": ("Constraints of maximum entropy and raking", _constraints),
    "pictures": ("Pictures", _pictures),
    "engines": ("Engines, and memory", _engines),
    "exit-codes": ("Exit codes", _exit_codes),
}
"""The topics: a title, and what makes the content."""

OTHER_NAMES = {
    **dict.fromkeys(("em", "hidden", "mvpc", "missing-patterns", "mcar"), "missing"),
    **dict.fromkeys(("memory", "scale", "spark", "stream", "spool"), "engines"),
}
"""What people look for under another name than that of the topic."""
