"""Finds and starts our own measuring programs, sends them cells and reads their records."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from gpucast import installed, remote
from gpucast.data import jsonl
from gpucast.data.records import Machine, Note, Record, Step
from gpucast.errors import GpucastError, InputError
from gpucast.measure import processes
from gpucast.measure.design.cells import MPI, Cell, Timing
from gpucast.measure.paths import Path

MICROBENCH = "gpucast-microbench"
MDAPP = "gpucast-mdapp"


class ProgramError(GpucastError):
    """A program ended before it had done its work."""


def find(name: str) -> str:
    """Return a program of gpucast, as installed or in PATH.

    Raises:
        GpucastError: it is in neither.
    """
    program = installed.program(name)
    if program is None:
        raise GpucastError(f"{name}: found neither beside {sys.executable} nor in PATH")
    return program


class Program:
    """A running program that writes records to stdout; leaving its context ends it."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str] | None) -> None:
        names = [os.path.basename(word) for word in words]
        self._name = next((name for name in names if name in (MICROBENCH, MDAPP)), names[0])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        try:
            self._process = processes.start(
                list(words),
                env=None if environment is None else dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            self._errors.close()
            raise ProgramError(f"{words[0]}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def tell(self, line: str) -> None:
        """Write a line to its stdin, if it has not ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def next_record(self) -> Record | None:
        """Return the next record that it writes; None at the end.

        Raises:
            ProgramError: it wrote something that is not a record.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            return None  # an incomplete line: it was killed
        try:
            return jsonl.parse(line, self._name).records[0]
        except InputError as error:
            raise ProgramError(f"what it wrote is no record: {error}") from error

    def read(self) -> bytes:
        """Return all that it writes until its end."""
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def finish(self) -> tuple[int, str]:
        """Wait until it ends; return exit status and its error message (or its last line)."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        status = self._process.wait()
        message = self._message()
        if status == 127 and "libcudart" in message:  # the loader's words
            message = (
                f"{self._name} finds no CUDA runtime: pip install 'gpucast[measure]', or a CUDA 13 "
                "toolkit"
            )
        return status, message or f"{self._name} ended with exit status {status}"

    def end(self) -> None:
        """End it, if it has not ended yet."""
        processes.end(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _message(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        told = [line.partition(": error: ")[2] for line in lines if ": error: " in line]
        spoken = [line for line in lines if line.strip()]
        # A program only sees that a device is missing; the client of remote GPUs knows why.
        return remote.client_message(lines) or (told or spoken or [""])[-1]


def probe(path: Path, environment: Mapping[str, str] | None) -> Machine:
    """Return the machine with the devices of a path, as the programs see it.

    Raises:
        ProgramError: it has no devices; the message says why.
    """
    with Program([find(MICROBENCH), "topology", *path.engine], environment) as program:
        text = program.read()
        status, message = program.finish()
    if status != 0:
        raise ProgramError(message)
    made = jsonl.record(json.loads(text))
    assert isinstance(made, Machine)
    return made


def transfers(
    path: Path,
    environment: Mapping[str, str] | None,
    machine: str,
    short: tuple[float, int] | None = None,
) -> Program:
    """Start measuring all transfers, launches and host memory, or (``short``) transfers of up to so
    many bytes and launches for so many seconds, without the scatter from run to run."""
    words = [find(MICROBENCH), "measure", *path.engine, *_labels(path, machine)]
    if short is not None:
        words += ["--what", "transfers,launches,skeleton", "--fresh", "0"]
        words += ["--budget", f"{short[0]:.3f}", "--largest", str(short[1])]
        if path.kind != "host":
            words += ["--memory", "pinned,pageable"]
    return Program(words, environment)


class Stepper:
    """Measures cells one after the other, in the same process if possible. ``launcher`` starts the
    processes of the schedule mpi; ``{ranks}`` stands for their number. Other schedules run in one
    process.
    """

    def __init__(
        self,
        path: Path,
        environment: Mapping[str, str] | None,
        machine: str,
        timing: Timing,
        launcher: str,
    ) -> None:
        self._words = [
            find(MDAPP), "measure", *path.engine, *_labels(path, machine), "--cells", "-",
            "--warm-up", f"{timing.warm_up:.4g}", "--max-time", f"{timing.max_time:.4g}",
        ]  # fmt: skip
        if path.kind == "native" and timing.min_time:
            self._words += ["--min-time", f"{timing.min_time:.4g}"]
        self._environment = environment
        self._launcher = launcher
        self._program: Program | None = None
        self._ranks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    def measure(self, cell: Cell) -> Iterator[Record]:
        """Yield records up to the cell's step, or a note why there is none. If a program had to be
        started, its machine record comes first.

        Raises:
            ProgramError: the program ended without measuring the cell.
        """
        program = self._program_for(cell)
        program.tell(cell.line)
        while (record := program.next_record()) is not None:
            yield record
            if _answers(record, cell):
                # If one of several processes has failed, the others cannot go on.
                if isinstance(record, Note) and self._ranks:
                    self._leave()
                return
        _, message = program.finish()
        self._leave()
        raise ProgramError(message)

    def _program_for(self, cell: Cell) -> Program:
        ranks = cell.gpus if cell.series.schedule == MPI else 0
        if self._program is None or ranks != self._ranks:
            self._leave()
            before = shlex.split(self._launcher.format(ranks=ranks)) if ranks else []
            self._program = Program([*before, *self._words], self._environment)
            self._ranks = ranks
        return self._program

    def _leave(self) -> None:
        if self._program is not None:
            self._program.end()
            self._program = None


def _labels(path: Path, machine: str) -> list[str]:
    return ["--path", path.label, "--machine", machine, "--quiet", "-o", "-"]


def _answers(record: Record, cell: Cell) -> bool:
    asked: dict[str, object] = {**cell.series.chosen, "n": cell.n, "gpus": cell.gpus}
    if isinstance(record, Step):
        return all(getattr(record, name) == value for name, value in asked.items())
    about = record.about if isinstance(record, Note) else None
    return about is not None and all(about.get(name) == value for name, value in asked.items())
