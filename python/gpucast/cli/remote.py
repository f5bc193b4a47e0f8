"""``gpucast remote``: lend this machine's GPUs, and run programs over those of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpucast.errors import InputError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

SecretFile = Annotated[
    Path | None,
    typer.Option(
        help="The secret that servers and clients share. Default: the user's own, on one host.",
        show_default=False,
    ),
]
Plain = Annotated[
    bool,
    typer.Option("--plain", help="Without TLS, on networks that are trusted; both sides say so."),
]


@app.command()
def serve(
    gpus: Annotated[str, typer.Option(help="all, or numbers: 0,2-3.")] = "all",
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's need a secret.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the first GPU; the next follow. 0: any.")
    ] = 9700,
    secret_file: SecretFile = None,
    plain: Plain = False,
    max_clients: Annotated[int, typer.Option(min=1, help="Of each GPU, at the same time.")] = 64,
    max_memory: Annotated[
        str | None, typer.Option(help="GPU memory of a client (10GB, 512MiB).", show_default=False)
    ] = None,
) -> None:
    """Lend GPUs of this machine, with a server for each, until interrupted."""
    from gpucast.remote import gpus_here
    from gpucast.remote import serve as run_servers

    numbers = list(range(gpus_here())) if gpus == "all" else _numbers(gpus)
    options = ["--max-clients", str(max_clients)]
    if secret_file is not None:
        options += ["--secret-file", str(secret_file)]
    if plain:
        options.append("--plain")
    if max_memory is not None:
        options += ["--max-memory", max_memory]
    raise typer.Exit(run_servers(numbers, host, port, options))


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    program: Annotated[list[str], typer.Argument(help="-- PROGRAM ARGUMENTS")],
    gpus: Annotated[
        str, typer.Option(help="Servers, in the order of their devices: host:port,unix:/path,...")
    ],
    secret_file: SecretFile = None,
    plain: Plain = False,
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
) -> None:
    """Run a CUDA program, as it is, over GPUs of other machines."""
    from gpucast.remote import environment, replace_by

    variables = environment(
        gpus, secret_file=secret_file, plain=plain, sync=sync, channels=channels, counters=counters
    )
    replace_by(program, variables)


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
