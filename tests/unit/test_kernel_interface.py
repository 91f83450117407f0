"""Both kernels have the functions and classes of the interface, with its parameters."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import gml.kernel
from gml.kernel import (
    expectation_interface,
    held_interface,
    interface,
    matrix_interface,
    reference,
)

FOLDER = Path(gml.kernel.__file__).parent
MEMBERS = {
    name: member
    for kind in (
        matrix_interface.MatrixKernel,
        expectation_interface.ExpectationKernel,
        held_interface.HeldTablesKernel,
        interface.Kernel,
    )
    for name, member in vars(kind).items()
    if not name.startswith("_")
}
CLASSES = sorted(name for name in MEMBERS if name[0].isupper())


def parameters(function):
    """Names and defaults, without the one that a method is called on."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.default) for p in found if p.name != "self"]


def compiled_constructor(name):
    """The parameters of a compiled class, which only its source tells."""
    source = "".join(path.read_text() for path in sorted(FOLDER.glob("_*.p[yx][xi]")))
    after = source[source.index(f"cdef class {name}:") :]
    listed = re.search(r"def __c?init__\(self,(.*?)\):", after, re.DOTALL)[1]
    names = [part.split()[-1] for part in re.sub(r"\[[^]]*\]", "", listed).split(",")]
    return [(part, inspect.Parameter.empty) for part in names]


@pytest.fixture(params=["compiled", "reference"])
def kernel(request):
    return reference if request.param == "reference" else pytest.importorskip("gml.kernel._kernel")


def test_the_reference_offers_nothing_else():
    assert sorted(reference.__all__) == sorted(MEMBERS)


def test_the_compiled_kernel_offers_nothing_else():
    compiled = pytest.importorskip("gml.kernel._kernel")
    own = [
        name
        for name, member in vars(compiled).items()
        if not name.startswith("_") and getattr(member, "__module__", "") == compiled.__name__
    ]
    chosen = {"instructions", "limit_instructions"}
    assert sorted(set(own) - chosen) == sorted(MEMBERS)


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_parameters(kernel, name):
    wanted = parameters(MEMBERS[name])
    if name in CLASSES and kernel is not reference:
        assert compiled_constructor(name) == wanted
    else:
        assert parameters(getattr(kernel, name)) == wanted


@pytest.mark.parametrize("name", CLASSES)
def test_methods_of_classes(kernel, name):
    returned = MEMBERS[name].__annotations__["return"]
    protocol, found = getattr(interface, returned), getattr(kernel, name)
    for member, wanted in vars(protocol).items():
        if member.startswith("_"):
            continue
        if isinstance(wanted, property):
            # What the reference sets when it is made is not in the class.
            assert hasattr(found, member) or f"self.{member}" in inspect.getsource(found)
        else:
            assert parameters(getattr(found, member)) == parameters(wanted)


def test_the_kernel_in_use_is_one_of_them():
    assert gml.kernel.active().__name__ in ("gml.kernel._kernel", "gml.kernel.reference")
