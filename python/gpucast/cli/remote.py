"""``gpucast remote``: lend this machine's GPUs, and run programs over those of others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpucast.cli import options
from gpucast.cli.output import note, print_json, warn
from gpucast.data.remote_layer import TRANSPORTS, TransportName
from gpucast.errors import InputError
from gpucast.util.tables import print_table
from gpucast.util.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpucast.remote.status import Status

app = typer.Typer(rich_markup_mode=None)

SecretFile = Annotated[
    Path | None,
    typer.Option(
        help="The secret that servers and clients share. Default: the user's own, on one host.",
        show_default=False,
    ),
]


LOOPBACK = "127.0.0.1"

Plain = Annotated[
    bool,
    typer.Option("--plain", help="Without TLS, on networks that are trusted; both sides say so."),
]


@app.command()
def serve(
    gpus: Annotated[str, typer.Option(help="all, or numbers: 0,2-3.")] = "all",
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's need a secret.")
    ] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the first GPU; the next follow. 0: any.")
    ] = 9700,
    socket_folder: Annotated[
        Path | None,
        typer.Option(
            help="Listen at sockets gpu0, gpu1, ... in this folder instead: for clients of this "
            "host, whose calls and copies go through shared memory.",
            show_default=False,
        ),
    ] = None,
    secret_file: SecretFile = None,
    plain: Plain = False,
    max_clients: Annotated[int, typer.Option(min=1, help="Of each GPU, at the same time.")] = 64,
    max_memory: Annotated[
        str | None,
        typer.Option(
            help="GPU memory of a client (10GB, 512MB, in units of 1024).", show_default=False
        ),
    ] = None,
    max_pinned: Annotated[
        str | None,
        typer.Option(
            help="Pinned memory that a client on this host shares with a server (10GB, 512MB; "
            "default: half of the host's memory).",
            show_default=False,
        ),
    ] = None,
    max_silence: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Seconds without a sign of life of a client, after which it is given up "
            "(600; 0: never).",
            show_default=False,
        ),
    ] = None,
    image_cache: Annotated[
        str | None,
        typer.Option(
            help="Programs' GPU code that is kept for clients that run the same (256MiB; 0: none).",
            show_default=False,
        ),
    ] = None,
    log_clients: Annotated[
        bool,
        typer.Option(
            "--log-clients",
            help="A line on stderr for each client that is let in and that leaves, and for the "
            "signal that ends a server.",
        ),
    ] = False,
    fake: Annotated[
        bool,
        typer.Option(
            "--fake", help="Rehearse without a GPU: memory is the host's, kernels do nothing."
        ),
    ] = False,
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
    if fake:
        numbers = [0] if gpus == "all" else _numbers(gpus)
    else:
        numbers = list(range(gpus_here())) if gpus == "all" else _numbers(gpus)
    variables = rehearsal(max(numbers) + 1) if fake else None
    words = ["--max-clients", str(max_clients)]
    if secret_file is not None:
        words += ["--secret-file", str(secret_file)]
    if plain:
        words.append("--plain")
    if log_clients:
        words.append("--log-clients")
    if max_memory is not None:
        words += ["--max-memory", max_memory]
    if max_pinned is not None:
        words += ["--max-pinned", max_pinned]
    if max_silence is not None:
        words += ["--max-silence", str(max_silence)]
    if image_cache is not None:
        words += ["--image-cache", image_cache]
    if fake:
        note("a rehearsal: no GPU computes here, and what kernels should write is not written")
    raise typer.Exit(run_servers(numbers, host, port, words, variables, socket_folder))


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    program: Annotated[list[str], typer.Argument(help="-- PROGRAM ARGUMENTS")],
    gpus: Annotated[
        str,
        typer.Option(help="Servers, in the order of their devices: host:port,unix:/path,..."),
    ],
    secret_file: SecretFile = None,
    plain: Plain = False,
    transport: Annotated[
        TransportName | None,
        typer.Option(
            help="What carries calls to servers at unix:/path: shared memory where both sides can "
            "(auto), always, or never.",
            show_default=False,
        ),
    ] = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Wait for the server in every call, as DS-CUDA did.")
    ] = False,
    channels: Annotated[
        int | None,
        typer.Option(
            min=1, max=16, help="Connections for large copies, to each server.", show_default=False
        ),
    ] = None,
    counters: Annotated[
        str | None,
        typer.Option(
            help="What each call cost, at exit: - (a table on stderr) or a file (JSON Lines).",
            show_default=False,
        ),
    ] = None,
    allow_local_cuda: Annotated[
        bool,
        typer.Option(
            "--allow-local-cuda",
            help="What brings a CUDA runtime of its own (cuBLAS, PyTorch) may use the GPUs of this "
            "machine; else it ends the program.",
        ),
    ] = False,
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


Servers = Annotated[
    str | None,
    typer.Argument(help="host:port,unix:/path,... (default: GPUCAST_REMOTE)", show_default=False),
]


@app.command()
def check(
    servers: Servers = None,
    secret_file: SecretFile = None,
    plain: Plain = False,
    json: options.Json = False,
) -> None:
    """Ask whether servers can be reached and used; exit status 2 where one cannot."""
    _tell(servers, secret_file, plain=plain, json=json, bandwidth=False)


@app.command()
def status(
    servers: Servers = None,
    secret_file: SecretFile = None,
    plain: Plain = False,
    json: options.Json = False,
) -> None:
    """Show servers' GPUs, free memory and clients, and how fast they are reached."""
    _tell(servers, secret_file, plain=plain, json=json, bandwidth=True)


def _tell(
    servers: str | None, secret_file: Path | None, *, plain: bool, json: bool, bandwidth: bool
) -> None:
    from gpucast.remote.addresses import addresses
    from gpucast.remote.status import as_object, statuses

    variable = os.environ.get("GPUCAST_REMOTE")
    if servers is None and variable is None:
        raise InputError("name servers: host:port,... (or GPUCAST_REMOTE)", field="servers")
    if servers is None:
        named = addresses(variable or "", field="GPUCAST_REMOTE")
    else:
        named = addresses(servers, field="servers")
    _warn_of_twins(named)
    found = statuses(named, secret_file=secret_file, plain=plain, bandwidth=bandwidth)
    if json:
        print_json({"servers": [as_object(each) for each in found]})
    else:
        _show([each for each in found if each.problem is None], bandwidth=bandwidth)
    lost: list[Status] = [each for each in found if each.problem is not None]
    if len(lost) == 1:
        raise InputError(lost[0].problem or "", file=lost[0].address)
    if lost:
        for each in lost:
            warn(f"{each.address}: {each.problem}")
        raise InputError(f"{len(lost)} of {len(found)} cannot be used", field="servers")


def _warn_of_twins(servers: Sequence[str]) -> None:
    from gpucast.remote.addresses import named_twice

    said = named_twice(servers)
    if said is not None:
        warn(said)


def _show(found: Sequence[Status], *, bandwidth: bool) -> None:
    if not found:
        return
    headings = ["server", "transport", "GPU", "free", "of", "other clients", "round trip"]
    rows: list[list[object]] = [
        [
            each.address,
            TRANSPORTS.get(each.transport or "", each.transport),
            each.gpu,
            _gigabytes(each.free_bytes),
            _gigabytes(each.memory_bytes),
            each.clients,
            duration(each.round_trip_seconds or 0.0),
            *([_rate(each.up_bytes_per_second), _rate(each.down_bytes_per_second)] * bandwidth),
            each.version,
        ]
        for each in found
    ]
    print_table([*headings, *(["up", "down"] * bandwidth), "gpucast"], rows)


def _gigabytes(size: int | None) -> str | None:
    return None if size is None else f"{size / 1e9:.1f} GB"


def _rate(rate: float | None) -> str | None:
    return None if rate is None else f"{rate / 1e9:.2f} GB/s"


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
