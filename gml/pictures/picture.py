"""Picture: a finished drawing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing in SVG, with its size in pixels; a notebook shows it."""

    svg: str
    width: float
    height: float
    title: str

    def __repr__(self) -> str:
        return f"Picture({self.title!r}, {self.width:.0f} x {self.height:.0f})"

    def _repr_svg_(self) -> str:
        return self.svg
