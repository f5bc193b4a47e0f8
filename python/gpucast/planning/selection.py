"""Which option a job should get, and what a deadline costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.model.forecaster import Array
from gpucast.planning.option_table import OptionTable


@dataclass(frozen=True)
class Choices:
    """Options (positions in the table) chosen for J jobs.

    Attributes:
        possible: whether any option is allowed; without one the others mean nothing.
        fastest: least expected time.
        cheapest: least expected cost.
        advised: the cheapest of those that meet the deadline with the probability asked for; the
            likeliest to meet it where none does; ``cheapest`` without a deadline.
        met: whether ``advised`` meets the deadline with that probability.
    """

    possible: NDArray[np.bool_]
    fastest: NDArray[np.intp]
    cheapest: NDArray[np.intp]
    advised: NDArray[np.intp]
    met: NDArray[np.bool_]


def choose(table: OptionTable, probability: float) -> Choices:
    """Choose for every job."""
    seconds, cost = table.possible
    sure = np.where(table.meets >= probability, cost, np.inf)
    likeliest = np.argmax(np.where(table.allowed, table.meets, -1.0), axis=1)
    met = np.asarray(np.any(np.isfinite(sure), axis=1))
    return Choices(
        np.asarray(np.any(table.allowed, axis=1)),
        np.argmin(seconds, axis=1),
        np.argmin(cost, axis=1),
        np.where(met, np.argmin(sure, axis=1), likeliest),
        met,
    )


def fronts(table: OptionTable) -> list[NDArray[np.intp]]:
    """For each job the options that no other beats in both time and cost, fastest first.

    Of options of equal time and cost the first is kept.
    """
    seconds, cost = table.possible
    order = np.lexsort((cost, seconds), axis=1)
    sorted_cost = np.take_along_axis(cost, order, axis=1)
    least: Array = np.minimum.accumulate(sorted_cost, axis=1)
    cheaper = np.ones(order.shape, dtype=np.bool_)
    cheaper[:, 1:] = sorted_cost[:, 1:] < least[:, :-1]
    cheaper &= np.isfinite(sorted_cost)
    return [row[keep] for row, keep in zip(order, cheaper, strict=True)]
