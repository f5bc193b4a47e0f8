"""The number of GPU hours per year above which buying a machine is cheaper than renting one."""

from __future__ import annotations

import numpy as np

from gpucast.answers.planning.choices import Comparison
from gpucast.answers.planning.option_table import OptionTable
from gpucast.answers.planning.request import Request
from gpucast.answers.planning.tenure import HOURS_A_YEAR
from gpucast.util import JsonObject


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
