"""Errors as messages of one line: place, field, problem, and remedy.

The commands turn these into exit statuses (2 for wrong input, 1 for a run that failed); from
Python they are ordinary exceptions. Nothing heavy is imported here, so that every command can
report an error before it has loaded anything.
"""

from __future__ import annotations

import os


class Terminated(KeyboardInterrupt):
    """SIGTERM was received: work ends as after Ctrl-C."""


class GpucastError(Exception):
    """The work failed although the input is valid (exit status 1)."""

    exit_status = 1


class InputError(GpucastError):
    """The input is wrong (exit status 2): ``str()`` is ``FILE:LINE: FIELD: message``.

    Attributes:
        message: the problem and, if useful, the remedy, in one line.
        file: name of the file or dataset, or None if the input is not a file.
        line: line in that file, counted from 1, or None.
        field: name of the field, column or option, or None.
    """

    exit_status = 2

    def __init__(
        self,
        message: str,
        *,
        file: str | os.PathLike[str] | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.message = message
        self.file = None if file is None else os.fspath(file)
        self.line = line
        self.field = field
        super().__init__(message)

    def __str__(self) -> str:
        parts = []
        if self.file is not None and self.line is not None:
            parts.append(f"{self.file}:{self.line}")
        elif self.file is not None:
            parts.append(self.file)
        elif self.line is not None:
            parts.append(f"line {self.line}")
        if self.field is not None:
            parts.append(self.field)
        parts.append(self.message)
        return ": ".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments are lost by the default pickling (process pools send errors back).
        return (_rebuild, (self.message, self.file, self.line, self.field))


def _rebuild(message: str, file: str | None, line: int | None, field: str | None) -> InputError:
    return InputError(message, file=file, line=line, field=field)


def from_os_error(error: OSError, path: str | os.PathLike[str] | None = None) -> GpucastError:
    """Return an error of the operating system as one of ours.

    An error about a named file (missing, unreadable, a folder) is wrong input and names the file;
    any other (disk full, broken device) is a failed run.
    """
    reason = error.strerror or str(error) or type(error).__name__
    name = path if path is not None else error.filename
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if isinstance(name, (str, os.PathLike)):
        return InputError(reason, file=name)
    return GpucastError(reason)
