"""How many GPUs to buy, of a range: as many as let all jobs be done in time at the least cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.option_table import OptionTable, make
from gpucast.answers.planning.request import Machine, Request
from gpucast.answers.planning.schedule import mix_of
from gpucast.util import JsonObject

_MOST_PLACED = 20_000
"""Copies placed, all schedules together, to see which count costs least."""

_FEWEST_COUNTS = 8
_TINY = 1e-9


def decided(request: Request) -> tuple[Request, JsonObject | None]:
    """The request with as many GPUs as should be bought, and the answer about them; as it is, and
    None, where no machine has a range.

    Enough are GPUs with which a schedule was found that does all simulations within the window and
    by their deadlines, with the plan's probability. With more GPUs one is found, too: that is taken
    for granted to find the fewest. More may cost less, as jobs need not squeeze in beside one
    another on counts at which they are dear; what GPUs cost while no job runs on them is not
    known. So of all that are enough those are taken whose schedule costs least, the fewest of
    several. Where even the most are not enough, the plan is for these.
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
    """The request with this many GPUs of its machine at a position."""
    machines = list(request.machines)
    counts = machines[at].gpu_counts
    fewer = None if counts is None else [count for count in counts if count <= gpus]
    machines[at] = replace(machines[at], gpus=gpus, gpu_counts=fewer)
    return replace(request, machines=machines)


def _to_buy(machine: Machine) -> Sequence[int]:
    """The counts of a machine's range that are whole hosts; all of it, where there are none."""
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
        """The cost of the best schedule found with these GPUs; inf where they are not enough."""
        if gpus not in self._costs:
            request = with_gpus(self._request, self._at, gpus)
            self._costs[gpus] = _cost(request, self._table.within(request, self._at))
        return self._costs[gpus]

    def cheapest(self, counts: Sequence[int]) -> int | None:
        """The count of these, ascending, that costs least; None where none is enough."""
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
        # Draws of another table differ a little: what is bought is enough by its own.
        for gpus in sorted(tried, key=lambda count: (self.cost(count), count)):
            request = with_gpus(self._request, self._at, gpus)
            if self.cost(gpus) < np.inf and _cost(request, make(request)) < np.inf:
                return gpus
        return None

    def never_in_time(self) -> list[JsonObject]:
        """Jobs that no count of any machine lets be in time, were they alone, and on how many of
        these GPUs each is fastest (None: it may not run there)."""
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
        """What no schedule in time on any of these counts can undercut: each copy on its cheapest
        option that is, at the lowest price."""
        requests = (with_gpus(self._request, self._at, gpus) for gpus in counts)
        tables = (self._table.within(request, self._at) for request in requests)
        prices = [self._table.price, *(table.price for table in tables)]
        cheapest = replace(self._table, price=np.min(prices, axis=0))
        cost = np.where(self._in_time(), cheapest.cost, np.inf)
        return float(cost.min(axis=1) @ [job.count for job in self._request.jobs])

    def _in_time(self) -> NDArray[np.bool_]:
        """Whether a job alone is in time with an option, (J, O)."""
        table, window = self._table, self._request.window
        limit = np.minimum(table.limit, np.inf if window is None else window)
        slow = table.quantile(self._request.probability)
        return np.asarray(table.allowed & (slow <= limit * (1 + _TINY)), dtype=np.bool_)


def _cost(request: Request, table: OptionTable) -> float:
    """The cost of the best schedule; inf where it does not do all jobs in time."""
    if not table.allowed.any(axis=1).all():
        return float("inf")
    mix = mix_of(request, table)
    return float("inf") if mix.left_out or mix.late else mix.cost
