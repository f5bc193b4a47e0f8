"""How many jobs fit into a window, job by job and all together: the answers, JSON-ready.

A copy of a job holds its N GPUs from start to end; copies start one after another on the same GPUs;
any N GPUs of a machine are as good as any other N. A job alone runs in floor(G / N) copies at once
on G GPUs, each of them floor(W / T) times within the window W.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning import schedule
from gpucast.answers.planning.option_table import OptionTable
from gpucast.answers.planning.request import Request
from gpucast.answers.planning.sharing import instances
from gpucast.model.forecaster import Array
from gpucast.util import JsonObject

_LONGEST_REPLAY = 5_000
# What lies within rounding of a whole number of runs is one.
_TINY = 1e-9


def copies(
    table: OptionTable, seconds: Array, gpus: Sequence[int], window: float
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """How many copies of each of J jobs fit on each of M machines, were it alone.

    Args:
        seconds: that one copy takes, (J, O): expected, or a quantile.
        gpus: how many GPUs each machine has.
        window: seconds.

    Returns:
        The option of which most copies fit (the cheapest of several), (J, M), and how many do; 0
        where the machine may not run the job or none fits, (J, M).
    """
    options, counts = [], []
    for part, have in zip(table.slices, gpus, strict=True):
        # A third of a GPU is no binary number.
        at_once = np.floor(have / table.gpus[part] * (1 + _TINY))
        runs = np.floor(window / seconds[:, part] * (1 + _TINY))
        fit = np.where(table.allowed[:, part], at_once * runs, 0.0)
        most = fit.max(axis=1)
        cost = np.where(fit == most[:, np.newaxis], table.cost[:, part], np.inf)
        options.append(part.start + np.argmin(cost, axis=1))
        counts.append(np.minimum(most, 2.0**62).astype(np.int64))
    return np.transpose(options), np.transpose(counts)


def copies_of(request: Request, table: OptionTable, window: float) -> JsonObject:
    """Copies of each job that fit, were it alone: expected, and with the plan's probability."""
    gpus = [machine.gpus for machine in request.machines]
    option, expected = copies(table, table.seconds, gpus, window)
    sure_option, sure = copies(table, table.quantile(request.probability), gpus, window)
    return {
        "window": window,
        "jobs": [
            {
                "job": job.name,
                "copies": int(expected[i].sum()),
                "copies_sure": int(sure[i].sum()),
                "machines": [
                    {
                        "machine": machine.name,
                        "gpus": math.ceil(table.gpus[option[i, m]]),
                        "instances": instances(table.gpus[option[i, m]]),
                        "copies": int(expected[i, m]),
                        "gpus_sure": math.ceil(table.gpus[sure_option[i, m]]),
                        "instances_sure": instances(table.gpus[sure_option[i, m]]),
                        "copies_sure": int(sure[i, m]),
                    }
                    for m, machine in enumerate(request.machines)
                ],
            }
            for i, job in enumerate(request.jobs)
        ],
    }


class Mix:
    """All simulations of a plan together on the GPUs that exist, in the best schedule found."""

    def __init__(self, request: Request, table: OptionTable) -> None:
        self._request, self._table = request, table
        self._gpus = [machine.gpus for machine in request.machines]
        self._counts = np.array([job.count for job in request.jobs], dtype=np.int64)
        self._placed = schedule.best(
            table, self._counts, self._gpus, request.window, request.probability
        )

    @property
    def is_in_time(self) -> bool:
        """Whether all simulations are done, and by their deadlines."""
        return not self._placed.left_out and not self._placed.late

    @property
    def cost(self) -> float:
        """What those placed cost, as expected."""
        return self._placed.cost

    @property
    def tasks(self) -> NDArray[np.intp]:
        """Job and option of each simulation placed, (tasks, 2)."""
        tasks = [(task.job, task.option) for task in self._placed.tasks]
        return np.array(tasks, dtype=np.intp).reshape(-1, 2)

    def answer(self, seconds: Array) -> JsonObject:
        """What the schedule does.

        ``seconds``: that its tasks take in each of B replicates, (B, tasks).
        """
        table, request, placed = self._table, self._request, self._placed
        total, done, window = int(self._counts.sum()), len(placed.tasks), request.window
        probability = None
        if window is not None and 0 < done <= _LONGEST_REPLAY:
            ends = schedule.replayed(placed, table, self._gpus, seconds)
            probability = float(np.mean(ends <= window * (1 + _TINY)))
        return {
            "copies": total,
            "done": done,
            "share": done / total,
            "makespan": placed.makespan,
            "late": placed.late,
            "cost": sum(
                float(table.price[task.option]) * (task.end - task.start) for task in placed.tasks
            ),
            "probability": probability,
            "schedule": [
                {
                    "job": request.jobs[task.job].name,
                    "machine": request.machines[int(table.machine[task.option])].name,
                    "gpus": math.ceil(table.gpus[task.option]),
                    "instances": instances(table.gpus[task.option]),
                    "start": task.start,
                    "end": task.end,
                }
                for task in placed.tasks
            ],
        }
