"""Picture: a finished drawing, and the files that it can be written to."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gml.atomic import write_whole
from gml.errors import UsageError, parameter, require_one_of, require_path
from gml.formats.suffixes import DRAWING_SUFFIXES, format_of

if TYPE_CHECKING:
    from gml.graph.graph import Graph

DRAWING_FORMATS = tuple(dict.fromkeys(DRAWING_SUFFIXES.values()))


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing in SVG, with its size in pixels; a notebook shows it.

    Examples
    --------
    >>> import gml, tempfile
    >>> picture = gml.draw("sample_data/cancer.dot")
    >>> picture.svg[:4], picture.png(scale=1)[1:4]
    ('<svg', b'PNG')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture.to_file(f"{folder}/cancer.pdf")
    """

    svg: str
    width: float
    height: float
    title: str
    background: str = "#ffffff"
    """What surrounds the drawing in a page of its own."""
    graph: Graph | None = field(default=None, compare=False)
    """What it shows, if that is a graph."""

    def __repr__(self) -> str:
        return f"Picture({self.title!r}, {self.width:.0f} x {self.height:.0f})"

    def _repr_svg_(self) -> str:
        return self.svg

    def png(self, *, scale: float = 2.0) -> bytes:
        """Return PNG with `scale` pixels of it for each of the drawing; needs the extra `draw`."""
        from gml.pictures.rendering import png_of

        return png_of(self.svg, self.width, self.height, scale)

    def pdf(self) -> bytes:
        """Return PDF, one page of the size of the drawing or, if too large, smaller.

        It needs the extra `draw`.
        """
        from gml.pictures.rendering import pdf_of

        return pdf_of(self.svg, self.width, self.height)

    def html(self) -> str:
        """Return a page that shows the drawing, in one file without scripts."""
        from gml.pictures.rendering import page_of

        return page_of(self.svg, self.title, self.background)

    def text(self, *, width: int | None = None, encoding: str | None = None) -> str:
        """Return the graph in box characters, for a terminal; plots have no such form.

        Parameters
        ----------
        width
            The columns of the terminal, into which it should fit.
        encoding
            That of the terminal: where it lacks box characters, there are others.
        """
        if self.graph is None:
            raise UsageError(f"{parameter('format', 'text')} draws graphs; write plots as SVG")
        from gml.pictures.text import draw_text

        return draw_text(self.graph, width=width, encoding=encoding)

    def encoded(self, format: str, *, scale: float = 2.0) -> bytes:
        """Return the content of a file of this format: svg, png, pdf, html or text."""
        require_one_of("format", format, DRAWING_FORMATS)
        if format == "png":
            return self.png(scale=scale)
        if format == "pdf":
            return self.pdf()
        written = {"svg": lambda: f"{self.svg}\n", "html": self.html, "text": self.text}
        return written[format]().encode("utf-8")

    def to_file(self, path: str | os.PathLike[str], *, scale: float = 2.0) -> None:
        """Write a file, whole or not at all; .svg, .png, .pdf, .html or .txt picks the format.

        Parameters
        ----------
        path
            The file.
        scale
            For PNG: its pixels for each of the drawing.
        """
        require_path(path)
        chosen = format_of(path, DRAWING_SUFFIXES, or_option="")
        write_whole(path, self.encoded(chosen, scale=scale))
