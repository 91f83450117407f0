"""The report page: sections, scripts and facts in one HTML file that opens anywhere."""

from __future__ import annotations

import os
from dataclasses import dataclass

from gml import __version__
from gml.atomic import write_whole
from gml.errors import counted
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.pictures.content_policy import policy_element
from gml.pictures.page.content import ReportContent
from gml.pictures.page.html import joined, quoted, tag
from gml.pictures.page.payload import json_for_page, payload
from gml.pictures.page.posteriors import posteriors_of
from gml.pictures.page.scripts import script, styles
from gml.pictures.page.sections.check import check_section, check_summary
from gml.pictures.page.sections.data import data_section
from gml.pictures.page.sections.graph import graph_section, interventions_section
from gml.pictures.page.sections.information import information_section
from gml.pictures.page.sections.provenance import provenance_section
from gml.pictures.page.sections.regressions import regressions_section
from gml.pictures.page.sections.scores import scores_section
from gml.pictures.page.sections.section import Section
from gml.pictures.page.sections.strengths import strengths_section
from gml.pictures.page.sections.tests import tests_section
from gml.pictures.page.sections.undirected import couplings_section, factors_section, fit_section
from gml.pictures.svg import Markup, label
from gml.progress import reporter


@dataclass(frozen=True, repr=False)
class ReportPage:
    """A finished report: one HTML file; a notebook shows it in a frame of its own."""

    html: str
    title: str

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole."""
        write_whole(path, self.html.encode("utf-8"))

    def __repr__(self) -> str:
        return f"ReportPage({self.title!r}, {counted(len(self.html), 'character')})"

    def _repr_html_(self) -> str:
        # Apart from the notebook: scripts of the page run, but reach nothing outside the frame.
        return (
            f'<iframe srcdoc="{_in_attribute(self.html)}" title="{quoted(self.title)}" '
            'sandbox="allow-scripts" style="width: 100%; height: 800px; border: 0"></iframe>'
        )


def report_page(content: ReportContent) -> ReportPage:
    """Return the page about all that was gathered."""
    with reporter().phase("finding posteriors"):
        posteriors = posteriors_of(content.net)
    facts = payload(content, posteriors)
    sections = [
        graph_section(content, posteriors, facts["graph"]["undrawn"]),
        *_sections_of_model(content.net),
        data_section(content, posteriors),
        information_section(content),
        tests_section(content),
        scores_section(content),
        strengths_section(content),
        check_section(content),
        provenance_section(content),
    ]
    code = script()
    body = tag(
        "body",
        tag("a", label("Skip to the graph"), href="#graph", class_="skip"),
        tag(
            "header",
            tag("h1", label(content.title)),
            _about(content),
            check_summary(content),
        ),
        tag("nav", tag("ul", *(section.link() for section in sections)), aria_label="Sections"),
        tag("main", *(section.html() for section in sections)),
        tag("p", id="status", role="status", aria_live="polite"),
        tag(
            "script",
            json_for_page(facts),
            type="application/json",
            id="gml-data",
        ),
        tag("script", code),
    )
    page = joined([Markup("<!DOCTYPE html>\n"), tag("html", _head(content, code), body, lang="en")])
    return ReportPage(f"{page}\n", content.title)


def _sections_of_model(net: BayesNet | MarkovNet) -> list[Section]:
    """What only a model with arrows, or only one without them, has."""
    if isinstance(net, MarkovNet):
        return [fit_section(net), couplings_section(net), factors_section(net)]
    regressions = [regressions_section(net)] if net.is_gaussian or net.is_mixed else []
    return [interventions_section(net), *regressions]


def _head(content: ReportContent, code: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        policy_element(code),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"gml {__version__}"),
        tag("title", label(content.title)),
        tag("style", styles()),
    )


def _about(content: ReportContent) -> Markup:
    return tag(
        "p",
        label(f"{content.data} ({counted(content.rows, 'row')}) against {content.model}"),
    )


def _in_attribute(html: str) -> str:
    return html.replace("&", "&amp;").replace('"', "&quot;")
