"""The words that records, models and command lines share.

Generated from ``schema/vocabulary.toml`` by ``scripts/generate_vocabulary.py``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

RecordKind = Literal[
    "machine",
    "transfer",
    "launch",
    "step",
    "overlap",
    "skeleton",
    "host_memory",
    "note",
]
"""The content of a record."""
Path = Literal["host", "native", "remote", "remote-sync", "remote-shm"]
"""How GPUs are reached; records may name a path of the user's own instead."""
Schedule = Literal["star-serial", "star-async", "allgather", "mpi"]
"""The way in which a step of the mini-app moves data."""
Memory = Literal[
    "pageable",
    "pinned",
    "portable",
    "write-combined",
    "mapped",
    "mapped-write-combined",
    "unknown",
]
"""Kind of host memory. portable: pinned for all GPUs, not only for one. unknown: not stated by
others who measured it.
"""
HostMemoryKind = Literal[
    "pageable",
    "pinned",
    "portable",
    "write-combined",
    "mapped",
    "mapped-write-combined",
]
"""Kind of host memory over which a loop was run."""
Engine = Literal["copy", "kernel"]
"""The means of a copy: a copy engine, or a kernel."""
Route = Literal["h2d", "d2h", "peer", "staged", "local", "net"]
"""The ways that data take between host, GPUs and nodes; each may have a transfer curve. peer: from
GPU to GPU directly; staged: through host memory; local: within a GPU; net: between nodes.
"""
TransferMethod = Literal["call", "gated"]
"""How a transfer was timed. call: time for which the caller of a blocking copy waits; gated: the
device's own time of one of many copies queued behind a gate.
"""
LaunchMethod = Literal["submit", "sync", "gated", "graph", "row", "drain", "idle", "rest"]
"""How launches were timed. submit: the host's time for one; sync: until it has run; gated: one of a
row, by the device's clock; graph: the nodes of a graph; row: the host's time for a row; drain:
until the row has run. Without launches: idle: a wait for a stream without work; rest: the same
after 5 ms without a call, when threads that poll for messages sleep.
"""
OverlapPart = Literal["h2d", "d2h", "kernel"]
"""Operations of one device at the same time: copies up, copies down, a kernel."""


class ObservationKind(IntEnum):
    """The quantity that an observation of a fit times; the core's arrays hold the word's number."""

    step = 0
    cpu = 1
    transfer = 2
    launch = 3
    kernel = 4
    skeleton = 5
