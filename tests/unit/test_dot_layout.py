"""Layouts by Graphviz, where it is installed, and what is said where it is not."""

from __future__ import annotations

import os
import shutil
from types import SimpleNamespace

import pytest

from gml.errors import CannotAnswer
from gml.pictures.layout.geometry import Link, Size
from gml.pictures.layout.graphviz import dot_layout
from gml.stopping import Stopped
from tests.drawn import overlapping_nodes

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
SIZES = [Size(60, 30), Size(80, 40), Size(60, 30)]


@needs_dot
def test_dot_places_boxes_of_our_sizes():
    links = [Link(0, 1), Link(2, 1, directed=False)]
    found = dot_layout(SIZES, links, names=["a", 'b"', "c:d"])
    assert overlapping_nodes(SIZES, found) == []
    assert found.centres[0].y < found.centres[1].y < found.centres[2].y
    assert found.centres[2].y == pytest.approx(found.height - 15, abs=0.5)
    for link, route in zip(links, found.routes, strict=True):
        assert len(route) % 3 == 1
        for node, end in ((link.source, route[0]), (link.target, route[-1])):
            assert abs(end.y - found.centres[node].y) == pytest.approx(
                SIZES[node].height / 2, abs=1
            )
            assert abs(end.x - found.centres[node].x) <= SIZES[node].width / 2 + 1


@needs_dot
def test_dot_keeps_tiers_apart():
    found = dot_layout(SIZES, [Link(1, 0)], names="abc", tiers=[0, 1, None])
    assert found.centres[0].y < found.centres[1].y
    # The route of the turned link still begins at its source.
    assert found.routes[0][0].y == pytest.approx(found.centres[1].y - 20, abs=1)


@needs_dot
def test_dot_depends_on_names_alone():
    one = dot_layout(SIZES, [Link(0, 1), Link(2, 1, directed=False)], names="abc")
    other = dot_layout(SIZES[::-1], [Link(1, 0, directed=False), Link(2, 1)], names="cba")
    assert other.centres == one.centres[::-1]
    assert other.routes == (one.routes[1][::-1], one.routes[0])


def test_a_missing_program_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotAnswer, match="needs Graphviz, whose program dot is not installed"):
        dot_layout(SIZES, [Link(0, 1)], names="abc")


@pytest.mark.parametrize("answer", ["no JSON", '{"bb": 1e999}'])
def test_an_answer_that_cannot_be_read_is_refused(monkeypatch, tmp_path, answer):
    (tmp_path / "dot").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotAnswer, match="Graphviz could not lay this graph out"):
        dot_layout(SIZES, [Link(0, 1)], names="abc")


@pytest.mark.parametrize("stops", [True, False])
def test_a_program_that_does_not_end_is_stopped(monkeypatch, tmp_path, stops):
    """Stopped from outside, or because it took too long."""
    (tmp_path / "dot").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/id\nexec sleep 1000\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("gml.pictures.layout.graphviz._LONGEST", 1000 if stops else 0.6)
    flag = bytearray([stops])
    monkeypatch.setattr("gml.stopping._of_thread", SimpleNamespace(flag=flag))
    with pytest.raises(Stopped if stops else CannotAnswer):
        dot_layout(SIZES, [Link(0, 1)], names="abc")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "id").read_text()), 0)


def test_a_failing_program_is_named_and_prints_nothing(monkeypatch, tmp_path, capsys):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotAnswer, match="Graphviz could not lay this graph out"):
        dot_layout(SIZES, [Link(0, 1)], names="abc")
    assert capsys.readouterr().out == ""
