"""Reads ELF files: the libraries that they need, and whether they have GPU code."""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

_DYNAMIC, _INTERPRETER = 2, 3  # program headers
_NEEDED, _STRINGS, _RPATH = 1, 5, 15  # entries of the dynamic section
_LOAD = 1


class NoElfError(ValueError):
    """The file is not a 64-bit ELF file, or is damaged."""


@dataclass(frozen=True)
class ElfFile:
    """The facts about a program or library.

    Attributes:
        path: its path.
        needed: names of the libraries that it was linked with.
        rpath: folders that the loader searches before ``LD_LIBRARY_PATH`` (DT_RPATH), or "".
        is_dynamic: whether the system's loader starts it, which environment variables control.
        has_gpu_code: whether parts of it were compiled by nvcc.
        names_driver: whether its data name ``libcuda.so.1``, because it, or a CUDA runtime in it,
            opens the driver itself.
    """

    path: Path
    needed: tuple[str, ...]
    rpath: str
    is_dynamic: bool
    has_gpu_code: bool
    names_driver: bool


def read(path: str | os.PathLike[str]) -> ElfFile:
    """Read the facts about a file.

    Raises:
        NoElfError: it is not an ELF file.
        OSError: it cannot be read.
    """
    with open(path, "rb") as stream:
        if os.fstat(stream.fileno()).st_size < 64:
            raise NoElfError
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return _read(Path(path), content)
            except struct.error as error:
                raise NoElfError from error


def _read(path: Path, content: mmap.mmap) -> ElfFile:
    if content[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        raise NoElfError
    segments = _table(content, offset=0x20, size=0x36, count=0x38, form="<IIQQQQQQ")
    loads = [(segment[3], segment[2], segment[5]) for segment in segments if segment[0] == _LOAD]
    dynamic = next((segment for segment in segments if segment[0] == _DYNAMIC), None)
    entries: list[tuple[int, int]] = []
    if dynamic is not None:
        part = content[dynamic[2] : dynamic[2] + dynamic[5]]
        entries = list(struct.iter_unpack("<qQ", part[: len(part) // 16 * 16]))
    strings = next((value for tag, value in entries if tag == _STRINGS), 0)

    def text(value: int) -> str:
        begin = _in_file(strings + value, loads)
        return content[begin : content.find(b"\0", begin)].decode("utf-8", "replace")

    return ElfFile(
        path=path,
        needed=tuple(text(value) for tag, value in entries if tag == _NEEDED),
        rpath=next((text(value) for tag, value in entries if tag == _RPATH), ""),
        is_dynamic=any(segment[0] == _INTERPRETER for segment in segments),
        has_gpu_code=".nv_fatbin" in _section_names(content),
        names_driver=content.find(b"libcuda.so.1\0") >= 0,
    )


def _table(
    content: mmap.mmap, *, offset: int, size: int, count: int, form: str
) -> list[tuple[int, ...]]:
    """Return a table; the arguments are offsets of its place, entry size and count in the
    header."""
    (begin,) = struct.unpack_from("<Q", content, offset)
    (step,) = struct.unpack_from("<H", content, size)
    (number,) = struct.unpack_from("<H", content, count)
    return [struct.unpack_from(form, content, begin + k * step) for k in range(number)]


def _section_names(content: mmap.mmap) -> set[str]:
    sections = _table(content, offset=0x28, size=0x3A, count=0x3C, form="<IIQQQQIIQQ")
    (which,) = struct.unpack_from("<H", content, 0x3E)
    if which >= len(sections):
        return set()
    names = content[sections[which][4] : sections[which][4] + sections[which][5]]
    ends = ((section[0], names.find(b"\0", section[0])) for section in sections)
    return {names[begin:end].decode("utf-8", "replace") for begin, end in ends}


def _in_file(address: int, loads: list[tuple[int, int, int]]) -> int:
    for begin, offset, size in loads:
        if begin <= address < begin + size:
            return address - begin + offset
    raise NoElfError
