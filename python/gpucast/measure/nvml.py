"""NVML, the driver's library that answers questions about GPUs."""

from __future__ import annotations

import ctypes
import threading
from contextlib import suppress
from functools import cache
from typing import Self

from gpucast.errors import GpucastError

LOOK_EVERY = 0.1
"""Seconds between two readings of the memory in use."""


class NvmlError(GpucastError):
    """NVML is missing or does not answer; the message says why."""


@cache
def nvml() -> ctypes.CDLL:
    """Return the library, initialized.

    Raises:
        NvmlError: it is missing, or does not start.
    """
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        raise NvmlError("no NVML here (libnvidia-ml.so.1)") from None
    if status := library.nvmlInit_v2():
        raise NvmlError(f"NVML does not start (its error {status})")
    return library


class _Memory(ctypes.Structure):
    """``nvmlMemory_t``, in bytes."""

    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


def memory_in_use() -> list[int]:
    """Return the bytes in use on each GPU of this machine; none if they are not told.

    Raises:
        NvmlError: NVML is missing, or does not start.
    """
    library = nvml()
    count = ctypes.c_uint()
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return []
    in_use = []
    for index in range(count.value):
        handle, memory = ctypes.c_void_p(), _Memory()
        if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)):
            return []
        if library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)):
            return []
        in_use.append(memory.used)
    return in_use


class Watch:
    """Takes readings in a thread of its own, ``period`` seconds apart, while its context is entered
    and NVML answers."""

    period: float

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self.period):
            try:
                self._take()
            except NvmlError:  # the GPU was lost, or there is none; the program will report it
                return

    def _take(self) -> None:
        raise NotImplementedError


class MemoryWatch(Watch):
    """Watches the memory in use.

    Attributes:
        most: the most bytes that any GPU had in use beyond those in use at first; None if NVML does
            not answer, or no memory was taken.
    """

    period = LOOK_EVERY

    def __init__(self) -> None:
        super().__init__()
        self.most: int | None = None
        self._first: list[int] = []
        with suppress(NvmlError):
            self._first = memory_in_use()

    def _take(self) -> None:
        self.look(memory_in_use())

    def look(self, in_use: list[int]) -> None:
        """Take a reading of all GPUs (bytes)."""
        if in_use and len(in_use) == len(self._first):
            taken = max(now - first for now, first in zip(in_use, self._first, strict=True))
            if taken > 0:
                self.most = max(taken, self.most or 0)
