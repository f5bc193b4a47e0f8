"""The number of GPUs to buy, from a range, so that all jobs end in time at the least cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.jobs import Comparison
from gpucast.answers.planning.option_table import OptionTable, make
from gpucast.answers.planning.request import Machine, Request
from gpucast.answers.planning.schedule import mix_of
from gpucast.answers.planning.tenure import HOURS_A_YEAR
from gpucast.util import JsonObject

_MOST_PLACED = 20_000
"""Limit of the copies placed in all schedules that search for the count of least cost."""

_FEWEST_COUNTS = 8
_TINY = 1e-9


def decided(request: Request) -> tuple[Request, JsonObject | None]:
    """Return the request with the number of GPUs to buy, and the answer about it; the request
    unchanged and None if no machine has a range.

    A count is sufficient if a schedule was found that ends all simulations within the window and by
    their deadlines, with the plan's probability. To find the smallest such count, larger counts are
    assumed to be sufficient as well. A larger count may cost less, because jobs are not forced to
    expensive GPU counts; the cost of idle GPUs is not known. Therefore the sufficient count with
    the cheapest schedule is taken, the smallest of several. If even the largest count is not
    sufficient, the plan uses it.
    """
    at = next((i for i, m in enumerate(request.machines) if m.gpus_least is not None), None)
    if at is None:
        return request, None
    machine = request.machines[at]
    purchase = _Purchase(request, at)
    counts = _to_buy(machine)
    first = bisect_left(counts, True, key=lambda gpus: purchase.cost(gpus) < np.inf)
    enough = purchase.cheapest(counts[first:])
    answer = {
        "machine": machine.name,
        "least": machine.gpus_least,
        "most": machine.gpus,
        "gpus": enough,
        "fewest": counts[first] if enough else None,
        "fewest_cost": purchase.cost(counts[first]) if enough and not request.unpriced else None,
        "never_in_time": purchase.never_in_time(),
    }
    return with_gpus(request, at, enough or machine.gpus), answer


def with_gpus(request: Request, at: int, gpus: int) -> Request:
    """Return the request with this many GPUs on its machine at a position."""
    machines = list(request.machines)
    counts = machines[at].gpu_counts
    fewer = None if counts is None else [count for count in counts if count <= gpus]
    machines[at] = replace(machines[at], gpus=gpus, gpu_counts=fewer)
    return replace(request, machines=machines)


def _to_buy(machine: Machine) -> Sequence[int]:
    """The counts of a machine's range that fill whole hosts; all counts if there are none."""
    assert machine.gpus_least is not None
    counts = range(machine.gpus_least, machine.gpus + 1)
    per_host = machine.gpus_per_host or 1
    return [count for count in counts if count % per_host == 0] or counts


class _Purchase:
    """Schedules of a request with fewer GPUs of its machine at a position."""

    def __init__(self, request: Request, at: int) -> None:
        self._request, self._at = request, at
        self._table = make(request)
        self._costs: dict[int, float] = {}

    def cost(self, gpus: int) -> float:
        """The cost of the best schedule with these GPUs; inf if they are not sufficient."""
        if gpus not in self._costs:
            request = with_gpus(self._request, self._at, gpus)
            self._costs[gpus] = _cost(request, self._table.within(request, self._at))
        return self._costs[gpus]

    def cheapest(self, counts: Sequence[int]) -> int | None:
        """The cheapest of these ascending counts; None if none is sufficient."""
        copies = sum(job.count for job in self._request.jobs)
        most = max(_FEWEST_COUNTS, _MOST_PLACED // copies)
        if len(counts) > most:
            # Evenly spaced from the first.
            counts = [counts[i] for i in np.linspace(0, len(counts) - 1, most).astype(int)]
        least = self._least_cost(counts) * (1 + _TINY)
        tried: list[int] = []
        for gpus in counts:
            tried.append(gpus)
            if self.cost(gpus) <= least:
                break
        # Draws of another table differ a little: the bought count must be sufficient by its own.
        for gpus in sorted(tried, key=lambda count: (self.cost(count), count)):
            request = with_gpus(self._request, self._at, gpus)
            if self.cost(gpus) < np.inf and _cost(request, make(request)) < np.inf:
                return gpus
        return None

    def never_in_time(self) -> list[JsonObject]:
        """Jobs that would not end in time even alone, on any count of any machine, and the number
        of these GPUs on which each is fastest (None: it may not run there)."""
        part = self._table.slices[self._at]
        seconds = self._table.possible[0][:, part]
        return [
            {
                "job": self._request.jobs[i].name,
                "gpus": None
                if np.isinf(seconds[i]).all()
                else math.ceil(self._table.gpus[part][np.argmin(seconds[i])]),
            }
            for i in np.flatnonzero(~self._in_time().any(axis=1))
        ]

    def _least_cost(self, counts: Sequence[int]) -> float:
        """A lower bound of the cost of schedules in time with any of these counts: each copy has
        its cheapest option in time, at the lowest price."""
        requests = (with_gpus(self._request, self._at, gpus) for gpus in counts)
        tables = (self._table.within(request, self._at) for request in requests)
        prices = [self._table.price, *(table.price for table in tables)]
        cheapest = replace(self._table, price=np.min(prices, axis=0))
        cost = np.where(self._in_time(), cheapest.cost, np.inf)
        return float(cost.min(axis=1) @ [job.count for job in self._request.jobs])

    def _in_time(self) -> NDArray[np.bool_]:
        """Whether a job alone ends in time with an option, (J, O)."""
        table, window = self._table, self._request.window
        limit = np.minimum(table.limit, np.inf if window is None else window)
        slow = table.quantile(self._request.probability)
        return np.asarray(table.allowed & (slow <= limit * (1 + _TINY)), dtype=np.bool_)


def _cost(request: Request, table: OptionTable) -> float:
    """The cost of the best schedule; inf if it does not end all jobs in time."""
    if not table.allowed.any(axis=1).all():
        return float("inf")
    mix = mix_of(request, table)
    return float("inf") if mix.left_out or mix.late else mix.cost


# The number of GPU hours per year above which buying a machine is cheaper than renting one.


def buying(request: Request, table: OptionTable, comparison: Comparison) -> list[JsonObject]:
    """Return a row for each pair of a bought and a rented machine: the GPU hours that jobs allowed
    on both need on the first, and their cost on the second.

    Jobs are repeated by their counts, each at its least cost without a deadline (``front`` has the
    costs by time).

    GPU hours are summed over the GPUs of the machine; null: more than a year has.
    """
    cost = np.array([table.possible[1][:, part].min(axis=1) for part in table.slices]).T
    drawn, counts = comparison.least_cost, np.array([job.count for job in request.jobs])
    rows: list[JsonObject] = []
    for own, machine in enumerate(request.machines):
        for other, rented in enumerate(request.machines):
            both = np.isfinite(cost[:, own]) & np.isfinite(cost[:, other])
            if machine.bought is None or rented.bought is not None or not both.any():
                continue
            if request.unpriced:
                continue
            # A GPU hour on an own machine has the same price for all jobs.
            price, many = machine.gpu_hour, counts[both]
            hours = (cost[both, own] @ many, drawn[:, both, own] @ many)
            paid = (cost[both, other] @ many, drawn[:, both, other] @ many)
            rents = [money / (costs / price) for money, costs in zip(paid, hours, strict=True)]
            pays = [
                machine.gpus * machine.bought.pays_from(rent, machine.hosts_per_gpu)
                for rent in rents
            ]
            stated = machine.gpus * HOURS_A_YEAR * machine.bought.use
            low, high = np.quantile(pays[1], [0.05, 0.95], method="inverted_cdf")
            year = machine.gpus * HOURS_A_YEAR
            ends = [None if one > year else float(one) for one in (pays[0], low, high)]
            rows.append(
                {
                    "machine": machine.name,
                    "gpus": machine.gpus,
                    "beside": rented.name,
                    "cost_per_gpu_hour": price,
                    "rent_per_gpu_hour": float(rents[0]),
                    **dict(zip(("pays_from", "low", "high"), ends, strict=True)),
                    "gpu_hours_a_year": stated,
                    "probability": round(float(np.mean(pays[1] <= stated)), 9),
                }
            )
    return rows
