"""Models of machines that nobody measured for us, put together from public figures.

Their files lie in ``data/reconstructed``: ``gpucast.model/1`` as a fit writes it, with a
``reconstruction`` beside the parameters that says for every quantity where it comes from. They are
models, never datasets: what was not measured must not be taken for a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpucast.datasets import data_folders
from gpucast.models import Model, load_model

USUAL_SIZES = (216.0, 1e6)
"""Particles, least and greatest, where no size was measured."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of a reconstruction.

    Attributes:
        name, unit, meaning: SI.
        value: the most likely.
        low, high: bounds of what is held possible; None: taken as known.
        source: the public figure that the value comes from, or None.
        assumed: why the value was assumed, or None; exactly one of the two is there.
        range: what the bounds rest on.
    """

    name: str
    unit: str
    meaning: str
    value: float
    low: float | None = None
    high: float | None = None
    source: str | None = None
    assumed: str | None = None
    range: str | None = None


def reconstructed_files() -> dict[str, Path]:
    """Files of the bundled reconstructions by name, sorted by name."""
    found: dict[str, Path] = {}
    for folder in data_folders():
        for file in folder.glob("reconstructed/*.json"):
            found.setdefault(file.stem, file)
    return dict(sorted(found.items()))


def reconstructions() -> list[Model]:
    """The bundled reconstructions."""
    return [load_model(path) for path in reconstructed_files().values()]


def about(model: Model) -> dict[str, Any] | None:
    """What a reconstruction says of itself (title, label, path); None for any other model."""
    found = model.reconstruction
    return None if found is None else {k: v for k, v in found.items() if k != "quantities"}


def sizes_to_show(model: Model) -> tuple[float, float]:
    """Least and greatest n to show of a model: those fitted, of a reconstruction the usual ones."""
    least, largest = model.domain.n if about(model) is None else USUAL_SIZES
    return float(least), float(largest)


def quantities(model: Model) -> list[Quantity]:
    """What a reconstruction is made of."""
    return [Quantity(**each) for each in (model.reconstruction or {"quantities": []})["quantities"]]
