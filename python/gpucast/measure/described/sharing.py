"""Runs several instances of a program at once on one GPU, or on the same processor cores.

All are started together, each in its own folder. An unmodified program has no barrier, and its log
does not say when its steps began; only start and end of each instance are known. The record states
how many ran at the same time, averaged over their runs, with a caveat if that is far fewer than
were started: the steps then had less competition than their number suggests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, quantiles

from gpucast.errors import GpucastError, InputError
from gpucast.measure import processes
from gpucast.measure.described.description import Program
from gpucast.measure.described.here import VISIBLE
from gpucast.measure.described.running import FailedRunError, started, succeeded
from gpucast.measure.described.runs import Run

POOR = 0.9
"""The record has a caveat if less than this share of the instances ran at the same time."""

_PAUSE = 0.01


@dataclass(frozen=True)
class Together:
    """Instances that have ended.

    Attributes:
        outputs: what each printed.
        seconds: time of each from start to end.
        at_once: how many ran at the same time, averaged over their runs.
        busy: share of the time in which the GPU or the cores worked; None: not known.
    """

    outputs: list[str]
    seconds: list[float]
    at_once: float
    busy: float | None


def run_together(
    folders: Sequence[Path],
    logs: Sequence[Path],
    run: Run,
    program: Program,
    bound: Mapping[str, str],
    gpu: str | None,
    *,
    watch: bool,
) -> Together:
    """Run an instance in each folder, all at once, and wait until they end.

    Args:
        logs: one for each instance.
        bound: environment variables in addition to the description's.
        gpu: the GPU, as the driver calls it; None: processor cores are shared.
        watch: whether to observe how busy GPU or cores are.

    Raises:
        FailedRunError: one of them failed.
    """
    count = len(folders)
    cores = cores_of(run, program)
    group: list[subprocess.Popen[bytes]] = []
    begins: list[float] = []
    usage: Usage | None = None
    try:
        with confined(cores):
            for folder, log in zip(folders, logs, strict=True):
                begins.append(time.monotonic())
                group.append(started(folder, log, run, program, bound))
        if watch and gpu is not None:
            usage = OfGpu(gpu)
        elif watch and cores:
            usage = OfCores([process.pid for process in group], cores)
        # At worst, each of k instances gets the GPU for a k-th of the time.
        limit = None if program.time_limit is None else program.time_limit * count
        ends = _ends(group, begins[0], limit, usage)
    finally:
        for process in group:
            processes.end(process)
        busy = None if usage is None else usage.share()
    outputs = [
        succeeded(process.returncode, end is not None, log, program)
        for process, end, log in zip(group, ends, logs, strict=True)
    ]
    runs = [(begin, end) for begin, end in zip(begins, ends, strict=True) if end is not None]
    return Together(outputs, [end - begin for begin, end in runs], at_once(runs), busy)


def at_once(runs: Sequence[tuple[float, float]]) -> float:
    """Return how many ran at the same time, averaged over runs that are given by begin and end (s).

    It is 2 if two runs began and ended together, 1.5 if they overlapped for half of the time, and 1
    if the second began when the first ended.
    """
    return mean(
        sum(max(0.0, min(end, other) - max(begin, start)) for start, other in runs)
        / max(end - begin, 1e-9)
        for begin, end in runs
    )


def sharing_fields(groups: Sequence[Together], instances: int) -> dict[str, object]:
    """Return fields of a record: how busy the GPU was, and how many instances ran at the same
    time."""
    known = [group.busy for group in groups if group.busy is not None]
    fields: dict[str, object] = {"busy": median(known)} if known else {}
    if instances > 1:
        fields["at_once"] = at_same_time = mean(group.at_once for group in groups)
        if at_same_time < POOR * instances:
            fields["caveat"] = f"of {instances} instances {at_same_time:.3g} ran at the same time"
    return fields


def cores_of(run: Run, program: Program) -> int:
    """Return how many processor cores a run is confined to; 0: it may use any.

    Raises:
        FailedRunError: the machine has fewer.
    """
    cores = (program.cores_per_gpu or 0) * run.cell.gpus
    here = len(os.sched_getaffinity(0))
    if cores > here:
        raise FailedRunError(f"needs {cores} processor cores (cores_per_gpu), {here} are here", [])
    return cores


@contextmanager
def confined(cores: int) -> Iterator[None]:
    """Confine programs that start within this context to the first ``cores`` cores; 0: no limit."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _ends(
    group: Sequence[subprocess.Popen[bytes]],
    begin: float,
    limit: float | None,
    usage: Usage | None,
) -> list[float | None]:
    """Wait, and return when each ended; None: not within the limit (s after ``begin``)."""
    if len(group) == 1 and usage is None:  # without readings there is no need to poll
        in_time = processes.has_ended(group[0], limit)
        return [time.monotonic() if in_time else None]
    ends: list[float | None] = [None] * len(group)
    while None in ends:
        for i, process in enumerate(group):
            if ends[i] is None and processes.has_ended(process, 0.0):
                ends[i] = time.monotonic()
        if limit is not None and time.monotonic() - begin > limit:
            break
        # Once the first has ended, the others have a larger share of the GPU.
        if usage is not None and not any(ends):
            usage.look()
        if None in ends:
            time.sleep(_PAUSE)
    return ends


# --- NVIDIA's Multi-Process Service (https://docs.nvidia.com/deploy/mps/) ---
#
# A daemon for the instances on one GPU listens in a folder of its own and is told to quit at the
# end. No setting of the device is changed: in the default compute mode a GPU serves clients of the
# service as well as other programs.


CONTROL = "nvidia-cuda-mps-control"
_PATIENCE = 20.0


def require() -> None:
    """Check that the service's daemon is installed.

    Raises:
        InputError: it is not installed.
    """
    if shutil.which(CONTROL) is None:
        raise InputError(
            f"no program {CONTROL} here, which NVIDIA's driver brings; leave it out to measure "
            "instances that take turns",
            field="--mps",
        )


@contextmanager
def service(gpu: str) -> Iterator[dict[str, str]]:
    """Start a daemon for one GPU (the driver's number), and yield the variables by which runs find
    it.

    Raises:
        GpucastError: it does not start.
    """
    # A socket's path may have about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="gpucast-mps-"))
    own = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
    for name in own.values():
        Path(name).mkdir()
    environment = {**os.environ, **own, VISIBLE: gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    daemon = processes.start(
        [CONTROL, "-f"], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(daemon, environment)
        # Clients count the GPUs that the daemon was given.
        yield {**own, VISIBLE: "0"}
    finally:
        _told("quit", environment)
        processes.has_ended(daemon, processes.END_SECONDS)
        processes.end(daemon)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(daemon: subprocess.Popen[bytes], environment: dict[str, str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _told("get_server_list", environment):
        if processes.has_ended(daemon, 0.1) or time.monotonic() > deadline:
            raise GpucastError(f"{CONTROL} does not start here; measure without --mps")


def _told(command: str, environment: dict[str, str]) -> bool:
    """Send the daemon a command; return whether it accepted it."""
    try:
        done = subprocess.run(
            [CONTROL], input=f"{command}\n".encode(), env=environment, capture_output=True,
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


# --- how busy a GPU or cores are while unmodified programs run ---
#
# For cores, the share is the median over the run, so that start-up and shutdown do not count, which
# are the smaller part of a run worth timing. For a GPU, which is idle while programs start, it is
# the upper quartile.


FEWEST_READINGS = 3
"""Fewest readings from which a share is computed."""

PERIOD = 0.4
"""Seconds between two readings."""

_TICKS = os.sysconf("SC_CLK_TCK")  # a second


class OfCores:
    """Processor time of the programs' sessions over the time of ``cores`` cores."""

    def __init__(self, sessions: Iterable[int], cores: int) -> None:
        self._sessions = set(sessions)
        self._cores = cores
        self._at = time.monotonic()
        self._used = self._seconds()
        self._shares: list[float] = []

    def look(self) -> None:
        """Take a reading, if it is time for one."""
        now = time.monotonic()
        if now - self._at < PERIOD:
            return
        used = self._seconds()
        before, self._used = self._used, used
        # Only processes that exist in both readings count: the time of one that ended is lost.
        spent = sum(used[process] - before[process] for process in used if process in before)
        self._shares.append(spent / ((now - self._at) * self._cores))
        self._at = now

    def share(self) -> float | None:
        """Return the share of time in which the cores worked, 0 to 1; None: not known. Called
        last."""
        if len(self._shares) < FEWEST_READINGS:
            return None
        return min(1.0, max(0.0, median(self._shares)))

    def _seconds(self) -> dict[int, float]:
        seconds = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError, ValueError, IndexError):  # ended in the meantime
                    # The process name, in parentheses, may contain anything.
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) in self._sessions:
                        ticks = int(fields[11]) + int(fields[12])
                        seconds[int(folder.name)] = ticks / _TICKS
        return seconds


class OfGpu:
    """The share of time in which a kernel ran on one GPU, from nvidia-smi."""

    def __init__(self, gpu: str) -> None:
        self._listing = tempfile.TemporaryFile()  # noqa: SIM115 - closed by share()
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = processes.start(
                ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits",
                 f"--id={gpu}", f"--loop-ms={round(1000 * PERIOD)}"],
                stdin=subprocess.DEVNULL, stdout=self._listing, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def look(self) -> None:
        """Do nothing: nvidia-smi takes the readings."""

    def share(self) -> float | None:
        """Return the share of time in which the GPU worked, 0 to 1; None: not known. Called
        last."""
        if self._process is not None:
            processes.end(self._process)
        with self._listing as listing:
            listing.seek(0)
            lines = listing.read().decode("ascii", errors="replace").splitlines()
        read = [float(line) for line in lines if line.strip().isdecimal()]
        return quantiles(read, n=4)[2] / 100 if len(read) >= FEWEST_READINGS else None


Usage = OfCores | OfGpu
"""Takes readings while a run is waited for."""
