"""Errors: they can be handed from one process to another."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import gml
from gml.data.problems import NotANumber
from gml.errors import GmlError, MissingTable, parameter
from gml.verbs.shared.swapped import SwappedArguments

MADE_OF_MORE = {
    MissingTable: ("no table of 'a'", ["a"], "count it"),
    NotANumber: ("line 2: not a number", "1,5"),
    SwappedArguments: ("g.json", "a graph", "t.csv"),
}


def _every_kind():
    for module in pkgutil.walk_packages(gml.__path__, "gml."):
        # Some need packages that are not installed.
        try:
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        except ImportError:
            continue
    found, waiting = set(), [GmlError]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting += kind.__subclasses__()
    return sorted(
        (kind for kind in found if kind.__module__.startswith("gml.")), key=lambda k: k.__name__
    )


def test_every_error_survives_pickling():
    kinds = _every_kind()
    assert set(MADE_OF_MORE) < set(kinds)
    for kind in kinds:
        error = kind(*MADE_OF_MORE.get(kind, (f"choose {parameter('missing', 'drop')}",)))
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert (str(again), f"{again}", vars(again)) == (str(error), f"{error}", vars(error))
        assert again.exit_code == error.exit_code
