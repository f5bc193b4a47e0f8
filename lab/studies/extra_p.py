"""Extra-P's forecasts of the same data, made by extrap_models.py in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

from gpucast.data.dataset import Dataset
from gpucast.data.formats.extrap import series

PYTHON = Path(__file__).resolve().parents[2] / ".venv-extrap" / "bin" / "python"

OPTIONS = {
    f"{negative}, {measure}": (negative != "default", measure)
    for negative in ("default", "negative exponents")
    for measure in ("median", "mean")
}
"""Whether exponents may be negative, and what stands for the samples of a point."""


class Fit(TypedDict, total=False):
    """Seconds at the points, and how long (s) modelling took; or why there are none."""

    forecast: list[float]
    elapsed: float
    error: str


@dataclass(frozen=True)
class Line:
    """One model to make: the samples at points of its parameters, and the points asked for."""

    parameters: Sequence[str]
    points: Sequence[Sequence[float]]
    seconds: Sequence[Sequence[float]]
    asked: Sequence[Sequence[float]]


def available() -> bool:
    """Whether Extra-P is there."""
    return PYTHON.exists()


def models(lines: Sequence[Line], options: Mapping[str, tuple[bool, str]]) -> dict[str, list[Fit]]:
    """Extra-P's fit of each line, by its options."""
    answer = subprocess.run(
        [PYTHON, Path(__file__).with_name("extrap_models.py")],
        input=json.dumps({"lines": [asdict(line) for line in lines], "options": options}),
        check=True,
        capture_output=True,
        text=True,
    )
    fits: dict[str, list[Fit]] = json.loads(answer.stdout)
    return fits


def fits(data: Sequence[Dataset], points: Sequence[tuple[float, float]]) -> dict[str, list[Fit]]:
    """Extra-P's fit of the steps of each dataset, forecasting the points (n, N), by its options."""
    lines = []
    for dataset in data:
        (samples,) = series(dataset).values()
        lines.append(Line(("n", "gpus"), list(samples), list(samples.values()), points))
    return models(lines, OPTIONS)
