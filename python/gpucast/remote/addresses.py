"""Addresses of GPU servers, as people name them: host:port, unix:/path, ..."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from gpucast.errors import InputError

_SOCKET = "unix:"


def addresses(text: str, *, field: str) -> list[str]:
    """Those of a list with commas, in its order; blanks around them do not count.

    Args:
        field: the option or variable that the list comes from.

    Raises:
        InputError: one of them is empty, or all are.
    """
    result = [address.strip() for address in text.split(",")]
    if not any(result):
        raise InputError("it is empty: name servers, host:port,...", field=field)
    if not all(result):
        raise InputError(f"'{text}' has an empty address: host:port,...", field=field)
    return result


def absolute(address: str) -> str:
    """The same server's for programs that run in other folders: unix:PATH with all of its path."""
    path = address.removeprefix(_SOCKET)
    return f"{_SOCKET}{os.path.abspath(path)}" if path and path != address else address


def named_twice(servers: Iterable[str]) -> str | None:
    """That one server is several devices of a program, which a server allows, and seldom is meant.

    None where each is named once.
    """
    times = Counter(absolute(server) for server in servers)
    several = [f"{address} {count} times" for address, count in times.items() if count > 1]
    if not several:
        return None
    return f"named more than once: {', '.join(several)}; those devices are one GPU"
