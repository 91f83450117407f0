"""Convert: a graph or a model in another format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gml.errors import GraphError, UsageError, parameter, require_one_of, unknown_name
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.graphs import WRITERS
from gml.formats.losses import NAMED_TABLES, TITLES, beside_tables, lost_by, warn_of_loss
from gml.formats.models import MODEL_WRITERS
from gml.formats.suffixes import PICTURES, RENDERED, formats_of
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.progress import reporter
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GivenGraph, GraphLike, given_graph

KINDS = ("dag", "undirected")
FORMATS = tuple(dict.fromkeys([*MODEL_WRITERS, *WRITERS, *PICTURES]))


@dataclass(frozen=True, repr=False)
class Converted:
    """The content of a graph or model file, or of a picture, and its format."""

    content: str | bytes
    """Bytes of a picture, the text of a file."""
    format: str

    @property
    def text(self) -> str:
        """The content as text, which PNG and PDF are not."""
        if isinstance(self.content, str):
            return self.content
        if self.format in RENDERED:
            raise UsageError(f"{self.format.upper()} is no text; its bytes are the `content`")
        return self.content.decode("utf-8")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        unit = "characters" if isinstance(self.content, str) else "bytes"
        return f"Converted({self.format}, {len(self.content)} {unit})"


@front_door(reading=())
def convert(
    source: GraphLike,
    format: str | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    to: str | None = None,
    sanitize: bool = False,
    max_memory: int | None = None,
    inputs: Hashes = NO_INPUTS,
) -> Converted:
    """Return a graph or a model in another format, with a warning about what that cannot hold.

    An undirected model becomes a Bayesian network where a format needs one, or `to` asks for it.

    Parameters
    ----------
    source
        A path (JSON, DOT, GraphML, BIF, XMLBIF, NET or UAI, recognised by its content), a Graph, a
        model or a learner's result.
    format
        "json", "bif", "xmlbif", "net", "uai", "dot", "graphml" or "text"; or "svg", "png", "pdf"
        or "html" for a picture. Model formats need tables.
    path
        A name whose suffix picks the format, where none is given.
    to
        "dag" for arrows: a model whose graph has no cycle without a chord becomes a Bayesian
        network with the same distribution, a graph one of its DAGs. "undirected" for none: a
        Bayesian network becomes the undirected model of its families, a graph the moral one.
    sanitize
        For BIF, XMLBIF and NET: replace names and levels that the format cannot hold by others,
        with a table in comments by which gml reads the original ones back.
    max_memory
        Bytes that tables may take on the way to a Bayesian network; by default half of what is
        free.
    inputs
        Hashes of what the result is made from, for JSON to hold: {"in": "sha256:..."}.

    Examples
    --------
    >>> import gml
    >>> print(gml.convert("sample_data/cancer.dot", "text").text, end="")
    dag, 5 nodes, 4 edges
    Pollution --> Cancer
    Smoker    --> Cancer
    Cancer    --> Xray
    Cancer    --> Dyspnoea
    """
    if format is None and path is None:
        raise UsageError(f"say with {parameter('format')} what to write")
    if format is not None and format not in FORMATS:
        raise UsageError(f"{parameter('format')}: {unknown_name('format', format, FORMATS)}")
    by_suffix = None if path is None or format is not None else formats_of(path)
    picked = format if by_suffix is None else by_suffix.graph
    if to is not None:
        require_one_of("to", to, KINDS)
        source = _turned(given_graph(source, "the source"), to, max_memory)
    if picked in PICTURES:
        return _drawn(source, picked, sanitize=sanitize)
    given = given_graph(source, "the source")
    if by_suffix is not None:
        format = by_suffix.graph if given.model is None else by_suffix.model
    assert format is not None
    if sanitize and format not in NAMED_TABLES:
        raise _not_sanitized(format)
    if format in NAMED_TABLES and isinstance(given.model, MarkovNet):
        reporter().note(
            f"{TITLES[format]} needs arrows: a Bayesian network of the same distribution"
        )
        given = _turned(given, "dag", max_memory)
    held: dict[str, Any] = {"inputs": inputs} if format == "json" else {}
    if format in NAMED_TABLES:
        held["sanitize"] = sanitize
    if given.model is not None and format in MODEL_WRITERS:
        text = MODEL_WRITERS[format](given.model, **held)
        warn_of_loss(format, lost_by(format, given.model))
        return Converted(text, format)
    return Converted(_as_graph(given, format, held), format)


def _turned(given: GivenGraph, to: str, max_memory: int | None) -> GivenGraph:
    """Return a graph or a model with arrows, or without; what has them already stays as it is."""
    from gml.graph.chordal import moral_graph
    from gml.model.undirected.conversion import directed_model, undirected_model

    net = given.model
    if net is None:
        if given.graph.kind == ("dag" if to == "dag" else "undirected"):
            return given
        dag = given.dag()
        return GivenGraph(dag if to == "dag" else moral_graph(dag), given.name)
    if isinstance(net, MarkovNet) == (to == "undirected"):
        return given
    try:
        turned: BayesNet | MarkovNet = (
            directed_model(net, max_memory=max_memory)
            if isinstance(net, MarkovNet)
            else undirected_model(net)
        )
    except GraphError as error:
        raise GraphError(f"{given.name}: {error}") from None
    return GivenGraph(turned.graph, given.name, turned)


def _drawn(source: GraphLike, format: str, *, sanitize: bool) -> Converted:
    from gml.verbs.draw import draw

    if sanitize:
        raise _not_sanitized(format)
    return Converted(draw(source).encoded(format), format)


def _not_sanitized(format: str) -> UsageError:
    return UsageError(f"{parameter('sanitize')} is for BIF, XMLBIF and NET, not for {format}")


def _as_graph(given: GivenGraph, chosen: str, held: Mapping[str, Any]) -> str:
    graph = given.graph
    if chosen not in WRITERS:
        which = "a graph" if graph.kind == "dag" else graph.kind_in_words
        raise GraphError(
            f"{given.name}: {TITLES[chosen]} holds a model, and this is {which} without tables; "
            "learn them with gml fit-params"
        )
    text = WRITERS[chosen](graph, **held)
    lost = []
    if given.model is not None:
        what = "the factors" if isinstance(given.model, MarkovNet) else "the tables"
        lost = [what, *beside_tables(given.model)]
    how = "how it was learned"
    if chosen == "graphml":
        lost = [item for item in lost if item != how]
    if chosen == "dot":
        lost += [how] * (bool({*graph.learning} - {"options"}) and how not in lost)
    warn_of_loss(chosen, lost)
    return text
