"""Run the example notebook and write down what its cells show.

    python docs/run_notebook.py            # or: make pictures

The file is the same after each run: cells are numbered rather than named at random, and neither
times nor versions are kept.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "asia.ipynb"
_SECONDS = 120


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook as it is after all cells ran in its folder; an error in one is raised."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # The kernel listens at files of a folder of its own, not at ports that anybody can reach.
        listening = {"transport": "ipc", "ip": f"{folder}/kernel"}
        client = NotebookClient(
            notebook,
            timeout=_SECONDS,
            kernel_name="python3",
            record_timing=False,
            config=Config({"KernelManager": listening}),
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.execute()
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
    return notebook


def readings(notebook: nbformat.NotebookNode) -> list[Any]:
    """What the outputs of each cell say: their kinds, and the text of all but pictures."""
    return [
        [_reading(output) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _reading(output: nbformat.NotebookNode) -> dict[str, str]:
    if output.output_type == "stream":
        return {output.name: output.text}
    return {
        kind: "" if kind == "image/svg+xml" else _without_pictures(text)
        for kind, text in output.data.items()
    }


def _without_pictures(text: str) -> str:
    return re.sub(r"<svg .*?</svg>", "<svg/>", text, flags=re.DOTALL)


if __name__ == "__main__":
    nbformat.write(executed(NOTEBOOK), NOTEBOOK)
