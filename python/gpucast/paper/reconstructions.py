"""Models of machines that nobody measured for us, put together from public figures.

Their files lie in ``data/reconstructed``: ``gpucast.model/1`` as a fit writes it, with a
``reconstruction`` beside the parameters that says for every quantity where it comes from. They are
models, never datasets: what was not measured must not be taken for a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucast.data.bundled import reconstructed_files
from gpucast.model.fitted import Model, load_model


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


def reconstructions() -> list[Model]:
    """The bundled reconstructions."""
    return [load_model(path) for path in reconstructed_files().values()]


def quantities(model: Model) -> list[Quantity]:
    """What a reconstruction is made of."""
    return [Quantity(**each) for each in (model.reconstruction or {"quantities": []})["quantities"]]
