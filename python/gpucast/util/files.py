"""Files that appear whole or not at all.

Content is written to a hidden file beside the target, flushed to the disk, and then moved to its
name in one step; a reader never sees half a file, and a killed run leaves the old one in place. An
existing file is replaced only where the caller says ``force``.

A target that is not a regular file (``/dev/stdout``, a named pipe) cannot be renamed onto and is
written to directly.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gpucast.errors import InputError, from_os_error

PathLike = str | os.PathLike[str]


def check_output(path: PathLike, *, force: bool = False) -> None:
    """Refuse an output that could not be written, before any work is spent on it.

    Raises:
        InputError: the file exists and ``force`` is not given, or it is a folder, or its folder
            does not exist or is not writable. The message names the file.
    """
    try:
        target = _target(path)
        if not _is_regular_or_absent(target):
            return
        folder = os.path.dirname(target)
        if not os.path.isdir(folder):
            raise InputError(f"the folder {folder} does not exist", file=path)
        if os.path.exists(target) and not force:
            raise InputError("exists already; --force replaces it", file=path)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"the folder {folder} is not writable", file=path)
    except OSError as error:
        raise from_os_error(error, path) from error


def write_text(path: PathLike, text: str, *, force: bool = False) -> None:
    """Write ``text`` as UTF-8; otherwise as ``write_bytes``."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"), force=force)


def write_bytes(path: PathLike, content: bytes, *, force: bool = False) -> None:
    """Write ``content`` to ``path``, whole or not at all.

    Raises:
        InputError: as ``check_output``; also where the file came into being meanwhile.
    """
    check_output(path, force=force)
    target = _target(path)
    try:
        if not _is_regular_or_absent(target):
            Path(target).write_bytes(content)
            return
        _write_beside_and_move(target, content, force=force)
    except FileExistsError as error:
        raise InputError("exists already; --force replaces it", file=path) from error
    except OSError as error:
        raise from_os_error(error, path) from error


def _target(path: PathLike) -> str:
    # Through a symbolic link the file behind it is replaced, and the link stays.
    return os.path.realpath(os.fspath(path))


def _is_regular_or_absent(target: str) -> bool:
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    return stat.S_ISREG(mode)


def _write_beside_and_move(target: str, content: bytes, *, force: bool) -> None:
    folder, name = os.path.split(target)
    # The name is cut so that the suffix still fits where names are limited to 255 bytes.
    beside = os.path.join(folder, f".{name[:40]}.{os.urandom(6).hex()}.part")
    # os.open, not tempfile: the kernel then applies the user's umask, as for any other output.
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if force:
            if os.path.exists(target):
                os.chmod(beside, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(beside, target)
        else:
            _move_unless_present(beside, target)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)
    _sync_folder(folder)


def _move_unless_present(beside: str, target: str) -> None:
    # A hard link fails where the target exists: the only portable move that never replaces.
    try:
        os.link(beside, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: a short window remains
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.replace(beside, target)


def _sync_folder(folder: str) -> None:
    # Without this the rename itself may be lost by a power failure. Not every system lets folders
    # be opened; the file's content is safe either way.
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
