"""How many jobs fit into a window, job by job and all together: the answers, JSON-ready."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucast.model.fitted import Array
from gpucast.planning import bounds, schedule
from gpucast.planning.capacity import copies
from gpucast.planning.option_table import OptionTable
from gpucast.planning.request import Request
from gpucast.planning.schedule import Schedule

_LONGEST_REPLAY = 5_000


def copies_of(request: Request, table: OptionTable, window: float) -> dict[str, Any]:
    """Copies of each job that fit, were it alone: expected, and with the plan's probability."""
    gpus = [machine.gpus for machine in request.machines]
    expected = copies(table, table.seconds, gpus, window)
    sure = copies(table, table.quantile(request.probability), gpus, window)
    return {
        "window": window,
        "jobs": [
            {
                "job": job.name,
                "copies": int(expected.copies[i].sum()),
                "copies_sure": int(sure.copies[i].sum()),
                "machines": [
                    {
                        "machine": machine.name,
                        "gpus": int(table.gpus[expected.option[i, m]]),
                        "copies": int(expected.copies[i, m]),
                        "gpus_sure": int(table.gpus[sure.option[i, m]]),
                        "copies_sure": int(sure.copies[i, m]),
                    }
                    for m, machine in enumerate(request.machines)
                ],
            }
            for i, job in enumerate(request.jobs)
        ],
    }


class Mix:
    """All simulations of a plan together on the GPUs that exist."""

    def __init__(self, request: Request, table: OptionTable) -> None:
        self._request, self._table = request, table
        self._gpus = [machine.gpus for machine in request.machines]
        self._counts = np.array([job.count for job in request.jobs], dtype=np.int64)
        self._least = bounds.shortest_possible(table, self._counts, self._gpus)

    def best(self) -> Schedule:
        """The best schedule found."""
        return schedule.best(
            self._table, self._counts, self._gpus, self._request.window, self._least
        )

    def answer(self, placed: Schedule, seconds: Array) -> dict[str, Any]:
        """What a schedule does, and what none can.

        ``seconds``: of its tasks in each of B replicates, (B, tasks).
        """
        table, request = self._table, self._request
        total, done, window = int(self._counts.sum()), len(placed.tasks), request.window
        most = total
        if window is not None and done < total:
            most = bounds.most_possible(table, self._counts, self._gpus, window)
        return {
            "copies": total,
            "done": done,
            "share": done / total,
            "most_possible": max(done, most),
            "makespan": placed.makespan,
            "shortest_possible": self._least,
            "late": placed.late,
            "cost": sum(
                float(table.price[task.option]) * (task.end - task.start) for task in placed.tasks
            ),
            "probability": self._probability(placed, seconds),
            "schedule": [
                {
                    "job": request.jobs[task.job].name,
                    "machine": request.machines[int(table.machine[task.option])].name,
                    "gpus": int(table.gpus[task.option]),
                    "start": task.start,
                    "end": task.end,
                }
                for task in placed.tasks
            ],
        }

    def _probability(self, placed: Schedule, seconds: Array) -> float | None:
        """Share of the replicates in which what was placed ends within the window."""
        window = self._request.window
        if window is None or not 0 < len(placed.tasks) <= _LONGEST_REPLAY:
            return None
        ends = schedule.replayed(placed, self._table, self._gpus, seconds)
        return float(np.mean(ends <= window * (1 + 1e-9)))
