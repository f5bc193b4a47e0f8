"""A stand-in for a CUDA program, which does what lines say, under ``gpucast trace``.

``trace/tests/fake/program.cpp`` says which lines there are, and ``record_text.h`` beside it which
records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

import gpucast
from waiting import until

BUILD = os.environ.get("GPUCAST_TRACE_BUILD")
"""The folder `trace` of a build, with the targets fake_cupti and fake_cuda_program."""


def built(*names: str) -> Path:
    """A file of that build: of the installed package's, unless another is named."""
    root = Path(BUILD) if BUILD else Path(__file__).parents[2] / "build" / "wheel" / "trace"
    return root.joinpath(*names)


PROGRAM = built("fake", "fake_cuda_program")
CUPTI = built("fake", "libcupti.so.13")


class Tracing:
    """``gpucast trace OPTIONS -- PROGRAM``, whose lines are given one after the other."""

    def __init__(
        self, folder: Path, *options: str, phases: bool = False, **environment: str
    ) -> None:
        """Without ``phases``, GPU work is recorded all the time."""
        self.output = folder / "t.trace"
        self.part = folder / "t.trace.part"
        variables = {
            "GPUCAST_TRACE_LIB": str(built()),
            "GPUCAST_CUPTI": str(CUPTI),
            "PYTHONPATH": str(Path(gpucast.__file__).parents[1]),
            **environment,
        }
        usual = [] if "--steps" in options else ["--steps", "0"]
        usual += [] if phases else ["--full"]
        words = ["trace", *usual, "-o", str(self.output), *options, "--", str(PROGRAM)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gpucast.cli", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )

    def do(self, *lines: str) -> None:
        """Let the program do them; does not wait for it."""
        stdin: IO[str] | None = self.process.stdin
        stdin.write("".join(f"{line}\n" for line in lines))
        stdin.flush()

    def wait_for_rows(self, table: str, count: int) -> None:
        """Wait until the recording's folder holds so many rows."""
        path = self.part / "0" / f"{table}.arrows"
        there = until(lambda: path.exists() and len(rows(path.read_bytes())) >= count, self.process)
        assert there, self.process.communicate()

    def wait_for_problem(self) -> None:
        """Wait until the library has told of one."""
        assert until(lambda: [*self.part.glob("problem-*")], self.process)

    def end(self, *lines: str) -> tuple[int, str]:
        """Let the program do the last lines: the exit status, and what was said on stderr."""
        _, errors = self.process.communicate("".join(f"{line}\n" for line in lines))
        return self.process.returncode, errors

    @property
    def trace(self) -> Archive:
        """What was written."""
        with zipfile.ZipFile(self.output) as archive:
            return Archive({name: archive.read(name) for name in archive.namelist()})


@dataclass(frozen=True)
class Archive:
    """A trace's files."""

    files: dict[str, bytes]

    def json(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.files[name])
        return content

    def rows(self, table: str, process: int = 0) -> list[dict[str, Any]]:
        """Rows of a process's table; none where it has no file."""
        content = self.files.get(f"{process}/{table}.arrows")
        return [] if content is None else rows(content)

    def call_names(self, process: int = 0) -> list[str]:
        """Names of its calls, in their order."""
        names = {row["id"]: row["text"] for row in self.rows("names", process)}
        return [names[row["name"]] for row in self.rows("calls", process)]

    @property
    def processes(self) -> list[dict[str, Any]]:
        """What each says of itself."""
        return [self.json(name) for name in sorted(self.files) if name.endswith("process.json")]


def rows(content: bytes) -> list[dict[str, Any]]:
    """Rows of an Arrow stream, as far as it goes."""
    result: list[dict[str, Any]] = []
    try:
        for batch in pa.ipc.open_stream(content):
            result += batch.to_pylist()
    except (pa.ArrowInvalid, OSError):  # is being written
        return result
    return result
