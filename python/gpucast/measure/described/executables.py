"""What a command runs, told apart by its content: a program that was compiled anew is another.

Where it lies tells it apart, too: the Pythons of two virtual environments are one file with
different packages. What a program loads while it runs (libraries, packages, modules that it
imports) nobody looks at.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gpucast.errors import InputError, from_os_error

_SCRIPTS = (".py", ".sh", ".jl", ".lua", ".pl", ".R")
"""Words that end so name what is read; others may name a file that the program writes."""


def found(word: str, search: str | None) -> Path | None:
    """The program that a command's word starts, as a shell finds it; None: there is none.

    Args:
        search: folders, as in PATH; None: this process's.
    """
    if "/" in word and not Path(word).is_absolute():
        return None  # of the run's folder
    there = shutil.which(word, path=search)
    return None if there is None else Path(there)


def contents(words: Sequence[str], here: Path, search: str | None) -> list[list[str]]:
    """Names and contents of the program that the first word starts, and of scripts that others
    name by an absolute path or by ``{here}``, the description's folder, which may be moved.

    A program that is not here (a launcher's, on its nodes) has none.
    """
    program = found(words[0].replace("{here}", str(here)), search)
    seen = [] if program is None else [(words[0], program)]
    for word in words[1:]:
        path = Path(word.replace("{here}", str(here)))
        if word.endswith(_SCRIPTS) and path.is_absolute() and path.is_file():
            seen.append((word, path))
    return [[word if "{here}" in word else str(path), _content(path)] for word, path in seen]


def sha256(path: Path) -> str:
    """Of a file's content.

    Raises:
        InputError: it cannot be read.
    """
    try:
        about = path.stat()
        return _sha256(path, about.st_ino, about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise from_os_error(error, path) from error


def _content(path: Path) -> str:
    try:
        return sha256(path)
    except InputError:  # may be run and not read
        about = path.stat()
        return f"{about.st_size} bytes of {about.st_mtime_ns}"


@cache
def _sha256(path: Path, number: int, changed: int, size: int) -> str:
    """Once for all cells that share a file, as long as it stays as it is."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
