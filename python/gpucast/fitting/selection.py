"""Selects the records of a fit: those of one machine, path, schedule, kernel and kind of steps.

A dataset may hold several of each. If there are several and none was named, the error lists them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.dataset import Dataset, rehearsed
from gpucast.data.records import Launch, Machine, Skeleton, Step, Transfer
from gpucast.data.selection import ANY, StepSelection, case_says_nothing, distinct, only
from gpucast.data.steps import byte_contradictions, workload_of
from gpucast.data.workload import Workload
from gpucast.errors import InputError
from gpucast.fitting.problem import LONGEST, SHORTEST, Problem
from gpucast.fitting.synchronous import waits_for_calls
from gpucast.util.remarks import Kind, Remark, Severity, remark, remarks_of

# Methods of launch records, the best first: a step's time per kernel is closest to the first.
_LAUNCH_METHODS = ("submit", "sync")

# Methods of transfer records. A program that waits for each copy takes the time of the call, one
# that queues copies only the device's time.
_METHODS = ("call", "gated")
_WAITS_FOR_EACH_COPY = (None, "star-serial")

# The faster kind of memory is assumed; asynchronous copies need pinned memory.
_MEMORIES = (
    "pinned", "pageable", "unknown", "portable", "write-combined", "mapped",
    "mapped-write-combined",
)  # fmt: skip


def problem_of(
    dataset: Dataset,
    selection: StepSelection = ANY,
    *,
    method: str | None = None,
    unless_stated: Workload | None = None,
) -> Problem:
    """Select the records of a fit.

    The selected memory applies to transfers, and to steps that state one; transfers follow the
    steps. ``method`` is how transfers were timed, by default as suits the steps' schedule.
    ``unless_stated`` is the workload of skeletons if there are no steps that state it.

    Raises:
        InputError: no records match the selection, or it is ambiguous.
    """
    memory = selection.memory
    chosen = dataset.select(selection, memory=None)
    steps = _of_memory(chosen.steps, memory, dataset.name)
    _refuse_unlike(steps, dataset.name)
    timed: Sequence[Step | Transfer | Launch] = steps or chosen.transfers or chosen.launches
    if not timed:
        raise InputError("there are no steps and no transfers to fit", file=dataset.name)
    chosen_steps = (
        StepSelection.of(timed, dataset.name)
        if steps
        else StepSelection(
            machine=only(timed, "machine", dataset.name),
            path=only(timed, "path", dataset.name),
            schedule=selection.schedule,
        )
    )
    beside = chosen.select(machine=chosen_steps.machine, path=chosen_steps.path)
    stated = workload_of(steps, dataset.name) if steps else unless_stated
    # The bytes that steps of other programs should move are not known.
    known = chosen_steps.schedule is not None or stated is not None
    remarks = byte_contradictions(steps, workload.of(stated)) if known else []
    transfers = _usable(
        beside.transfers,
        memory,
        chosen_steps.memory,
        _methods(method, chosen_steps.schedule),
        remarks,
        dataset.name,
    )
    launches = _launches(beside.launches)
    skeletons = _skeletons(
        beside.skeletons,
        chosen_steps.schedule,
        chosen_steps.memory or memory,
        workload.of(stated),
        remarks,
    )
    problem = Problem(
        dataset=dataset,
        selection=chosen_steps,
        steps=steps,
        transfers=transfers,
        launches=launches,
        skeletons=skeletons,
        kernel_start=_kernel_start(skeletons),
        waits=waits_for_calls(beside.launches),
        workload=stated,
        block=chosen_steps.block or 0,
        remarks=[
            *_on_fake_gpus(dataset, chosen_steps),
            *remarks_of(Kind.DATA, dataset.warnings),
            *remarks,
            *_fitted_as_one(steps),
        ],
    )
    _add_machine(problem, dataset.machines[problem.machine])
    require_plausible(steps, dataset.name)
    require_plausible([t for route in transfers.values() for t in route], dataset.name)
    require_plausible(launches, dataset.name)
    if steps:
        problem.steps = _warm(steps, problem.remarks)
    return problem


def _on_fake_gpus(dataset: Dataset, chosen_steps: StepSelection) -> list[Remark]:
    warning = rehearsed(dataset.machines[str(chosen_steps.machine)])
    return [] if warning is None else [warning]


def require_plausible(records: Sequence[Step | Transfer | Launch], name: str) -> None:
    """Refuse implausible times, whose sums and ratios would overflow.

    Raises:
        InputError: a time is outside the limits.
    """
    for record in records:
        for seconds in record.seconds:
            if not SHORTEST <= seconds <= LONGEST:
                raise InputError(
                    f"{seconds:g} s is no measured time; {SHORTEST:g} to {LONGEST:g} s are taken",
                    file=name,
                    field="seconds",
                )


def _warm(steps: list[Step], remarks: list[Remark]) -> list[Step]:
    warm = [step for step in steps if not step.cold]
    if not warm:
        remarks.append(remark(Kind.DATA, "all steps are first calls, which include start-up"))
        return steps
    if len(warm) < len(steps):
        remarks.append(
            remark(
                Kind.LEFT_OUT,
                f"left out {len(steps) - len(warm)} first-call step record(s), which include "
                "start-up",
                severity=Severity.MINOR,
            )
        )
    return warm


def _refuse_unlike(steps: Sequence[Step], name: str) -> None:
    """Refuse a mix of steps of our programs, which state a schedule, and of others."""
    others = sum(step.schedule is None for step in steps)
    if 0 < others < len(steps):
        raise InputError(
            f"{others} of {len(steps)} steps state no schedule: they are of another program than "
            "the rest; choose by --machine, --path or --program, or fit the files one by one",
            file=name,
            field="schedule",
        )


def _fitted_as_one(steps: Sequence[Step]) -> list[Remark]:
    cases = distinct(steps, "case")
    if len(cases) < 2 or not case_says_nothing(steps):
        return []
    return [
        remark(
            Kind.CHOICE,
            f"the {len(cases)} cases only name the steps' sizes or GPU counts: they were fitted as "
            "one (--case chooses one)",
        )
    ]


def _of_memory(steps: list[Step], memory: str | None, name: str) -> list[Step]:
    kept = [step for step in steps if memory is None or step.memory in (None, memory)]
    if steps and not kept:
        available = ", ".join(map(str, distinct(steps, "memory")))
        raise InputError(
            f"no steps with {memory!r}; there are: {available}", file=name, field="memory"
        )
    return kept


def _usable(
    transfers: list[Transfer],
    memory: str | None,
    steps_memory: str | None,
    methods: Sequence[str],
    remarks: list[Remark],
    name: str,
) -> dict[str, list[Transfer]]:
    left_out = Counter(filter(None, map(_unusable, transfers)))
    if left_out:
        counted = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        remarks.append(
            remark(Kind.LEFT_OUT, f"left out transfers: {counted}", severity=Severity.MINOR)
        )
    usable = [transfer for transfer in transfers if _unusable(transfer) is None]
    kept = usable
    if steps_memory is not None:
        kept = _like_steps(usable, steps_memory, remarks)
    elif memory is not None:
        kept = [t for t in usable if t.memory == memory]
        if not kept:
            available = ", ".join(dict.fromkeys(t.memory for t in usable)) or "none"
            raise InputError(
                f"no transfers with {memory!r}; there are: {available}", file=name, field="memory"
            )
    by_route: dict[str, list[Transfer]] = {}
    for route in dict.fromkeys(t.route for t in kept):
        records = [t for t in kept if t.route == route]
        records = [t for t in records if t.engine == "copy"] or records
        memories = {t.memory for t in records}
        best = min(memories, key=_MEMORIES.index)
        if len(memories) > 1:
            remarks.append(
                remark(
                    Kind.CHOICE,
                    f"{route}: transfers with {', '.join(sorted(memories))} memory; "
                    f"took {best} (--memory chooses)",
                )
            )
        records = [t for t in records if t.memory == best]
        by_route[route] = [t for t in records if not _is_read(t)] or records
    return _of_method(by_route, methods, remarks, name)


def _is_read(transfer: Transfer) -> bool:
    """Return whether a peer copy is made by its destination; by default, sources make them."""
    return transfer.issuer is not None and transfer.issuer == transfer.to


def _methods(chosen: str | None, schedule: str | None) -> Sequence[str]:
    """Return the methods in order of preference, or only the chosen one."""
    if chosen is not None:
        return (chosen,)
    return _METHODS if schedule in _WAITS_FOR_EACH_COPY else _METHODS[::-1]


def _of_method(
    by_route: dict[str, list[Transfer]], methods: Sequence[str], remarks: list[Remark], name: str
) -> dict[str, list[Transfer]]:
    """Return each route's transfers by the first of ``methods`` that it has, or without a
    method."""
    kept: dict[str, list[Transfer]] = {}
    for route, transfers in by_route.items():
        stated = {t.method for t in transfers if t.method is not None}
        best = next((method for method in methods if method in stated), None)
        timed = [t for t in transfers if t.method in (None, best)]
        if timed:
            kept[route] = timed
        else:
            remarks.append(
                remark(Kind.LEFT_OUT, f"left out {route}: no transfers timed by {methods[0]!r}")
            )
    if by_route and not kept:
        available = {t.method for transfers in by_route.values() for t in transfers if t.method}
        raise InputError(
            f"no transfers timed by {methods[0]!r}; there are: {', '.join(sorted(available))}",
            file=name,
            field="method",
        )
    return kept


def _like_steps(transfers: list[Transfer], memory: str, remarks: list[Remark]) -> list[Transfer]:
    """Return the transfers with the steps' kind of memory."""
    kept = [t for t in transfers if t.memory == memory]
    kept = kept or [t for t in transfers if t.memory == "unknown"]
    if transfers and not kept:
        available = ", ".join(dict.fromkeys(t.memory for t in transfers))
        remarks.append(
            remark(
                Kind.LEFT_OUT,
                f"the steps used {memory} memory, the transfers {available}: "
                "transfers were left out",
            )
        )
    return kept


def _unusable(transfer: Transfer) -> str | None:
    if not transfer.valid:
        return "with wrong bytes"
    if transfer.concurrent:
        return "beside other copies"
    return "of a first call" if transfer.cold else None


def _launches(launches: list[Launch]) -> list[Launch]:
    warm = [launch for launch in launches if not launch.cold]
    by_method = (
        [launch for launch in warm if launch.method == method] for method in _LAUNCH_METHODS
    )
    return next(filter(None, by_method), [])


def _skeletons(
    skeletons: list[Skeleton],
    schedule: str | None,
    memory: str | None,
    work: _core.Workload,
    remarks: list[Remark],
) -> list[Skeleton]:
    """Return the skeletons of a schedule and memory that move as many bytes as steps."""
    candidates = [s for s in skeletons if s.schedule == schedule and memory in (None, s.memory)]
    kept = [s for s in candidates if _moves_as_steps(s, work)]
    if len(kept) < len(candidates):
        remarks.append(
            remark(
                Kind.LEFT_OUT,
                f"left out {len(candidates) - len(kept)} skeleton(s) whose bytes are not "
                "those of a step",
            )
        )
    return kept


def _kernel_start(skeletons: Sequence[Skeleton]) -> float | None:
    if not skeletons:
        return None
    # A negative time is an error of the clock.
    return max(0.0, float(np.median([s.kernel_seconds - s.busy for s in skeletons])))


def _moves_as_steps(skeleton: Skeleton, work: _core.Workload) -> bool:
    n = work.size_of(skeleton.h2d_bytes, skeleton.gpus)
    # A GPU's share is a whole number of elements.
    return abs(skeleton.d2h_bytes - work.from_gpu(n, skeleton.gpus)) <= work.from_gpu(1, 1)


def _add_machine(problem: Problem, machine: Machine) -> None:
    if machine.gpus:
        gpu = machine.gpus[0]
        problem.cores = gpu.cores or 0
        problem.sms = gpu.sms or 0
        if gpu.max_threads_per_sm and gpu.sms and gpu.cores:
            problem.largest_k = max(1, gpu.max_threads_per_sm * gpu.sms // gpu.cores)
