"""Launch times of kernels, by the method of timing."""

from __future__ import annotations

from dataclasses import dataclass

from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch
from gpucast.util.order_statistics import Median, median_of


@dataclass(frozen=True)
class LaunchCost:
    """The time of one launch.

    Attributes:
        machine, path: where it was measured.
        method: ``submit`` (until the call returns; t_kernel of the model), ``sync`` (until the
            kernel has run), ``gated`` (one of many queued launches, by the device's clock),
            ``graph`` (a node of a CUDA graph, with its share of the graph's launch), ``row`` and
            ``drain`` (as submit and sync, for one of several in a row), ``idle`` and ``rest`` (no
            launch: a synchronization without work).
        count: number of launches that were timed together.
        t_kernel: median time (s) with its 95 % interval.
    """

    machine: str
    path: str
    method: str
    count: int
    t_kernel: Median

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON values."""
        known = {"value": self.t_kernel.value, "unit": "s", "ci95": self.t_kernel.ends}
        return {**vars(self), "t_kernel": known}


def launch_costs(dataset: Dataset) -> list[LaunchCost]:
    """Return the launch time of each machine, path and method, from the largest number of launches
    timed together. Kernels without arguments are preferred; first calls are left out.
    """
    best: dict[tuple[str, str, str], Launch] = {}
    for launch in dataset.launches:
        if launch.cold:
            continue
        key = (launch.machine, launch.path, launch.method)
        if key not in best or _rank(launch) < _rank(best[key]):
            best[key] = launch
    return [LaunchCost(*key, launch.count, _per_launch(launch)) for key, launch in best.items()]


def _rank(launch: Launch) -> tuple[int, int]:
    return (-launch.count, launch.arguments or 0)


def _per_launch(launch: Launch) -> Median:
    cost = median_of([seconds / launch.count for seconds in launch.seconds])
    known = launch.run_to_run
    return cost if known is None else cost.with_run_to_run(known.sd, known.runs)
