"""Conversion of Arrow IPC streams to tables, also if their writer was killed."""

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
"""The begin of each message of a stream."""


@dataclass(frozen=True)
class Place:
    """The place of a table, for messages: the file of the trace, and the table's name."""

    file: str
    table: str

    def error(self, message: str, column: str | None = None) -> InputError:
        """Return an error at this place."""
        return InputError(
            message,
            file=self.file,
            field=self.table if column is None else f"{self.table}: {column}",
        )


def rows_of(content: bytes, table: str, place: Place) -> tuple[pd.DataFrame, bool]:
    """Return the rows of a table other than ``names``, and whether the stream is truncated.

    Columns unknown to the format are left out.

    Raises:
        InputError: it is not an Arrow stream, is damaged, or a column is missing, of another type
            or has nulls.
    """
    read, cut = _whole_batches(content, place)
    if read is None:
        return frame(table), cut
    columns = {name: _numbers(read, name, kind, place) for name, kind in COLUMNS[table].items()}
    return pd.DataFrame(columns), cut


def names_of(content: bytes, place: Place) -> tuple[dict[int, str], bool]:
    """Return texts by id, and whether the stream is truncated. Raises InputError as ``rows_of``."""
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
        raise place.error("is not UTF-8", "text") from None
    return dict(zip(ids, texts, strict=True)), cut


_INTEGERS = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64",
}  # fmt: skip
_OFFSETS = {"u": "int32", "U": "int64"}
"""Types of columns in the notation of the Arrow C data interface: numbers, and texts with the type
of their offsets."""


@dataclass(frozen=True)
class _Batches:
    """Types of columns by name, and the batches of a stream."""

    kinds: dict[str, str]
    batches: list[CArrayView]


def _whole_batches(content: bytes, place: Place) -> tuple[_Batches | None, bool]:
    """The complete batches; None if not even the schema is complete."""
    import nanoarrow
    from nanoarrow.ipc import InputStream

    if not _MESSAGE.startswith(content[:4]):
        raise place.error("is not an Arrow stream")
    source = io.BytesIO(content)
    try:
        stream = nanoarrow.c_array_stream(InputStream.from_readable(source))
        schema = stream.get_schema()
    except (RuntimeError, OSError, ValueError) as error:
        if _at_end(source, content):
            return None, True
        raise place.error(f"is not an Arrow stream ({_said(error)})") from None
    read = _Batches({column.name: column.format for column in schema.children}, [])
    try:
        while True:
            read.batches.append(stream.get_next().view())
    except StopIteration:
        cut = False
    except (RuntimeError, OSError, ValueError) as error:
        # A killed writer leaves an incomplete batch at the end; anything else is damage.
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
        raise place.error(f"has values that are not {kind}", name)
    return pd.Series(right, copy=False)


def _texts(part: CArrayView, offsets: str) -> list[str]:
    ends = np.frombuffer(part.buffer(1), offsets)[part.offset : part.offset + part.length + 1]
    content = bytes(part.buffer(2))
    return [content[start:end].decode() for start, end in itertools.pairwise(ends.tolist())]


def _called(kind: str) -> str:
    """A common type in words."""
    return {"e": "float16", "f": "float32", "g": "float64", "b": "bool", "z": "binary"}.get(
        kind, _INTEGERS.get(kind, "utf8" if kind in _OFFSETS else f"type {kind!r}")
    )


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0]
