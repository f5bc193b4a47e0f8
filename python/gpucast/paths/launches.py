"""What starting a kernel costs, by each way to time it."""

from __future__ import annotations

from dataclasses import dataclass

from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch
from gpucast.util.order_statistics import Median, median_of


@dataclass(frozen=True)
class LaunchCost:
    """Seconds of one launch.

    Attributes:
        machine, path: where it was measured.
        method: ``submit`` (what the host waits; t_kernel of the model), ``sync`` (until the kernel
            has run), ``gated`` (of many queued, by the device's clock), ``graph`` (a node of a
            graph, with its share of the graph's own start), ``row`` and ``drain`` (as submit and
            sync, one of a row), ``idle`` and ``rest`` (no launch: a wait for nothing).
        count: launches that were timed together.
        t_kernel: median and its 95 % interval, s.
    """

    machine: str
    path: str
    method: str
    count: int
    t_kernel: Median

    def to_dict(self) -> dict[str, object]:
        """The content of a JSON answer."""
        known = {"value": self.t_kernel.value, "unit": "s", "ci95": self.t_kernel.ends}
        return {**vars(self), "t_kernel": known}


def launch_costs(dataset: Dataset) -> list[LaunchCost]:
    """The launch cost of each machine, path and method, where most launches were timed together.

    Kernels without arguments are preferred, first calls left out.
    """
    best: dict[tuple[str, str, str], Launch] = {}
    for launch in dataset.launches:
        if launch.cold:
            continue
        key = (launch.machine, launch.path, launch.method)
        if key not in best or _rank(launch) < _rank(best[key]):
            best[key] = launch
    return [LaunchCost(*key, launch.count, _each(launch)) for key, launch in best.items()]


def _rank(launch: Launch) -> tuple[int, int]:
    return (-launch.count, launch.arguments or 0)


def _each(launch: Launch) -> Median:
    cost = median_of([seconds / launch.count for seconds in launch.seconds])
    known = launch.run_to_run
    return cost if known is None else cost.with_run_to_run(known.sd, known.runs)
