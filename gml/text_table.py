"""Tables for people: columns of equal width, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gml.printable_text import cell_width, padded


def aligned(
    lines: Sequence[Sequence[str]], *, right: Collection[int] = (), indent: str = ""
) -> list[str]:
    r"""Return lines of printable cells in columns, those in `right` with their ends in line.

    A line may have fewer cells than others.

    Examples
    --------
    >>> print("\n".join(aligned([["name", "p"], ["年", "0.25"], ["age", "1"]], right={1})))
    name     p
    年    0.25
    age      1
    """
    widths: list[int] = []
    for line in lines:
        widths += [0] * (len(line) - len(widths))
        for k, cell in enumerate(line):
            widths[k] = max(widths[k], cell_width(cell))
    return [indent + aligned_line(line, widths, right) for line in lines]


def aligned_line(cells: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> str:
    """Return one line of a table whose widths are known."""
    shown = (padded(cell, widths[k], to_the_right=k in right) for k, cell in enumerate(cells))
    return "  ".join(shown).rstrip()


def column(cells: Sequence[str], *, name: str = "", to_the_right: bool = False) -> list[str]:
    """Return cells of equal width, those that are not empty behind a name.

    Examples
    --------
    >>> column(["1", "", "0.25"], name="mi", to_the_right=True)
    ['mi    1', '', 'mi 0.25']
    """
    width = max(map(cell_width, cells), default=0)
    before = f"{name} " if name else ""
    return [
        f"{before}{padded(cell, width, to_the_right=to_the_right)}" if cell or not name else ""
        for cell in cells
    ]
