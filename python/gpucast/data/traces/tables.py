"""The tables of a trace: their columns and types, and the meaning of their codes.

This is docs/reference/trace-format.md in code, for reading, writing and made-up traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd

SCHEMA: Final = "gpucast.trace/1"

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "calls": {
            "start_ns": "int64", "end_ns": "int64", "correlation": "uint32", "thread": "uint16",
            "name": "uint32", "result": "uint16",
        },
        "work": {
            "kind": "uint8", "start_ns": "int64", "end_ns": "int64", "correlation": "uint32",
            "device": "uint16", "context": "uint16", "stream": "uint32", "name": "uint32",
            "blocks": "uint32", "threads": "uint32", "shared_bytes": "uint32",
            "registers": "uint32", "bytes": "int64", "direction": "uint8", "from_memory": "uint8",
            "to_memory": "uint8", "asynchronous": "uint8", "from_device": "uint16",
            "to_device": "uint16", "graph": "uint32", "node": "uint64",
        },
        "waits": {
            "kind": "uint8", "start_ns": "int64", "end_ns": "int64", "correlation": "uint32",
            "context": "uint16", "stream": "uint32", "event": "uint32", "recording": "uint64",
        },
        "ranges": {
            "start_ns": "int64", "end_ns": "int64", "thread": "uint16", "name": "uint32",
            "domain": "uint32",
        },
        "phases": {"start_ns": "int64", "end_ns": "int64", "full": "uint8"},
        "streams": {"context": "uint16", "device": "uint16", "stream": "uint32", "flags": "uint8"},
    }
)  # fmt: skip
"""Type of each column of each table except ``names``, which has ``id`` and ``text``."""

KERNEL, COPY, SET, GRAPH = 0, 1, 2, 3
"""Kinds of work."""

TO_DEVICE, TO_HOST, WITHIN_DEVICE, WITHIN_HOST, BETWEEN_DEVICES = 1, 2, 8, 9, 10
"""Directions of copies."""

DIRECTIONS: Final = {
    TO_DEVICE: "host to device",
    TO_HOST: "device to host",
    WITHIN_DEVICE: "within a device",
    WITHIN_HOST: "within the host",
    BETWEEN_DEVICES: "between devices",
}

PAGEABLE, PINNED, DEVICE, ARRAY, MANAGED = 1, 2, 3, 4, 5
"""Kinds of memory; 0 if unknown."""

MEMORIES: Final = {
    0: "unknown",
    PAGEABLE: "pageable",
    PINNED: "pinned",
    DEVICE: "device",
    ARRAY: "array",
    MANAGED: "managed",
}

HOST_WAITS_EVENT, STREAM_WAITS_EVENT, HOST_WAITS_STREAM = 1, 2, 3
HOST_WAITS_DEVICE, EVENT_RECORDED = 4, 5
"""Kinds of waits."""

BLOCKING, NON_BLOCKING, LEGACY_DEFAULT, PER_THREAD_DEFAULT = 1, 2, 3, 4
"""Flags of streams."""


def frame(table: str, columns: Mapping[str, object] | None = None) -> pd.DataFrame:
    """Return a table with all its columns in their types; columns that are not given are 0.

    Args:
        table: ``calls``, ``work``, ...
        columns: values of equal length, by column; None makes an empty table.
    """
    given = {name: np.asarray(values) for name, values in (columns or {}).items()}
    unknown = set(given) - set(COLUMNS[table])
    if unknown:
        raise ValueError(f"{table} has no column {', '.join(sorted(unknown))}")
    rows = max((values.size for values in given.values()), default=0)
    return pd.DataFrame(
        {
            name: given[name].astype(kind) if name in given else np.zeros(rows, kind)
            for name, kind in COLUMNS[table].items()
        }
    )
