"""Waiting for what a program does, never for time to pass.

The time limits below only turn a hang into a failure: no verdict depends on them.
"""

import fcntl
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HANG = 1800.0
"""Seconds after which a program that should have ended, or done something, counts as hung."""

_PIPE = 4096
"""Bytes of the smallest pipe: a page."""


def until(happened: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> bool:
    """Waits until something has happened; ``False`` if the process ended and it had not."""
    begin = time.monotonic()
    while not happened():
        if process is not None and process.poll() is not None:
            return bool(happened())
        assert time.monotonic() - begin < HANG, "hung"
        time.sleep(0.002)
    return True


def size(path: Path) -> int:
    """Bytes of a file, 0 where there is none yet."""
    return path.stat().st_size if path.exists() else 0


def processor_seconds(process: subprocess.Popen[Any]) -> float:
    """Seconds of the processor that a process has had so far: how much work it has done."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def next_line(process: subprocess.Popen[str]) -> str:
    """The next line on stdout of a program, and not a byte of what follows.

    ``stdout.readline`` takes what has come into a buffer of its own, which ``communicate``, called
    later, does not look into.
    """
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        line += byte
    return line.decode()


def start_held(command: Sequence[object], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Starts a program that cannot get past its first line on stderr until that is read.

    Its stderr is a pipe that is full already. Whatever the program does before its first line is
    then seen from outside, at whatever speed, while it is surely in the middle of its work.
    ``communicate`` reads the pipe, and so lets the program go on; empty lines come first.
    """
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE)
    assert os.write(writing, b"\n" * _PIPE) == _PIPE
    process = subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=writing, text=True, env=environment
    )
    os.close(writing)
    process.stderr = os.fdopen(reading, encoding="utf-8")
    return process
