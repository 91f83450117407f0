"""The tests behind each edge and each pair without one, as `gml explain` tells them."""

from __future__ import annotations

from gml.errors import counted
from gml.pictures.page.content import ExplainedPair, ReportContent
from gml.pictures.page.html import NOTHING, Heading, absent, folded, paragraph, table
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label


def tests_section(content: ReportContent) -> Section:
    """Return why PC has each edge, and why it has no other."""
    title = "Tests"
    if content.tests is None:
        said = absent(
            "Why is there an edge, or none? To show the tests behind each pair, give ",
            "--test-log FILE",
            ", the log that gml pc --test-log FILE writes.",
        )
        return Section("tests", title, (said,))
    pairs, left_out = content.tests.pairs, content.tests.left_out
    edges = [pair for pair in pairs if pair.adjacent]
    others = [pair for pair in pairs if not pair.adjacent]
    parts = [
        paragraph(f"{counted(len(edges), 'edge')} by the tests of the log."),
        _table("Edges", edges),
        _apart(others),
    ]
    if left_out:
        rest = f"{counted(left_out, 'pair')} further from an edge left out: gml explain LOG A B"
        parts.append(paragraph(rest, class_="note"))
    return Section("tests", title, tuple(parts))


def _apart(pairs: list[ExplainedPair]) -> Markup:
    """The pairs without an edge: many, so that they show only when they are asked for."""
    if not pairs:
        return NOTHING
    title = f"{counted(len(pairs), 'pair')} without an edge"
    return folded(title, _table("Pairs without an edge, the closest call first", pairs))


def _table(caption: str, pairs: list[ExplainedPair]) -> Markup:
    rows = (
        [label(f"{pair.x} – {pair.y}"), label(" ".join(pair.sentences)), _p(pair)] for pair in pairs
    )
    headings = [Heading("pair"), Heading("why"), Heading("log₁₀ p", is_number=True)]
    return table(caption, headings, rows)


def _p(pair: ExplainedPair) -> Markup:
    return label("–" if pair.log10_p is None else f"{pair.log10_p:.4g}")
