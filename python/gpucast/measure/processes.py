"""Programs under way: in a group of their own, which ends with them and with us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from typing import Any

END_SECONDS = 5.0
"""How long a program that was asked to end may take before it is killed."""

_LONGEST_PAUSE = 0.02
"""Between two looks at a program that has a time limit."""


def start(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """``subprocess.Popen`` in a session of its own: Ctrl-C reaches us, and we end it.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(words, start_new_session=True, preexec_fn=_end_with_parent, **options)


def has_ended(process: subprocess.Popen[bytes], seconds: float | None = None) -> bool:
    """Whether it ends within this time (None: waits for it); it is not reaped."""
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
    """End it, if it has not ended, and what it started in its group."""
    if process.returncode is not None:
        return  # reaped: its number may be another's by now
    _signal(process, signal.SIGTERM)
    has_ended(process, END_SECONDS)
    _signal(process, signal.SIGKILL)  # what a launcher started, too, and may have left behind
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end_with_parent() -> None:
    # However this process ends, nothing goes on measuring behind the next one's back.
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG
    _LIBC.prctl(set_parent_death_signal, signal.SIGTERM)


_LIBC = ctypes.CDLL(None, use_errno=True)
