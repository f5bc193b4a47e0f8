"""Reading and writing records as JSON Lines, with errors that name file, line and field.

A measuring program writes and flushes one line for each cell, so that a killed run leaves at most
one unfinished line, the last: it is dropped with a warning. Anything else that is not a valid
record is an error. A byte-order mark and CRLF line ends are tolerated.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from gpucast.data.records import KINDS, SCHEMA, Record
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.files import read_bytes
from gpucast.util.typed_json import WrongValueError, from_json, near, shown, to_json

PathLike = str | os.PathLike[str]
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Lines:
    """The records of one file, in order.

    Attributes:
        records: the records.
        numbers: their line numbers, counted from 1; same length.
        warnings: one line each.
    """

    records: list[Record]
    numbers: list[int]
    warnings: list[str] = field(default_factory=list)


def numbered(records: Iterable[Record]) -> Lines:
    """Return records made in memory as lines of a file."""
    kept = list(records)
    return Lines(kept, list(range(1, len(kept) + 1)))


def read(path: PathLike) -> Lines:
    """Read a file of records; files named ``.gz``, as bundled ones are, are decompressed.

    Raises:
        InputError: the file cannot be read, holds no record, or has a line that is not one.
    """
    name = os.fspath(path)
    content = read_bytes(path)
    return parse(_decompressed(content, name) if name.endswith(".gz") else content, name)


def _decompressed(content: bytes, file: str) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            text = stream.read(limits.INPUT.most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"is not a complete gzip file ({error})", file=file) from None
    limits.INPUT.check(len(text), file)
    return text


def parse(content: bytes, file: str) -> Lines:
    """Return the records in the bytes of a file, as ``read``; ``file`` is its name for messages."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    limits.check_json(content, file)
    limits.RECORDS.check(content.count(b"\n"), file)
    lines = content.split(b"\n")  # not splitlines: strings may hold U+2028 and the like
    read = Lines([], [])
    longest = limits.RECORD.most
    for number, line in enumerate(lines, start=1):
        line = line.rstrip(b"\r")
        if not line.strip():
            continue
        if len(line) > longest:
            raise limits.RECORD.error(file, line=number)
        try:
            # NaN and Infinity, which are not JSON, are refused by the fields that hold them.
            value = json.loads(line.decode(), object_pairs_hook=_distinct)
        except _DuplicateKeyError as error:
            raise InputError("occurs twice", file=file, line=number, field=str(error)) from None
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                read.warnings.append(
                    f"{file}:{number}: the last line is cut off (a killed run?); it was left out"
                )
                continue
            raise InputError(f"not valid JSON: {error}", file=file, line=number) from None
        read.records.append(_record(value, file, number))
        read.numbers.append(number)
    if not read.records:
        raise InputError("holds no whole record" if read.warnings else "is empty", file=file)
    return read


def record(
    value: Mapping[str, object],
    *,
    file: str | None = None,
    line: int | None = None,
) -> Record:
    """Return the record of a JSON object; a missing ``schema`` is added.

    Raises:
        InputError: names the field, and the file and line if given.
    """
    return _record({"schema": SCHEMA, **value}, file, line)


def made(kind: type[R], **fields: object) -> R:
    """Return a record of this kind; fields that are None are left out.

    Raises:
        InputError: names the field.
    """
    word = next(word for word, known in KINDS.items() if known is kind)
    given = {name: value for name, value in fields.items() if value is not None}
    result = record({"kind": word, **given})
    assert isinstance(result, kind)
    return result


def _record(value: object, file: str | None, line: int | None) -> Record:
    try:
        kind: Callable[..., Record] = _kind(value)
        return from_json(kind, value, strict=True)
    except WrongValueError as error:
        raise InputError(error.message, file=file, line=line, field=error.field) from None


def _kind(value: object) -> type[Record]:
    """Return the kind of record that an object states. Raises WrongValueError."""
    if not isinstance(value, dict):
        raise WrongValueError("not a record: each line holds one JSON object")
    # Checked first, because a line of another schema also has other fields.
    if "schema" not in value:
        message = f'missing; each record starts {{"schema":"{SCHEMA}", ...'
        raise WrongValueError(message, ("schema",))
    if value["schema"] != SCHEMA:
        message = f"{shown(value['schema'])} is not supported; this version reads {SCHEMA!r}"
        raise WrongValueError(message, ("schema",))
    if "kind" not in value:
        raise WrongValueError(f"missing; it is one of {', '.join(KINDS)}", ("kind",))
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise WrongValueError(f"{shown(kind)} is unknown{near(str(kind), list(KINDS))}", ("kind",))
    return KINDS[kind]


def to_object(record: Record) -> dict[str, object]:
    """Return the record as a JSON object, without unstated fields."""
    value: dict[str, object] = to_json(record, nulls=False)
    return value


def to_line(record: Record) -> str:
    """Return the record as a line of a file, without the line end."""
    return json.dumps(to_object(record), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_text(records: Iterable[Record]) -> str:
    """Return the content of a file: one line for each record."""
    return "".join(to_line(record) + "\n" for record in records)


def load(text: str, file: str, line: int | None = None) -> object:
    """Return the JSON value in a foreign file, or in one line of it.

    Raises:
        InputError: it is not JSON; the line is named.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)  # NaN and Infinity are not JSON
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON: {error.msg} at column {error.colno}",
            file=file,
            line=line or error.lineno,
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", file=file, line=line) from None


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _DuplicateKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return value


class _DuplicateKeyError(ValueError):
    """A key occurs twice in an object."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
