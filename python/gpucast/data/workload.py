"""The work of steps: limits of sizes and GPU counts, and the workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gpucast import _core
from gpucast.util.typed_json import Bounds, Length

LARGEST_N = 10**18
"""The largest size, in any unit; whole numbers up to here fit 64 bits."""
SMALLEST_N = 1e-18
"""The smallest size, less than one of any unit; powers of sizes from here up are finite."""
LARGEST_GPUS = 10**6

ALL_PAIRS = _core.ALL_PAIRS
"""The work of steps without a stated workload: the forces of the paper's program."""

_LARGEST_FACTOR = 1e30
_Factor = Annotated[float, Bounds(above=0, most=_LARGEST_FACTOR)]
_Exponent = Annotated[float, Bounds(least=-10, most=10)]


@dataclass(frozen=True)
class Amount:
    """A function of a step's size n and its GPU count N: factor * n^p * N^q."""

    factor: Annotated[float, Bounds(least=0, most=_LARGEST_FACTOR)]
    n: Annotated[_Exponent, "the exponent p"] = 0.0
    gpus: Annotated[_Exponent, "the exponent q"] = 0.0


@dataclass(frozen=True)
class Workload:
    """The work of a step: its elements (particles, cells) are divided, ceil(n / N) for each GPU."""

    name: Annotated[str, Length()]
    visits: Annotated[Amount, "units of work for each element of a GPU's share"]
    to_gpu: Annotated[Amount, "bytes to each GPU"] = Amount(0.0)
    from_gpu: Annotated[Amount, "bytes from each GPU"] = Amount(0.0)
    halo: Annotated[Amount, "bytes that each of several GPUs gets from its neighbours"] = Amount(
        0.0
    )
    operations: Annotated[_Factor | None, "floating-point operations of a unit of work"] = None

    @property
    def is_shared_out(self) -> bool:
        """Whether the work of each GPU decreases with their number."""
        return self.visits.gpus < 1


def of(stated: Workload | None) -> _core.Workload:
    """Return the core's workload; all-pairs if none is stated."""
    if stated is None:
        return ALL_PAIRS
    visits, to_gpu, from_gpu, halo = (
        (amount.factor, amount.n, amount.gpus)
        for amount in (stated.visits, stated.to_gpu, stated.from_gpu, stated.halo)
    )
    return _core.Workload(visits, to_gpu, from_gpu, halo, stated.operations)
