"""XMLBIF 0.3 (Cozman 1998): the interchange format for Bayesian networks in XML.

A TABLE lists the configurations of the GIVEN variables, the last one fastest, and within each the
outcomes of the FOR variable. PROPERTY elements and comments are ignored, within tables too.

Names and levels can be any text but control characters, which XML cannot hold, and blanks that
pyAgrum would not give back: tabs, line ends, blanks at the ends and several in a row.
"""

from __future__ import annotations

import re

from gml.errors import GraphError, counted, quote
from gml.formats.assembly import Assembly, numbers, tables_to_write
from gml.formats.stand_ins import Alphabet, reads_xml, restored
from gml.model.bayesnet import CPT, BayesNet

ALPHABET = Alphabet("XMLBIF", reads_xml, reads_xml)


def dump_xmlbif(net: BayesNet, *, sanitize: bool = False) -> str:
    """Return XMLBIF text; names that a reader would not read back are refused, or replaced."""
    tables, comments = tables_to_write(net, ALPHABET, sanitize)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        *(f"<!-- {comment} -->" for comment in comments),
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        "<NAME>unknown</NAME>",
    ]
    for cpt in tables:
        lines += ['<VARIABLE TYPE="nature">', f"  <NAME>{_escaped(cpt.variable.name)}</NAME>"]
        lines += [f"  <OUTCOME>{_escaped(level)}</OUTCOME>" for level in cpt.variable.levels or ()]
        lines.append("</VARIABLE>")
    for cpt in tables:
        lines += _definition(cpt)
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _definition(cpt: CPT) -> list[str]:
    given = [f"  <GIVEN>{_escaped(parent.name)}</GIVEN>" for parent in cpt.parents]
    rows = [" ".join(map(repr, row)) for row in cpt.table.tolist()]
    return [
        "<DEFINITION>",
        f"  <FOR>{_escaped(cpt.variable.name)}</FOR>",
        *given,
        "  <TABLE>",
        *(f"    {row}" for row in rows),
        "  </TABLE>",
        "</DEFINITION>",
    ]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def load_xmlbif(text: str, where: str) -> BayesNet:
    """Read a network from XMLBIF text."""
    import xml.etree.ElementTree as ET

    try:
        # Without its declaration, as the text has been decoded already.
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except (ET.ParseError, ValueError) as error:
        raise GraphError(f"{where}: cannot be read as XML: {error}") from None
    network = root.find("NETWORK")
    if root.tag != "BIF" or network is None:
        raise GraphError(f"{where}: XML, but there is no <BIF> with a <NETWORK>")
    assembly = Assembly(where)
    for variable in network.findall("VARIABLE"):
        kind = variable.get("TYPE", "nature")
        name = _text(variable.find("NAME"))
        if not name:
            raise assembly.fail("a VARIABLE has no NAME")
        if kind != "nature":
            raise assembly.fail(f"variable {quote(name)} is of type {quote(kind)}, not nature")
        assembly.declare(name, [_text(outcome) for outcome in variable.findall("OUTCOME")])
    # 0.2 called these PROBABILITY.
    for definition in (*network.findall("DEFINITION"), *network.findall("PROBABILITY")):
        name = _text(definition.find("FOR"))
        if not name or len(definition.findall("FOR")) > 1:
            raise assembly.fail("a DEFINITION is not FOR one variable")
        given = [_text(element) for element in definition.findall("GIVEN")]
        child, parents = assembly.family(name, given)
        rows, columns = assembly.shape(child, parents)
        try:
            values = numbers(_text(definition.find("TABLE")))
        except ValueError as error:
            raise assembly.fail(f"the table of {quote(name)}: {error}") from None
        if len(values) != rows * columns:
            raise assembly.fail(
                f"{counted(len(values), 'number')} in the table of {quote(name)} where "
                f"{rows * columns} should be"
            )
        assembly.define(child, parents, values.reshape(rows, columns))
    return restored(assembly.network(), text, where)


def _text(element: object) -> str:
    text = getattr(element, "text", None)
    return text.strip() if isinstance(text, str) else ""
