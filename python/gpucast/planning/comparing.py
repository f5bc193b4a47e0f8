"""How sure a choice is: all options of a job, compared in each replicate.

Replicate r of every machine's model together are one state of the world. (Machines whose models
come from one fit share its replicates, so what they have in common cancels.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.models import Array
from gpucast.planning.grid import Grid


@dataclass(frozen=True)
class Comparison:
    """What B replicates say of J jobs; inf where a machine may not run a job.

    Attributes:
        fastest, cheapest: the option that is so in each replicate, (B, J).
        least_seconds, least_cost: of each machine, (B, J, M).
        chosen_seconds: of the options that the caller chose, one a machine, (B, J, M).
    """

    fastest: NDArray[np.intp]
    cheapest: NDArray[np.intp]
    least_seconds: Array
    least_cost: Array
    chosen_seconds: Array

    def share_fastest(self, option: NDArray[np.intp]) -> Array:
        """In how many replicates the option given for each job is the fastest, (J)."""
        return np.asarray(np.mean(self.fastest == option, axis=0), dtype=np.float64)

    def share_cheapest(self, option: NDArray[np.intp]) -> Array:
        """In how many replicates the option given for each job is the cheapest, (J)."""
        return np.asarray(np.mean(self.cheapest == option, axis=0), dtype=np.float64)


def compare(grid: Grid, chosen: NDArray[np.intp]) -> Comparison:
    """Compare all options in every replicate.

    ``chosen``: options whose times are wanted, one a job and machine, (J, M).
    """
    jobs, options = grid.seconds.shape
    shape = (grid.replicates, jobs)
    result = Comparison(
        np.empty(shape, dtype=np.intp),
        np.empty(shape, dtype=np.intp),
        np.empty((*shape, len(grid.slices))),
        np.empty((*shape, len(grid.slices))),
        np.empty((*shape, len(grid.slices))),
    )
    barred = None if grid.allowed.all() else ~grid.allowed
    seconds = np.empty((jobs, options))
    rows = np.arange(jobs)[:, np.newaxis]
    distinct = np.array_equal(grid.size, np.arange(grid.times[0].seconds.shape[0]))
    # A replicate at a time: its arrays stay in the processor's cache.
    for replicate in range(grid.replicates):
        for part, times in zip(grid.slices, grid.times, strict=True):
            of_sizes = times.of_replicate(replicate)
            np.multiply(
                of_sizes if distinct else of_sizes[grid.size], grid.steps, out=seconds[:, part]
            )
        seconds += grid.setup
        result.chosen_seconds[replicate] = seconds[rows, chosen]
        if barred is not None:
            seconds[barred] = np.inf
        cost = seconds * grid.rate
        result.fastest[replicate] = np.argmin(seconds, axis=1)
        result.cheapest[replicate] = np.argmin(cost, axis=1)
        for m, part in enumerate(grid.slices):
            result.least_seconds[replicate, :, m] = np.min(seconds[:, part], axis=1)
            result.least_cost[replicate, :, m] = np.min(cost[:, part], axis=1)
    return result
