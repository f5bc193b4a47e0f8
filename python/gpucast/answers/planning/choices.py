"""The choice of an option for each job, the price of a deadline, and the probability of a choice.

For probabilities, all options of a job are compared in each replicate. The replicates r of all
machines' models form one state of the world. (Machines whose models come from one fit share its
replicates, so that common errors cancel.) In each state, every option also deviates from the model
by a draw of its own, as measured cells do (``between_cells``). The options of a job get independent
draws; all jobs get the same ones, which does not affect statements about a single job.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.option_table import OptionTable, of_jobs
from gpucast.model.intervals import Array


@dataclass(frozen=True)
class Choices:
    """Options (positions in the table) chosen for J jobs; meaningless for jobs without any allowed
    option.

    Attributes:
        fastest: the option with the least expected time.
        cheapest: the option with the least expected cost.
        advised: the cheapest option that meets the deadline with the requested probability; the
            most probable one if none does; ``cheapest`` without a deadline.
        met: whether ``advised`` meets the deadline with that probability.
    """

    fastest: NDArray[np.intp]
    cheapest: NDArray[np.intp]
    advised: NDArray[np.intp]
    met: NDArray[np.bool_]


def choose(table: OptionTable, probability: float) -> Choices:
    """Choose options for every job."""
    seconds, cost = table.possible
    sure = np.where(table.meets >= probability, cost, np.inf)
    # The fastest among the options with the same probability of being in time.
    meets = np.where(table.allowed, table.meets, -1.0)
    likeliest = np.lexsort((seconds, -meets), axis=1)[:, 0]
    met = np.asarray(np.any(np.isfinite(sure), axis=1))
    return Choices(
        np.argmin(seconds, axis=1),
        np.argmin(cost, axis=1),
        np.where(met, np.argmin(sure, axis=1), likeliest),
        met,
    )


def fronts(table: OptionTable) -> list[NDArray[np.intp]]:
    """Return the Pareto front of each job in time and cost, fastest first.

    Among options of equal time and cost the first is kept.
    """
    seconds, cost = table.possible
    order = np.lexsort((cost, seconds), axis=1)
    sorted_cost = np.take_along_axis(cost, order, axis=1)
    least: Array = np.minimum.accumulate(sorted_cost, axis=1)
    cheaper = np.ones(order.shape, dtype=np.bool_)
    cheaper[:, 1:] = sorted_cost[:, 1:] < least[:, :-1]
    cheaper &= np.isfinite(sorted_cost)
    return [row[keep] for row, keep in zip(order, cheaper, strict=True)]


@dataclass(frozen=True)
class Comparison:
    """Results of B replicates for J jobs; inf if a machine may not run a job.

    Attributes:
        fastest, cheapest: the fastest and the cheapest option in each replicate, (B, J).
        least_seconds, least_cost: the least values on each machine, (B, J, M).
        wanted_seconds: times of the requested pairs of job and option, (B, pairs).
    """

    fastest: NDArray[np.intp]
    cheapest: NDArray[np.intp]
    least_seconds: Array
    least_cost: Array
    wanted_seconds: Array


def compare(table: OptionTable, wanted: NDArray[np.intp]) -> Comparison:
    """Compare all options in every replicate.

    ``wanted``: pairs of job and option whose times are also returned, (pairs, 2).
    """
    jobs, options = table.seconds.shape
    shape = (table.replicates, jobs)
    result = Comparison(
        np.empty(shape, dtype=np.intp),
        np.empty(shape, dtype=np.intp),
        np.empty((*shape, len(table.slices))),
        np.empty((*shape, len(table.slices))),
        np.empty((table.replicates, wanted.shape[0])),
    )
    barred = None if table.allowed.all() else ~table.allowed
    seconds = np.empty((jobs, options))
    narrow = table.size.shape[1] == 1
    distinct = narrow and np.array_equal(
        table.size[:, 0], np.arange(table.times[0].seconds.shape[0])
    )
    # A replicate at a time: its arrays stay in the processor's cache.
    for replicate in range(table.replicates):
        for part, times in zip(table.slices, table.times, strict=True):
            of_sizes = times.of_replicate(replicate)
            if not distinct:
                of_sizes = of_jobs(of_sizes, table.size if narrow else table.size[:, part])
            np.multiply(of_sizes, table.steps[:, part], out=seconds[:, part])
        seconds += table.setup
        result.wanted_seconds[replicate] = seconds[wanted[:, 0], wanted[:, 1]]
        if barred is not None:
            seconds[barred] = np.inf
        cost = table.cost_of(seconds)
        result.fastest[replicate] = np.argmin(seconds, axis=1)
        result.cheapest[replicate] = np.argmin(cost, axis=1)
        for m, part in enumerate(table.slices):
            result.least_seconds[replicate, :, m] = np.min(seconds[:, part], axis=1)
            result.least_cost[replicate, :, m] = np.min(cost[:, part], axis=1)
    return result
