"""A source distribution has what pyproject.toml names, and without a header it has no compiled kernel."""

from __future__ import annotations

import tomllib

from tests.conftest import ROOT


def test_all_files_of_the_kernel_are_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (module,) = project["tool"]["setuptools"]["ext-modules"]
    folder = ROOT / "gml" / "kernel"
    files = [*folder.glob("src/*"), *folder.glob("_*.p[yx][xi]")]
    named = [*module["sources"], *module["depends"]]
    assert sorted(named) == sorted(str(file.relative_to(ROOT)) for file in files)
