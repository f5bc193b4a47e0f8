"""Other programs' files, read into records and written from them: one module a format.

To add a format, drop a module in here that has a tuple ``FORMATS``; ``gpucast import`` then
detects it, and ``gpucast data export`` offers it where it can write.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset
from gpucast.data.records import Entry, Machine
from gpucast.errors import InputError, from_os_error


@dataclass(frozen=True)
class Options:
    """What a file of another program does not say itself.

    Attributes:
        machine: id of the machine the records refer to.
        path, schedule, kernel: used where the file has none of its own; schedule and kernel, which
            programs of our own have, None where nobody said.
        block: threads a block of the steps' kernel, or None.
        bytes: buffer size of formats that give rates only.
    """

    machine: str = "imported"
    path: str = "native"
    schedule: str | None = None
    kernel: str | None = None
    block: int | None = None
    bytes: int = 512 * 2**20


@dataclass(frozen=True)
class Imported:
    """What a file held.

    Attributes:
        entries: records of ``Options.machine``.
        machine: fields of a machine record that the file states, as JSON.
        warnings: one line each.
    """

    entries: list[Entry]
    machine: dict[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Format:
    """How to recognise, read and write one format.

    Attributes:
        name: as in ``--format NAME``.
        what: what it is, in a few words.
        detect: whether a text is of this format; never raises.
        read: ``read(text, file, options)``; ``file`` is a name for messages. Raises InputError.
        write: a dataset as a text of this format, or None where the format is only read.
    """

    name: str
    what: str
    detect: Callable[[str], bool]
    read: Callable[[str, str, Options], Imported]
    write: Callable[[Dataset], str] | None = None


def formats() -> dict[str, Format]:
    """All formats by name."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        for each in getattr(loaded, "FORMATS", ()):
            found[each.name] = each
    return found


def read_file(path: str, options: Options, name: str | None = None) -> tuple[Imported, Format]:
    """Read a file of any format; which one is told by its content, or by ``name``.

    Raises:
        InputError: the file cannot be read, is of no known format, or is wrong.
    """
    text = _text(path)
    known = formats()
    if name is None:
        chosen = _detected(text, path, known)
    elif name in known:
        chosen = known[name]
    else:
        raise InputError(f"{name!r} is unknown; it is one of {', '.join(known)}", field="--format")
    return chosen.read(text, path, options), chosen


def entry(
    options: Options,
    value: Mapping[str, object],
    *,
    file: str,
    line: int | None = None,
) -> Entry:
    """A record of ``options.machine`` from its JSON object. Raises InputError."""
    record = jsonl.record({**value, "machine": options.machine}, file=file, line=line)
    assert not isinstance(record, Machine)
    return record


def _text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise from_os_error(error, path) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8 text", file=path, line=line) from None
    if not text.strip():
        raise InputError("is empty", file=path)
    return text


def _detected(text: str, path: str, known: Mapping[str, Format]) -> Format:
    if '"gpucast.record/' in text[:4096]:
        raise InputError("holds gpucast records already; use it as it is", file=path)
    for candidate in known.values():
        if candidate.detect(text):
            return candidate
    raise InputError(
        f"is of no known format ({', '.join(known)}); a CSV file needs a header line "
        "n,gpus,seconds or bytes,seconds,route",
        file=path,
    )
