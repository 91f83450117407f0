"""Tables for people: columns in line on a terminal, numbers to the right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.formats.reports.rows import as_text
from gml.formats.text_graph import dump_text
from gml.graph.graph import Graph
from gml.model.answer import aligned as answer_lines
from gml.printable_text import cell_width, padded, shortened_to_cells
from gml.terminal_style import Style, painted, rule, takes_colours
from gml.text_table import aligned

PRINTABLE = st.text().filter(str.isprintable)


@given(st.lists(st.tuples(PRINTABLE, PRINTABLE), min_size=1))
def test_columns_are_in_line_whatever_the_letters(cells):
    lines = aligned([(a, b, "|") for a, b in cells], right={1})
    assert len({cell_width(line) for line in lines}) == 1
    for (a, b), line in zip(cells, lines, strict=True):
        assert line.startswith(a)
        assert line.endswith(f"{b}  |")


@given(PRINTABLE, st.integers(1, 20))
def test_text_is_cut_and_filled_to_cells(text, width):
    short = shortened_to_cells(text, width)
    assert cell_width(short) <= width
    assert cell_width(padded(short, width)) == width
    assert (short == text) == (cell_width(text) <= width)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("abc", 3),
        ("年齢", 4),
        ("ｱ", 1),
        ("e\u0301", 1),
        ("한", 2),
        ("\u1112\u1161\u11ab", 2),
        ("🎲", 2),
    ],
)
def test_cells_of_a_terminal(text, cells):
    assert cell_width(text) == cells


def test_rows_with_wide_names():
    rows = [{"node": "年齢", "n": 5, "p": 0.25}, {"node": "sex", "n": 12, "p": 1.0}]
    assert as_text(rows) == "node   n     p\n年齢   5  0.25\nsex   12     1\n"
    assert answer_lines(rows) == as_text(rows).splitlines()


def test_attributes_of_edges_are_in_columns():
    edges = [
        ("年齢", "-->", "b", {"mi": 0.5, "by": "x"}),
        ("b", "---", "c", {"mi": 0.0625}),
        ("b", "---", "longer", {"by": "someone", "strength": 1}),
    ]
    assert dump_text(Graph.from_edges(["年齢", "b", "c", "longer", "e"], edges)) == (
        "pdag, 5 nodes, 3 edges\n"
        "年齢 --> b       mi    0.5  by x\n"
        "b    --- c       mi 0.0625\n"
        "b    --- longer             by someone  strength 1\n"
        "e  (no edges)\n"
    )


def test_where_rules_overlap_the_first_holds():
    rules = [rule("^b", Style.BAD), rule("^b.*", Style.BOLD), rule("c", Style.GOOD)]
    assert painted("b c\nbc", rules) == (
        "\x1b[1;31mb\x1b[0m \x1b[1;32mc\x1b[0m\n\x1b[1;31mb\x1b[0m\x1b[1;32mc\x1b[0m"
    )
    assert painted("", rules) == ""


def test_a_stream_that_is_none_or_closed_takes_no_colours(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with (tmp_path / "f").open("w") as file:
        assert not takes_colours(file)
    assert not takes_colours(file)
    assert not takes_colours(None)
