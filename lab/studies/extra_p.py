"""Extra-P's forecasts of the same data, made by extrap_models.py in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from gpucast.data.dataset import Dataset
from gpucast.data.formats.extrap import write_text

PYTHON = Path(__file__).resolve().parents[2] / ".venv-extrap" / "bin" / "python"


class Fit(TypedDict, total=False):
    """Seconds at the points, and how long (s) modelling took; or why there are none."""

    forecast: list[float]
    elapsed: float
    error: str


def available() -> bool:
    """Whether Extra-P is there."""
    return PYTHON.exists()


def fits(data: Sequence[Dataset], points: Sequence[tuple[float, float]]) -> dict[str, list[Fit]]:
    """Extra-P's fit of each dataset, forecasting the points (n, N), by its options."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "points.json"
        at.write_text(json.dumps(points), encoding="utf-8")
        files = [Path(folder) / f"{number}.txt" for number in range(len(data))]
        for file, dataset in zip(files, data, strict=True):
            file.write_text(write_text(dataset), encoding="utf-8")
        script = Path(__file__).with_name("extrap_models.py")
        answer = subprocess.run(
            [PYTHON, script, at, *files], check=True, capture_output=True, text=True
        )
    found: dict[str, list[Fit]] = json.loads(answer.stdout)
    return found
