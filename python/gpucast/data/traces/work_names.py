"""Names of kernels and other GPU work in tables and figures.

Names of kernels are demangled, without templates and parameters.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache

import pandas as pd

from gpucast.data.traces import tables
from gpucast.data.traces.trace import Process

_LONGEST = 48


@cache
def short(name: str) -> str:
    """Return ``at::native::fill`` for ``void at::native::fill<int>(int*)`` or its mangled form."""
    text = demangled(name)
    text = text.replace("(anonymous namespace)::", "").replace("operator()", "operator")
    bare, depth = "", 0
    for letter in text:
        depth += letter in "<("
        if depth == 0:
            bare += letter
        depth -= letter in ">)"
        if depth < 0:  # an operator such as >
            return _cut(text)
    words = bare.replace(" const", "").split()
    return _cut(words[-1] if words else text)


@cache
def demangled(name: str) -> str:
    """Return a C++ name in source form; other names are unchanged."""
    if not name.startswith("_Z"):
        return name
    library = _standard_library()
    if library is None:
        return name
    status = ctypes.c_int()
    address = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not address:
        return name
    text = ctypes.string_at(address).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(address))
    return text


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@cache
def _standard_library() -> ctypes.CDLL | None:
    name = ctypes.util.find_library("stdc++") or "libstdc++.so.6"
    try:
        library = ctypes.CDLL(name)
        library.__cxa_demangle.restype = ctypes.c_void_p
    except (OSError, AttributeError):
        return None
    return library


def labels_of(process: Process, work: pd.DataFrame) -> list[tuple[str, str]]:
    """Return kind and name of each piece of work."""
    names = {number: short(process.name_of(number)) for number in work["name"].unique().tolist()}
    return [
        ("kernel", names[name])
        if kind == tables.KERNEL
        else ("copy", _copied(direction, source, target, asynchronous))
        if kind == tables.COPY
        else ("set", "memset")
        if kind == tables.SET
        else ("graph", "graph")
        for kind, name, direction, source, target, asynchronous in zip(
            work["kind"].tolist(), work["name"].tolist(), work["direction"].tolist(),
            work["from_memory"].tolist(), work["to_memory"].tolist(),
            work["asynchronous"].tolist(), strict=True,
        )
    ]  # fmt: skip


def _copied(direction: int, source: int, target: int, asynchronous: int) -> str:
    text = tables.DIRECTIONS.get(direction, "copy")
    host = source if direction == tables.TO_DEVICE else target
    if direction in (tables.TO_DEVICE, tables.TO_HOST) and host in tables.MEMORIES and host:
        text += f", {tables.MEMORIES[host]}"
    return text + (", async" if asynchronous else "")
