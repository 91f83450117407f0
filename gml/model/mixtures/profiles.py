"""What the classes of a mixture are like: their sizes, shares of levels, means and deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, counted, listing, quote
from gml.model.network import CPT, Network
from gml.model.regressions import ConditionalGaussian

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LabelProfile:
    """The probabilities of the levels of a label: one row per class."""

    variable: Variable
    table: Vector


@dataclass(frozen=True)
class NumberProfile:
    """The mean and the standard deviation of a number in each class."""

    variable: Variable
    means: Vector
    sds: Vector


@dataclass(frozen=True, repr=False)
class ClassProfiles:
    """The classes of a mixture, side by side, with the columns in their order."""

    hidden: Variable
    sizes: Vector
    columns: tuple[LabelProfile | NumberProfile, ...]

    def __repr__(self) -> str:
        classes = len(self.sizes)
        return (
            f"<ClassProfiles: {classes} class{'es'[: 2 * (classes != 1)]}, "
            f"{counted(len(self.columns), 'column')}>"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The classes side by side: a row for their sizes, each level, each mean and deviation."""
        found = [self._row(self.hidden.name, "share", None, self.sizes)]
        for column in self.columns:
            name = column.variable.name
            if isinstance(column, NumberProfile):
                found.append(self._row(name, "mean", None, column.means))
                found.append(self._row(name, "sd", None, column.sds))
                continue
            for k, level in enumerate(column.variable.levels or ()):
                found.append(self._row(name, "share", level, column.table[:, k]))
        return found

    def _row(self, name: str, what: str, level: str | None, values: Vector) -> dict[str, Any]:
        classes = [f"{self.hidden.name}={one}" for one in self.hidden.levels or ()]
        by_class = dict(zip(classes, values.tolist(), strict=True))
        return {"column": name, "is": what, "level": level, **by_class}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: the rows of `rows`, and a column for each class."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    if TYPE_CHECKING:
        # The package adds it to the class: pictures are above this room.
        def _repr_html_(self) -> str | None: ...


def class_profiles(net: Network, name: str | None = None) -> ClassProfiles:
    """Read the profiles of classes off a model in which all other nodes depend on one.

    Parameters
    ----------
    net
        A model, as `gml mixture` makes it.
    name
        The node of the classes; by default the only one that all others have as a parent.

    Examples
    --------
    >>> import gml
    >>> found = gml.mixture("sample_data/carcinoma.csv", components=3, weights="slides")
    >>> profiles = class_profiles(found.model)
    >>> profiles.hidden.levels, profiles.sizes.round(4).tolist(), len(profiles.columns)
    (('1', '2', '3'), [0.4447, 0.3736, 0.1817], 7)
    """
    hidden = net.cpd(name or _hidden_name(net))
    if not isinstance(hidden, CPT) or hidden.parents:
        raise GraphError(f"{quote(hidden.variable.name)} is no class: it has parents, or numbers")
    others = [cpd for cpd in net.cpds if cpd is not hidden]
    numbers = _numbers(net, hidden.variable)
    columns: list[LabelProfile | NumberProfile] = []
    for cpd in others:
        if isinstance(cpd, CPT) and cpd.parents == (hidden.variable,):
            columns.append(LabelProfile(cpd.variable, cpd.table))
        elif cpd.variable.name in numbers:
            columns.append(NumberProfile(cpd.variable, *numbers[cpd.variable.name]))
        else:
            raise _no_mixture(cpd.variable.name, hidden.variable.name)
    return ClassProfiles(hidden.variable, hidden.table[0], tuple(columns))


def _hidden_name(net: Network) -> str:
    """The node that all others have as a parent."""
    roots = [
        cpd.variable.name
        for cpd in net.cpds
        if isinstance(cpd, CPT)
        and not cpd.parents
        and all(cpd is other or cpd.variable in other.parents for other in net.cpds)
    ]
    if len(roots) != 1 or len(net.cpds) < 2:
        raise GraphError(
            "this is no mixture, as gml mixture makes it: no node with levels is a parent of all "
            f"others ({listing(net.names)})"
        )
    return roots[0]


def _no_mixture(name: str, hidden: str) -> GraphError:
    return GraphError(
        f"this is no mixture: {quote(name)} does not depend on {quote(hidden)} alone, or on it and "
        "other numbers"
    )


def _numbers(net: Network, hidden: Variable) -> dict[str, tuple[Vector, Vector]]:
    """Means and standard deviations of numbers by class, from the regressions in order."""
    places: dict[str, int] = {}
    size = sum(cpd.variable.is_continuous for cpd in net.cpds)
    n_classes = len(hidden.levels or ())
    means, covariances = np.zeros((n_classes, size)), np.zeros((n_classes, size, size))
    for index in net.order():
        cpd = net.cpds[index]
        if not cpd.variable.is_continuous:
            continue
        if not isinstance(cpd, ConditionalGaussian) or cpd.label_parents != (hidden,):
            raise _no_mixture(cpd.variable.name, hidden.name)
        at = [places[parent.name] for parent in cpd.number_parents]
        j = places[cpd.variable.name] = len(places)
        for k, line in enumerate(cpd.regressions):
            slopes = np.array(line.coefficients)
            means[k, j] = line.intercept + slopes @ means[k, at]
            covariances[k, j, :j] = covariances[k, :j, j] = slopes @ covariances[k][at, :j]
            inner = covariances[k][np.ix_(at, at)]
            covariances[k, j, j] = line.sd**2 + slopes @ inner @ slopes
    sds = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return {name: (means[:, j], sds[:, j]) for name, j in places.items()}
