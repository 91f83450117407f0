"""Model files of all formats: written by name, read by content."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gml.atomic import Leftovers, write_whole
from gml.calls import public
from gml.data.dataset import Variable
from gml.data.text_file import read_text
from gml.errors import (
    GraphError,
    OutputError,
    UsageError,
    kind_of,
    place,
    require_one_of,
    require_path,
)
from gml.formats.assembly import refuse_numbers
from gml.formats.bif import ALPHABET as BIF_NAMES
from gml.formats.bif import dump_bif, load_bif
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.cpt_table import dump_table, dump_text
from gml.formats.dot import load_dot
from gml.formats.graphml import load_graphml
from gml.formats.json_crf import crf_of, dump_json_field, is_crf
from gml.formats.json_graph import graph_of, parse_graph_json
from gml.formats.json_model import dump_json_model, has_tables, model_of
from gml.formats.json_undirected import dump_json_undirected, has_factors, undirected_of
from gml.formats.losses import TITLES
from gml.formats.net import ALPHABET as NET_NAMES
from gml.formats.net import dump_net, load_net
from gml.formats.recognition import MODEL_FORMATS, recognise
from gml.formats.stand_ins import refuse_unreadable
from gml.formats.suffixes import MODEL_SUFFIXES, format_of
from gml.formats.uai import dump_uai, load_uai
from gml.formats.xmlbif import ALPHABET as XMLBIF_NAMES
from gml.formats.xmlbif import dump_xmlbif, load_xmlbif
from gml.graph.graph import Graph
from gml.ledger import path_in
from gml.model.bayesnet import BayesNet
from gml.model.conditional.field import ConditionalField
from gml.model.conditional_models import Conditional
from gml.model.markovnet import MarkovNet
from gml.model.sequences.chain_field import ChainField

JointModel = BayesNet | MarkovNet
"""A model that is a joint distribution."""
AnyModel = JointModel | Conditional
"""What a model file holds."""
_Model = TypeVar("_Model", BayesNet, MarkovNet, ConditionalField, ChainField)


def dump_json_of(net: AnyModel, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the JSON of a model, with arrows or without, joint or conditional."""
    if isinstance(net, Conditional):
        return dump_json_field(net, inputs=inputs)
    if isinstance(net, MarkovNet):
        return dump_json_undirected(net, inputs=inputs)
    return dump_json_model(net, inputs=inputs)


def dump_text_of(net: AnyModel) -> str:
    """Return the tables, the terms or the features of a model for people."""
    if isinstance(net, ChainField):
        from gml.formats.reports.chain import dump_chain_text

        return dump_chain_text(net)
    if isinstance(net, ConditionalField):
        from gml.formats.reports.crf import dump_crf_text

        return dump_crf_text(net)
    if isinstance(net, MarkovNet):
        from gml.formats.reports.undirected import dump_markov_text

        return dump_markov_text(net)
    return dump_text(net)


def _with_arrows(format: str, dump: Callable[..., str]) -> Callable[..., str]:
    """A writer that refuses a model without arrows."""

    def write(net: AnyModel, **how: Any) -> str:
        if isinstance(net, Conditional):
            raise _only_json(format)
        if isinstance(net, MarkovNet):
            raise GraphError(
                f"{TITLES[format]} holds a directed model, and this one is undirected; if it is "
                f"decomposable, gml convert makes {TITLES[format]} of it (in Python, gml.convert)"
            )
        return dump(net, **how)

    return write


def _dump_uai_of(net: AnyModel, **how: Any) -> str:
    if isinstance(net, Conditional):
        raise _only_json("uai")
    return dump_uai(net, **how)


def _only_json(format: str) -> GraphError:
    return GraphError(
        f"{TITLES[format]} holds a joint distribution, and a conditional random field is none; "
        "JSON holds it"
    )


_ALPHABETS = {"bif": BIF_NAMES, "xmlbif": XMLBIF_NAMES, "net": NET_NAMES}

MODEL_WRITERS: dict[str, Callable[..., str]] = {
    "json": dump_json_of,
    "bif": _with_arrows("bif", dump_bif),
    "xmlbif": _with_arrows("xmlbif", dump_xmlbif),
    "net": _with_arrows("net", dump_net),
    "uai": _dump_uai_of,
    "text": dump_text_of,
}
"""From a model to text; that of JSON takes `inputs` too, and `NAMED_TABLES` `sanitize`."""


def refuse_unwritable(variables: Sequence[Variable], format: str) -> None:
    """Refuse columns that a format of models cannot hold, before a model of them is fitted.

    Examples
    --------
    >>> refuse_unwritable([Variable("size", None)], "bif")
    Traceback (most recent call last):
    gml.errors.GraphError: BIF cannot hold a node of numbers such as 'size'; write JSON instead
    """
    if format in _ALPHABETS:
        refuse_numbers(variables, TITLES[format])
        refuse_unreadable(variables, _ALPHABETS[format])


def _load_json(text: str, where: str) -> AnyModel:
    content = parse_graph_json(text, where)
    if is_crf(content):
        return crf_of(content, where)
    return (undirected_of if has_factors(content) else model_of)(content, where)


_READERS: dict[str, Callable[[str, str], AnyModel]] = {
    "json": _load_json,
    "bif": load_bif,
    "xmlbif": load_xmlbif,
    "net": load_net,
    "uai": load_uai,
}


@public
def read_model(path: str | os.PathLike[str]) -> AnyModel:
    """Read a model from a JSON, BIF, XMLBIF, NET or UAI file, or standard input for `-`.

    The content decides the format and the compression, not the file's name.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import gml, tempfile
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     net.to_file(f"{folder}/model.bif")
    ...     read_model(f"{folder}/model.bif").cpt("smoke").table.tolist()
    [[0.5002, 0.4998]]
    """
    require_path(path)
    return parse_model(read_text(path, error=GraphError), place(path))


def read_directed_model(path: str | os.PathLike[str]) -> BayesNet:
    """Read a model with arrows; an undirected one is refused."""
    return _read_as(BayesNet, path)


def read_undirected_model(path: str | os.PathLike[str]) -> MarkovNet:
    """Read a model without arrows; a directed one is refused."""
    return _read_as(MarkovNet, path)


def read_conditional_model(path: str | os.PathLike[str]) -> ConditionalField:
    """Read a conditional random field; other models are refused."""
    return _read_as(ConditionalField, path)


def read_chain_model(path: str | os.PathLike[str]) -> ChainField:
    """Read a chain field; other models are refused."""
    return _read_as(ChainField, path)


def _read_as(kind: type[_Model], path: str | os.PathLike[str]) -> _Model:
    net = read_model(path)
    if not isinstance(net, kind):
        raise _not_of_class(net, path)
    return net


def _not_of_class(net: AnyModel, path: str | os.PathLike[str]) -> GraphError:
    what = {
        BayesNet: "a directed model",
        MarkovNet: "an undirected model",
        ConditionalField: "a conditional random field",
        ChainField: "a conditional random field of sequences",
    }[type(net)]
    return GraphError(f"{place(path)}: {what}, which gml.{type(net).__name__}.from_file reads")


def parse_model(text: str, where: str) -> AnyModel:
    """Read a model from text whose format is recognised by how it begins."""
    found = recognise(text, where)
    if found not in _READERS:
        name = {"dot": "DOT", "graphml": "GraphML"}[found]
        raise GraphError(
            f"{where}: {name} holds a graph without tables; learn them with gml fit-params"
        )
    return _READERS[found](text, where)


def parse_any(text: str, where: str) -> AnyModel | Graph:
    """Read what a text holds: a model if it has tables, else a graph."""
    found = recognise(text, where)
    if found in MODEL_FORMATS:
        return _READERS[found](text, where)
    if found == "json":
        content = parse_graph_json(text, where)
        if is_crf(content):
            return crf_of(content, where)
        if has_factors(content):
            return undirected_of(content, where)
        return (model_of if has_tables(content) else graph_of)(content, where)
    return (load_dot if found == "dot" else load_graphml)(text, where)


@public
def write_model(net: AnyModel, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a model file, whole or not at all; the suffix picks the format.

    Parameters
    ----------
    net
        The model.
    path
        The file.
    format
        The format, if the suffix does not say it.

    Examples
    --------
    >>> import gml, tempfile
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(net, f"{folder}/model.json")
    ...     read_model(f"{folder}/model.json").learning.rows
    5000
    """
    if not isinstance(net, AnyModel):
        raise _not_a_model(net, path)
    require_path(path)
    chosen = format or format_of(path, MODEL_SUFFIXES)
    require_one_of("format", chosen, MODEL_WRITERS)
    write_whole(path, MODEL_WRITERS[chosen](net).encode("utf-8"))


def _not_a_model(given: object, path: object) -> UsageError:
    hint = "; the model comes first, then the path" if isinstance(path, AnyModel) else ""
    return UsageError(f"a model is needed, such as gml.fit makes, not {kind_of(given)}{hint}")


# ---------------------------------------------------------------------- one file per node

_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_LONGEST = 120


def write_cpt_folder(
    net: BayesNet, folder: str | os.PathLike[str], *, safe_csv: bool = False
) -> None:
    """Write the distribution of each node to a CSV file of its own, named after the node."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {str(folder)!r}: {error.strerror}") from None
    leftovers = Leftovers()
    for cpd, path in zip(net.cpds, table_paths(net.names, folder), strict=True):
        write_whole(path, dump_table(cpd, safe_csv=safe_csv).encode("utf-8"), leftovers=leftovers)


def table_paths(names: Iterable[str], folder: str | os.PathLike[str]) -> list[str]:
    """Return the files that `write_cpt_folder` writes for nodes."""
    return [path_in(folder, f"{name}.csv") for name in file_names(names)]


def file_names(names: Iterable[str]) -> list[str]:
    """Return one file name per node, no two of them the same on any file system.

    Characters that file systems disagree on are written as % and their bytes in hexadecimal; where
    two names differ only in case, so are the capitals. A long name is cut and ends with ~ and its
    hash.

    Examples
    --------
    >>> file_names(["age", "a/b", "Sex", "sex", ""])
    ['age', 'a%2Fb', '%53ex', 'sex', '%']
    """
    names = list(names)
    plain = [_file_name(name, "") for name in names]
    folded = [_folded(name) for name in plain]
    times: dict[str, int] = {}
    for name in folded:
        times[name] = times.get(name, 0) + 1
    return [
        _file_name(name, "strict") if times[key] > 1 else safe
        for name, safe, key in zip(names, plain, folded, strict=True)
    ]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKD", name.casefold()).casefold()


def _file_name(name: str, how: str) -> str:
    last = len(name) - 1
    result = "".join(
        char
        if _is_safe(char, at_end=i in (0, last), strict=how == "strict")
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        for i, char in enumerate(name)
    )
    if _RESERVED.fullmatch(result):
        result = f"%{ord(result[0]):02X}{result[1:]}"
    if len(result.encode()) > _LONGEST:
        import hashlib

        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        result = f"{result.encode()[:_LONGEST].decode('utf-8', 'ignore')}~{digest}"
    return result or "%"


def _is_safe(char: str, *, at_end: bool, strict: bool) -> bool:
    if strict:
        return char in "abcdefghijklmnopqrstuvwxyz0123456789_-"
    if char == ".":
        return not at_end
    return char in "_-" or (char.isalnum() and unicodedata.normalize("NFKC", char) == char)
