"""Sizes n and GPU counts of forecasts: checks, grids and spacing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpucast.data.workload import LARGEST_GPUS, LARGEST_N, SMALLEST_N
from gpucast.errors import InputError
from gpucast.model.intervals import Array
from gpucast.util.units import EXACT

Numbers = float | Iterable[float]


def as_list(values: Numbers) -> list[float]:
    """Return one number or several as a list.

    Raises:
        InputError: a value is not a number; text is refused even if it has only digits.
    """
    several = values if isinstance(values, Iterable) else (values,)
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        return [float(value) for value in several]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{values!r} is no number or list of numbers") from error


def outer(n: Numbers | Array, gpus: Numbers | Array) -> tuple[Array, Array]:
    """Combine every n with every GPU count into two flat arrays, in which GPU counts vary
    fastest."""
    sizes = np.array(as_list(n))
    counts = np.array(as_list(gpus))
    return np.repeat(sizes, counts.size), np.tile(counts, sizes.size)


def whole_numbers(n: Array) -> NDArray[np.generic]:
    """Return sizes as integers if all of them are whole numbers."""
    whole = bool(np.all((n == np.floor(n)) & (n < EXACT)))
    return n.astype(np.int64) if whole else n


def grain_of(*sizes: float) -> float:
    """Return the resolution of sizes between these: 1 if all are whole numbers, else a millionth of
    the least, which is finer than any measurement."""
    return 1.0 if all(float(n).is_integer() for n in sizes) else 1e-6 * min(sizes)


def rounded(n: Array, grain: float) -> Array:
    """Round sizes to multiples of a grain."""
    return np.round(n) if grain == 1 else np.round(n / grain) * grain


def spaced(low: float, high: float, count: int) -> Array:
    """Return sizes spread evenly in the logarithm; fewer if rounding to whole numbers merges
    some."""
    between = rounded(np.geomspace(low, high, count), grain_of(low, high))
    return np.unique(np.clip(between, low, high))


SAME_SIZE = 1e-12
"""Sizes with a smaller relative difference are equal; floats are hardly more precise."""


def checked_sizes(values: Sequence[float] | Array) -> Array:
    """Return sizes n as an array.

    Raises:
        InputError: a size is not a number greater than 0, or it is too large.
    """
    array = np.array(values, dtype=np.float64)
    wrong = array[~((array >= SMALLEST_N) & (array <= LARGEST_N))]
    if wrong.size:
        raise InputError(
            f"{wrong[0]:.12g} is no size greater than 0 and up to {LARGEST_N:.12g}", field="n"
        )
    return array


def checked_counts(values: Sequence[float] | Array) -> Array:
    """Return GPU counts as an array.

    Raises:
        InputError: a count is not a whole number from 1 to the largest.
    """
    array = np.array(values, dtype=np.float64)
    wrong = array[~((array >= 1) & (array <= LARGEST_GPUS) & (array == np.floor(array)))]
    if wrong.size:
        raise InputError(
            f"{wrong[0]:.12g} is no whole number from 1 to {LARGEST_GPUS:.12g}", field="gpus"
        )
    return array
