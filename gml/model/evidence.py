"""Values of nodes: what a caller's values mean, and networks in which some are set by hand.

A value is the text of a level, or a number: for a node of numbers that number, for a node of levels
the level that spells it, or otherwise the interval that it lies in.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from gml.data.dataset import Variable
from gml.data.discretize import Intervals, cuts_of_levels
from gml.errors import UsageError, agreeing, listing, parameter, quote, unknown_name
from gml.graph.graph import Graph
from gml.graph.knowledge import Arc
from gml.graph.open_arrows import arrows_behind
from gml.kernel.number import number_of
from gml.model.model import AskedModel
from gml.model.network import CPT, Network
from gml.model.regressions import LinearGaussian
from gml.printable_text import printable
from gml.progress import reporter
from gml.resources import require_memory

Net = TypeVar("Net", bound=Network)
Asked = TypeVar("Asked", bound=AskedModel)
AskedNow = TypeVar("AskedNow", bound=AskedModel, covariant=True)


class Meaning:
    """What values mean for a variable."""

    def __init__(self, variable: Variable, decimal: str = ".") -> None:
        levels = variable.levels
        self._decimal = decimal
        self._codes = None if levels is None else {level: k for k, level in enumerate(levels)}
        is_cut = levels is not None and cuts_of_levels(levels) is not None
        self._intervals = Intervals(levels or ()) if is_cut else None

    def code_of(self, value: object) -> float | None:
        """Return the code of the level, or the number, that a value means; None if none."""
        if self._codes is None:
            return self._number(value)
        text = value if isinstance(value, str) else str(value)
        if text in self._codes:
            return self._codes[text]
        number = self._number(value)
        if number is None:
            return None
        if not isinstance(value, str):
            if number in self._spelled:
                return self._spelled[number]
            # A truth value lies in no interval.
            if isinstance(value, bool | np.bool_):
                return None
            text = repr(number).replace(".", self._decimal)
        return None if self._intervals is None else self._intervals.code_of(text, self._decimal)

    def _number(self, value: object) -> float | None:
        if isinstance(value, str):
            # An argument may hold bytes that are not UTF-8.
            return number_of(value, self._decimal)
        if isinstance(value, numbers.Real | np.bool_) and math.isfinite(value):
            return float(value)
        return None

    @functools.cached_property
    def _spelled(self) -> dict[float, int]:
        """The code of each number that exactly one level spells."""
        found: dict[float, list[int]] = {}
        for level, code in (self._codes or {}).items():
            number = self._number(level)
            if number is not None:
                found.setdefault(number, []).append(code)
        return {number: codes[0] for number, codes in found.items() if len(codes) == 1}


def value_of(variable: Variable, value: object) -> str | float | None:
    """Return the level, or the number, that a value means; None if it means none.

    Examples
    --------
    >>> age = Variable("age", ("[-inf,40)", "[40,50)", "[50,inf)"))
    >>> value_of(age, 41), value_of(age, "49.5"), value_of(age, "old")
    ('[40,50)', '[40,50)', None)
    >>> value_of(Variable("n", ("1", "2")), 2.0), value_of(Variable("x", None), "1e3")
    ('2', 1000.0)
    """
    code = Meaning(variable).code_of(value)
    return code if code is None or variable.levels is None else variable.levels[int(code)]


def unknown_value(variable: Variable, value: object) -> str:
    """Say that a value has no meaning for a variable."""
    if variable.levels is None:
        shown = quote(value) if isinstance(value, str) else repr(value)
        return f"node {quote(variable.name)} has numbers, and {shown} is not a number"
    return unknown_name("level", str(value), variable.levels, owner=variable.name)


def resolved(
    variables: Sequence[Variable], values: Mapping[str, Any] | None
) -> dict[str, str | float]:
    """Return the levels, or numbers, that values of nodes mean."""
    if not isinstance(values, Mapping | None):
        raise UsageError(
            f"values of nodes must be a dict by node, as in {{'A': 'yes'}}, not {values!r}"
        )
    known = {variable.name: variable for variable in variables}
    found = {}
    for name, value in (values or {}).items():
        if name not in known:
            raise UsageError(unknown_name("node", name, known))
        meant = value_of(known[name], value)
        if meant is None:
            raise UsageError(unknown_value(known[name], value))
        found[name] = meant
    return found


def assigned(values: Mapping[str, str | float]) -> str:
    """Return values of nodes as people type them.

    Examples
    --------
    >>> assigned({"smoke": "yes", "age": 41.0})
    'smoke=yes, age=41'
    """
    typed = (
        f"{name}={repr(value).removesuffix('.0') if isinstance(value, float) else value}"
        for name, value in values.items()
    )
    return printable(", ".join(typed))


def coded(variables: Sequence[Variable], values: Mapping[str, Any]) -> dict[int, float]:
    """Return the codes of levels, and numbers, by the positions of the nodes."""
    position = {variable.name: j for j, variable in enumerate(variables)}
    found = {}
    for name, value in resolved(variables, values).items():
        levels = variables[position[name]].levels
        found[position[name]] = float(value) if levels is None else levels.index(str(value))
    return found


def intervene(net: Net, values: Mapping[str, Any]) -> Net:
    """Return the network with some nodes set by hand: they lose their parents and no longer vary.

    They are cut off from what they depended on (Pearl 2009, section 3.2).

    Examples
    --------
    >>> rain = Variable("rain", ("no", "yes"))
    >>> wet = Variable("wet", ("no", "yes"))
    >>> net = Network(
    ...     (
    ...         CPT(rain, (), np.array([[0.8, 0.2]])),
    ...         CPT(wet, (rain,), np.array([[0.9, 0.1], [0.2, 0.8]])),
    ...     )
    ... )
    >>> intervene(net, {"wet": "yes"}).cpt("wet").table
    array([[0., 1.]])
    """
    if not values:
        return net
    cpds = list(net.cpds)
    for j, value in coded(net.variables, values).items():
        variable = net.variables[j]
        if variable.levels is None:
            cpds[j] = LinearGaussian(variable, (), value, (), 0.0)
        else:
            table = np.zeros((1, len(variable.levels)))
            table[0, int(value)] = 1
            cpds[j] = CPT(variable, (), table)
    return dataclasses.replace(net, cpds=tuple(cpds))


@dataclass(frozen=True)
class Circumstances(Generic[AskedNow]):
    """A model after nodes were set by hand, these, and what is observed then."""

    net: AskedNow
    do: dict[str, str | float]
    evidence: dict[str, str | float]
    drawn: Graph | None = None
    """The graph before any node was set."""

    def warn_of_open_arrows(
        self, asked: Collection[str] = (), observed: Collection[str] = ()
    ) -> tuple[Arc, ...]:
        """Warn of the open arrows that an answer rests on, if there are any, and return them.

        Evidence is part of the answer, as its probability is. Nothing asked means all nodes.
        """
        if not self.do or self.drawn is None:
            return ()
        about = {*asked, *self.evidence, *observed} if asked else self.drawn.names
        found = tuple(arrows_behind(self.drawn, self.do, about))
        if found:
            arrows = listing(f"{source} -> {target}" for source, target in found)
            ways = agreeing(len(found), "it points", "they point")
            reporter().warn(
                f"the answer to do({assigned(self.do)}) rests on {arrows}: the data leave open "
                f"which way {ways}, and another way gives another answer; if you know the cause, "
                f"say so where the graph is learned ({parameter('require')}, {parameter('tiers')})"
            )
        return found


def circumstances(
    net: Asked, evidence: Mapping[str, Any] | None = None, do: Mapping[str, Any] | None = None
) -> Circumstances[Asked]:
    """Find what values mean, and set some of them by hand, which needs arrows."""
    if do and not isinstance(net, Network):
        raise UsageError(
            f"{parameter('do')} cuts nodes off from their parents, and an undirected model has none"
        )
    done, observed = resolved(net.variables, do), resolved(net.variables, evidence)
    both = [name for name in observed if name in done]
    if both:
        raise UsageError(f"{quote(both[0])} cannot be both set by {parameter('do')} and observed")
    if net.is_gaussian:
        require_memory(3 * 8 * len(net.names) ** 2, None, "the errors of all nodes")
    if not isinstance(net, Network):
        return Circumstances(net, done, observed)
    return Circumstances(intervene(net, done), done, observed, net.graph)
