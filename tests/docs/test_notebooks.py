"""Every notebook runs from its source, and its page shows what it says today.

The notebooks assert what they claim, so a claim that no longer holds fails here.
"""

import csv
import math
import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest

import gpucast as gc

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
LARGEST = 1_500_000  # bytes of a page


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))


def test_there_is_one_for_each_document_one_for_the_figures_and_one_for_newcomers() -> None:
    assert [name for name in NAMES if name[0].isdigit()] == [
        "1-performance-model",
        "2-peer-access",
        "3-page-locked-memory",
        "4-faster-copies",
        "5-pcie-contention",
    ]
    assert {"paper-figures", "your-timings"} <= set(NAMES)
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_and_its_page_is_up_to_date(name: str, script: dict[str, Any]) -> None:
    page = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    fresh = script["executed"](name)  # raises if a cell fails, including assertions
    hint = f"run make notebooks: {name}.ipynb is not made from {name}.py as it is"
    assert [(c.cell_type, c.source) for c in page.cells] == [
        (c.cell_type, c.source) for c in fresh.cells
    ], hint
    assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST
    assert kinds(page) == kinds(fresh), hint
    for was, now in zip(said(page), said(fresh), strict=True):
        assert NUMBER.sub("#", was) == NUMBER.sub("#", now), hint
        for a, b in zip(NUMBER.findall(was), NUMBER.findall(now), strict=True):
            assert close(a, b), f"{a} is now {b} in: {now}\n{hint}"


def kinds(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """The kind of each output: a picture, a table, a text."""
    return [
        [max(output.get("data", {"stream": ""}), key=len) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def said(notebook: nbformat.NotebookNode) -> list[str]:
    """The answers in words, which hold the numbers that a notebook claims."""
    return [
        output.data["text/markdown"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/markdown" in output.get("data", {})
    ]


def close(a: str, b: str) -> bool:
    """Machines differ in the last digits, and bootstraps by a per cent."""
    first, second = (float(number.replace(",", "")) for number in (a, b))
    return math.isclose(first, second, rel_tol=0.1, abs_tol=1)


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_as_an_article(name: str, script: dict[str, Any]) -> None:
    cells = script["source"](name).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for needed in ("## Caveats", "**Sources.**"):
        assert needed in text
    assert "uestion" in text or "How many GPUs" in text


@pytest.mark.parametrize("name", NAMES)
def test_its_page_changes_only_with_what_it_says(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    for varying in ("/tmp/", " object at 0x", "iopub.", "Traceback"):
        assert varying not in text


def test_the_timings_are_rows_of_the_dataset() -> None:
    data = gc.load("h200-x4-mixed").select(
        machine="h200-a/native", schedule="star-serial", kernel="claret", memory="pageable"
    )
    samples = {(s.n, s.gpus, x) for s in data.steps for x in s.seconds}
    copies = {(t.bytes, t.route, x) for t in data.transfers for x in t.seconds}
    steps = rows("timings.csv")
    assert all((int(r["n"]), int(r["gpus"]), float(r["seconds"])) in samples for r in steps)
    assert {r["gpus"] for r in steps} == {"1", "2"}
    transfers = rows("transfers.csv")
    assert all((int(r["bytes"]), r["route"], float(r["seconds"])) in copies for r in transfers)


def rows(name: str) -> list[dict[str, str]]:
    with open(FOLDER / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))
