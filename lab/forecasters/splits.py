"""The cells that a forecast is trained on, and the cells that are held out.

The splits stand for three questions: how long does a step take on more GPUs than I have, on four
times as many, and with sizes larger than I have run?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_TRAINED = 3
"""Cells."""
SPAN = 16
"""Least ratio of largest to smallest GPU count for the split that trains on a quarter of the
largest count."""
FEWEST_SIZES = 4


@dataclass(frozen=True)
class Split:
    """The held-out cells, as a mask over the cells of the series."""

    kind: str
    left_out: NDArray[np.bool_]

    @property
    def trained(self) -> NDArray[np.bool_]:
        return ~self.left_out


MOST_GPUS = "most GPUs"
FOUR_TIMES = "from a quarter of the GPUs"
LARGER_SIZES = "larger sizes"


def splits_of(n: NDArray[np.float64], gpus: NDArray[np.float64]) -> list[Split]:
    """The splits of cells, without those that train on fewer than three cells.

    If two splits hold out the same cells, the first is kept.
    """
    different: list[Split] = []
    for split in _splits(n, gpus):
        new = not any(np.array_equal(split.left_out, other.left_out) for other in different)
        if new and split.trained.sum() >= FEWEST_TRAINED:
            different.append(split)
    return different


def _splits(n: NDArray[np.float64], gpus: NDArray[np.float64]) -> Iterator[Split]:
    yield Split(MOST_GPUS, gpus == gpus.max())
    if gpus.max() >= SPAN * gpus.min():
        yield Split(FOUR_TIMES, gpus > gpus.max() / 4)
    sizes = np.unique(n)
    if sizes.size >= FEWEST_SIZES:
        # Where the number of sizes is odd, the middle one is trained on.
        yield Split(LARGER_SIZES, n >= sizes[-(sizes.size // 2)])
