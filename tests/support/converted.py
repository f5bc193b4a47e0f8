"""What bundled datasets that a committed script makes have in common."""

from __future__ import annotations

import runpy
from collections.abc import Collection
from pathlib import Path

from gpucast import load

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"


def assert_as_committed(script: str, folder: Path, names: Collection[str]) -> None:
    """A script of ``lab/data/`` makes these datasets, byte by byte those of the folder."""
    made = runpy.run_path(str(ROOT / "lab" / "data" / script))["datasets"]()
    assert sorted(made) == sorted(names)
    for name, text in made.items():
        committed = (folder / f"{name}.jsonl").read_bytes()
        assert committed == text.encode(), f"run python lab/data/{script}"


def assert_described(name: str) -> None:
    """A dataset has a title, and its machines sources and caveats."""
    data = load(name)
    assert data.title()
    assert data.warnings == []
    assert all(machine.source and machine.caveats for machine in data.machines.values())
