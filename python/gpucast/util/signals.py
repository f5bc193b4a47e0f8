"""Temporary signal handlers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any] | int | None
"""A handler as for ``signal.signal``."""


@contextmanager
def handled(handlers: Mapping[signal.Signals, Handler]) -> Iterator[dict[signal.Signals, Handler]]:
    """Set handlers; yield the previous ones, which are restored at the end."""
    before = {sent: signal.signal(sent, handler) for sent, handler in handlers.items()}
    try:
        yield before
    finally:
        for sent, handler in before.items():
            signal.signal(sent, handler)
