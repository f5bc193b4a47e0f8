"""Runs a program with GPU servers, and reports if it never reached one."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpucast.errors import InputError

REACHED = "GPUCAST_REMOTE_REACHED"
"""The variable with the name of a file to which a client writes when it has reached its servers."""

_FORWARDED = {
    getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "CONT")
}
_OF_THE_TERMINAL = 0x80
"""``si_code`` of signals that the kernel sends to all processes of a terminal."""

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_program(program: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a program; return its exit status (128 plus the signal's number if a signal ended it).

    Signals are forwarded. The program ends with this process.

    Raises:
        InputError: it cannot be started; or it ended well, but neither it nor its processes have
            reached a server.
    """
    with tempfile.NamedTemporaryFile(prefix="gpucast-reached-") as reached:
        status = _run(program, {**variables, REACHED: reached.name})
        if status == 0 and Path(reached.name).stat().st_size == 0:
            raise InputError(
                "it has ended without reaching a server: nothing of it ran on a remote GPU (only "
                "what is linked with the shared CUDA runtime does)",
                file=program[0],
            )
    return status


def _run(program: Sequence[str], variables: Mapping[str, str]) -> int:
    awaited = _FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)

    def in_the_program() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)

    try:
        running = subprocess.Popen(
            program, env=dict(variables), close_fds=False, preexec_fn=in_the_program
        )
        while running.poll() is None:
            # Another thread of this process may receive SIGCHLD.
            came = signal.sigtimedwait(awaited, 0.5)
            if came is None or came.si_signo == signal.SIGCHLD:
                continue
            # The program itself has received signals of the terminal.
            if came.si_code != _OF_THE_TERMINAL:
                running.send_signal(came.si_signo)
    except OSError as error:
        raise InputError(error.strerror or str(error), file=program[0]) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return running.returncode if running.returncode >= 0 else 128 - running.returncode
