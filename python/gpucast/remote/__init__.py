"""Remote GPUs: starts GPU servers, and provides the environment of programs that use them.

Programs are not modified: ``LD_LIBRARY_PATH`` puts the client library, which has the name of the
CUDA runtime, before the real one. Beside it is a guard, a driver on which nothing can compute,
which CUDA runtimes of other libraries find.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpucast import installed
from gpucast.errors import GpucastError, InputError
from gpucast.remote.addresses import absolute, addresses

SERVER = "gpucast-gpu-server"
CLIENT = "libcudart.so.13"
SERVED = ("13", "12")
"""Versions of the CUDA runtime that the client replaces, each by a library."""

GUARD = "libcuda.so.1"
"""The guard, a driver on which nothing can compute, in the client's folder."""

MIXED = "GPUCAST_REMOTE_MIXED"
"""The variable whose value ``allow`` lets other CUDA runtimes use this machine's GPUs."""

_CLIENT_SAYS = "gpucast remote: "
"""Begin of the client's lines on stderr."""

_ENDS_NO_PROGRAM = ("not supported ", "the program's GPU code ", "GPUCAST_REMOTE_COUNTERS: ")
"""Begins of client messages that are not about a server."""


def client_folder() -> Path:
    """Return the client library's folder: ``GPUCAST_REMOTE_LIB``, or as installed."""
    named = os.environ.get("GPUCAST_REMOTE_LIB")
    folder = Path(named) if named else installed.place("lib/gpucast-remote", CLIENT)
    if not (folder / CLIENT).exists():
        raise GpucastError(
            f"{folder / CLIENT}: not found: gpucast was built without remote GPUs "
            "(GPUCAST_REMOTE_LIB names another folder)"
        )
    return folder


def server_program() -> Path:
    """Return the server program, as installed or in PATH."""
    path = installed.program(SERVER)
    if path is None:
        raise GpucastError(f"{SERVER}: not found: gpucast was built without remote GPUs")
    return Path(path)


def environment(
    gpus: str,
    *,
    secret_file: Path | None = None,
    plain: bool = False,
    transport: str | None = None,
    sync: bool = False,
    channels: int | None = None,
    counters: str | None = None,
    allow_local_cuda: bool = False,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment in which a program uses the GPUs ``host:port,...``.

    ``plain``: without TLS, for servers that were started in this way. ``transport``: auto (shared
    memory if the address is unix:/path and both sides support it), socket, or shared-memory.
    ``counters``: a file, or ``-`` for stderr. ``allow_local_cuda``: whether libraries with a CUDA
    runtime of their own may also use this machine's GPUs. Paths of files and sockets are made
    absolute, since the program may run in another folder.

    Raises:
        InputError: no server is named, or an address is empty.
        GpucastError: gpucast was built without remote GPUs.
    """
    before = os.environ if base is None else base
    # The user's own variables may name a secret.
    secret = secret_file or before.get("GPUCAST_REMOTE_SECRET_FILE")
    servers = [absolute(address) for address in addresses(gpus, field="--gpus")]
    wanted = {
        **_libraries(before, allow_local_cuda=allow_local_cuda),
        "GPUCAST_REMOTE": ",".join(servers),
        "GPUCAST_REMOTE_PLAIN": "1" if plain else None,
        "GPUCAST_REMOTE_TRANSPORT": transport,
        "GPUCAST_REMOTE_SYNC": "1" if sync else None,
        "GPUCAST_REMOTE_SECRET_FILE": os.path.abspath(secret) if secret else None,
        "GPUCAST_REMOTE_CHANNELS": channels,
        "GPUCAST_REMOTE_COUNTERS": (
            os.path.abspath(counters) if counters and counters != "-" else counters
        ),
    }
    return {**before, **{key: str(value) for key, value in wanted.items() if value is not None}}


def _libraries(before: Mapping[str, str], *, allow_local_cuda: bool) -> dict[str, str]:
    """Return the variables by which the loader finds the client and, by default, the guard.

    The guard is also preloaded, for processes that search other folders, and for libraries that
    name the driver's folder. If this machine's driver may be used, the client is preloaded instead
    of putting its folder, which holds the guard, on the path.
    """
    folder = client_folder().absolute()
    if allow_local_cuda or before.get(MIXED) == "allow":
        first = [str(folder / f"libcudart.so.{version}") for version in SERVED]
        others = before.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        return {
            "LD_PRELOAD": _joined(*first, before.get("LD_PRELOAD")),
            "LD_LIBRARY_PATH": _joined(*(path for path in others if path != str(folder))),
            MIXED: "allow",
        }
    return {
        "LD_PRELOAD": _joined(str(folder / GUARD), before.get("LD_PRELOAD")),
        "LD_LIBRARY_PATH": _joined(str(folder), before.get("LD_LIBRARY_PATH")),
        "CUDA_VISIBLE_DEVICES": "",
    }


def _joined(*parts: str | None) -> str:
    return os.pathsep.join(filter(None, parts))


def client_message(lines: Iterable[str]) -> str | None:
    """Return why a program's client could not use a server, from the lines that the program
    printed; None if they do not tell.
    """
    messages = (line.removeprefix(_CLIENT_SAYS) for line in lines if line.startswith(_CLIENT_SAYS))
    return next((message for message in messages if not message.startswith(_ENDS_NO_PROGRAM)), None)


def gpus_here() -> int:
    """Return the number of GPUs that this machine's NVIDIA driver lists.

    Raises:
        InputError: it lists none.
    """
    try:
        listing = subprocess.run(
            ["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        listing = ""
    if not listing.strip():
        raise InputError("nvidia-smi lists no GPUs here; name them: --gpus 0,1", field="--gpus all")
    return len(listing.splitlines())


def fake_driver() -> Path:
    """Return the fake driver in the client's folder, or the one that ``GPUCAST_LIBCUDA`` names."""
    named = os.environ.get("GPUCAST_LIBCUDA")
    library = Path(named) if named else client_folder() / "fake" / "libcuda.so.1"
    if not library.exists():
        raise GpucastError(f"{library}: not found: this build of gpucast cannot rehearse")
    return library


def rehearsal(gpus: int) -> dict[str, str]:
    """Return the environment of servers that lend simulated GPUs, whose memory is the host's and
    whose kernels do nothing.
    """
    return {
        **os.environ,
        "GPUCAST_LIBCUDA": os.fspath(fake_driver()),
        "GPUCAST_FAKE_DEVICES": str(gpus),
        "GPUCAST_FAKE_ANY_KERNEL": "1",
    }


def serve(
    gpus: Sequence[int],
    host: str,
    port: int,
    options: Sequence[str],
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> int:
    """Run one server per GPU until SIGTERM or SIGINT; return the exit status.

    They listen on ports from ``port``, or at sockets gpu0, gpu1, ... in a folder. If one of them
    ends, the others are ended as well; if this process is killed, all are.

    Raises:
        GpucastError: a server was ended by another process and printed no reason.
    """
    program = server_program()
    running: dict[str, subprocess.Popen[bytes]] = {}
    ended: dict[str, int] = {}
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        for k, gpu in enumerate(gpus):
            address = _listen(host, port + k if port else 0)
            listen = f"unix:{folder}/gpu{gpu}" if folder else address
            words = ["--gpu", str(gpu), "--listen", listen, "--with-parent", str(os.getpid())]
            name = f"the server of GPU {gpu}{f' at {listen}' if folder or port else ''}"
            running[name] = subprocess.Popen([program, *words, *options], env=variables)
        while not ended and not stop.wait(0.1):
            states = {name: server.poll() for name, server in running.items()}
            ended = {name: status for name, status in states.items() if status is not None}
    finally:
        for server in running.values():
            server.terminate()
        statuses = [server.wait() for server in running.values()]
        for number, handler in before.items():
            signal.signal(number, handler)
    if ended and max(ended.values()) <= 0:
        others = "; the others were ended, too" if len(running) > len(ended) else ""
        raise GpucastError(", ".join(_how_ended(*server) for server in ended.items()) + others)
    # A server that ended by itself has printed the reason. The others may have died of the signal.
    asked = (0, -signal.SIGTERM, -signal.SIGINT)
    return max((max(status, 1) for status in statuses if status not in asked), default=0)


def _how_ended(name: str, status: int) -> str:
    if status == 0:
        return f"{name} was told to end"
    try:
        return f"{name} was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"{name} was ended by signal {-status}"


def _listen(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
