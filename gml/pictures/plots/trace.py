"""The score of a search, step by step.

Moves that gain are drawn through, moves at a loss (those of a tabu list) are dashed, and the random
changes of a restart dotted; the best score so far is a wide line above. Of many steps, each column
of pixels keeps those with its lowest and its highest score, the first and the last. A first climb
often dwarfs all that follows it, which is then shown once more from nearer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from gml.errors import CannotAnswer, counted
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    KeyEntry,
    Scale,
    Ticks,
    brief,
    figure,
    fitting_ticks,
    key,
    line,
    sheet,
    ticks,
    widest,
    words,
    x_axis,
    y_axis,
)
from gml.pictures.svg import Markup, element, label, number
from gml.pictures.text_width import shortened, text_width
from gml.pictures.themes import LIGHT, Theme

if TYPE_CHECKING:
    from gml.learners.search import Step

_WIDTH = 620.0
_HEIGHT = 280.0
_CLOSE_HEIGHT = 160.0
_MOST_TOLD = 300
"""Up to which number of steps each says what it was when pointed at."""
_RESTART = "restart "
_LONGEST_NUMBER = 80.0
_DASHES = {"gain": None, "loss": "5 3", "random": "1.5 3"}
_TEXTS = {"gain": "moves that gain", "loss": "moves at a loss", "random": "random changes"}


def score_trace(trace: Sequence[Step], theme: Theme = LIGHT) -> Picture:
    """Return the plot of the steps of a search, as `read_trace` and the learners give them.

    Examples
    --------
    >>> import gml
    >>> steps = []
    >>> score = gml.SCORES["bic"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> result = gml.learners.hillclimb.hill_climb(score, restarts=2, trace=steps.append)
    >>> score_trace(steps).title
    'Score of a search'
    """
    if not trace:
        raise CannotAnswer("the search made no step, so there is nothing to plot")
    start = trace[0].score - trace[0].gain
    scores = [start, *(step.score for step in trace)]
    course = _Course(trace, scores, list(accumulate(scores, max)), theme)
    best = course.best[-1]
    whole = ticks(min(scores), best, 7)
    close = _close_up(course)
    left = MARGIN + widest([*whole.labels, *(close.labels if close else ())], SMALL) + 8
    shown, high = key(_entries(trace, theme), left, HEADING_ROOM, theme, _WIDTH)
    top = HEADING_ROOM + high + 22
    bottom = top + _HEIGHT
    content = [*shown, *course.panel(whole, left, top, bottom, numbered=True)]
    if close is not None:
        top, bottom = bottom + 76, bottom + 76 + _CLOSE_HEIGHT
        content += [
            words("the highest scores, from nearer", left, top - 10, theme.muted, size=SMALL),
            *course.panel(close, left, top, bottom, numbered=False),
        ]
    reached = course.best.index(best)
    return sheet(
        left + _WIDTH + MARGIN + 10,
        bottom + 34 + MARGIN,
        content,
        theme,
        title="Score of a search",
        said=f"best score {figure(best, 6)}, first reached "
        + (f"at step {reached} of {len(trace)}" if reached else "before the first step"),
        description=f"{counted(len(trace), 'step')} from {figure(start, 6)}"
        f"{_number_of_restarts(trace)}",
    )


def _close_up(course: _Course) -> Ticks | None:
    """What comes after the first climb, if it all happens at the upper edge of the picture."""
    kinds = [_kind(step) for step in course.trace]
    peak = next((k for k, kind in enumerate(kinds) if kind != "gain"), None)
    if peak is None:
        return None
    lost = [
        course.best[k] - course.scores[k] for k, kind in enumerate(kinds, start=1) if kind == "loss"
    ]
    best = course.best[-1]
    span = best - min(course.scores)
    depth = max(1.5 * (best - course.scores[peak]), max(lost, default=0.0), span / 50)
    return ticks(best - depth, best, 5) if depth < span / 4 else None


class _Course(NamedTuple):
    """The steps of a search, the score before and after each, and the best so far."""

    trace: Sequence[Step]
    scores: Sequence[float]
    best: Sequence[float]
    theme: Theme

    def panel(
        self, marked: Ticks, left: float, top: float, bottom: float, *, numbered: bool
    ) -> Iterator[Markup]:
        """The course between the lowest and the highest tick; what is outside is not seen."""
        right = left + _WIDTH
        steps = fitting_ticks(0, len(self.trace), _WIDTH)
        across, up = steps.scale(left, right), marked.scale(bottom, top)
        yield from y_axis(marked, up, left, right, self.theme)
        yield from x_axis(steps, across, top, bottom, self.theme, "step")
        yield from _restarts(self.trace, across, top, bottom, self.theme, numbered=numbered)
        # An svg of its own cuts off what leaves it, without a name that another picture may have.
        kept = _kept(self.scores, across)
        edge = 4.0
        x, y, width, height = left - edge, top - edge, _WIDTH + 2 * edge, bottom - top + edge
        yield element(
            "svg",
            _stairs(self, kept, across, up),
            *_moves(self, kept, across, up),
            *(_dots(self.trace, across, up, self.theme) if len(self.trace) <= _MOST_TOLD else ()),
            x=x,
            y=y,
            width=width,
            height=height,
            viewBox=" ".join(map(number, (x, y, width, height))),
        )


def _kind(step: Step) -> str:
    if step.move == "perturb":
        return "random"
    return "gain" if step.gain >= 0 else "loss"


def _restart_of(step: Step) -> str:
    """The run that a step belongs to: that of a restart, or the first one."""
    if not step.phase.startswith(_RESTART):
        return ""
    return step.phase.removeprefix(_RESTART).partition(":")[0]


def _number_of_restarts(trace: Sequence[Step]) -> str:
    n = sum(1 for run, _ in groupby(trace, key=_restart_of) if run)
    return f", with {counted(n, 'restart')}" if n else ""


def _restarts(
    trace: Sequence[Step],
    across: Scale,
    top: float,
    bottom: float,
    theme: Theme,
    *,
    numbered: bool,
) -> Iterator[Markup]:
    """A line where each restart begins, with its number where there is room."""
    at, free = 0, 0.0
    for run, steps in groupby(trace, key=_restart_of):
        if run:
            x = across.at(at)
            yield line(x, top, x, bottom, theme.muted, width=0.75, dashes="2 2")
            text = shortened(f"{_RESTART if not free else ''}{brief(run)}", SMALL, _LONGEST_NUMBER)
            if numbered and x - text_width(text, SMALL) / 2 >= free:
                yield words(text, x, top - 6, theme.muted, size=SMALL, anchor="middle")
                free = x + text_width(text, SMALL) / 2 + 8
        at += sum(1 for _ in steps)


def _kept(scores: Sequence[float], across: Scale) -> list[int]:
    """The steps that show: the first, the lowest, the highest and the last in each column."""
    found = []
    for _, column in groupby(range(len(scores)), key=lambda k: round(across.at(k))):
        some = list(column)
        kept = {some[0], min(some, key=scores.__getitem__), max(some, key=scores.__getitem__)}
        found += sorted(kept | {some[-1]})
    return found


def _moves(course: _Course, kept: Sequence[int], across: Scale, up: Scale) -> Iterator[Markup]:
    """The steps as lines, those of one kind as one path; steps left out count as one."""
    found: dict[str, list[str]] = {}
    before = ""
    for start, end in pairwise(kept):
        some = course.trace[start:end]
        gain = course.scores[end] - course.scores[start]
        is_random = any(_kind(step) == "random" for step in some)
        kind = "random" if is_random else "gain" if gain >= 0 else "loss"
        first, last = (
            f"{number(across.at(k))} {number(up.at(course.scores[k]))}" for k in (start, end)
        )
        found.setdefault(kind, []).append(f"L{last}" if kind == before else f"M{first}L{last}")
        before = kind
    for kind in _TEXTS:
        if kind in found:
            yield _drawn("".join(found[kind]), kind, course.theme)


def _drawn(path: str, kind: str, theme: Theme) -> Markup:
    return element(
        "path",
        d=path,
        fill="none",
        stroke=theme.missing if kind == "random" else theme.ink,
        stroke_width=1.25,
        stroke_dasharray=_DASHES[kind],
    )


def _stairs(course: _Course, kept: Sequence[int], across: Scale, up: Scale) -> Markup:
    """The best score so far."""
    best = course.best
    path = f"M{number(across.at(0))} {number(up.at(best[0]))}"
    for before, k in pairwise(kept):
        if best[k] != best[before]:
            path += f"H{number(across.at(k))}V{number(up.at(best[k]))}"
    path += f"H{number(across.at(kept[-1]))}"
    stroke = course.theme.bar
    return element("path", d=path, fill="none", stroke=stroke, stroke_width=4)


def _dots(trace: Sequence[Step], across: Scale, up: Scale, theme: Theme) -> Iterator[Markup]:
    for k, step in enumerate(trace, start=1):
        if not up.low <= step.score <= up.high:
            continue
        edge = f" {brief(step.source)} → {brief(step.target)}" if step.source else ""
        gain = f"{'+' if step.gain > 0 else ''}{figure(step.gain, 4)}"
        made = f"{brief(step.phase)}: {brief(step.move)}{edge}"
        told = f"step {k}, {made}, {gain}: {figure(step.score, 6)}"
        yield element(
            "circle",
            element("title", label(told)),
            cx=across.at(k),
            cy=up.at(step.score),
            r=2.5,
            fill=theme.ink,
        )


def _entries(trace: Sequence[Step], theme: Theme) -> list[KeyEntry]:
    """The kinds of lines that there are, and the best score so far."""
    kinds = {_kind(step) for step in trace}
    best = element("path", d="M0 6H24", stroke=theme.bar, stroke_width=4)
    return [
        KeyEntry(best, "best so far"),
        *(
            KeyEntry(_drawn("M0 6H24", kind, theme), text)
            for kind, text in _TEXTS.items()
            if kind in kinds
        ),
    ]
