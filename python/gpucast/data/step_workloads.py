"""The workload of several steps, and whether the bytes that they counted contradict it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpucast import _core
from gpucast.data.records import Step
from gpucast.data.workload import Workload
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, Remark, remark


def workload_of(steps: Iterable[Step], name: str) -> Workload | None:
    """The workload that all of some steps have; None: all-pairs.

    Raises:
        InputError: steps of several workloads; ``name`` is their dataset's.
    """
    workloads = list(dict.fromkeys(step.workload for step in steps))
    if len(workloads) > 1:
        words = ", ".join(
            "all-pairs" if workload is None else workload.name for workload in workloads
        )
        raise InputError(
            f"steps of several workloads: {words}; choose one by its kernel or path",
            file=name,
            field="workload",
        )
    return workloads[0] if workloads else None


def byte_contradictions(steps: Sequence[Step], workload: _core.Workload) -> list[Remark]:
    """A remark where bytes that steps counted are not those of their workload.

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
        remark(
            Kind.DATA,
            f"{len(wrong)} step record(s) moved other bytes than their workload says: n = "
            f"{first.n} on {first.gpus} GPU(s) {moved.h2d} to the GPUs and {moved.d2h} back, where "
            f"{expected:.0f} and {back:.0f} are modelled",
            n=first.n,
            gpus=first.gpus,
        )
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
