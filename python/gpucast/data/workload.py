"""The workload that steps state, as the core computes with it, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from gpucast import _core
from gpucast.errors import InputError
from gpucast.util.typed_json import Bounds

if TYPE_CHECKING:
    from gpucast.data.records import Step

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

    __pydantic_config__: ClassVar[dict[str, Any]] = _CHECKED

    factor: Annotated[float, Bounds(least=0, most=_LARGEST_FACTOR)]
    n: _Exponent = 0.0
    """The exponent p."""
    gpus: _Exponent = 0.0
    """The exponent q."""


@dataclass(frozen=True)
class Workload:
    """What a step does: its elements (particles, cells) are shared out, ceil(n / N) to a GPU."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _CHECKED

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


def of(stated: Workload | None) -> _core.Workload:
    """The core's workload; all-pairs where none is stated."""
    if stated is None:
        return ALL_PAIRS
    visits, to_gpu, from_gpu, halo = (
        (amount.factor, amount.n, amount.gpus)
        for amount in (stated.visits, stated.to_gpu, stated.from_gpu, stated.halo)
    )
    return _core.Workload(visits, to_gpu, from_gpu, halo, stated.operations)


def of_steps(steps: Iterable[Step], name: str) -> Workload | None:
    """The workload that all of some steps have; None: all-pairs.

    Raises:
        InputError: steps of several workloads; ``name`` is their dataset's.
    """
    found = list(dict.fromkeys(step.workload for step in steps))
    if len(found) > 1:
        words = ", ".join("all-pairs" if each is None else each.name for each in found)
        raise InputError(
            f"steps of several workloads: {words}; choose one by its kernel or path",
            file=name,
            field="workload",
        )
    return found[0] if found else None


def contradictions(steps: Sequence[Step], workload: _core.Workload) -> list[str]:
    """A warning where bytes that steps counted are not those of their workload.

    A schedule need not move everything in every step (positions may stay on the GPUs): only what
    moves is compared. Shares are whole elements, so that an element's bytes a GPU are no
    contradiction.
    """
    wrong = [step for step in steps if step.bytes is not None and _contradicts(step, workload)]
    if not wrong:
        return []
    first = wrong[0]
    expected = first.gpus * workload.to_gpu(first.n, first.gpus)
    back = first.gpus * workload.from_gpu(first.n, first.gpus)
    moved = first.bytes
    assert moved is not None
    return [
        f"{len(wrong)} step record(s) moved other bytes than their workload says: n = {first.n} "
        f"on {first.gpus} GPU(s) {moved.h2d} to the GPUs and {moved.d2h} back, where "
        f"{expected:.0f} and {back:.0f} are modelled"
    ]


def _contradicts(step: Step, workload: _core.Workload) -> bool:
    n, gpus, moved = step.n, step.gpus, step.bytes
    assert moved is not None
    between = workload.halo(n, gpus) * gpus or (gpus - 1) * workload.to_gpu(n, gpus)
    pairs = (
        (moved.h2d, gpus * workload.to_gpu(n, gpus), workload.to_gpu(1, 1)),
        (moved.d2h, gpus * workload.from_gpu(n, gpus), workload.from_gpu(1, 1)),
        (moved.exchange or 0, between, workload.to_gpu(1, 1)),
    )
    return any(
        measured > 0 and abs(measured - modelled) > gpus * an_element
        for measured, modelled, an_element in pairs
    )
