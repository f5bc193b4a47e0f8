"""A function in a process of its own: what it reads may be large or hostile, and take long."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from gpucast.errors import GpucastError

Given = TypeVar("Given")
Found = TypeVar("Found")


def apart(function: Callable[[Given], Found], given: Given) -> Found:
    """``function(given)``, computed in a fresh process that ends with it or with this one.

    Raises:
        GpucastError: what the function raised, or that its process died.
    """
    fresh = multiprocessing.get_context("spawn")
    receiver, sender = fresh.Pipe(duplex=False)
    process = fresh.Process(target=_run, args=(sender, function, given), daemon=True)
    process.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        raise GpucastError("reading or fitting ended unexpectedly, as for want of memory") from None
    finally:
        receiver.close()
        process.kill()
        process.join()
    if isinstance(outcome, GpucastError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def _run(sender: Connection, function: Callable[[Given], Found], given: Given) -> None:
    # Ctrl-C in a terminal reaches this process, too; its parent ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sender.send(function(given))
    except GpucastError as error:
        sender.send(error)
