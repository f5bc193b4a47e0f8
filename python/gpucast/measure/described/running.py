"""One run of a program: its folder, its output in a log, its end, and why it failed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpucast.errors import GpucastError
from gpucast.measure import processes
from gpucast.measure.described.description import Program
from gpucast.measure.described.runs import Run
from gpucast.remote import client_message
from gpucast.util.units import long_duration

LAST_LINES = 5
"""How many lines of a failed run's output the file of records keeps."""

_MEMORY = re.compile(
    r"out of memory|outofmemory|bad_alloc|cannot allocate memory|memoryerror|CUDA_ERROR_OUT_OF",
    re.IGNORECASE,
)
_LARGEST_OUTPUT = 256 * 2**20

_LOOKED_AT = 80
"""How many of an output's last lines are searched for the reason of a failure."""
_LONGEST = 200
"""How many characters of a line are kept."""

_EXCEPTION = re.compile(r"^(?:\[[^\]]*\]:?\s*)?(?:[\w.]+\.)?\w*(?:Error|Exception): +\S")
_ERROR = re.compile(r"\berror\b(?!s)|^execvp|command not found", re.IGNORECASE)
_OF_NO_USE = re.compile(
    r"MPI_Abort|https?://|exit code|MPI_ERRORS_ARE_FATAL|without errors?\b|^Error file",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?:Program|Source file|Function|MPI rank): ")
"""The first lines of GROMACS' box around an error."""
_RULE = re.compile(r"^[\W_]{8,}$")


class FailedRunError(GpucastError):
    """A run that gave no result.

    Attributes:
        lines: the last lines that it printed.
    """

    def __init__(self, message: str, lines: list[str]) -> None:
        super().__init__(message)
        self.lines = lines


def in_folder(run: Run, program: Program, folder: Path) -> None:
    """Make a fresh folder with the files of a run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in run.files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.source is None:
            target.write_text(run.placed(file.text, folder, program.folder), encoding="utf-8")
        else:
            shutil.copy2(file.source, target)


def started(
    folder: Path, log: Path, run: Run, program: Program, bound: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a run, which the caller has to end.

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
    """Return the output of a run that ended well.

    Raises:
        FailedRunError: it failed, took too long, or did not print what a success prints.
    """
    output = _text(log)
    why = _why_failed(status, in_time, output, program)
    if why is not None:
        raise FailedRunError(why, last_lines(output))
    return output


def last_lines(output: str) -> list[str]:
    """Return the last lines of an output that are not empty."""
    spoken = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    return [line[:_LONGEST] for line in spoken[-LAST_LINES:]]


def _why_failed(status: int, in_time: bool, output: str, program: Program) -> str | None:
    if not in_time:
        return f"took longer than {long_duration(program.time_limit or 0)} (time_limit)"
    memory = next((line for line in reversed(output.splitlines()) if _MEMORY.search(line)), None)
    if status != 0:
        if memory is not None:
            return f"ran out of memory: {' '.join(memory.split())[:_LONGEST]}"
        how = f"exit status {status}" if status > 0 else f"ended by {_signal_name(-status)}"
        killed = " (out of memory?)" if status == -signal.SIGKILL else ""
        # A program only sees that a device is missing; the client of remote GPUs knows why.
        why = client_message(output.splitlines()) or reason(output)
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


def reason(output: str) -> str | None:
    """Return the line of a failed run's output that says why it failed; None if there is none.

    It is seldom the last line: GROMACS and Open MPI end with a row of hyphens, LAMMPS with the
    faulty input line, MPI with a message about processes that it ended. These are tried in order:
    the last Python exception; the first line that contains the word error (with the next lines, if
    it ends with a colon); the first line of the last box between rules; the last line with a word.
    """
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()][-_LOOKED_AT:]
    spoken = [line for line in lines if re.search(r"\w", line)]
    why = next((line for line in reversed(spoken) if _EXCEPTION.match(line)), None)
    if why is None:
        why = _first_error(spoken) or _in_last_box(lines) or (spoken[-1] if spoken else None)
    return None if why is None else why[:_LONGEST]


def _first_error(lines: Sequence[str]) -> str | None:
    for i, line in enumerate(lines):
        if _ERROR.search(line) and not _OF_NO_USE.search(line):
            below = lines[i + 1 : i + 3] if line.endswith(":") else []
            return " ".join([line, *below])
    return None


def _in_last_box(lines: Sequence[str]) -> str | None:
    """Return the first lines between the last two rules of the output, if it has rules."""
    rules = [i for i, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2:
        return None
    box = [line for line in lines[rules[-2] + 1 : rules[-1]] if not _WHERE.match(line)]
    return " ".join(box[:2]) if box else None
