"""The records of one fit, and their arrays for the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data import workload
from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch, Measurement, Skeleton, Step, Transfer
from gpucast.data.selection import StepSelection
from gpucast.data.vocabulary import ObservationKind
from gpucast.data.workload import Workload
from gpucast.model.content import Domain, FittedSteps
from gpucast.model.mixtures import Network
from gpucast.model.values import Gpu
from gpucast.util.remarks import Remark

# The most threads a core ever had resident (1024 threads, 8 cores: GeForce 8 to 200).
LARGEST_K = 128

# Limits of plausible times (s), far beyond any measurement.
SHORTEST, LONGEST = 1e-30, 1e30

# At most this many samples of a transfer or launch record are fitted, evenly spaced. More take time
# and add nothing, since all repetitions of a size share its deviation.
MOST_SAMPLES = 64

# Schedules whose kernel phase is the kernel alone. If copies are queued around a kernel, the events
# at its begin and end wait for the copies.
KERNELS_ALONE = ("star-serial",)


@dataclass
class Problem:
    """Records of one machine, path, schedule, kernel and kind of steps.

    Attributes:
        selection: what the steps state; without steps, machine, path and schedule.
        steps: empty in a problem of transfers alone.
        transfers: usable ones (valid, alone, warm) by route.
        launches: launches timed by one method.
        waits: whether the path's calls wait for answers (gpucast.fitting.synchronous).
        skeletons: skeletons of the steps' schedule and memory.
        kernel_start: time (s) by which a skeleton's kernel takes longer than it keeps the GPU busy,
            which T_gpu of steps includes; None without skeletons.
        workload: the workload of steps and skeletons; None: all-pairs.
        cores, sms, block: cores and multiprocessors of a GPU, threads of the timed kernel's blocks;
            0 if not known.
        largest_k: most threads that a core can hold resident.
        network: the network of the program, as collectives beside its steps measured it.
        remarks: remarks that users need to know.
        notes: lines that affect no answer, such as models that could not be tried.
    """

    dataset: Dataset
    selection: StepSelection
    steps: list[Step]
    transfers: dict[str, list[Transfer]]
    launches: list[Launch]
    skeletons: list[Skeleton] = field(default_factory=list)
    kernel_start: float | None = None
    waits: bool | None = None
    workload: Workload | None = None
    cores: int = 0
    sms: int = 0
    block: int = 0
    largest_k: int = LARGEST_K
    network: Network | None = None
    remarks: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def machine(self) -> str:
        """The machine of all records."""
        return str(self.selection.machine)

    @property
    def gpus(self) -> Gpu:
        """The GPUs of all records."""
        return Gpu(id=self.machine, cores=self.cores, sms=self.sms, block=self.block)

    @property
    def path(self) -> str:
        """The path of all records."""
        return str(self.selection.path)

    @property
    def schedule(self) -> str | None:
        """The schedule of steps and skeletons; None if there are none and none was selected."""
        return self.selection.schedule

    @property
    def fitted_steps(self) -> FittedSteps:
        """The description of these steps in a model."""
        kind = asdict(replace(self.selection, machine=None, block=None))
        return FittedSteps(name=self.dataset.name, digest=self.dataset.digest, **kind)

    @property
    def domain(self) -> Domain:
        """Least and greatest n and GPU count of the steps."""
        n = [step.n for step in self.steps]
        gpus = [step.gpus for step in self.steps]
        return Domain(n=(min(n), max(n)), gpus=(min(gpus), max(gpus)))

    def steps_alone(self) -> Problem:
        """Return the problem without transfers, launches and skeletons."""
        return replace(self, transfers={}, launches=[], skeletons=[], kernel_start=None, waits=None)

    def observations(self, most_samples: int | None = None) -> _core.Observations:
        """Return all samples for the core.

        ``most_samples``: most samples of a record, evenly spaced; None: all of steps, MOST_SAMPLES
        of other records.
        """
        rows = _Rows()
        most = most_samples or MOST_SAMPLES
        for step in self.steps:
            rows.add_record(ObservationKind.step, step, most_samples, n=step.n, gpus=step.gpus)
            if step.phases is not None:
                rows.add(ObservationKind.cpu, _measured(step.phases.cpu), n=step.n)
                if self.schedule in KERNELS_ALONE:
                    kernel = _measured(step.phases.kernel)
                    rows.add(ObservationKind.kernel, kernel, n=step.n, gpus=step.gpus)
        for route in self.transfers:
            rows.add_transfers(route, self.transfer_cells(route, most))
        for launch in self.launches:
            rows.add_record(ObservationKind.launch, launch, most, count=launch.count)
        self._add_skeletons(rows, self.skeletons, most)
        return rows.observations()

    def transfer_cells(self, route: str, most_samples: int = MOST_SAMPLES) -> list[TransferCell]:
        """Return the transfers of a route."""
        return [
            (transfer.bytes, _evenly(transfer.seconds, most_samples), transfer.uncertainty)
            for transfer in self.transfers[route]
        ]

    def skeleton_observations(
        self, skeletons: Sequence[Skeleton], most_samples: int
    ) -> _core.Observations:
        """Return samples of skeletons for the core, at most ``most_samples`` of a record."""
        rows = _Rows()
        self._add_skeletons(rows, skeletons, most_samples)
        return rows.observations()

    def skeleton_cell(self, skeleton: Skeleton) -> tuple[float, float, float]:
        """Return n, GPU count, and the time (s) for which the kernel keeps a GPU busy."""
        n = workload.of(self.workload).size_of(skeleton.h2d_bytes, skeleton.gpus)
        return n, skeleton.gpus, skeleton.busy + (self.kernel_start or 0.0)

    def _add_skeletons(self, rows: _Rows, skeletons: Iterable[Skeleton], most: int) -> None:
        for skeleton in skeletons:
            n, gpus, busy = self.skeleton_cell(skeleton)
            rows.add_record(ObservationKind.skeleton, skeleton, most, n=n, gpus=gpus, busy=busy)


TransferCell = tuple[float, Sequence[float], float | None]
"""Size in bytes, samples in s, relative rounding."""


def transfer_observations(route: str, cells: Iterable[TransferCell]) -> _core.Observations:
    """Return transfers of one route for the core."""
    rows = _Rows()
    rows.add_transfers(route, cells)
    return rows.observations()


def _measured(samples: Sequence[float] | None) -> list[float]:
    return [seconds for seconds in samples or () if seconds >= SHORTEST]


def _evenly(samples: Sequence[float], most: int) -> Sequence[float]:
    if len(samples) <= most:
        return samples
    return [samples[i * len(samples) // most] for i in range(most)]


class _Rows:
    """Collects samples, one row each."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[np.float64]] = [np.empty((0, 9))]

    def add(
        self,
        kind: ObservationKind,
        seconds: Sequence[float],
        uncertainty: float | None = None,
        *,
        route: int = 0,
        n: float = 0,
        gpus: float = 0,
        bytes_: float = 0,
        count: float = 0,
        busy: float = 0,
    ) -> None:
        # A rounded value is uniform within its half-width, whose square is three times the
        # variance.
        variance = 0.0 if uncertainty is None else uncertainty**2 / 3
        block = np.empty((len(seconds), 9))
        block[:] = (kind, route, n, gpus, bytes_, count, busy, 0, variance)
        block[:, 7] = seconds
        self._blocks.append(block)

    def add_record(
        self, kind: ObservationKind, record: Measurement, most: int | None, **cell: float
    ) -> None:
        seconds = record.seconds if most is None else _evenly(record.seconds, most)
        self.add(kind, seconds, record.uncertainty, **cell)  # type: ignore[arg-type]

    def add_transfers(self, route: str, cells: Iterable[TransferCell]) -> None:
        at = _core.ROUTES.index(route)
        for size, seconds, uncertainty in cells:
            self.add(ObservationKind.transfer, seconds, uncertainty, route=at, bytes_=size)

    def observations(self) -> _core.Observations:
        kind, route, *rest = np.ascontiguousarray(np.concatenate(self._blocks).T)
        return _core.Observations(kind.astype(np.uint8), route.astype(np.uint8), *rest)
