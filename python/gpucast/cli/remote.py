"""``gpucast remote``: lend this machine's GPUs, and run programs over those of others; and
``gpucast doctor``: what is here, and what stands in the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gpucast.cli import options
from gpucast.cli.options import argument, flag, option
from gpucast.cli.output import note, print_json, say, warn
from gpucast.data.remote_layer import TRANSPORTS, TransportName
from gpucast.errors import InputError
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpucast.remote.status import Status

app = typer.Typer(rich_markup_mode=None)

SECRET_FILE = option(
    "The secret that servers and clients share. Default: the user's own, on one host."
)
PLAIN = flag("--plain", "Without TLS, on networks that are trusted; both sides say so.")
SERVERS = argument("host:port,unix:/path,... (default: GPUCAST_REMOTE)", None)

LOOPBACK = "127.0.0.1"

IN_WAY = 2
"""Exit status if a requested server does not answer or cannot be used."""

_MARKS = {"good": "yes", "missing": "no", "attention": "!"}


@app.command()
def serve(
    gpus: str = option("all, or numbers: 0,2-3.", default="all"),
    host: str = option(
        "Address to listen on; others than this machine's need a secret.", default=LOOPBACK
    ),
    port: int = option(
        "Port of the first GPU; the next follow. 0: any.", default=9700, min=0, max=65535
    ),
    socket_folder: Path | None = option(
        "Listen at sockets gpu0, gpu1, ... in this folder instead: for clients of this host, whose "
        "calls and copies go through shared memory."
    ),
    secret_file: Path | None = SECRET_FILE,
    plain: bool = PLAIN,
    max_clients: int = option("Most clients of each GPU at the same time.", default=64, min=1),
    max_memory: str | None = option("GPU memory of a client (10GB, 512MB, in units of 1024)."),
    max_pinned: str | None = option(
        "Pinned memory that a client on this host shares with a server (10GB, 512MB; default: half "
        "of the host's memory)."
    ),
    max_silence: int | None = option(
        "Seconds without a sign of life of a client, after which it is given up (600; 0: never).",
        min=0,
        max=1_000_000,
    ),
    image_cache: str | None = option(
        "Programs' GPU code that is kept for clients that run the same (256MiB; 0: none)."
    ),
    log_clients: bool = flag(
        "--log-clients",
        "A line on stderr for each client that is let in and that leaves, and for the signal that "
        "ends a server.",
    ),
    fake: bool = flag(
        "--fake", "Rehearse without a GPU: memory is the host's, kernels do nothing."
    ),
) -> None:
    """Lend GPUs of this machine, with a server for each, until interrupted."""
    from gpucast.remote import gpus_here, rehearsal
    from gpucast.remote import serve as run_servers

    if host != LOOPBACK and socket_folder is not None:
        raise InputError("--host and --socket-folder: a server listens at one of them")
    if socket_folder is not None and not socket_folder.is_dir():
        raise InputError(
            f"{socket_folder} is no folder; make one that is yours alone (mkdir -m 700)",
            field="--socket-folder",
        )
    count = 1 if fake or gpus != "all" else gpus_here()
    numbers = list(range(count)) if gpus == "all" else _numbers(gpus)
    variables = rehearsal(max(numbers) + 1) if fake else None
    values = {
        "max-clients": max_clients, "secret-file": secret_file, "max-memory": max_memory,
        "max-pinned": max_pinned, "max-silence": max_silence, "image-cache": image_cache,
    }  # fmt: skip
    known = [(f"--{name}", str(value)) for name, value in values.items() if value is not None]
    words = [word for pair in known for word in pair]
    words += ["--plain"] * plain + ["--log-clients"] * log_clients
    if fake:
        note("a rehearsal: no GPU computes here, and what kernels should write is not written")
    raise typer.Exit(run_servers(numbers, host, port, words, variables, socket_folder))


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    program: list[str] = argument("-- PROGRAM ARGUMENTS"),
    gpus: str = option(
        "Servers, in the order of their devices: host:port,unix:/path,...",
        default=...,
    ),
    secret_file: Path | None = SECRET_FILE,
    plain: bool = PLAIN,
    transport: TransportName | None = option(
        "What carries calls to servers at unix:/path: shared memory where both sides can (auto), "
        "always, or never."
    ),
    sync: bool = flag("--sync", "Wait for the server in every call, as DS-CUDA did."),
    channels: int | None = option("Connections for large copies, to each server.", min=1, max=16),
    counters: str | None = option(
        "What each call took, at exit: - (a table on stderr) or a file (JSON Lines)."
    ),
    allow_local_cuda: bool = flag(
        "--allow-local-cuda",
        "What brings a CUDA runtime of its own (cuBLAS, PyTorch) may use the GPUs of this machine; "
        "else it ends the program.",
    ),
) -> None:
    """Run a CUDA program, as it is, over GPUs of other machines.

    A program that brings a CUDA runtime of its own would not see them, and is not started or is
    ended. Exit status: the program's; 2 if it ends well without having reached a server.
    """
    from gpucast.remote import CLIENT, MIXED, client_folder, environment
    from gpucast.remote.addresses import addresses
    from gpucast.remote.program import require_remote
    from gpucast.remote.running import run_program

    variables = environment(
        gpus,
        secret_file=secret_file,
        plain=plain,
        transport=transport.value if transport else None,
        sync=sync,
        channels=channels,
        counters=counters,
        allow_local_cuda=allow_local_cuda,
    )
    _warn_of_twins(addresses(gpus, field="--gpus"))
    if variables.get(MIXED) != "allow":
        require_remote(program[0], variables, client_folder() / CLIENT)
    raise typer.Exit(run_program(program, variables))


@app.command()
def check(
    servers: str | None = SERVERS,
    secret_file: Path | None = SECRET_FILE,
    plain: bool = PLAIN,
    json: bool = options.JSON,
) -> None:
    """Ask whether servers can be reached and used; exit status 2 where one cannot."""
    _tell(servers, secret_file, plain=plain, json=json, bandwidth=False)


@app.command()
def status(
    servers: str | None = SERVERS,
    secret_file: Path | None = SECRET_FILE,
    plain: bool = PLAIN,
    json: bool = options.JSON,
) -> None:
    """Show servers' GPUs, free memory and clients, and how fast they are reached."""
    _tell(servers, secret_file, plain=plain, json=json, bandwidth=True)


def _tell(
    servers: str | None, secret_file: Path | None, *, plain: bool, json: bool, bandwidth: bool
) -> None:
    from gpucast.remote.addresses import addresses
    from gpucast.remote.status import as_object, statuses

    field, text = "servers", servers
    if text is None:
        field = "GPUCAST_REMOTE"
        text = os.environ.get(field)
    if text is None:
        raise InputError("name servers: host:port,... (or GPUCAST_REMOTE)", field="servers")
    named = addresses(text, field=field)
    _warn_of_twins(named)
    known = statuses(named, secret_file=secret_file, plain=plain, bandwidth=bandwidth)
    if json:
        print_json({"servers": [as_object(server) for server in known]})
    else:
        _show([server for server in known if server.problem is None], bandwidth=bandwidth)
    lost = [server for server in known if server.problem is not None]
    if len(lost) == 1:
        raise InputError(lost[0].problem or "", file=lost[0].address)
    if lost:
        for server in lost:
            warn(f"{server.address}: {server.problem}")
        raise InputError(f"{len(lost)} of {len(known)} cannot be used", field="servers")


def _warn_of_twins(servers: Sequence[str]) -> None:
    from gpucast.remote.addresses import named_twice

    twins = named_twice(servers)
    if twins is not None:
        warn(twins)


def _show(servers: Sequence[Status], *, bandwidth: bool) -> None:
    if not servers:
        return
    print_rows(
        servers,
        [
            Column("server", "address"),
            Column("transport", lambda it: TRANSPORTS.get(it.transport or "", it.transport)),
            Column("GPU", "gpu"),
            Column("free", "free_bytes", _gigabytes),
            Column("of", "memory_bytes", _gigabytes),
            Column("other clients", "clients"),
            Column("round trip", lambda it: it.round_trip_seconds or 0.0, duration),
            *([Column("up", "up_bytes_per_second", _rate)] * bandwidth),
            *([Column("down", "down_bytes_per_second", _rate)] * bandwidth),
            Column("gpucast", "version"),
        ],
    )


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"


def _rate(rate: float) -> str:
    return f"{rate / 1e9:.2f} GB/s"


def _numbers(text: str) -> list[int]:
    result: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        numbers = first.isdecimal() and last.isdecimal()
        if not numbers or int(first) > int(last):
            raise InputError(f"'{text}': all, or numbers as 0,2-3", field="--gpus")
        result += range(int(first), int(last) + 1)
    return result


# --- gpucast doctor ---


def doctor(json: bool = options.JSON) -> None:
    """Say what is here: GPUs, driver, recorder, servers, clocks, other users; what to do.

    Exit status 2 where GPUCAST_REMOTE names a server that cannot be used.
    """
    from gpucast.measure.doctor import findings

    facts = list(findings())
    if json:
        print_json({"findings": [vars(finding) for finding in facts]})
    else:
        mark = Column("", lambda finding: _MARKS[finding.state])
        print_rows(facts, [mark, Column("what", "what"), Column("found", "found")])
        advice = [finding for finding in facts if finding.advice]
        if advice:
            print()
        for finding in advice:
            say(f"{finding.what}: {finding.advice}")
    if any(it.what.startswith("server") and it.state == "attention" for it in facts):
        raise typer.Exit(IN_WAY)
