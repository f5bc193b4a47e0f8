"""Writes files atomically: they appear completely or not at all.

Content is written to a hidden file beside the target, flushed to disk, and then renamed; a reader
never sees an incomplete file, and a killed run leaves the old one in place. An existing file is
replaced only with ``force``.

A target that is not a regular file (``/dev/stdout``, a named pipe) cannot be renamed onto and is
written to directly.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from gpucast.errors import InputError, from_os_error
from gpucast.util import limits

PathLike = str | os.PathLike[str]
_EXISTS = "exists already; --force replaces it"


def read_bytes(path: PathLike, limit: limits.Limit = limits.INPUT) -> bytes:
    """Return the content of a file, a pipe or a device, which may be endless.

    Raises:
        InputError: it cannot be read, or is larger than the limit.
    """
    most = limit.most
    try:
        with open(path, "rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise from_os_error(error, path) from error
    limit.check(len(content), path)
    return content


def check_output(path: PathLike, *, force: bool = False) -> None:
    """Refuse an output that could not be written, before any work is done.

    Raises:
        InputError: the file exists and ``force`` is not given, or it is a folder, or its folder
            does not exist or is not writable, or it is ``-``. The message names the file.
    """
    if os.fspath(path) == "-":  # stdout is for messages of commands
        raise InputError("is not the name of a file; give one", file=path)
    try:
        target = _target(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if _is_device(path):
            return
        if os.path.islink(path) and not target.exists():
            raise InputError("is a dangling link; remove it or name another", file=path)
        if not target.parent.is_dir():
            raise InputError(f"the folder {target.parent} does not exist", file=path)
        if target.exists() and not force:
            raise InputError(_EXISTS, file=path)
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise InputError(f"the folder {target.parent} is not writable", file=path)
    except OSError as error:
        raise from_os_error(error, path) from error


def write_text(path: PathLike, text: str, *, force: bool = False) -> None:
    """Write ``text`` as UTF-8; otherwise as ``write_bytes``."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"), force=force)


def write_bytes(path: PathLike, content: bytes, *, force: bool = False) -> None:
    """Write ``content`` to ``path``, completely or not at all.

    Raises:
        InputError: as for ``check_output``, also if the file was created in the meantime.
    """
    write_stream(path, lambda stream: stream.write(content), force=force)


def write_all(contents: Mapping[Path, bytes], *, force: bool = False) -> None:
    """Write several files; if one cannot be written, remove the new ones again."""
    new: list[Path] = []
    try:
        for path, content in contents.items():
            missing = [part for part in (path, *path.parents) if not part.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            new += reversed(missing[1:])
            write_bytes(path, content, force=force)
            new += missing[:1]
    except BaseException:
        for path in reversed(new):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
        raise


def write_stream(
    path: PathLike, write: Callable[[BinaryIO], object], *, force: bool = False
) -> None:
    """Let ``write`` write to ``path``, completely or not at all; otherwise as ``write_bytes``."""
    check_output(path, force=force)
    target = _target(path)
    try:
        if _is_device(path):
            with open(path, "wb") as stream:
                write(stream)
        else:
            _write_beside_and_move(target, write, force=force)
    except FileExistsError as error:
        raise InputError(_EXISTS, file=path) from error
    except OSError as error:
        raise from_os_error(error, path) from error


def _target(path: PathLike) -> Path:
    # A symbolic link stays, and the file behind it is replaced.
    return Path(os.path.realpath(path))


def _is_device(path: PathLike) -> bool:
    # The real path would not do: that of /dev/stdout as a pipe is not the name of a file.
    return os.path.exists(path) and not os.path.isfile(path)


def _write_beside_and_move(
    target: Path, write: Callable[[BinaryIO], object], *, force: bool
) -> None:
    # The name is cut so that it fits into 255 bytes with the suffix.
    beside = target.with_name(f".{target.name[:40]}.{os.urandom(6).hex()}.part")
    try:
        with beside.open("xb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        if force and target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        if force:
            beside.replace(target)
        else:
            _move_unless_present(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    # Without this, a power failure may undo the move. Not every system can open folders; the file's
    # content is safe in any case.
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _move_unless_present(beside: Path, target: Path) -> None:
    # A hard link fails if the target exists; there is no other portable move that never replaces.
    try:
        target.hardlink_to(beside)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: a short race remains
        if target.exists():
            raise FileExistsError from None
        beside.replace(target)
