"""Layered layouts: nothing overlaps, arrows point down, few crossings, no order of columns shows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gml.errors import CannotAnswer
from gml.pictures.layout.geometry import Link, Size
from gml.pictures.layout.layered import layered
from gml.pictures.layout.layers import layers_of
from gml.pictures.layout.ports import roomy, straightened
from gml.progress import Reporter, reporting_to
from gml.resources import limited_to
from tests.drawn import (
    crossings,
    drawing_of,
    edges_through_nodes,
    flattened,
    overlapping_nodes,
)
from tests.places import SHARED

BOX = Size(60, 30)

# Crossings in the drawings of dot (Graphviz 2.43.0), same boxes: `make bench-crossings`.
BY_DOT = {
    "cancer": 0,
    "earthquake": 0,
    "survey": 0,
    "asia": 0,
    "sachs": 1,
    "insurance": 22,
    "mildew": 6,
    "alarm": 8,
    "barley": 60,
    "hailfinder": 7,
    "pathfinder": 950,
}


def laid_out(n_nodes, links, **options):
    return layered([BOX] * n_nodes, links, names=[f"n{i:03}" for i in range(n_nodes)], **options)


@pytest.mark.parametrize("network", BY_DOT)
def test_benchmark_networks(shared, network):
    path = next((SHARED / "data" / "networks").glob(f"{network}.bif*"))
    names, sizes, links = drawing_of(path)
    found = layered(sizes, links, names=names)
    assert overlapping_nodes(sizes, found) == []
    assert edges_through_nodes(sizes, links, found) == []
    assert crossings(sizes, links, found) <= BY_DOT[network] * 1.1
    assert all(found.centres[link.source].y < found.centres[link.target].y for link in links)


def test_a_chain_is_a_column():
    found = laid_out(4, [Link(0, 1), Link(1, 2), Link(2, 3)])
    assert [centre.x for centre in found.centres] == [30, 30, 30, 30]
    assert [centre.y for centre in found.centres] == [15, 93, 171, 249]
    assert (found.width, found.height) == (60, 264)


def test_a_long_link_goes_around_what_it_passes():
    links = [Link(0, 1), Link(1, 2), Link(0, 2)]
    found = laid_out(3, links)
    assert edges_through_nodes([BOX] * 3, links, found) == []
    assert len({centre.x for centre in found.centres}) < 3


def test_links_of_a_node_end_apart():
    found = laid_out(4, [Link(0, 3), Link(1, 3), Link(2, 3)])
    ends = sorted(route[-1].x for route in found.routes)
    assert ends == [found.centres[3].x - 12, found.centres[3].x, found.centres[3].x + 12]


def test_many_links_end_within_a_node():
    found = laid_out(31, [Link(i, 30) for i in range(30)])
    ends = [route[-1].x - found.centres[30].x for route in found.routes]
    assert all(abs(end) <= 25 for end in ends)


def test_arrows_of_a_cycle_point_down_but_one():
    links = [Link(0, 1), Link(1, 2), Link(2, 3), Link(3, 0)]
    found = laid_out(4, links)
    up = [link for link in links if found.centres[link.source].y > found.centres[link.target].y]
    assert up == [Link(3, 0)]
    # The route of the turned link still begins at its source.
    assert found.routes[3][0].y == found.centres[3].y - 15


def test_an_undirected_tree_hangs_from_its_middle():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (2, 5)]
    found = laid_out(6, [Link(a, b, directed=False) for a, b in edges])
    top = min(found.centres, key=lambda centre: centre.y)
    assert top == found.centres[2]
    assert found.height == 30 * 3 + 48 * 2


def test_tiers_are_above_each_other_whatever_the_arrows_say():
    links = [Link(3, 0), Link(0, 1), Link(4, 5)]
    tiers = [0, 0, None, 1, 1, 2]
    found = laid_out(6, links, tiers=tiers)
    low = {
        t: max(c.y for c, at in zip(found.centres, tiers, strict=True) if at == t) for t in (0, 1)
    }
    high = {
        t: min(c.y for c, at in zip(found.centres, tiers, strict=True) if at == t) for t in (1, 2)
    }
    assert low[0] < high[1] and low[1] < high[2]
    assert overlapping_nodes([BOX] * 6, found) == []


def test_tiers_without_links_are_rows():
    found = laid_out(6, [], tiers=[0, 0, 0, 1, 1, 5])
    assert [centre.y for centre in found.centres] == [15, 15, 15, 93, 93, 171]


def test_a_wide_rank_is_folded():
    found = laid_out(61, [Link(0, i) for i in range(1, 61)])
    assert found.width < 3 * found.height
    assert crossings([BOX] * 61, [Link(0, i) for i in range(1, 61)], found) == 0


def test_folding_keeps_to_the_tiers():
    tiers = [0] + [1] * 60 + [2]
    found = laid_out(62, [Link(0, i) for i in range(1, 61)] + [Link(60, 61)], tiers=tiers)
    assert max(centre.y for centre in found.centres[1:61]) < found.centres[61].y


def test_parts_without_links_between_them_are_packed():
    links = [Link(2 * i, 2 * i + 1) for i in range(20)]
    found = laid_out(52, links)
    assert overlapping_nodes([BOX] * 52, found) == []
    assert 1 < found.width / found.height < 2.5


def test_parts_fill_what_others_leave():
    """A node without links stands beside a narrow rank, not beside the widest one."""
    tree = [Link(0, 1), *(Link(1, i) for i in range(2, 7))]
    found, without = laid_out(8, tree), laid_out(7, tree)
    assert (found.width, found.height) == (without.width, without.height)
    assert overlapping_nodes([BOX] * 8, found) == []
    assert edges_through_nodes([BOX] * 8, tree, found) == []


def test_marks_are_upright_above_their_ports():
    mark = Size(14, 15)
    links = [Link(i, 6, True, 4.5, Size(0, 0), mark) for i in range(6)]
    boxes = roomy([BOX] * 7, links)
    assert boxes == [BOX] * 6 + [Size(6 * 16 - 7 + 20, 30)]
    found = layered(boxes, links, names="abcdefg")
    ends = sorted(route[-1].x for route in found.routes)
    assert all(right - left >= 16 for left, right in pairwise(ends))
    for route in found.routes:
        last = flattened(route)
        assert all(x == pytest.approx(route[-1].x) for x, y in last if y > route[-1].y - 14.9)


def test_links_without_direction_are_on_both_sides_of_a_box():
    links = [Link(0, i, directed=False) for i in range(1, 21)]
    assert roomy([BOX] * 21, links)[0] == Size(10 * 7 - 7 + 20, 30)


def test_thick_links_side_by_side_do_not_touch():
    """They go far aside to one node, so that they run flat."""
    sizes = [BOX, BOX, Size(200, 30), Size(200, 30), BOX]
    links = [Link(0, 4, True, 4.0), Link(1, 4, True, 4.0), Link(2, 3)]
    found = layered(sizes, links, names="abcde", tiers=[0, 0, 0, 1, 1])
    one, other = (flattened(found.routes[k], 64) for k in (0, 1))
    apart = np.hypot(*(one[:, None] - other[None]).transpose(2, 0, 1)).min()
    assert apart > 4.0 + 1


def test_nothing_and_a_single_node():
    empty = laid_out(0, [])
    assert (empty.centres, empty.routes, empty.width, empty.height) == ((), (), 0, 0)
    alone = laid_out(1, [])
    assert (alone.centres[0], alone.width, alone.height) == ((30, 15), 60, 30)


def test_ranks_are_further_apart_where_links_go_far_aside():
    links = [Link(0, 1), Link(0, 2)]
    near = layered([BOX] * 3, links, names="abc")
    far = layered([BOX, Size(900, 30), Size(900, 30)], links, names="abc")
    assert near.height == 30 + 48 + 30
    assert far.height == 30 + 48 * 2.5 + 30


def test_links_that_are_nearly_upright_become_so():
    """The lower box stands 3 pixels aside, held there by its neighbour; its port moves instead."""
    layers = layers_of([(0, 1)], [0, 1])
    ports = [{1: 0}, {0: 0}]
    assert straightened(layers, ports, [60, 60], [50, 53]) == [{1: 3}, {0: 0}]
    assert straightened(layers, ports, [60, 60], [50, 90]) == ports


def test_ports_do_not_meet_to_make_links_upright():
    layers = layers_of([(0, 1), (0, 2)], [0, 1, 1])
    ports = [{1: -6, 2: 6}, {0: 0}, {0: 0}]
    assert straightened(layers, ports, [60, 10, 10], [50, 46, 62])[0] == {1: -4, 2: 12}
    assert straightened(layers, ports, [60, 10, 10], [50, 54, 62])[0] == {1: -6, 2: 12}


def dense(n_nodes=16):
    return [Link(a, b) for b in range(n_nodes) for a in range(b) if (a * b + a) % 3]


def test_nothing_overlaps_where_the_work_is_cut_short(monkeypatch):
    """Whatever has to end before it is best is still a drawing."""
    links = dense()
    best = laid_out(16, links)
    monkeypatch.setattr("gml.pictures.layout.network_simplex._MOST_WORK", 50)
    monkeypatch.setattr("gml.pictures.layout.ordering._BUDGET", 0)
    found = laid_out(16, links)
    assert found != best
    assert overlapping_nodes([BOX] * 16, found) == []
    assert edges_through_nodes([BOX] * 16, links, found) == []
    assert crossings([BOX] * 16, links, best) < crossings([BOX] * 16, links, found)


def complete(n_nodes):
    return [Link(a, b) for b in range(n_nodes) for a in range(b)]


def test_more_than_anybody_could_read_is_refused(monkeypatch):
    """A complete graph of n nodes has n³/6 bends: they are counted before they are made."""
    way_out = r"draw what is near some nodes \(`around`\), or a heat map \(`kind='matrix'`\)"
    said = f"7140 edges, which pass 280840 ranks of nodes, are too many for one picture; {way_out}"
    monkeypatch.setattr("gml.pictures.layout.layered.layers_of", None)
    with pytest.raises(CannotAnswer, match=f"^{said}$"):
        laid_out(120, complete(120))
    monkeypatch.setattr("gml.pictures.layout.layered.acyclic", None)
    with pytest.raises(CannotAnswer, match="^44850 edges are too many for one picture; draw"):
        laid_out(300, complete(300))


def test_room_for_the_ranks_is_asked_for():
    with (
        limited_to(2 << 20),
        pytest.raises(CannotAnswer, match="ordering the nodes .*`max_memory`.*`around`"),
    ):
        laid_out(30, complete(30))
    with limited_to(1):
        laid_out(10, complete(10))


def test_work_on_dense_graphs_is_bounded(monkeypatch):
    """Where edges pass many ranks, all three stages look at no more than they may."""
    spent = []

    class Counting(Reporter):
        def advance(self, what, done, total, **_):
            spent.append((what, done))

    with reporting_to(Counting()):
        laid_out(30, complete(30))
    most = {what: max(done for each, done in spent if each == what) for what, _ in spent}
    # An exchange, or an improvement, is not begun beyond the budget, but may end there.
    assert most["placing nodes"] < 650_000
    assert most["ordering nodes"] < 250_000


def test_the_layout_stops_when_it_is_told_to(monkeypatch):
    looked = []
    for stage in ("network_simplex", "ordering"):
        monkeypatch.setattr(
            f"gml.pictures.layout.{stage}.check_stopped", lambda stage=stage: looked.append(stage)
        )
    laid_out(16, dense())
    assert set(looked) == {"network_simplex", "ordering"}


def test_progress_is_reported():
    class Listening(Reporter):
        def __init__(self):
            self.heard = set()

        def advance(self, what, done, total, *, is_paced):
            assert not is_paced
            self.heard.add(what)

    with reporting_to(Listening()) as listening:
        laid_out(16, dense())
    assert listening.heard == {"ordering nodes", "placing nodes"}
