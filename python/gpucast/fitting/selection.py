"""What one fit is about: the records of one path, schedule and kernel, as arrays for the core.

A dataset may hold several machines, paths, schedules, kernels and kinds of steps. A fit is about
one of each; where there are several and none was named, the message lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data import workload
from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch, Machine, Skeleton, Step, Transfer
from gpucast.data.selection import ANY, StepSelection, distinct, only
from gpucast.data.step_workloads import byte_contradictions, workload_of
from gpucast.data.vocabulary import ObservationKind
from gpucast.data.workload import Workload
from gpucast.errors import InputError

# The most threads a core ever had resident (1024 threads, 8 cores: GeForce 8 to 200).
LARGEST_K = 128

# Seconds; far beyond anything measured on either side.
SHORTEST, LONGEST = 1e-30, 1e30

# At most this many samples of a transfer or launch record are fitted, evenly taken: more cost time
# and add nothing, as all repetitions of a size share its quirks.
MOST_SAMPLES = 64

# Launch records are of several kinds; what a step pays for each kernel is best seen by the first.
_LAUNCH_METHODS = ("submit", "sync")

# Ways to time a transfer. A program that waits for each copy pays for the call, one that queues
# copies only for the device's time.
_METHODS = ("call", "gated")
_WAITS_FOR_EACH_COPY = (None, "star-serial")

# Schedules whose kernel phase is the kernel alone. Where copies are queued around a kernel, the
# events that mark its beginning and end wait for the copies.
_KERNELS_ALONE = ("star-serial",)

# A schedule that copies asynchronously needs pinned memory; otherwise the faster kind is assumed.
_MEMORIES = (
    "pinned", "pageable", "unknown", "portable", "write-combined", "mapped",
    "mapped-write-combined",
)  # fmt: skip


@dataclass
class Problem:
    """Records of one machine, path, schedule, kernel and kind of steps.

    Attributes:
        selection: what the steps state; without steps, of machine, path and schedule.
        steps: empty in a problem of transfers alone.
        transfers: usable ones (valid, alone, warm) by route.
        launches: of one method.
        skeletons: of the steps' schedule and memory.
        kernel_start: s by which a skeleton's kernel takes longer than it keeps the GPU busy, as
            T_gpu of steps counts it; None without skeletons.
        workload: what steps and skeletons do; None: all-pairs.
        cores, sms, block: of a GPU and the timed kernel; 0 where not known.
        largest_k: threads a core can hold resident at most.
        warnings: one line each.
        notes: the same for what changes no answer, such as models that could not be tried.
    """

    dataset: Dataset
    selection: StepSelection
    steps: list[Step]
    transfers: dict[str, list[Transfer]]
    launches: list[Launch]
    skeletons: list[Skeleton] = field(default_factory=list)
    kernel_start: float | None = None
    workload: Workload | None = None
    cores: int = 0
    sms: int = 0
    block: int = 0
    largest_k: int = LARGEST_K
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def machine(self) -> str:
        """The machine of all records."""
        return str(self.selection.machine)

    @property
    def path(self) -> str:
        """The path of all records."""
        return str(self.selection.path)

    @property
    def schedule(self) -> str | None:
        """The schedule of steps and skeletons; None where there are none and none was chosen."""
        return self.selection.schedule

    def observations(
        self,
        *,
        steps: bool = True,
        transfers: bool = True,
        route: str | None = None,
        most_samples: int | None = None,
    ) -> _core.Observations:
        """Samples for the core: everything, or without steps, or one route's transfers only.

        ``most_samples``: of a record, evenly taken; None: all of steps, MOST_SAMPLES of the rest.
        """
        rows = _Rows()
        most = most_samples or MOST_SAMPLES
        if steps and route is None:
            for step in self.steps:
                seconds = step.seconds if most_samples is None else _evenly(step.seconds, most)
                rows.add(ObservationKind.step, seconds, step.uncertainty, n=step.n, gpus=step.gpus)
                if step.phases is not None:
                    rows.add(ObservationKind.cpu, _measured(step.phases.cpu), None, n=step.n)
                    if self.schedule in _KERNELS_ALONE:
                        kernel = _measured(step.phases.kernel)
                        rows.add(ObservationKind.kernel, kernel, None, n=step.n, gpus=step.gpus)
        if transfers:
            for name, records in self.transfers.items():
                if route is None or route == name:
                    for record in records:
                        rows.add_transfer(
                            name, record.bytes, _evenly(record.seconds, most), record.uncertainty
                        )
            if route is None:
                for launch in self.launches:
                    seconds = _evenly(launch.seconds, most)
                    rows.add(
                        ObservationKind.launch, seconds, launch.uncertainty, count=launch.count
                    )
        if route is None:
            self._add_skeletons(rows, self.skeletons, most)
        return rows.observations()

    def skeleton_observations(
        self, skeletons: Sequence[Skeleton], most_samples: int
    ) -> _core.Observations:
        """Samples of some skeletons for the core, so many of a record at most."""
        rows = _Rows()
        self._add_skeletons(rows, skeletons, most_samples)
        return rows.observations()

    def skeleton_cell(self, skeleton: Skeleton) -> tuple[float, float, float]:
        """n, GPU count, and for how many seconds the kernel keeps a GPU busy."""
        n = workload.of(self.workload).size_of(skeleton.h2d_bytes, skeleton.gpus)
        return n, skeleton.gpus, skeleton.busy + (self.kernel_start or 0.0)

    def _add_skeletons(self, rows: _Rows, skeletons: Iterable[Skeleton], most: int) -> None:
        for skeleton in skeletons:
            n, gpus, busy = self.skeleton_cell(skeleton)
            seconds = _evenly(skeleton.seconds, most)
            rows.add(
                ObservationKind.skeleton, seconds, skeleton.uncertainty, n=n, gpus=gpus, busy=busy
            )


def _measured(samples: Sequence[float] | None) -> list[float]:
    return [seconds for seconds in samples or () if seconds >= SHORTEST]


def _evenly(samples: Sequence[float], most: int) -> Sequence[float]:
    if len(samples) <= most:
        return samples
    return [samples[i * len(samples) // most] for i in range(most)]


class _Rows:
    """Samples under construction, a row each."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[np.float64]] = [np.empty((0, 9))]

    def add(
        self,
        kind: ObservationKind,
        seconds: Sequence[float],
        uncertainty: float | None,
        *,
        route: int = 0,
        n: float = 0,
        gpus: float = 0,
        bytes_: float = 0,
        count: float = 0,
        busy: float = 0,
    ) -> None:
        # A rounded value is uniform within its half-width: variance a third of its square.
        variance = 0.0 if uncertainty is None else uncertainty**2 / 3
        block = np.empty((len(seconds), 9))
        block[:] = (kind, route, n, gpus, bytes_, count, busy, 0, variance)
        block[:, 7] = seconds
        self._blocks.append(block)

    def add_transfer(
        self, route: str, size: int, seconds: Sequence[float], uncertainty: float | None
    ) -> None:
        where = _core.ROUTES.index(route)
        self.add(ObservationKind.transfer, seconds, uncertainty, route=where, bytes_=size)

    def observations(self) -> _core.Observations:
        kind, route, *rest = np.ascontiguousarray(np.concatenate(self._blocks).T)
        return _core.Observations(kind.astype(np.uint8), route.astype(np.uint8), *rest)


def transfer_observations(
    route: str, cells: Iterable[tuple[int, Sequence[float], float | None]]
) -> _core.Observations:
    """Transfers of one route for the core: size in bytes, samples in s, relative rounding."""
    rows = _Rows()
    for size, seconds, uncertainty in cells:
        rows.add_transfer(route, size, seconds, uncertainty)
    return rows.observations()


def pose(
    dataset: Dataset,
    selection: StepSelection = ANY,
    *,
    method: str | None = None,
    unless_stated: Workload | None = None,
) -> Problem:
    """Choose the records that a fit is about.

    The memory selected is that of the transfers, and of steps that state one; transfers follow the
    steps'.
    ``method`` is how transfers were timed; by default as the steps' schedule pays for them.
    ``unless_stated``: the workload of skeletons where there are no steps to state it.

    Raises:
        InputError: nothing fits the choice, or it leaves several possibilities.
    """
    memory = selection.memory
    chosen = dataset.select(selection, memory=None)
    steps = _of_memory(chosen.steps, memory, dataset.name)
    timed: Sequence[Step | Transfer | Launch] = steps or chosen.transfers or chosen.launches
    if not timed:
        raise InputError("there are no steps and no transfers to fit", file=dataset.name)
    found = (
        StepSelection.of(timed, dataset.name)
        if steps
        else StepSelection(
            machine=only(timed, "machine", dataset.name),
            path=only(timed, "path", dataset.name),
            schedule=selection.schedule,
        )
    )
    beside = chosen.select(machine=found.machine, path=found.path)
    stated = workload_of(steps, dataset.name) if steps else unless_stated
    warnings = byte_contradictions(steps, workload.of(stated))
    transfers = _usable(
        beside.transfers,
        memory,
        found.memory,
        _methods(method, found.schedule),
        warnings,
        dataset.name,
    )
    launches = _launches(beside.launches)
    skeletons = _skeletons(
        beside.skeletons,
        found.schedule,
        found.memory or memory,
        workload.of(stated),
        warnings,
    )
    problem = Problem(
        dataset=dataset,
        selection=found,
        steps=steps,
        transfers=transfers,
        launches=launches,
        skeletons=skeletons,
        kernel_start=_kernel_start(skeletons),
        workload=stated,
        block=found.block or 0,
        warnings=[*dataset.warnings, *warnings],
    )
    _add_machine(problem, dataset.machines[problem.machine])
    require_plausible(steps, dataset.name)
    require_plausible([t for route in transfers.values() for t in route], dataset.name)
    require_plausible(launches, dataset.name)
    if steps:
        problem.steps = _warm(steps, problem.warnings)
    return problem


def require_plausible(records: Sequence[Step | Transfer | Launch], name: str) -> None:
    """Refuse times that nobody measured: their sums and ratios leave the range of numbers.

    Raises:
        InputError: a time shorter or longer than the limits.
    """
    for record in records:
        for seconds in record.seconds:
            if not SHORTEST <= seconds <= LONGEST:
                raise InputError(
                    f"{seconds:g} s is no measured time; {SHORTEST:g} to {LONGEST:g} s are taken",
                    file=name,
                    field="seconds",
                )


def _warm(steps: list[Step], warnings: list[str]) -> list[Step]:
    warm = [step for step in steps if not step.cold]
    if not warm:
        warnings.append("all steps are first calls, which include start-up")
        return steps
    if len(warm) < len(steps):
        warnings.append(
            f"left out {len(steps) - len(warm)} first-call step record(s), which include start-up"
        )
    return warm


def _of_memory(steps: list[Step], memory: str | None, name: str) -> list[Step]:
    kept = [step for step in steps if memory is None or step.memory in (None, memory)]
    if steps and not kept:
        there = ", ".join(map(str, distinct(steps, "memory")))
        raise InputError(f"no steps with {memory!r}; there are: {there}", file=name, field="memory")
    return kept


def _usable(
    transfers: list[Transfer],
    memory: str | None,
    of_steps: str | None,
    methods: Sequence[str],
    warnings: list[str],
    name: str,
) -> dict[str, list[Transfer]]:
    kept: list[Transfer] = []
    left_out: dict[str, int] = {}
    for transfer in transfers:
        reason = _unusable(transfer)
        if reason is None:
            kept.append(transfer)
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    if left_out:
        counted = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        warnings.append(f"left out transfers: {counted}")
    if of_steps is not None:
        kept = _like_steps(kept, of_steps, warnings)
    elif memory is not None:
        if not any(t.memory == memory for t in kept):
            there = ", ".join(dict.fromkeys(t.memory for t in kept)) or "none"
            raise InputError(
                f"no transfers with {memory!r}; there are: {there}", file=name, field="memory"
            )
        kept = [t for t in kept if t.memory == memory]
    by_route: dict[str, list[Transfer]] = {}
    for route in dict.fromkeys(t.route for t in kept):
        records = [t for t in kept if t.route == route]
        if any(t.engine == "copy" for t in records):
            records = [t for t in records if t.engine == "copy"]
        memories = {t.memory for t in records}
        if len(memories) > 1:
            best = min(memories, key=_MEMORIES.index)
            warnings.append(
                f"{route}: transfers with {', '.join(sorted(memories))} memory; "
                f"took {best} (--memory chooses)"
            )
            records = [t for t in records if t.memory == best]
        if any(not _is_read(t) for t in records):
            records = [t for t in records if not _is_read(t)]
        by_route[route] = records
    return _of_method(by_route, methods, warnings, name)


def _is_read(transfer: Transfer) -> bool:
    """A peer copy that its destination makes; programs send, unless they say otherwise."""
    return transfer.issuer is not None and transfer.issuer == transfer.to


def _methods(chosen: str | None, schedule: str | None) -> Sequence[str]:
    """Methods in the order they are preferred; only the one that was chosen."""
    if chosen is not None:
        return (chosen,)
    return _METHODS if schedule in _WAITS_FOR_EACH_COPY else _METHODS[::-1]


def _of_method(
    by_route: dict[str, list[Transfer]], methods: Sequence[str], warnings: list[str], name: str
) -> dict[str, list[Transfer]]:
    """Each route's transfers by the first of ``methods`` that it has, and those of no method."""
    kept: dict[str, list[Transfer]] = {}
    for route, transfers in by_route.items():
        stated = {t.method for t in transfers if t.method is not None}
        best = next((method for method in methods if method in stated), None)
        timed = [t for t in transfers if t.method in (None, best)]
        if timed:
            kept[route] = timed
        else:
            warnings.append(f"left out {route}: no transfers timed by {methods[0]!r}")
    if by_route and not kept:
        there = {t.method for transfers in by_route.values() for t in transfers if t.method}
        raise InputError(
            f"no transfers timed by {methods[0]!r}; there are: {', '.join(sorted(there))}",
            file=name,
            field="method",
        )
    return kept


def _like_steps(transfers: list[Transfer], memory: str, warnings: list[str]) -> list[Transfer]:
    """Transfers of the memory that the steps used; what steps pay for others says nothing."""
    alike = [t for t in transfers if t.memory == memory]
    alike = alike or [t for t in transfers if t.memory == "unknown"]
    if transfers and not alike:
        there = ", ".join(dict.fromkeys(t.memory for t in transfers))
        warnings.append(
            f"the steps used {memory} memory, the transfers {there}: transfers were left out"
        )
    return alike


def _unusable(transfer: Transfer) -> str | None:
    if not transfer.valid:
        return "with wrong bytes"
    if transfer.concurrent:
        return "beside other copies"
    return "of a first call" if transfer.cold else None


def _launches(launches: list[Launch]) -> list[Launch]:
    warm = [launch for launch in launches if not launch.cold]
    for method in _LAUNCH_METHODS:
        of_method = [launch for launch in warm if launch.method == method]
        if of_method:
            return of_method
    return []


def _skeletons(
    skeletons: list[Skeleton],
    schedule: str | None,
    memory: str | None,
    work: _core.Workload,
    warnings: list[str],
) -> list[Skeleton]:
    """Those of a schedule (none: of no use) and memory that move what steps move."""
    alike = [s for s in skeletons if s.schedule == schedule and memory in (None, s.memory)]
    kept = [s for s in alike if _moves_as_steps(s, work)]
    if len(kept) < len(alike):
        warnings.append(
            f"left out {len(alike) - len(kept)} skeleton(s) whose bytes are not those of a step"
        )
    return kept


def _kernel_start(skeletons: Sequence[Skeleton]) -> float | None:
    if not skeletons:
        return None
    # A kernel that ends before it could is a clock's error.
    return max(0.0, float(np.median([s.kernel_seconds - s.busy for s in skeletons])))


def _moves_as_steps(skeleton: Skeleton, work: _core.Workload) -> bool:
    n = work.size_of(skeleton.h2d_bytes, skeleton.gpus)
    # A share is a whole number of elements.
    return abs(skeleton.d2h_bytes - work.from_gpu(n, skeleton.gpus)) <= work.from_gpu(1, 1)


def _add_machine(problem: Problem, machine: Machine) -> None:
    if machine.gpus:
        gpu = machine.gpus[0]
        problem.cores = gpu.cores or 0
        problem.sms = gpu.sms or 0
        if gpu.max_threads_per_sm and gpu.sms and gpu.cores:
            problem.largest_k = max(1, gpu.max_threads_per_sm * gpu.sms // gpu.cores)
