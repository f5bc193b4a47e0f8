"""Arrow IPC streams into tables; also those that end where their writer was killed."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gpucast.data.traces.tables import COLUMNS, frame
from gpucast.errors import InputError

if TYPE_CHECKING:
    from nanoarrow.c_array import CArrayView


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
        return frame(table), cut
    columns = {name: _numbers(read, name, kind, place) for name, kind in COLUMNS[table].items()}
    return pd.DataFrame(columns), cut


def names_of(content: bytes, place: Place) -> tuple[dict[int, str], bool]:
    """Texts by id, and whether the stream was cut off. Raises InputError as ``rows_of``."""
    read, cut = _whole_batches(content, place)
    if read is None:
        return {}, cut
    ids = _numbers(read, "id", "uint32", place).tolist()
    kind, columns = _column(read, "text", place)
    if kind not in _OFFSETS:
        raise place.error(f"must be utf8, not {_called(kind)}", "text")
    try:
        texts = [text for part in columns for text in _texts(part, _OFFSETS[kind])]
    except UnicodeDecodeError:
        raise place.error("is no UTF-8", "text") from None
    return dict(zip(ids, texts, strict=True)), cut


_INTEGERS = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64",
}  # fmt: skip
_OFFSETS = {"u": "int32", "U": "int64"}
"""Types of columns, as the Arrow C data interface writes them: numbers, and texts with what their
offsets are."""


@dataclass(frozen=True)
class _Batches:
    """Columns' types by name, and the batches of a stream."""

    kinds: dict[str, str]
    batches: list[CArrayView]


def _whole_batches(content: bytes, place: Place) -> tuple[_Batches | None, bool]:
    """The batches that are there whole; None where not even the schema is."""
    import nanoarrow
    from nanoarrow.ipc import InputStream

    if not _MESSAGE.startswith(content[:4]):
        raise place.error("is no Arrow stream")
    source = io.BytesIO(content)
    try:
        stream = nanoarrow.c_array_stream(InputStream.from_readable(source))
        schema = stream.get_schema()
    except (RuntimeError, OSError, ValueError) as error:
        if _at_end(source, content):
            return None, True
        raise place.error(f"is no Arrow stream ({_said(error)})") from None
    read = _Batches({column.name: column.format for column in schema.children}, [])
    try:
        while True:
            read.batches.append(stream.get_next().view())
    except StopIteration:
        cut = False
    except (RuntimeError, OSError, ValueError) as error:
        # A writer that was killed leaves half a batch at the end; anything else is damage.
        if not _at_end(source, content):
            batch = len(read.batches) + 1
            raise place.error(f"is damaged in batch {batch} ({_said(error)})") from None
        cut = True
    return read, cut


def _at_end(source: io.BytesIO, content: bytes) -> bool:
    return source.tell() >= len(content)


def _column(read: _Batches, name: str, place: Place) -> tuple[str, list[CArrayView]]:
    """A column's type and its parts."""
    if name not in read.kinds:
        raise place.error("the column is missing", name)
    at = list(read.kinds).index(name)
    parts = [batch.child(at) for batch in read.batches if batch.length]
    if any(part.null_count for part in parts):
        raise place.error("must not have nulls", name)
    return read.kinds[name], parts


def _numbers(read: _Batches, name: str, kind: str, place: Place) -> pd.Series[int]:
    stated, parts = _column(read, name, place)
    if stated not in _INTEGERS:
        raise place.error(f"must be {kind}, not {_called(stated)}", name)
    type_ = _INTEGERS[stated]
    # Buffers may be longer than their rows, for alignment.
    whole = [
        np.frombuffer(part.buffer(1), type_)[part.offset : part.offset + part.length]
        for part in parts
    ]
    values = whole[0] if len(whole) == 1 else np.concatenate([np.empty(0, type_), *whole])
    right = values.astype(kind, copy=False)
    limits = np.iinfo(kind)
    if len(values) and not limits.min <= int(values.min()) <= int(values.max()) <= limits.max:
        raise place.error(f"has values that are no {kind}", name)
    return pd.Series(right, copy=False)


def _texts(part: CArrayView, offsets: str) -> list[str]:
    ends = np.frombuffer(part.buffer(1), offsets)[part.offset : part.offset + part.length + 1]
    content = bytes(part.buffer(2))
    return [content[start:end].decode() for start, end in itertools.pairwise(ends.tolist())]


def _called(kind: str) -> str:
    """A type in words, of those that are likely to be met."""
    return {"e": "float16", "f": "float32", "g": "float64", "b": "bool", "z": "binary"}.get(
        kind, _INTEGERS.get(kind, "utf8" if kind in _OFFSETS else f"type {kind!r}")
    )


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0]
