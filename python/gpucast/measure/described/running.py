"""One run of a program: its folder, its output in a log, its end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpucast.errors import GpucastError
from gpucast.measure import processes
from gpucast.measure.described.description import Program
from gpucast.measure.described.reasons import reason
from gpucast.measure.described.runs import Run
from gpucast.remote import client_said
from gpucast.util.units import long_duration

LAST_LINES = 5
"""Of what a failed run printed, kept in the file of records."""

_MEMORY = re.compile(
    r"out of memory|outofmemory|bad_alloc|cannot allocate memory|memoryerror|CUDA_ERROR_OUT_OF",
    re.IGNORECASE,
)
_LARGEST_OUTPUT = 256 * 2**20


class FailedRunError(GpucastError):
    """A run that gave no result.

    Attributes:
        lines: the last that it printed.
    """

    def __init__(self, message: str, lines: list[str]) -> None:
        super().__init__(message)
        self.lines = lines


@dataclass(frozen=True)
class Ended:
    """A run that came to its end.

    Attributes:
        output: what it printed.
        seconds: from its start to its end.
    """

    output: str
    seconds: float


def in_folder(run: Run, program: Program, folder: Path) -> None:
    """A fresh folder with the files of a run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in run.files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.source is None:
            target.write_text(run.placed(file.text, folder, program.folder), encoding="utf-8")
        else:
            shutil.copy2(file.source, target)


def run_in(folder: Path, log: Path, run: Run, program: Program, bound: Mapping[str, str]) -> Ended:
    """Run it to its end, with what it prints in the log.

    Args:
        bound: variables beside the description's.

    Raises:
        FailedRunError: it could not be started, failed, took too long, or did not print what a
            success prints.
    """
    begin = time.monotonic()
    process = started(folder, log, run, program, bound)
    try:
        in_time = processes.has_ended(process, program.time_limit)
    finally:
        processes.end(process)
    seconds = time.monotonic() - begin
    return Ended(succeeded(process.returncode, in_time, log, program), seconds)


def started(
    folder: Path, log: Path, run: Run, program: Program, bound: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start it; whoever does ends it.

    Raises:
        FailedRunError: it cannot be started.
    """
    words = [run.placed(word, folder, program.folder) for word in run.words]
    own = {name: run.placed(text, folder, program.folder) for name, text in run.environment.items()}
    with log.open("wb") as stream:
        try:
            return processes.start(
                words, cwd=folder, env={**os.environ, **bound, **own},
                stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except OSError as error:
            raise FailedRunError(f"{words[0]}: {error.strerror}", []) from error


def succeeded(status: int, in_time: bool, log: Path, program: Program) -> str:
    """What an ended run printed.

    Raises:
        FailedRunError: it failed, took too long, or did not print what a success prints.
    """
    output = _text(log)
    why = _why_failed(status, in_time, output, program)
    if why is not None:
        raise FailedRunError(why, last_lines(output))
    return output


def last_lines(output: str) -> list[str]:
    """The last lines of an output that say something."""
    said = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    return [line[:200] for line in said[-LAST_LINES:]]


def _why_failed(status: int, in_time: bool, output: str, program: Program) -> str | None:
    if not in_time:
        return f"took longer than {long_duration(program.time_limit or 0)} (time_limit)"
    memory = next((line for line in reversed(output.splitlines()) if _MEMORY.search(line)), None)
    if status != 0:
        if memory is not None:
            return f"ran out of memory: {' '.join(memory.split())[:200]}"
        how = f"exit status {status}" if status > 0 else f"ended by {_signal_name(-status)}"
        killed = " (out of memory?)" if status == -signal.SIGKILL else ""
        # Programs only know that a device is not there; the client of remote GPUs knows why.
        why = client_said(output.splitlines()) or reason(output)
        return f"{how}{killed}" + (f": {why}" if why else "")
    for text in program.success:
        if text not in output:
            return f"its output lacks {text!r} (success)"
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(path: Path) -> str:
    with path.open("rb") as stream:
        content = stream.read(_LARGEST_OUTPUT)
    return content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
