"""Temporary signal handlers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any] | int | None
"""A handler as for ``signal.signal``."""


def name_of(number: int) -> str:
    """Return a signal's name, such as SIGTERM; ``signal 40`` if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def handled(handlers: Mapping[signal.Signals, Handler]) -> Iterator[dict[signal.Signals, Handler]]:
    """Set handlers; yield the previous ones, which are restored at the end."""
    before = {sent: signal.signal(sent, handler) for sent, handler in handlers.items()}
    try:
        yield before
    finally:
        for sent, handler in before.items():
            signal.signal(sent, handler)
