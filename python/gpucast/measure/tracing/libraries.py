"""Locates the recorder's library and CUPTI."""

from __future__ import annotations

import os
import shutil
import site
import sys
from collections.abc import Iterator
from pathlib import Path

from gpucast import installed
from gpucast.errors import GpucastError, InputError

RECORDER = "libgpucast-trace.so"
CUPTI = ("libcupti.so.13", "libcupti.so.12")


def recorder() -> Path:
    """Return the library that programs load, from the folder ``GPUCAST_TRACE_LIB`` or as installed.

    Raises:
        GpucastError: gpucast was built without it.
    """
    named = os.environ.get("GPUCAST_TRACE_LIB")
    folder = Path(named) if named else installed.place("lib/gpucast-trace", RECORDER)
    if not (folder / RECORDER).exists():
        raise GpucastError(
            f"{folder / RECORDER}: not found: gpucast was built without the recorder "
            "(GPUCAST_TRACE_LIB names another folder)"
        )
    return (folder / RECORDER).resolve()


def cupti() -> list[Path]:
    """Return the CUPTI libraries on this machine, the best first, without those that the loader
    finds by itself: only ``GPUCAST_CUPTI`` if it is set, else this Python's packages, then
    toolkits.

    Raises:
        InputError: ``GPUCAST_CUPTI`` does not name a file.
    """
    named = os.environ.get("GPUCAST_CUPTI")
    if named:
        if not Path(named).is_file():
            raise InputError("there is no such file", file=named, field="GPUCAST_CUPTI")
        return [Path(named).resolve()]
    candidates = (folder / name for name in CUPTI for folder in _folders())
    return list(dict.fromkeys(file.resolve() for file in candidates if file.is_file()))


def _folders() -> Iterator[Path]:
    for packages in map(Path, dict.fromkeys([*site.getsitepackages(), *sys.path])):
        yield packages / "nvidia" / "cu13" / "lib"
        yield packages / "nvidia" / "cuda_cupti" / "lib"  # CUDA 12
    for toolkit in _toolkits():
        yield toolkit / "extras" / "CUPTI" / "lib64"
        yield toolkit / "lib64"


def _toolkits() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield Path(nvcc).resolve().parent.parent
    yield Path("/usr/local/cuda")
