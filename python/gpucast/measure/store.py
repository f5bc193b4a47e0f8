"""The file of a campaign: whole lines only, one writer at a time, never less than it held."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections import Counter
from typing import Self

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, cell, from_records
from gpucast.data.records import Entry, Machine, Note, Record, Step
from gpucast.errors import GpucastError, InputError, from_os_error

PathLike = str | os.PathLike[str]


class Store:
    """Records of a file, and those added to it.

    Opening reads what is there. Half a last line, which a killed run or a power failure leaves, is
    cut off; anything else that is no record is refused and left alone. A file that is no regular
    one (a pipe, a device) is written as it is. A new file that got no record is removed again.

    Attributes:
        warnings: what opening the file changed; one line each.

    Raises:
        InputError: the file cannot be read or written, holds what is no record, or another program
            writes to it.
    """

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        self.warnings: list[str] = []
        self.machines: list[Machine] = []
        self._entries: list[Entry] = []
        self._handle = -1
        self._made = not os.path.exists(self.name)
        try:
            self._handle = os.open(self.name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self._regular = stat.S_ISREG(os.fstat(self._handle).st_mode)
            if self._regular:
                self._lock()
                self._read()
        except OSError as error:
            self.close()
            raise from_os_error(error, self.name) from error
        except GpucastError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def entries(self) -> list[Entry]:
        """Everything but machines, in the order written."""
        return self._entries

    def append(self, record: Record) -> None:
        """Write a record, as one whole line.

        Raises:
            GpucastError: it cannot be written (disk full); the file then ends with the last whole
                line.
        """
        line = (jsonl.to_line(record) + "\n").encode()
        begin = os.fstat(self._handle).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
        except OSError as error:
            raise GpucastError(f"{self.name}: {error.strerror}") from error
        finally:  # also where Ctrl-C comes in between
            if self._regular and os.fstat(self._handle).st_size < begin + len(line):
                os.ftruncate(self._handle, begin)
        self._keep(record)

    def note(self, machine: str | None, path: str, text: str, **about: object) -> bool:
        """Write a note, unless the file says the same already; whether it was written."""
        stated = {"machine": machine, "path": path, "text": text, "about": about or None}
        given = {key: value for key, value in stated.items() if value is not None}
        made = jsonl.record({"kind": "note", **given})
        assert isinstance(made, Note)
        if any(isinstance(entry, Note) and _same_note(entry, made) for entry in self._entries):
            return False
        self.append(made)
        return True

    def sync(self) -> None:
        """Bring what was written to the disk: a power failure then loses nothing of it."""
        if self._regular:
            os.fsync(self._handle)

    def dataset(self) -> Dataset:
        """What the file holds."""
        return from_records(self.name, [*self.machines, *self._entries])

    def steps(self, machine: str, path: str) -> list[Step]:
        """The steps of a path on a machine."""
        return [
            entry
            for entry in self._entries
            if isinstance(entry, Step) and (entry.machine, entry.path) == (machine, path)
        ]

    def measured(self, machine: str, path: str) -> Counter[tuple[object, ...]]:
        """How often each cell of a path was measured, by what names it."""
        return Counter(
            cell(entry)
            for entry in self._entries
            if not isinstance(entry, Note)
            and entry.machine == machine
            and getattr(entry, "path", path) == path
        )

    def close(self) -> None:
        """Release the file."""
        if self._handle < 0:
            return
        if self._made and self._regular and os.fstat(self._handle).st_size == 0:
            os.unlink(self.name)
        os.close(self._handle)
        self._handle = -1

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Where a file system knows no locks, nothing is said.
            if error.errno == errno.EWOULDBLOCK:
                self._made = False
                raise InputError("another program is writing to it", file=self.name) from error

    def _read(self) -> None:
        with open(self.name, "rb") as stream:
            content = stream.read()
        whole, cut, half = content.rpartition(b"\n")
        if half and _is_record(half):
            whole, cut, half = content, b"", b""
        if half and not half.startswith(b"{"):
            line = content.count(b"\n") + 1
            raise InputError("is no record; the file is left as it is", file=self.name, line=line)
        if whole.strip():
            for record in jsonl.parse(whole + b"\n", self.name).records:
                self._keep(record)
        if half:
            os.ftruncate(self._handle, len(whole) + len(cut))
            self.warnings.append(f"{self.name}: its last line was cut off (a killed run); removed")
        elif whole and not cut:
            os.write(self._handle, b"\n")

    def _keep(self, record: Record) -> None:
        if isinstance(record, Machine):
            self.machines.append(record)
        else:
            self._entries.append(record)


def _is_record(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _same_note(one: Note, other: Note) -> bool:
    return (one.machine, one.path, one.text) == (other.machine, other.path, other.text)
