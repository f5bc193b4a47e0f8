"""Pages and notebooks use only the parts of gpucast that docs/reference/python.md lists."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import doc_commands
import gpucast

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "python.md"
OFFERED = set(
    re.findall(
        r"^\.\. auto(?:function|class|exception|module):: (\S+)$", REFERENCE.read_text(), re.M
    )
)
SOURCES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "explanation").glob("*.py")),
    *sorted((ROOT / "notebooks").glob("*.py")),
]


def code_of(path: Path) -> str:
    """The Python code of a page: its examples, fenced or indented."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    examples = [block.text for block in doc_commands.blocks(path) if block.kind == "python"]
    indented = re.findall(r"^    ((?:from gpucast|import gpucast).*)$", text, re.M)
    return "\n".join([*examples, *indented])


def used(code: str) -> Iterator[str]:
    """Full names that code imports of gpucast or asks the package for."""
    tree = ast.parse(code)
    package = {"gpucast"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "gpucast":
                    package.add(alias.asname or alias.name)
                elif alias.name.startswith("gpucast."):
                    yield alias.name
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpucast"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in package
        ):
            yield f"gpucast.{node.attr}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_it_uses_is_documented(path: Path) -> None:
    assert not set(used(code_of(path))) - OFFERED, f"not in {REFERENCE.relative_to(ROOT)}"


def test_all_that_the_package_offers_is_documented_and_is_there() -> None:
    assert {f"gpucast.{name}" for name in gpucast.__all__} <= OFFERED
    for full in OFFERED:
        module, _, name = full.rpartition(".")
        assert hasattr(importlib.import_module(module), name), full


def test_internals_would_be_found() -> None:
    code = "import gpucast as gc\nfrom gpucast import _core\nfrom gpucast.cli.app import run\ngc.x"
    assert set(used(code)) - OFFERED == {"gpucast._core", "gpucast.cli.app.run", "gpucast.x"}
