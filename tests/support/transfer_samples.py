"""Copies whose times follow known curves."""

from collections.abc import Callable
from typing import Any

import numpy as np

from made_data import transfer

SIZES = [size for power in range(6, 29) for size in (2**power, 3 * 2**power // 2 - 1)]


def records(
    seconds: Callable[[int], float], route: str = "h2d", sizes: list[int] = SIZES, **other: Any
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    return [
        transfer(route, size, seconds(size) * np.exp(0.005 * rng.standard_normal(7)), **other)
        for size in sizes
    ]


def straight(size: int) -> float:
    return 2e-6 + size / 5e10


def two_kernels(size: int) -> float:
    """An aligned copy, and one that moves byte by byte."""
    return 2e-6 + size / 2e12 if size % 16 == 0 else 2.6e-6 + size / 5e11
