"""Step times of made-up programs that are not ours, known by these alone; and fits to them."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.model.fitted import Model
from made_data import HERE, dataset

SIZES = (24_000, 96_000, 409_000, 1_067_000)
COUNTS = (1, 2, 4)
TIMESTEP = 2e-15

Seconds = Callable[[float, int], float]


def cutoff(n: float, gpus: int) -> float:
    """Step time (s) of a molecular-dynamics program with neighbour lists."""
    share = n / gpus
    alone = 0.16e-3 + 6.3e-9 * share
    if gpus == 1:
        return alone
    return alone + 0.09e-3 + 0.02e-3 * gpus + 0.066e-6 * share ** (2 / 3) + 0.35e-9 * n


def records(
    seconds: Seconds = cutoff,
    sizes: Sequence[float] = SIZES,
    counts: Sequence[int] = COUNTS,
    *,
    sigma: float = 0.01,
    **about: Any,
) -> Dataset:
    """Three steps of each cell; ``about``: further fields of the records."""
    rng = np.random.default_rng(7)
    stated = {"program": "md", "unit": "atoms", "timestep": TIMESTEP, **about}
    step = {"kind": "step", **HERE}
    step |= {key: value for key, value in stated.items() if value is not None}
    steps = [
        step
        | {"n": n, "gpus": gpus, "seconds": (seconds(n, gpus) * rng.normal(1, sigma, 3)).tolist()}
        for n in sizes
        for gpus in counts
    ]
    return dataset([{"kind": "machine", "id": "m"}, *steps], name="md")


def fitted(data: Dataset) -> Model:
    """The fit of a program that is not ours."""
    model = gc.fit(data, model="scaling")
    assert model.scaling is not None
    return model


@cache
def md() -> Model:
    """The fit of ``cutoff`` at all its sizes and counts."""
    return fitted(records())
