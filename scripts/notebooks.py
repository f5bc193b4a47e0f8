"""Run the notebooks: sources notebooks/*.py, pages notebooks/*.ipynb.

    python scripts/notebooks.py [NAME...]     # by default all

A notebook's source is a Python file in Jupytext's percent format, which diffs, formatters and
linters understand. The page is the same with outputs, for reading on the web; it holds nothing that
changes from run to run. A cell that fails, an assertion among them, stops everything.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from gpucast.util import files

FOLDER = Path(__file__).parents[1] / "notebooks"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
LONGEST_CELL = 600  # seconds after which a cell counts as hung


def names() -> list[str]:
    """Names of all notebooks, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def source(name: str) -> nbformat.NotebookNode:
    """The notebook of a source, without outputs."""
    notebook = jupytext.read(FOLDER / f"{name}.py", fmt="py:percent")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{name}-{number}"[:64]
        cell.metadata = nbformat.from_dict({})
    return notebook


def executed(name: str) -> nbformat.NotebookNode:
    """The same with outputs, run in its folder. Raises nbclient's CellExecutionError."""
    notebook = source(name)
    with tempfile.TemporaryDirectory() as sockets:
        # Sockets that are files: no port can be taken already, and nobody else can listen.
        ipc = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        NotebookClient(
            notebook,
            config=ipc,
            kernel_name=KERNEL["name"],
            timeout=LONGEST_CELL,
            resources={"metadata": {"path": str(FOLDER)}},
            record_timing=False,
        ).execute()
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    return notebook


def render(chosen: list[str]) -> None:
    """Write the pages of the named notebooks."""
    for name in chosen:
        begin = time.monotonic()
        page = nbformat.writes(executed(name)) + "\n"
        files.write_text(FOLDER / f"{name}.ipynb", page, force=True)
        size, seconds = len(page) / 1e3, time.monotonic() - begin
        print(f"{name}.ipynb: {size:.0f} kB, {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    render(sys.argv[1:] or names())
