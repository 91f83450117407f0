"""Which combinations of levels a model's tables of −∞ exclude, over any set of its variables.

Each table is asked alone: a combination is impossible if one of them has −∞ for all that continues
it. What only several tables together exclude is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.undirected.potential import Potential

Cells = NDArray[np.bool_]


class Walls:
    """The tables of a model that exclude something, by the variables they are about.

    Examples
    --------
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> walls = Walls([Potential((a, b), np.array([[0.0, -np.inf], [0.0, 0.0]]))])
    >>> walls.possible((b, a)).tolist(), walls.n_excluded(a, b)
    ([[True, True], [False, True]], 1)
    """

    def __init__(self, potentials: Iterable[Potential]) -> None:
        self._about: dict[str, list[Potential]] = {}
        for potential in potentials:
            if not potential.is_finite:
                for name in potential.names:
                    self._about.setdefault(name, []).append(potential)

    def possible(self, scope: Sequence[Variable]) -> Cells:
        """Return which combinations of levels of some variables are not excluded."""
        names = [variable.name for variable in scope]
        found = np.ones([len(variable.levels or ()) for variable in scope], dtype=np.bool_)
        about = {id(wall): wall for name in names for wall in self._about.get(name, ())}
        for wall in about.values():
            gone = tuple(k for k, name in enumerate(wall.names) if name not in names)
            cells = np.asarray(np.isfinite(wall.table).any(axis=gone))
            at = [names.index(name) for name in wall.names if name in names]
            sizes = [n if k in at else 1 for k, n in enumerate(found.shape)]
            found &= cells.transpose(np.argsort(at)).reshape(sizes)
        return found

    def n_excluded(self, a: Variable, b: Variable) -> int:
        """Count the impossible combinations of two variables, each level of which is possible."""
        if a.name not in self._about or b.name not in self._about:
            return 0
        possible = self.possible((a, b))
        alone = possible.any(axis=1, keepdims=True) & possible.any(axis=0, keepdims=True)
        return int(np.count_nonzero(alone & ~possible))
