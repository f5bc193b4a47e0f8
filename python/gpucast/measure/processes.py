"""Starts and ends programs, each in a process group that ends with it and with this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from typing import Any

END_SECONDS = 5.0
"""Time (s) that a program has to end after SIGTERM before it is killed."""

_LONGEST_PAUSE = 0.02
"""Longest time (s) between two checks of a program that has a time limit."""


def start(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that Ctrl-C reaches only this process, which ends
    it.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(words, start_new_session=True, preexec_fn=_end_with_parent, **options)


def has_ended(process: subprocess.Popen[bytes], seconds: float | None = None) -> bool:
    """Wait at most this time (s; None: no limit); return whether it has ended. It is not reaped."""
    options = os.WEXITED | os.WNOWAIT
    if seconds is None:
        return os.waitid(os.P_PID, process.pid, options) is not None
    deadline = time.monotonic() + seconds
    pause = 0.001
    while os.waitid(os.P_PID, process.pid, options | os.WNOHANG) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program, if it has not ended, and all processes of its group."""
    if process.returncode is not None:
        return  # reaped: another process may have its number by now
    _signal(process, signal.SIGTERM)
    has_ended(process, END_SECONDS)
    _signal(process, signal.SIGKILL)  # also what a launcher started and left behind
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end_with_parent() -> None:
    # A program must not go on after this process has died, beside the next campaign.
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG
    _LIBC.prctl(set_parent_death_signal, signal.SIGTERM)


_LIBC = ctypes.CDLL(None, use_errno=True)
