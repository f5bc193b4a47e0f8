"""Files as they come from the browser: the last ones sent, in a folder that is removed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Protocol

from gpucast.errors import InputError
from gpucast.serve.work import Source

LONGEST_NAME = 200
"""Bytes; file systems end at 255."""


class Upload(Protocol):
    """A file that was sent: the name it says it has, and its content."""

    filename: str | None
    stream: IO[bytes]


class Inbox:
    """What was sent last, below a folder that whoever made it removes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, uploads: Iterable[Upload]) -> Source:
        """Keep these files instead of those before.

        Raises:
            InputError: a name that no file can have, or two files of one name.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        folder = Path(mkdtemp(dir=self._folder))
        names: list[str] = []
        for upload in uploads:
            name = plain_name(upload.filename or "")
            if name in names:
                raise InputError("is given twice; its samples would count twice", file=name)
            with open(folder / name, "xb") as file:
                shutil.copyfileobj(upload.stream, file)
            names.append(name)
        return Source(str(folder), tuple(names))


def plain_name(sent: str) -> str:
    """The last part of a name as a browser sends it: a file's name in no folder.

    Raises:
        InputError: it is none.
    """
    name = sent.replace("\\", "/").rpartition("/")[2]
    if name in ("", ".", "..") or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise InputError(f"{name[:40]!r} is no name of a file; rename it")
    return name
