"""The file of a campaign: whole lines only, one writer at a time, and it never shrinks."""

from __future__ import annotations

import errno
import fcntl
import itertools
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
    """A file of records, to which records are added.

    Opening reads the file. An incomplete last line, left by a killed run or a power failure, is cut
    off; a file with anything else that is not a record is refused and left unchanged. To a file
    that is not regular (a pipe, a device), records are only written. A new file that got no record
    is removed again.

    Before each record, the file is checked: its name must still refer to it, and its size must be
    as written. If somebody has removed, replaced, cut or extended it, nothing more is written to
    it, and all records are saved beside it as ``NAME.saved`` (``NAME.saved2``, ...).

    Attributes:
        warnings: lines about what opening the file changed.

    Raises:
        InputError: the file cannot be read or written, holds something that is not a record, is a
            dangling link, or another program writes to it.
    """

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        self.warnings: list[str] = []
        self.machines: list[Machine] = []
        self._entries: list[Entry] = []
        self._handle = -1
        self._size = 0
        self._lost: str | None = None
        self._made = not os.path.exists(self.name)
        if self._made and os.path.islink(self.name):
            raise InputError("is a dangling link; remove it or name another", file=self.name)
        try:
            self._handle = os.open(self.name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self._regular = stat.S_ISREG(os.fstat(self._handle).st_mode)
            if self._regular:
                self._lock()
                self._read()
                self._size = os.fstat(self._handle).st_size
        except OSError as error:
            self.close()
            raise from_os_error(error, self.name) from error
        except GpucastError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self._require_unchanged()
        finally:
            self.close()

    @property
    def entries(self) -> list[Entry]:
        """All records but machines, in the order written."""
        return self._entries

    def append(self, record: Record) -> None:
        """Write a record, as one whole line.

        Raises:
            GpucastError: it cannot be written (disk full), in which case the file ends with its
                last whole line; or the file was changed by others, in which case all records are
                saved beside it.
        """
        self._require_unchanged(record)
        line = (jsonl.to_line(record) + "\n").encode()
        begin = self._size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
        except OSError as error:
            raise GpucastError(f"{self.name}: {error.strerror}") from error
        finally:  # also after Ctrl-C
            if self._regular and os.fstat(self._handle).st_size < begin + len(line):
                os.ftruncate(self._handle, begin)
            else:
                self._size = begin + len(line)
        self._keep(record)

    def note(self, machine: str | None, path: str, text: str, **about: object) -> bool:
        """Write a note unless the file already has it; return whether it was written."""
        made = jsonl.made(Note, machine=machine, path=path, text=text, about=about or None)
        if any(isinstance(entry, Note) and _same_note(entry, made) for entry in self._entries):
            return False
        self.append(made)
        return True

    def sync(self) -> None:
        """Sync the file to disk, so that a power failure loses nothing.

        Raises:
            GpucastError: the file was changed by others; all records are saved beside it.
        """
        self._require_unchanged()
        if self._regular:
            os.fsync(self._handle)

    def dataset(self) -> Dataset:
        """Return the file's records as a dataset."""
        return from_records(self.name, [*self.machines, *self._entries])

    def steps(self, machine: str, path: str) -> list[Step]:
        """Return the steps of a path on a machine."""
        return [
            entry
            for entry in self._entries
            if isinstance(entry, Step) and (entry.machine, entry.path) == (machine, path)
        ]

    def measured(self, machine: str, path: str) -> Counter[tuple[object, ...]]:
        """Count the records of each cell of a path, by the cell's key."""
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
        empty = self._regular and os.fstat(self._handle).st_size == 0
        if self._made and empty and self._what_happened() is None:
            os.unlink(self.name)
        os.close(self._handle)
        self._handle = -1

    def _require_unchanged(self, record: Record | None = None) -> None:
        """If the file was changed by others, save all records, with the one to be written, and
        fail."""
        if self._lost is None and (happened := self._what_happened()) is not None:
            saved = self._save_beside([] if record is None else [record])
            self._lost = f"{self.name}: {happened} while it was measured into; {saved}"
        if self._lost is not None:
            raise GpucastError(self._lost)

    def _what_happened(self) -> str | None:
        if not self._regular or self._handle < 0:
            return None
        ours = os.fstat(self._handle)
        try:
            now = os.stat(self.name)
        except FileNotFoundError:
            return "was removed"
        except OSError as error:
            return f"cannot be reached ({error.strerror})"
        if (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino):
            return "was replaced by another file"
        if ours.st_size != self._size:
            return "was changed by somebody else"
        return None

    def _save_beside(self, more: list[Record]) -> str:
        """Save all records under an unused name; return a text that says where."""
        known: list[Record] = [*self.machines, *self._entries, *more]
        if not known:
            return "nothing was measured yet"
        text = "".join(jsonl.to_line(entry) + "\n" for entry in known)
        for number in itertools.count(1):
            name = f"{self.name}.saved{number if number > 1 else ''}"
            try:
                with open(name, "x", encoding="utf-8") as stream:
                    stream.write(text)
            except FileExistsError:
                continue
            except OSError as error:
                return f"what was measured could not be saved as {name}: {error.strerror}"
            return f"what was measured is saved as {name}"
        raise AssertionError  # there are more numbers than files

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # A file system without locks is tolerated.
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
            raise InputError("is not a record; the file is unchanged", file=self.name, line=line)
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
