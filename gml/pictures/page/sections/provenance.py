"""Where the model and the report come from: files with their hashes, options, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gml import __version__
from gml.formats.json_document import encode
from gml.pictures.page.content import ReportContent
from gml.pictures.page.html import Heading, paragraph, table, tag
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label


def provenance_section(content: ReportContent) -> Section:
    """Return the record of the report, and that of the model."""
    return Section(
        "provenance",
        "Provenance",
        (
            paragraph(f"Made by gml {__version__}."),
            _inputs(content),
            _fitted_on(content),
            _learning(content.net.learning),
        ),
    )


def _inputs(content: ReportContent) -> Markup:
    rows = [
        [
            label(item.role),
            label(item.name),
            tag("code", label("–" if item.digest is None else f"sha256:{item.digest}")),
        ]
        for item in content.inputs
    ]
    headings = [Heading("input"), Heading("file"), Heading("hash")]
    return table("What the report was made from", headings, rows)


def _fitted_on(content: ReportContent) -> Markup:
    said = {
        True: "The model was fitted on these very rows.",
        False: "The model was fitted on other rows than these.",
        None: "Whether the model was fitted on these rows is not known.",
    }
    return paragraph(said[content.fitted_on])


def _learning(learning: Mapping[str, Any]) -> Markup:
    if not learning:
        return paragraph("The file of the model does not say how it was learned.")
    rows = [[label(key), tag("code", label(_shown(value)))] for key, value in learning.items()]
    headings: Sequence[Heading] = [Heading("entry"), Heading("value")]
    return table("How the model was learned", headings, rows)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else encode(value)
