"""Arrow IPC streams into tables; also those that end where their writer was killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from gpucast.errors import InputError
from gpucast.traces.tables import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa


_MESSAGE = b"\xff\xff\xff\xff"
"""What each message of a stream begins with."""


@dataclass(frozen=True)
class Place:
    """Where a table stands, for messages: the trace's file, and the table's name within it."""

    file: str
    table: str

    def error(self, message: str, column: str | None = None) -> InputError:
        """What is wrong there."""
        return InputError(
            message,
            file=self.file,
            field=self.table if column is None else f"{self.table}: {column}",
        )


def rows_of(content: bytes, table: str, place: Place) -> tuple[pd.DataFrame, bool]:
    """The rows of a table but ``names``, and whether the stream was cut off.

    Columns that the format does not know are left out.

    Raises:
        InputError: no Arrow stream, a damaged one, a column that is missing, of another type or
            with nulls.
    """
    read, cut = _whole_batches(content, place)
    if read is None:
        return pd.DataFrame(
            {name: pd.Series(dtype=kind) for name, kind in COLUMNS[table].items()}
        ), cut
    columns = {name: _numbers(read, name, kind, place) for name, kind in COLUMNS[table].items()}
    return pd.DataFrame(columns), cut


def names_of(content: bytes, place: Place) -> tuple[dict[int, str], bool]:
    """Texts by id, and whether the stream was cut off. Raises InputError as ``rows_of``."""
    import pyarrow as pa

    read, cut = _whole_batches(content, place)
    if read is None:
        return {}, cut
    ids = _numbers(read, "id", "uint32", place)
    texts = _column(read, "text", place)
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        raise place.error(f"must be utf8, not {texts.type}", "text")
    return dict(zip(ids.tolist(), texts.to_pylist(), strict=True)), cut


def _whole_batches(content: bytes, place: Place) -> tuple[pa.Table | None, bool]:
    """The batches that are there whole; None where not even the schema is."""
    import pyarrow as pa

    if not _MESSAGE.startswith(content[:4]):
        raise place.error("is no Arrow stream")
    source = pa.BufferReader(content)
    batches: list[pa.RecordBatch] = []
    try:
        stream = pa.ipc.open_stream(source)
    except (pa.ArrowException, OSError) as error:
        if _at_end(source, content):
            return None, True
        raise place.error(f"is no Arrow stream ({_said(error)})") from None
    try:
        while True:
            batch = stream.read_next_batch()
            batch.validate(full=True)
            batches.append(batch)
    except StopIteration:
        cut = False
    except (pa.ArrowException, OSError) as error:
        # A writer that was killed leaves half a batch at the end; anything else is damage.
        if not _at_end(source, content):
            raise place.error(f"is damaged in batch {len(batches) + 1} ({_said(error)})") from None
        cut = True
    return pa.Table.from_batches(batches, stream.schema), cut


def _at_end(source: pa.BufferReader, content: bytes) -> bool:
    return bool(source.tell() >= len(content))


def _column(read: pa.Table, name: str, place: Place) -> pa.ChunkedArray:
    if name not in read.column_names:
        raise place.error("the column is missing", name)
    column = read.column(name)
    if column.null_count:
        raise place.error("must not have nulls", name)
    return column


def _numbers(read: pa.Table, name: str, kind: str, place: Place) -> pd.Series[int]:
    import pyarrow as pa

    column = _column(read, name, place)
    if not pa.types.is_integer(column.type):
        raise place.error(f"must be {kind}, not {column.type}", name)
    try:
        right = column.cast(pa.from_numpy_dtype(kind))
    except pa.ArrowInvalid:
        raise place.error(f"has values that are no {kind}", name) from None
    return pd.Series(right.to_numpy(), copy=False)


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0]
