"""Remote GPUs: starts GPU servers, and says what programs need to run over them.

The programs stay as they are: ``LD_LIBRARY_PATH`` puts the client library, which has the CUDA
runtime's name, before the one they were linked with. Beside it lies a driver over which nothing
computes: CUDA runtimes of other libraries find that one.
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
"""Versions of the CUDA runtime whose place the client takes: a library for each, side by side."""

GUARD = "libcuda.so.1"
"""Beside the client: the driver over which nothing computes."""

MIXED = "GPUCAST_REMOTE_MIXED"
"""The variable that, as ``allow``, lets other CUDA runtimes use this machine's GPUs."""

_CLIENT_SAYS = "gpucast remote: "
"""How the client's own lines on stderr begin."""

_ENDS_NO_PROGRAM = ("not supported ", "the program's GPU code ", "GPUCAST_REMOTE_COUNTERS: ")
"""How those go on that are of no server."""


def client_folder() -> Path:
    """The folder of the client library: named by ``GPUCAST_REMOTE_LIB``, or as installed."""
    named = os.environ.get("GPUCAST_REMOTE_LIB")
    folder = Path(named) if named else installed.place("lib/gpucast-remote", CLIENT)
    if not (folder / CLIENT).exists():
        raise GpucastError(
            f"{folder / CLIENT}: not there: gpucast was built without remote GPUs "
            "(GPUCAST_REMOTE_LIB names another folder)"
        )
    return folder


def server_program() -> Path:
    """The server: as installed, or in PATH."""
    path = installed.program(SERVER)
    if path is None:
        raise GpucastError(f"{SERVER}: not there: gpucast was built without remote GPUs")
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
    """What a program needs to find the GPUs ``host:port,...`` instead of this machine's.

    ``plain``: without TLS, with servers that were started so. ``transport``: auto (shared memory
    where the address is unix:/path and both sides can), socket, or shared-memory.
    ``counters``: a file, or ``-`` for stderr. ``allow_local_cuda``: what brings a CUDA runtime of
    its own may use this machine's GPUs beside. Files and sockets are named with their whole paths:
    the program may run in another folder.

    Raises:
        InputError: no server is named, or one without an address.
        GpucastError: gpucast was built without remote GPUs.
    """
    before = os.environ if base is None else base
    # Also a secret that the user's own variables name.
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
    """The variables by which the loader finds the client and, unless it may not, the guard.

    The guard is also preloaded, for processes that take other folders for their libraries, and for
    libraries that name the driver's folder. Where this machine's driver is to be found, it is the
    client that is preloaded, as the guard lies in its folder.
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


def client_said(lines: Iterable[str]) -> str | None:
    """Why a program's client could not use a server, among the lines that the program printed.

    None where it says nothing of that.
    """
    messages = (line.removeprefix(_CLIENT_SAYS) for line in lines if line.startswith(_CLIENT_SAYS))
    return next((message for message in messages if not message.startswith(_ENDS_NO_PROGRAM)), None)


def gpus_here() -> int:
    """How many GPUs the NVIDIA driver of this machine shows.

    Raises:
        InputError: none.
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
    """A driver without a GPU, beside the client library (``GPUCAST_LIBCUDA`` names another)."""
    named = os.environ.get("GPUCAST_LIBCUDA")
    library = Path(named) if named else client_folder() / "fake" / "libcuda.so.1"
    if not library.exists():
        raise GpucastError(f"{library}: not there: this build of gpucast cannot rehearse")
    return library


def rehearsal(gpus: int) -> dict[str, str]:
    """The environment of servers that lend GPUs which are not there.

    Their memory is the host's, copies copy, and kernels do nothing.
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
    """Run one server a GPU until SIGTERM or SIGINT; its exit status.

    They listen on ports from ``port``, or at sockets gpu0, gpu1, ... in a folder.

    If one of them ends, the others are ended too, and all if this process is killed.

    Raises:
        GpucastError: one of them was ended by somebody else, and said nothing itself.
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
    # One that ended by itself has said why. The others may be told to end before they heed it.
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
