"""Reading and writing records as JSON Lines, with errors that name file, line and field.

A program that measures writes and flushes one line a cell, so a killed run leaves at most one
unfinished line, the last: that one is dropped with a warning. Anything else that is not a valid
record is an error. A byte-order mark and CRLF line ends are tolerated.
"""

from __future__ import annotations

import difflib
import gzip
import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from pydantic import ValidationError

from gpucast.data.records import KINDS, RECORD, SCHEMA, Machine, Note, Record
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.files import read_bytes
from gpucast.util.validation_errors import message_of, path_of, shown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

PathLike = str | os.PathLike[str]


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


def read(path: PathLike) -> Lines:
    """Read a file of records; one that is called ``.gz``, as bundled ones are, is decompressed.

    Raises:
        InputError: the file cannot be read, holds no record, or has a line that is none.
    """
    name = os.fspath(path)
    content = read_bytes(path)
    return parse(_decompressed(content, name) if name.endswith(".gz") else content, name)


def _decompressed(content: bytes, file: str) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            text = stream.read(limits.INPUT.most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"is no whole gzip file ({error})", file=file) from None
    limits.INPUT.check(len(text), file)
    return text


def parse(content: bytes, file: str) -> Lines:
    """The records in the bytes of a file; ``file`` is its name for messages. As ``read``."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    limits.check_json(content, file)
    limits.RECORDS.check(content.count(b"\n"), file)
    lines = content.split(b"\n")  # not splitlines: strings may hold U+2028 and the like
    unfinished = lines[-1] != b""
    records: list[Record] = []
    numbers: list[int] = []
    warnings: list[str] = []
    for number, line in enumerate(lines, start=1):
        line = line.rstrip(b"\r")
        if not line.strip():
            continue
        limits.RECORD.check(len(line), file, line=number)
        try:
            records.append(_record(line))
        except ValidationError as error:
            if unfinished and number == len(lines) and _is_cut_off(line):
                warnings.append(
                    f"{file}:{number}: the last line is cut off (a killed run?); it was left out"
                )
                continue
            _check_schema_key(line, file, number)
            _raise(error.errors(include_url=False)[0], file, number)
        except _DuplicateKeyError as error:
            raise InputError("is there twice", file=file, line=number, field=str(error)) from None
        except ValueError as error:
            raise InputError(f"not valid JSON: {error}", file=file, line=number) from None
        numbers.append(number)
    if not records:
        raise InputError("holds no whole record" if warnings else "is empty", file=file)
    return Lines(records, numbers, warnings)


def record(
    value: Mapping[str, object],
    *,
    file: str | None = None,
    line: int | None = None,
) -> Record:
    """One record from its JSON object; ``schema`` is added where missing.

    Raises:
        InputError: names the field, and the file and line where given.
    """
    try:
        made = RECORD.validate_python({"schema": SCHEMA, **value})
    except ValidationError as error:
        _raise(error.errors(include_url=False)[0], file, line)
    if isinstance(made, (Machine, Note)):
        _check_free_objects(made, file, line)
    return made


def to_object(record: Record) -> dict[str, object]:
    """The record as a JSON object, with the keys it was made with (nothing added or dropped)."""
    return record.model_dump(by_alias=True, exclude_unset=True)


def to_line(record: Record) -> str:
    """The record as a line of a file, without the line end."""
    # json.dumps, not pydantic's writer: its numbers are Python's repr, the same in every version.
    return json.dumps(to_object(record), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_text(records: Iterable[Record]) -> str:
    """A file's content: one line a record."""
    return "".join(to_line(record) + "\n" for record in records)


def _check_free_objects(record: Machine | Note, file: str | None, line: int | None) -> None:
    # Values made in memory may hold what no file can: NaN, or half of a surrogate pair.
    try:
        to_line(record).encode()
    except (ValueError, RecursionError) as error:
        field = "about" if isinstance(record, Note) else None
        reason = str(error).split(":")[0]
        raise InputError(f"cannot be written as JSON: {reason}", file=file, line=line,
                         field=field) from None  # fmt: skip


_KEY = re.compile(rb'"([^"\\]*)"\s*:')


def _record(line: bytes) -> Record:
    record = RECORD.validate_json(line)
    keys = _KEY.findall(line)
    if b"\\" in line or len(keys) != len(set(keys)):
        # Objects within others may have the same key; one object may not.
        json.loads(line, object_pairs_hook=_require_distinct)
    if b"NaN" in line or b"Infinity" in line:
        # No JSON, but let through in free objects (topology, about).
        strict_loads(line)
    return record


def load(text: str, file: str, line: int | None = None) -> object:
    """The JSON value in a foreign file, or in one line of it.

    Raises:
        InputError: it is none; names the line.
    """
    try:
        return strict_loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON: {error.msg} at column {error.colno}",
            file=file,
            line=line or error.lineno,
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", file=file, line=line) from None


def strict_loads(text: str | bytes) -> object:
    """``json.loads`` without Python's extensions NaN and Infinity. Raises ValueError."""
    value: object = json.loads(text, parse_constant=_refuse_constant)
    return value


def _require_distinct(pairs: list[tuple[str, object]]) -> None:
    counts = Counter(key for key, _ in pairs)
    if len(counts) < len(pairs):
        key, _ = counts.most_common(1)[0]
        raise _DuplicateKeyError(key)


class _DuplicateKeyError(ValueError):
    """Raised with the key."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _is_cut_off(line: bytes) -> bool:
    # A line that is whole JSON but no record was not cut off; it is wrong.
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _check_schema_key(line: bytes, file: str, number: int) -> None:
    # Said before any other complaint: a line of another schema has other fields as well.
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(value, dict):
        raise InputError("not a record: each line holds one JSON object", file=file, line=number)
    schema = value.get("schema")
    if schema is None:
        raise InputError(
            f'missing; each record starts {{"schema":"{SCHEMA}", ...',
            file=file,
            line=number,
            field="schema",
        )
    if schema != SCHEMA:
        raise InputError(
            f"{shown(schema)} is not supported; this version reads {SCHEMA!r}",
            file=file,
            line=number,
            field="schema",
        )


def _raise(detail: ErrorDetails, file: str | None, line: int | None) -> NoReturn:
    field, message = _explained(detail)
    raise InputError(message, file=file, line=line, field=field) from None


def _explained(detail: ErrorDetails) -> tuple[str | None, str]:
    """Field and message of one of pydantic's complaints, in the words of these files."""
    kind = detail["type"]
    location = detail["loc"]
    # The first part of the location is the record's kind, the union's discriminator.
    parts = location[1:] if location and location[0] in KINDS else location
    name = path_of(parts)
    context = detail.get("ctx", {})
    value = shown(detail.get("input"))
    if kind == "json_invalid":
        reason = str(context.get("error")).replace("at line 1 column", "at column")
        return None, f"not valid JSON: {reason}"
    if kind == "union_tag_not_found":
        return "kind", f"missing; it is one of {', '.join(KINDS)}"
    if kind == "union_tag_invalid":
        tag = str(context.get("tag"))
        return "kind", f"{shown(tag)} is unknown; it is one of {', '.join(KINDS)}{_near(tag)}"
    if kind in ("model_attributes_type", "model_type") and name is None:
        return None, "not a record: each line holds one JSON object"
    if kind == "too_short":
        return name, "needs at least one sample"
    if kind == "string_pattern_mismatch" and name == "started" and detail.get("input") != "":
        return name, f"{value} is no UTC time such as 2025-01-31T12:00:00Z"
    return name, message_of(detail)


def _near(tag: str) -> str:
    matches = difflib.get_close_matches(tag, KINDS, n=1)
    return f" (meant {matches[0]}?)" if matches else ""
