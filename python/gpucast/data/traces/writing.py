"""Files of traces: a zip archive of Arrow streams and JSON (docs/reference/trace-format.md)."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from gpucast.data.traces.tables import COLUMNS
from gpucast.data.traces.trace import Trace
from gpucast.util.files import PathLike, write_bytes
from gpucast.util.typed_json import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nanoarrow.c_array import CArray

_ROWS_OF_A_BATCH = 65536


def write(trace: Trace, path: PathLike, *, force: bool = False) -> None:
    """Write a trace as one file, whole or not at all.

    Raises:
        InputError: as ``gpucast.util.files.write_bytes``.
    """
    write_bytes(path, archived(trace), force=force)


def archived(trace: Trace) -> bytes:
    """Return the content of a trace's file; the same trace always gives the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add_json(archive, "run.json", to_json(trace.run))
        for at, process in enumerate(trace.processes):
            rank = {} if process.rank is None else {"rank": process.rank}
            counts = {"calls": len(process.calls), "lost": process.lost, "ended": process.ended}
            description = {"pid": process.pid, **rank, "program": process.program, **counts}
            _add_json(archive, f"{at}/process.json", description)
            for table, types in COLUMNS.items():
                rows: pd.DataFrame = getattr(process, table)
                if len(rows):
                    columns = {name: rows[name].to_numpy(kind) for name, kind in types.items()}
                    _add(archive, f"{at}/{table}.arrows", _stream_of(columns))
            if process.names:
                ids, texts = np.array([*process.names], "uint32"), [*process.names.values()]
                _add(archive, f"{at}/names.arrows", _stream_of({"id": ids, "text": texts}))
    return buffer.getvalue()


def _stream_of(columns: Mapping[str, npt.NDArray[np.integer] | list[str]]) -> bytes:
    """Return columns of equal length, numbers or texts, as an Arrow IPC stream."""
    import nanoarrow
    from nanoarrow.ipc import StreamWriter

    rows = len(next(iter(columns.values())))
    buffer = io.BytesIO()
    with StreamWriter.from_writable(buffer) as stream:
        for start in range(0, rows, _ROWS_OF_A_BATCH):
            parts = {
                name: _part(values[start : start + _ROWS_OF_A_BATCH])
                for name, values in columns.items()
            }
            stream.write_array(
                nanoarrow.c_array_from_buffers(
                    nanoarrow.struct({name: part.schema for name, part in parts.items()}),
                    length=min(_ROWS_OF_A_BATCH, rows - start),
                    buffers=[None],
                    null_count=0,
                    children=list(parts.values()),
                )
            )
    return buffer.getvalue()


def _part(values: npt.NDArray[np.integer] | list[str]) -> CArray:
    import nanoarrow

    if isinstance(values, list):
        return nanoarrow.c_array(values, nanoarrow.string())
    return nanoarrow.c_array(np.ascontiguousarray(values))


def _add_json(archive: zipfile.ZipFile, name: str, value: object) -> None:
    _add(archive, name, json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n")


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # A fixed date, so that the same trace gives the same file.
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
