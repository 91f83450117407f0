"""The example notebook runs, and shows what it says it shows."""

from __future__ import annotations

import nbformat
import pytest

from tests.scripts import script

# The packages that run notebooks warn of one another.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The notebook as it is kept, and as it is after a run that nothing of the user's touches."""
    run_notebook = script("run_notebook")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        return (
            nbformat.read(run_notebook.NOTEBOOK, as_version=4),
            run_notebook.executed(run_notebook.NOTEBOOK),
        )


def test_every_cell_shows_what_the_file_has(pages):
    kept, now = pages
    readings = script("run_notebook").readings
    assert readings(now) == readings(kept), "run make pictures"


def test_the_file_is_valid_and_as_the_script_writes_it(pages):
    kept, now = pages
    nbformat.validate(kept)
    assert [cell.id for cell in kept.cells] == [cell.id for cell in now.cells]
    assert kept.metadata == now.metadata


def test_it_shows_pictures_and_tables(pages):
    kinds = {
        kind
        for cell in pages[0].cells
        if cell.cell_type == "code"
        for output in cell.outputs
        for kind in output.data
    }
    assert kinds == {"image/svg+xml", "text/html", "text/plain"}
