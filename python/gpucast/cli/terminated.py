"""SIGTERM ends work as Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from gpucast.errors import Terminated


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the work as Ctrl-C does: programs stopped, files whole or removed.

    Only the exit status differs: batch systems and scripts tell the two apart by it.
    """

    def terminate(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
