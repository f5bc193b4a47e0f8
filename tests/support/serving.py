"""``gpucast serve`` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(*arguments: object, temporary: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gpucast.cli", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()
