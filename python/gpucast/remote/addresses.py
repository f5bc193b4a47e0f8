"""Addresses of GPU servers, as people name them: host:port, ucx:host:port, unix:/path, ..."""

from __future__ import annotations

from gpucast.errors import InputError


def addresses(text: str, *, field: str) -> list[str]:
    """Those of a list with commas, in its order; blanks around them do not count.

    Args:
        field: the option or variable that the list comes from.

    Raises:
        InputError: one of them is empty, or all are.
    """
    result = [each.strip() for each in text.split(",")]
    if not any(result):
        raise InputError("it is empty: name servers, host:port,...", field=field)
    if not all(result):
        raise InputError(f"'{text}' has an empty address: host:port,...", field=field)
    return result
