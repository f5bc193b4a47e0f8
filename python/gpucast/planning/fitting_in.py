"""How many jobs fit into a window, job by job and all together: the answers, JSON-ready."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.models import Array
from gpucast.planning import schedule
from gpucast.planning.capacity import copies
from gpucast.planning.comparing import Comparison
from gpucast.planning.grid import Grid
from gpucast.planning.request import Request
from gpucast.planning.schedule import Schedule

_LONGEST_REPLAY = 5_000


def copies_of(request: Request, grid: Grid, window: float) -> dict[str, Any]:
    """Copies of each job that fit, were it alone: expected, and with the plan's probability."""
    gpus = [machine.gpus for machine in request.machines]
    expected = copies(grid, grid.seconds, gpus, window)
    sure = copies(grid, grid.quantile(request.probability), gpus, window)
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
                        "gpus": int(grid.gpus[expected.option[i, m]]),
                        "copies": int(expected.copies[i, m]),
                        "gpus_sure": int(grid.gpus[sure.option[i, m]]),
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

    def __init__(self, grid: Grid, gpus: list[int], counts: NDArray[np.int64]) -> None:
        # A job that can meet its deadline gets no option that would miss it even when alone.
        in_time = grid.allowed & (grid.seconds <= grid.limit)
        possible = in_time.any(axis=1, keepdims=True)
        self._grid = dataclasses.replace(grid, allowed=np.where(possible, in_time, grid.allowed))
        self._gpus = gpus
        self._counts = counts.astype(np.int64)

    def best(self, window: float | None) -> Schedule:
        """The best schedule found."""
        grid = self._grid
        return schedule.best(grid, grid.seconds, self._counts, self._gpus, window)

    def answer(
        self,
        request: Request,
        placed: Schedule,
        comparison: Comparison,
    ) -> dict[str, Any]:
        """What a schedule does, and what none can."""
        grid, total, window = self._grid, int(self._counts.sum()), request.window
        done = len(placed.tasks)
        late = sum(
            task.end > grid.limit[task.job, task.option] * (1 + 1e-9) for task in placed.tasks
        )
        spent = sum(
            float(grid.price[task.option]) * (task.end - task.start) for task in placed.tasks
        )
        least = schedule.shortest_possible(grid, grid.seconds, self._counts, self._gpus)
        most = total
        if window is not None and done < total:
            most = schedule.most_possible(grid, grid.seconds, self._counts, self._gpus, window)
        return {
            "copies": total,
            "done": done,
            "share": done / total,
            "most_possible": max(done, most),
            "makespan": placed.makespan,
            "shortest_possible": least,
            "late": late,
            "cost": spent,
            "probability": self._probability(placed, comparison.chosen_seconds, window),
            "schedule": [
                {
                    "job": request.jobs[task.job].name,
                    "machine": request.machines[int(grid.machine[task.option])].name,
                    "gpus": int(grid.gpus[task.option]),
                    "start": task.start,
                    "end": task.end,
                }
                for task in placed.tasks
            ],
        }

    def _probability(self, placed: Schedule, seconds: Array, window: float | None) -> float | None:
        """Share of the replicates in which what was placed ends within the window."""
        if window is None or not 0 < len(placed.tasks) <= _LONGEST_REPLAY:
            return None
        ends = schedule.replayed(placed, self._grid, self._gpus, seconds)
        return float(np.mean(ends <= window * (1 + 1e-9)))
