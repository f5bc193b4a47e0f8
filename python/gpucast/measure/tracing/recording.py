"""Records one run of a program: into a folder while it runs, which then becomes a zip archive.

The program is not modified: the CUDA driver loads our library, which ``CUDA_INJECTION64_PATH``
names, into every process of the run that makes a CUDA call. Each process writes its own folder.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from gpucast.errors import GpucastError, InputError
from gpucast.measure.machine import nvidia_smi
from gpucast.measure.nvml import MemoryWatch
from gpucast.measure.tracing import libraries
from gpucast.util import files
from gpucast.util.signals import handled

SCHEMA = "gpucast.trace/1"
ENOUGH = "enough"
"""Name of the file that tells the recorder to stop."""
LOOK_EVERY = 0.1  # s


@dataclass(frozen=True)
class Limits:
    """What is recorded of a run; 0: no limit.

    Attributes:
        after: time (s) that is left out at the beginning, from a process's first CUDA call.
        seconds: time (s) that is recorded.
        calls: number of calls of a process after which recording ends.
        whole_graphs: whether a launch of a CUDA graph is one row instead of one per node.
        phase: length (s) of the first full phase, in which GPU work is recorded. A light phase, in
            which only calls are recorded, follows and is three times as long, and so on, with
            growing lengths. 0: GPU work is always recorded.
    """

    after: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    whole_graphs: bool = False
    phase: float = 0.05


@dataclass(frozen=True)
class Recorded:
    """The content of a recording.

    Attributes:
        processes: number of processes that made CUDA calls.
        calls, work: rows of these tables in all processes.
        lost: number of records that CUPTI dropped, or had no times for.
        cut: number of processes that ended before their recorder did (killed, ``_exit``).
        size: size on disk (bytes).
        status: the program's exit status; negative if a signal ended it.
        problems: lines about processes that were not recorded, or only in part.
        written: whether the trace is written; if not, the last of the job's ranks will write it.
    """

    processes: int
    calls: int
    work: int
    lost: int
    cut: int
    size: int
    status: int
    problems: tuple[str, ...] = ()
    written: bool = True


class NothingRecordedError(GpucastError):
    """A run has ended without a recorded process."""


class Watcher(Protocol):
    """Receives the progress of a recording."""

    def recording(self, so_far: Recorded) -> None:
        """Called about ten times a second while the program runs."""

    def enough(self) -> None:
        """Called when recording has ended while the program goes on."""


Enough = Callable[[Path], bool]
"""Whether a recording's folder holds enough; called from time to time."""


def record(
    program: Sequence[str],
    output: Path,
    limits: Limits,
    watcher: Watcher,
    *,
    enough: Enough | None = None,
    again: Callable[[Path], None] | None = None,
    force: bool = False,
) -> Recorded:
    """Run a program and write its trace.

    Args:
        again: called with a recording's folder before it becomes the trace, if the program ended
            well and was not started by an MPI launcher.

    While the program runs, the trace is the folder ``OUTPUT.part``, which an interrupted recording
    leaves behind. SIGINT and SIGTERM go to the program, and its trace is still written. If a job's
    ranks are recorded one by one, the last to end writes it (``Recorded.written``).

    Raises:
        InputError: the output exists (without ``force``), or the program does not exist.
        GpucastError: nothing was recorded; the message says why.
    """
    files.check_output(output, force=force)
    folder = folder_of(output)
    variables = variables_of(folder, limits)
    job = job_of(os.environ)
    _make(folder, job, force=force)
    try:
        status = into(
            folder, program, lambda: run_program(program, variables, folder, watcher, enough),
            describes=job is None or job.rank == 0,
        )  # fmt: skip
    except InputError:
        if job is None:
            shutil.rmtree(folder)
        else:
            withdraw(folder, job)
        raise
    if job is not None and not leave(folder, job):
        return replace(summary(folder, status), written=False)
    if job is None and again is not None and status == 0:
        again(folder)
    return archived(folder, output, status, force=force)


def into(
    folder: Path, command: Sequence[str], run: Callable[[], int], *, describes: bool = True
) -> int:
    """Make a run that is recorded into a folder; return its exit status.

    Args:
        describes: whether ``run.json`` is written (docs/reference/trace-format.md).
    """
    about: dict[str, Any] = {
        "schema": SCHEMA,
        "source": "cupti",
        "command": list(command),
        "machine": _machine(),
        "started": time.time(),
    }
    if describes:
        write_json(folder / "run.json", about)
    with MemoryWatch() as memory:
        status = run()
    how = {"signal": -status} if status < 0 else {"status": status}
    about |= {"seconds": time.time() - about["started"], "exit": how}
    if memory.most is not None:
        about["gpu_memory"] = memory.most
    if describes:
        write_json(folder / "run.json", about)
    return status


def summary(folder: Path, status: int) -> Recorded:
    """Summarize a recording's folder by the latest reports of its processes."""
    processes = [json.loads(file.read_text()) for file in sorted(folder.glob("*/process.json"))]
    problems = (file.read_text(errors="replace") for file in sorted(folder.glob("problem-*")))
    return Recorded(
        processes=len(processes),
        calls=sum(process["calls"] for process in processes),
        work=sum(process["work"] for process in processes),
        lost=sum(process["lost"] + process["untimed"] for process in processes),
        cut=sum(process["ended"] == "open" for process in processes),
        size=sum(file.stat().st_size for file in folder.glob("*/*.arrows")),
        status=status,
        problems=tuple(" ".join(text.split()) for text in problems),
    )


def _why_nothing(recorded: Recorded) -> str:
    if recorded.problems:
        return f"nothing was recorded: {recorded.problems[0]}"
    how = f"ended by signal {-recorded.status}" if recorded.status < 0 else (
        f"ended with status {recorded.status}"
    )  # fmt: skip
    return f"nothing was recorded: the program {how}, and no process of it made a CUDA call"


def folder_of(output: Path) -> Path:
    """Return the folder into which a trace is recorded."""
    return output.with_name(output.name + ".part").absolute()


def _make(folder: Path, job: Job | None, *, force: bool) -> None:
    if job is not None:
        enter(folder, job)
        return
    if folder.exists() and not force:
        raise InputError(
            "was left by an interrupted recording (gpucast trace show reads it); "
            "--force replaces it",
            file=folder,
        )
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.mkdir()


def variables_of(folder: Path, limits: Limits) -> dict[str, str]:
    """Return the environment variables that make a program record into the folder.

    Raises:
        GpucastError: gpucast was built without the recorder.
        InputError: GPUCAST_CUPTI names no file.
    """
    library = libraries.recorder()
    variables = {
        "CUDA_INJECTION64_PATH": library,
        "NVTX_INJECTION64_PATH": library,
        "GPUCAST_TRACE": folder,
        "GPUCAST_TRACE_CUPTI": os.pathsep.join(map(str, libraries.cupti())),
        "GPUCAST_TRACE_GRAPHS": "whole" if limits.whole_graphs else "nodes",
        "GPUCAST_TRACE_AFTER": limits.after,
        "GPUCAST_TRACE_SECONDS": limits.seconds,
        "GPUCAST_TRACE_CALLS": limits.calls,
        "GPUCAST_TRACE_PHASE": limits.phase,
    }
    return {name: str(value) for name, value in variables.items()}


def _machine() -> dict[str, Any]:
    rows = nvidia_smi("--query-gpu=name,driver_version")
    return {
        "name": platform.node(),
        "gpus": [row[0] for row in rows],
        "driver": rows[0][1] if rows and len(rows[0]) > 1 else "",
        "cpu": _processor(),
    }


def _processor() -> str:
    try:
        with open(os.path.join(os.sep, "proc", "cpuinfo"), encoding="utf-8") as lines:
            named = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            return next(named, platform.machine())
    except OSError:
        return platform.machine()


# --- while the program runs -----------------------------------------------------------------------


def run_program(
    program: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    watcher: Watcher,
    enough: Enough | None = None,
    **streams: Any,
) -> int:
    """Run a program that records into a folder; return its exit status. ``streams`` go to
    ``Popen``.

    Raises:
        InputError: the program does not exist.
    """
    try:
        running = subprocess.Popen(list(program), env={**os.environ, **variables}, **streams)
    except OSError as error:
        raise InputError(error.strerror or str(error), file=program[0]) from error
    # A terminal sends SIGINT to the program as well; SIGTERM comes to this process alone.
    with handled({signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: lambda *_: running.terminate()}):
        try:
            return _watch(running, folder, watcher, enough)
        except BaseException:
            running.terminate()  # its recording would never be written
            running.wait()
            raise


def _watch(
    running: subprocess.Popen[bytes], folder: Path, watcher: Watcher, enough: Enough | None
) -> int:
    patience = Patience()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return running.wait(LOOK_EVERY)
        so_far = summary(folder, 0)
        watcher.recording(so_far)
        if enough is not None and patience.is_due(so_far.size) and enough(folder):
            (folder / ENOUGH).touch()
            watcher.enough()
            enough = None


class Patience:
    """Decides when to look for enough steps again, each time at twice the size."""

    def __init__(self) -> None:
        self._next = 1 << 15

    def is_due(self, size: int) -> bool:
        if size < self._next:
            return False
        self._next = 2 * size
        return True


# --- files ----------------------------------------------------------------------------------------


def archived(folder: Path, output: Path, status: int, *, force: bool) -> Recorded:
    """Turn the folder of a recording into one file.

    Raises:
        NothingRecordedError: the recording is empty; the message says why.
    """
    recorded = summary(folder, status)
    if not recorded.processes:
        shutil.rmtree(folder)
        raise NothingRecordedError(_why_nothing(recorded))
    files.write_stream(output, lambda stream: _archive(folder, stream), force=force)
    shutil.rmtree(folder)
    return replace(recorded, size=output.stat().st_size)


def _archive(folder: Path, stream: BinaryIO) -> None:
    """Zip at the fastest level, which shrinks the columns to a fifth; others gain little."""
    names = ("run.json", "*/process.json", "*/*.arrows")
    entries = [entry for name in names for entry in folder.glob(name)]
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for entry in sorted(entries, key=_order):
            archive.write(entry, entry.relative_to(folder).as_posix())


def _order(entry: Path) -> tuple[bool, int, str]:
    process = entry.parent.name
    return entry.name != "run.json", int(process) if process.isdecimal() else 0, entry.name


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file such that readers never see part of it."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content) + "\n")
    part.replace(path)


# --- a run that the caller starts and waits for, such as a campaign ----------------------------


def record_beside(
    run: Callable[[Mapping[str, str]], object],
    command: Sequence[str],
    output: Path,
    limits: Limits,
    enough: Enough,
) -> Recorded:
    """Record a run as ``record`` does.

    Args:
        run: makes the run with these additional environment variables; raises if it fails.
        command: the command, for the trace's description.
        output: the trace; an existing one, or an interrupted one, is replaced.

    Raises:
        NothingRecordedError: no process was recorded; the message says why.
        GpucastError: gpucast was built without the recorder.
    """
    folder = folder_of(output)
    variables = variables_of(folder, limits)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(folder, enough, over), daemon=True)

    def watched() -> int:
        looking.start()
        try:
            run(variables)
        finally:
            over.set()
            looking.join()
        return 0

    try:
        into(folder, command, watched)
        return archived(folder, output, 0, force=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(folder: Path, enough: Enough, over: threading.Event) -> None:
    """Tell the recorder when it has recorded enough."""
    patience = Patience()
    while not over.wait(LOOK_EVERY):
        if patience.is_due(summary(folder, 0).size) and enough(folder):
            (folder / ENOUGH).touch()
            return


def has_steps(folder: Path, wanted: int, range_name: str | None, *, light: bool) -> bool:
    """Whether each process with steps has at least ``wanted`` typical steps with recorded work and,
    with ``light``, enough steps in light phases to tell the step time.

    Without a range's name, steps are found by repetition. A folder that is still being written is
    read as far as it is complete.
    """
    # Imported here: loading tables takes a second.
    from gpucast.data.traces import find_steps, phases, read
    from gpucast.data.traces.steps import ENOUGH_LIGHT

    try:
        steps = find_steps(read(folder), range_name)
    except GpucastError:  # not yet
        return False
    least = {phases.FULL: wanted} | ({phases.LIGHT: min(wanted, ENOUGH_LIGHT)} if light else {})
    return all(
        (process.kept & (process.phase == phase)).sum() >= count
        for process in steps.processes
        for phase, count in least.items()
    )


# --- ranks of one job, each under its own gpucast trace -----------------------------------------
#
# ``mpirun -n 4 gpucast trace -o T -- PROGRAM`` starts four recordings with one output. They share
# its folder, in which each leaves a file; the last to end writes the output. Ranks thus need a
# common file system, and if one is killed with its ``gpucast trace``, the folder stays.


_KNOWN = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),  # Open MPI
    ("PMI_RANK", "PMI_SIZE"),  # MPICH, Intel MPI
    ("RANK", "WORLD_SIZE"),  # torchrun
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # srun; the second is not set in a job's script
)


@dataclass(frozen=True)
class Job:
    """This process is number ``rank`` of ``size``."""

    rank: int
    size: int


def job_of(environment: Mapping[str, str]) -> Job | None:
    """Return this process's rank from the launcher's variables; None if it is alone."""
    for rank, size in _KNOWN:
        values = environment.get(rank, ""), environment.get(size, "")
        if all(number.isdecimal() for number in values):
            job = Job(*map(int, values))
            if job.size > 1 and job.rank < job.size:
                return job
    return None


def enter(folder: Path, job: Job) -> None:
    """Announce that this rank records into the folder, which the first rank creates.

    Raises:
        InputError: it was announced before.
    """
    folder.mkdir(exist_ok=True)
    try:
        _announcement(folder, job).touch(exist_ok=False)
    except FileExistsError:
        raise InputError(
            "was left by an interrupted recording of ranks (gpucast trace show reads it): "
            "remove it",
            file=folder,
        ) from None


def withdraw(folder: Path, job: Job) -> None:
    """Take back the announcement of this rank, which records nothing."""
    _announcement(folder, job).unlink()
    if not [*folder.glob("rank-*"), *folder.glob("recorded-*")]:
        shutil.rmtree(folder)


def leave(folder: Path, job: Job) -> bool:
    """Note that this rank has ended; return whether it is the last, which writes the output."""
    _announcement(folder, job).rename(folder / f"recorded-{job.rank}")
    if len([*folder.glob("recorded-*")]) < job.size:
        return False
    try:
        (folder / "joining").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _announcement(folder: Path, job: Job) -> Path:
    return folder / f"rank-{job.rank}"
