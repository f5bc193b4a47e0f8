"""How many GPUs to buy: the fewest of a range with which all jobs are done in time."""

from __future__ import annotations

from bisect import bisect_left

from gpucast.planning.option_table import make
from gpucast.planning.packing import Mix
from gpucast.planning.request import Request
from gpucast.util import JsonObject


def decided(request: Request) -> tuple[Request, JsonObject | None]:
    """The request with as many GPUs as are enough, and what is said of that; as it is, and None,
    where no machine has a range.

    Enough: a schedule was found in which all simulations are done within the window and by their
    deadlines, with the plan's probability. With more GPUs one is found, too: that is taken for
    granted, and so few counts are tried. Where even the most are not enough, the plan is for these.
    """
    at = next((i for i, each in enumerate(request.machines) if each.gpus_least is not None), None)
    if at is None:
        return request, None
    machine = request.machines[at]
    assert machine.gpus_least is not None
    counts = range(machine.gpus_least, machine.gpus + 1)
    first = bisect_left(counts, True, key=lambda gpus: _enough(with_gpus(request, at, gpus)))
    enough = counts[first] if first < len(counts) else None
    said = {
        "machine": machine.name,
        "least": machine.gpus_least,
        "most": machine.gpus,
        "gpus": enough,
    }
    return with_gpus(request, at, enough or machine.gpus), said


def with_gpus(request: Request, at: int, gpus: int) -> Request:
    """The request with so many GPUs of its machine at a position."""
    machines = list(request.machines)
    counts = machines[at].gpu_counts
    fewer = None if counts is None else [count for count in counts if count <= gpus]
    machines[at] = machines[at].model_copy(update={"gpus": gpus, "gpu_counts": fewer})
    return request.model_copy(update={"machines": machines})


def _enough(request: Request) -> bool:
    if any(not machine.counts for machine in request.machines):
        return False
    table = make(request)
    return bool(table.allowed.any(axis=1).all()) and Mix(request, table).is_in_time
