"""What jobs have written so far: whole lines, each told once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpucast.data import jsonl
from gpucast.data.records import Record
from gpucast.errors import InputError


class Part:
    """The records of one job, as its file grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> Iterator[Record]:
        """Those that were not told before. Half a line waits for the rest; a line that is no
        record, which a node may leave that loses its power, is passed over: its visit is made
        again."""
        try:
            if self.path.stat().st_size <= self._offset:
                return
            with self.path.open("rb") as stream:
                stream.seek(self._offset)
                content = stream.read()
        except FileNotFoundError:
            return
        whole, cut, _ = content.rpartition(b"\n")
        self._offset += len(whole) + len(cut)
        for line in whole.splitlines():
            if line.strip():
                try:
                    yield from jsonl.parse(line + b"\n", str(self.path)).records
                except InputError:
                    continue
