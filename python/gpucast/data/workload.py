"""The workload that steps state, and the same as the core computes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from gpucast import _core
from gpucast.util.typed_json import Bounds

ALL_PAIRS = _core.ALL_PAIRS
"""What steps do that state no workload: the forces of the paper's program."""

# Records hold these classes, and pydantic checks them as strictly as its own. It is not imported
# here: that would take longer than a forecast does.
_CHECKED = {"extra": "forbid", "use_attribute_docstrings": True}


_LARGEST_FACTOR = 1e30
_LARGEST_EXPONENT = 10
_Exponent = Annotated[float, Bounds(least=-_LARGEST_EXPONENT, most=_LARGEST_EXPONENT)]


@dataclass(frozen=True)
class Amount:
    """A function of a step's size n and its GPU count N: factor * n^p * N^q."""

    __pydantic_config__: ClassVar[dict[str, object]] = _CHECKED

    factor: Annotated[float, Bounds(least=0, most=_LARGEST_FACTOR)]
    n: _Exponent = 0.0
    """The exponent p."""
    gpus: _Exponent = 0.0
    """The exponent q."""


@dataclass(frozen=True)
class Workload:
    """What a step does: its elements (particles, cells) are shared out, ceil(n / N) to a GPU."""

    __pydantic_config__: ClassVar[dict[str, object]] = _CHECKED

    name: Annotated[str, Bounds(characters=1)]
    visits: Amount
    """Units of work for each element of a GPU's share."""
    to_gpu: Amount = Amount(0.0)
    """Bytes to each GPU."""
    from_gpu: Amount = Amount(0.0)
    """Bytes from each GPU."""
    halo: Amount = Amount(0.0)
    """Bytes that each of several GPUs gets from its neighbours."""
    operations: Annotated[float, Bounds(above=0, most=_LARGEST_FACTOR)] | None = None
    """Floating-point operations of a unit of work."""

    @property
    def is_shared_out(self) -> bool:
        """Whether more GPUs leave each less to do."""
        return self.visits.gpus < 1


def of(stated: Workload | None) -> _core.Workload:
    """The core's workload; all-pairs where none is stated."""
    if stated is None:
        return ALL_PAIRS
    visits, to_gpu, from_gpu, halo = (
        (amount.factor, amount.n, amount.gpus)
        for amount in (stated.visits, stated.to_gpu, stated.from_gpu, stated.halo)
    )
    return _core.Workload(visits, to_gpu, from_gpu, halo, stated.operations)
