"""Names of nodes in a picture of limited width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gml.printable_text import cell_width, shortened_to_cells, visible

_SHORTEST = 4


def names_within(
    names: Sequence[str], width: int | None, encoding: str | None
) -> Iterator[list[str]]:
    """Yield the names as they are shown, then shorter and shorter while they still differ."""
    shown = [_encodable(visible(name), encoding) for name in names]
    yield shown
    longest = max(map(cell_width, shown))
    if width is None:
        return
    ellipsis = "…" if _encodable("…", encoding) == "…" else "."
    for most in range(longest - 1, _SHORTEST - 1, -1):
        shorter = [shortened_to_cells(name, most, ellipsis) for name in shown]
        if len(set(shorter)) < len(set(shown)):
            return
        yield shorter


def _encodable(name: str, encoding: str | None) -> str:
    if encoding is None:
        return name
    try:
        return name.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return name.encode("ascii", "backslashreplace").decode("ascii")
