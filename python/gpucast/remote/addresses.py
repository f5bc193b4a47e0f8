"""Addresses of GPU servers: host:port, unix:/path, ..."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from gpucast.errors import InputError

_SOCKET = "unix:"


def addresses(text: str, *, field: str) -> list[str]:
    """Return the addresses of a comma-separated list; blanks around them are ignored.

    Args:
        field: the option or variable with the list.

    Raises:
        InputError: an address is empty.
    """
    result = [address.strip() for address in text.split(",")]
    if not any(result):
        raise InputError("it is empty: name servers, host:port,...", field=field)
    if not all(result):
        raise InputError(f"'{text}' has an empty address: host:port,...", field=field)
    return result


def absolute(address: str) -> str:
    """Return an address that is valid in other folders: unix:PATH gets an absolute path."""
    path = address.removeprefix(_SOCKET)
    return f"{_SOCKET}{os.path.abspath(path)}" if path and path != address else address


def named_twice(servers: Iterable[str]) -> str | None:
    """Return a warning about servers that are named several times, which is allowed but seldom
    intended; None if there are none.
    """
    times = Counter(absolute(server) for server in servers)
    several = [f"{address} {count} times" for address, count in times.items() if count > 1]
    if not several:
        return None
    return f"named more than once: {', '.join(several)}; those devices are one GPU"
