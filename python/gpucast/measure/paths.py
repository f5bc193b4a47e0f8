"""Paths: where the GPUs are, and what a program needs to reach them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath

from gpucast import remote
from gpucast.errors import InputError
from gpucast.measure.design.cells import PathKind

SYNC = "sync:"

MOST_THREADS = 1024
"""Most CPU threads that act as devices."""


@dataclass(frozen=True)
class Path:
    """A path and its label in the records.

    Attributes:
        servers: addresses of remote GPUs in the order of their devices; empty on other paths.
        sync: whether each remote call is waited for, as in DS-CUDA.
        threads: number of CPU threads that act as devices; 0: one per core.
    """

    label: str
    servers: tuple[str, ...] = ()
    sync: bool = False
    threads: int = 0

    @property
    def kind(self) -> PathKind:
        """Kind of its devices: CPU threads, this machine's GPUs, or GPUs of servers."""
        if self.servers:
            return "remote"
        return "host" if self.label == "host" else "native"

    @property
    def engine(self) -> list[str]:
        """The programs' command-line options that select its devices."""
        if self.kind == "host":
            return ["--engine", "host", "--host-devices", str(self.threads)]
        return ["--engine", "cuda"]

    def environment(self, secret_file: FilePath | None = None) -> dict[str, str] | None:
        """Return the environment of a program that runs on the path; None: unchanged.

        Raises:
            GpucastError: gpucast was built without remote GPUs.
        """
        if not self.servers:
            return None
        return remote.environment(",".join(self.servers), secret_file=secret_file, sync=self.sync)


HOST = Path("host")
NATIVE = Path("native")


def parse_paths(text: str) -> list[Path]:
    """Parse paths, separated by commas: ``host``, ``host:8`` (eight CPU threads as devices instead
    of one per core), ``native``, ``LABEL=HOST:PORT+HOST:PORT`` (servers) and
    ``LABEL=sync:HOST:PORT`` (servers, with each call waited for).

    Raises:
        InputError: a path has another form, or a label is given twice.
    """
    paths = [_parse(part.strip(), text) for part in text.split(",")]
    labels = [path.label for path in paths]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"{label!r} is there twice", field="paths")
    return paths


def _parse(part: str, text: str) -> Path:
    label, equals, rest = part.partition("=")
    if not equals and label in (HOST.label, NATIVE.label):
        return Path(label)
    if label.startswith(f"{HOST.label}:") and not equals:
        return Path(HOST.label, threads=_threads(label.removeprefix(f"{HOST.label}:")))
    sync = rest.startswith(SYNC)
    servers = tuple(server.strip() for server in rest.removeprefix(SYNC).split("+"))
    if not equals or not label.isprintable() or not label or not all(servers):
        raise InputError(
            f"{part or text!r} is none of host, host:DEVICES, native, LABEL=HOST:PORT+HOST:PORT, "
            f"LABEL={SYNC}HOST:PORT+HOST:PORT",
            field="paths",
        )
    if label in (HOST.label, NATIVE.label):
        raise InputError(f"{label!r} has no servers; give theirs another label", field="paths")
    return Path(label, servers, sync)


def _threads(text: str) -> int:
    count = int(text) if text.isdecimal() and len(text) <= len(str(MOST_THREADS)) else 0
    if not 1 <= count <= MOST_THREADS:
        raise InputError(f"host:{text}: devices must be from 1 to {MOST_THREADS}", field="paths")
    return count
