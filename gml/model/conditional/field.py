"""ConditionalField: p(y | x), a conditional random field over some columns given the others.

Targets have levels; inputs have levels, or hold numbers, which the field standardises. It is no
distribution of the inputs x, so it can be asked only where all of these are known: then it is an
ordinary undirected model of the targets y (`given`).
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from gml.calls import public
from gml.data.dataset import Variable
from gml.errors import (
    GraphError,
    UsageError,
    agreeing,
    counted,
    kind_of,
    listing,
    quote,
    unknown_name,
)
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.model.conditional.gauge import in_sum_to_zero_gauge
from gml.model.conditional.numeric_inputs import Scale, Slope, feature_over, require_scales
from gml.model.conditional.summary import FieldSummary
from gml.model.conditional.terms import FieldTerms, Scope, Table
from gml.model.evidence import resolved
from gml.model.markovnet import COUPLING, MarkovNet
from gml.model.training import Training
from gml.model.undirected.from_tables import LogTable, markov_of_tables
from gml.model.undirected.potential import Potential
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import pandas as pd

    from gml.data.dataset import Dataset
    from gml.model.answer import Answer
    from gml.model.row_answers import Decoded, Predictions


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalField(AnswersSynonyms):
    """Targets, inputs, and tables of weights: (target,), (target, input) and (target, target).

    Weights are one-hot, one for each cell, as they were penalised; `gauged` has them in the
    sum-to-zero gauge. The table of a numeric input has one column: the weights of the standardised
    number, as `scales` has its mean and sd.

    Examples
    --------
    >>> y, x = (Variable(name, ("n", "y")) for name in "yx")
    >>> bias, slope = np.zeros(2), np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> net = ConditionalField((y,), (x,), (Potential((y,), bias), Potential((y, x), slope)))
    >>> net
    ConditionalField(1 target given 1 input, 6 weights: 'y' given 'x')
    >>> round(net.query("y", {"x": "y"})["y"]["y"], 4)
    0.8808
    """

    targets: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    features: tuple[Potential | Slope, ...]
    summary: FieldSummary | None = None
    learning: Provenance = field(default_factory=Provenance)
    training: Training | None = None
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """The mean and the sd of each numeric input, in the rows that the field was fitted on."""
    graph: Graph = field(init=False, repr=False, compare=False)

    is_gaussian = False
    is_mixed = False
    """Whether it is a joint distribution of numbers, as other models may be: it is none at all."""

    if TYPE_CHECKING:
        # The package adds these to the class: files and pictures are above this room.
        @staticmethod
        def from_file(path: str | os.PathLike[str]) -> ConditionalField: ...
        def to_file(self, path: str | os.PathLike[str], format: str | None = None) -> None: ...
        def _repr_html_(self) -> str | None: ...

    def __post_init__(self) -> None:
        if not self.targets:
            raise GraphError("a conditional field needs a target")
        known = {variable.name: variable for variable in self.variables}
        if len(known) != len(self.variables):
            raise GraphError("a conditional field lists a variable twice")
        targets = {target.name for target in self.targets}
        require_scales(self.variables, targets, self.scales)
        scopes: set[frozenset[str]] = set()
        for potential in self.features:
            _require_feature(potential, known, targets)
            if frozenset(potential.names) in scopes:
                raise GraphError(f"two features over {listing(potential.names)}")
            scopes.add(frozenset(potential.names))
        for target in self.targets:
            if {target.name} not in scopes:
                raise GraphError(f"target {quote(target.name)} has no feature of its own")
        object.__setattr__(self, "graph", self._graph())

    def __repr__(self) -> str:
        size = f"{counted(len(self.targets), 'target')} given {counted(len(self.inputs), 'input')}"
        names = listing(target.name for target in self.targets)
        given = listing(variable.name for variable in self.inputs)
        return (
            f"{type(self).__name__}({size}, {counted(self.terms.size, 'weight')}: {names} given "
            f"{given or 'nothing'})"
        )

    @classmethod
    def of_tables(
        cls,
        targets: Sequence[Variable],
        inputs: Sequence[Variable],
        tables: Mapping[Scope, Table],
        **about: Any,
    ) -> ConditionalField:
        """Make a field of tables of weights by their scopes."""
        known = {variable.name: variable for variable in (*targets, *inputs)}
        features = tuple(
            feature_over([known[name] for name in scope], table) for scope, table in tables.items()
        )
        return cls(tuple(targets), tuple(inputs), features, **about)

    def _graph(self) -> Graph:
        edges = [
            (*sorted(scope), _strength(table))
            for scope, table in self.gauged.items()
            if len(scope) == 2
        ]
        return Graph.from_edges(
            [variable.name for variable in self.variables],
            [(a, "---", b, {COUPLING: strength}) for a, b, strength in sorted(edges)],
            kind="undirected",
            levels={v.name: v.levels for v in self.variables if v.levels is not None},
            numeric=[v.name for v in self.variables if v.levels is None],
            learning=self.learning,
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The targets, then the inputs."""
        return (*self.targets, *self.inputs)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the targets, then of the inputs."""
        return self.graph.names

    def index(self, name: str) -> int:
        """Return the position of a node."""
        return self.graph.index(name)

    @functools.cached_property
    def terms(self) -> FieldTerms:
        """The features as sets of variables."""
        scopes = [potential.names for potential in self.features]
        return FieldTerms.of_scopes(self.targets, self.inputs, scopes, self.scales)

    @functools.cached_property
    def tables(self) -> dict[Scope, Table]:
        """The weights of each term, by its scope as `terms` has it."""
        given = {frozenset(potential.names): potential for potential in self.features}
        found = {}
        for scope in self.terms.scopes:
            potential = given[frozenset(scope)]
            order = [potential.names.index(name) for name in scope]
            found[scope] = np.ascontiguousarray(potential.table.transpose(order))
        return found

    @functools.cached_property
    def gauged(self) -> dict[Scope, Table]:
        """The weights in the sum-to-zero gauge, for people."""
        return in_sum_to_zero_gauge(self.terms, self.tables)

    @property
    def n_parameters(self) -> int:
        """The number of weights."""
        return self.terms.size

    @property
    def complete(self) -> bool:
        """Whether there was time to fit it to the end."""
        return self.learning.get("complete", True) is not False

    @property
    def factors(self) -> NoReturn:
        """There are none: what multiplies to a joint distribution is missing."""
        raise GraphError(
            "a conditional field has no factors, as it is no joint distribution; given values of "
            "all inputs it has some"
        )

    def given(self, inputs: Mapping[str, Any]) -> MarkovNet:
        """Return the undirected model of the targets, given values of all inputs.

        Examples
        --------
        >>> import gml
        >>> net = gml.crf("sample_data/asia.csv", target=["lung", "tub"], columns=[
        ...     "lung", "tub", "smoke", "xray"])
        >>> net.given({"smoke": "yes", "xray": "yes"})
        MarkovNet(2 nodes, 1 edge: 'lung', 'tub')
        """
        values = resolved(self.variables, inputs)
        targets = [target.name for target in self.targets if target.name in values]
        if targets:
            raise UsageError(f"{listing(targets)} is a target, not an input")
        missing = [variable.name for variable in self.inputs if variable.name not in values]
        if missing:
            raise UsageError(
                f"{listing(missing)} {agreeing(len(missing), 'has', 'have')} no value, and a "
                "conditional field needs one for every input"
            )
        given = np.array(
            [
                [
                    float(values[v.name])
                    if v.levels is None
                    else v.levels.index(str(values[v.name]))
                    for v in self.terms.inputs
                ]
            ]
        )
        met = dict(zip((v.name for v in self.terms.inputs), self.terms.columns(given), strict=True))
        known = {target.name: target for target in self.targets}
        tables: dict[Scope, Table] = {}
        for scope, table in self.tables.items():
            if len(scope) == 1:
                tables[scope] = table
        for scope, table in self.tables.items():
            if len(scope) == 2 and scope[1] in known:
                tables[scope] = table
            elif len(scope) == 2:
                (x,) = met[scope[1]].tolist()
                more = x * table[:, 0] if scope[1] in self.scales else table[:, int(x)]
                tables[scope[:1]] = tables[scope[:1]] + more
        return markov_of_tables(
            self.targets,
            [
                LogTable(tuple(known[name] for name in s), table, None)
                for s, table in tables.items()
            ],
        )

    @public
    def query(
        self,
        target: str | Sequence[str] | None = None,
        evidence: Mapping[str, Any] | None = None,
        *,
        each: bool = False,
    ) -> Answer:
        """Return the distribution of targets, given values of all inputs and maybe of targets."""
        from gml.model.conditional.questions import query_field

        return query_field(self, target, evidence, each=each)

    @public
    def mpe(self, evidence: Mapping[str, Any] | None = None) -> Answer:
        """Return the most probable values of all unobserved targets together."""
        from gml.model.conditional.questions import best_of_field

        return best_of_field(self, None, evidence)

    @public
    def map(self, target: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> Answer:
        """Return the most probable values of some targets, with the others summed out."""
        from gml.model.conditional.questions import best_of_field

        return best_of_field(self, target, evidence)

    @public
    def predict(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        target: str | None = None,
        *,
        evidence: Mapping[str, Any] | None = None,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
    ) -> Predictions:
        """Predict a target from each row of a table; the only one, if there is one.

        Columns of other targets are evidence.
        """
        from gml.model.conditional.row_inference import FieldRowInference
        from gml.model.predict import answers_about_data

        if target is None and len(self.targets) > 1:
            raise UsageError(
                f"say which of {listing(t.name for t in self.targets)} to predict, or `decode` all"
            )
        if target is not None and not isinstance(target, str):
            raise UsageError(
                f"predict takes one target, not {kind_of(target)}; decode predicts all together "
                "(on the command line, --mpe)"
            )
        name = self.targets[0].name if target is None else target
        asked = FieldRowInference(self, [name], evidence, predict=True)
        return cast(
            "Predictions",
            answers_about_data(asked, data, missing=missing, ignore_unknown=ignore_unknown),
        )

    @public
    def decode(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        *,
        evidence: Mapping[str, Any] | None = None,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
    ) -> Decoded:
        """Find the most probable values of all targets together for each row of a table.

        Columns of targets are not evidence, but tell how good the values are (`metrics`).
        """
        from gml.model.conditional.row_inference import FieldRowInference, all_targets
        from gml.model.predict import answers_about_data

        targets = all_targets(self, evidence)
        asked = FieldRowInference(self, targets, evidence, predict=False, decode=True)
        return cast(
            "Decoded",
            answers_about_data(asked, data, missing=missing, ignore_unknown=ignore_unknown),
        )


def _require_feature(
    potential: Potential | Slope, known: Mapping[str, Variable], targets: set[str]
) -> None:
    """Refuse a feature that is not over a target, or a target and one other variable."""
    where = f"the feature over {listing(potential.names)}"
    for variable in potential.scope:
        if variable.name not in known:
            raise GraphError(unknown_name("variable", variable.name, known))
        if known[variable.name] != variable:
            raise GraphError(
                f"the levels of {quote(variable.name)} are different in a feature than in the field"
            )
    if len(potential.scope) not in (1, 2):
        raise GraphError(f"{where} must be over one or two variables")
    if not targets & {*potential.names}:
        raise GraphError(f"{where} has no target")
    if not potential.is_finite:
        raise GraphError(f"{where} has a weight that is not finite")


def _strength(table: Table) -> float:
    """How strongly two nodes are joined: J for two levels each, else the root mean square.

    For two levels and a number it is the weight of the second, per sd.
    """
    if table.shape in ((2, 2), (2, 1)):
        return float(table[1, -1])
    return math.sqrt(float(np.mean(table**2)))
