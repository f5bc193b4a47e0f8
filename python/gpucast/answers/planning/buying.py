"""From how many GPU hours a year on buying a machine is cheaper than renting another."""

from __future__ import annotations

import numpy as np

from gpucast.answers.planning.choices import Comparison
from gpucast.answers.planning.option_table import OptionTable
from gpucast.answers.planning.request import Request
from gpucast.answers.planning.tenure import HOURS_A_YEAR
from gpucast.util import JsonObject


def buying(request: Request, table: OptionTable, comparison: Comparison) -> list[JsonObject]:
    """A row for each machine that is bought and each that is rented: what the jobs that may run on
    both (as often as their counts say, each at its least cost) need of the one and pay on the
    other. Costs without a deadline: see ``front`` for those of each time.

    GPU hours are of all GPUs of the machine together; null: more than a year has.
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
            # A GPU hour on one's own machine has one price, whatever the job.
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
