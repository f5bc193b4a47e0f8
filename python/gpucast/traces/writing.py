"""Traces into files: a zip archive of Arrow streams and JSON (docs/reference/trace-format.md)."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

import pandas as pd

from gpucast.traces.tables import COLUMNS
from gpucast.traces.trace import Process, Trace
from gpucast.util.files import PathLike, write_bytes
from gpucast.util.typed_json import to_json

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_OF_A_BATCH = 65536


def write(trace: Trace, path: PathLike, *, force: bool = False) -> None:
    """Write a trace as one file, whole or not at all.

    Raises:
        InputError: as ``gpucast.util.files.write_bytes``.
    """
    write_bytes(path, archived(trace), force=force)


def archived(trace: Trace) -> bytes:
    """The content of a trace's file; the same trace gives the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "run.json", _json(to_json(trace.run)))
        for at, process in enumerate(trace.processes):
            _add(archive, f"{at}/process.json", _json(_described(process)))
            for table in COLUMNS:
                rows: pd.DataFrame = getattr(process, table)
                if len(rows):
                    _add(archive, f"{at}/{table}.arrows", stream_of(_arrow(table, rows)))
            if process.names:
                _add(archive, f"{at}/names.arrows", stream_of(_names(process)))
    return buffer.getvalue()


def stream_of(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    import pyarrow as pa

    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table, max_chunksize=_ROWS_OF_A_BATCH)
    return buffer.getvalue()


def _arrow(table: str, rows: pd.DataFrame) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {name: pa.array(rows[name].to_numpy(kind)) for name, kind in COLUMNS[table].items()}
    )


def _names(process: Process) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {
            "id": pa.array(list(process.names), pa.uint32()),
            "text": pa.array(list(process.names.values()), pa.utf8()),
        }
    )


def _described(process: Process) -> dict[str, object]:
    said: dict[str, object] = {"pid": process.pid}
    if process.rank is not None:
        said["rank"] = process.rank
    return said | {
        "program": process.program,
        "calls": len(process.calls),
        "lost": process.lost,
        "ended": process.ended,
    }


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # A fixed date, so that the same trace gives the same file.
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
