"""Whether a program will see remote GPUs, found out before it starts.

The client takes the place of the shared CUDA runtime. A program, or a library of it, that brings a
runtime of its own never calls it: it would compute on this machine's GPUs, or find none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpucast.errors import InputError
from gpucast.remote import elf

RUNTIME = "libcudart.so."
SERVED = ("13", "12")
"""Versions of the CUDA runtime whose place the client takes: a library for each, side by side."""

RELINK = (
    f"link it with the shared runtime of CUDA {' or '.join(SERVED)}: nvcc -cudart shared, or "
    "CUDA_RUNTIME_LIBRARY Shared in CMake"
)

_RESOLVED = re.compile(r"^\s*(\S+) => (/.*) \(0x[0-9a-f]+\)$", re.MULTILINE)


@dataclass(frozen=True)
class Findings:
    """What is wrong with a program over remote GPUs.

    Attributes:
        refused: why it would never see one, in a line; None where it may.
        warnings: parts of it that would not; one line each.
    """

    refused: str | None
    warnings: tuple[str, ...] = ()


def require_remote(command: Sequence[str], variables: Mapping[str, str], client: Path) -> list[str]:
    """Refuse a program that would never see a remote GPU; warnings about parts of it.

    Raises:
        InputError: it brings a CUDA runtime of its own, or finds another one first.
    """
    found = look(command[0], variables, client)
    if found.refused is not None:
        raise InputError(found.refused, file=command[0])
    return list(found.warnings)


def look(program: str, variables: Mapping[str, str], client: Path) -> Findings:
    """What becomes of a program that is started with these variables.

    Scripts and interpreters tell nothing before they run: nothing is wrong with them.

    Args:
        program: its name, looked up in PATH.
        variables: the environment it is to get.
        client: a client library; those of other versions lie beside it.
    """
    found = shutil.which(program, path=variables.get("PATH"))
    try:
        own = elf.read(found) if found is not None else None
    except (OSError, elf.NoElfError):
        own = None
    if own is None:
        return Findings(None)
    if not own.is_dynamic:
        return Findings(f"is linked statically, and sees no remote GPU; {RELINK}" if _own(own)
                        else None)  # fmt: skip
    libraries = _libraries(own.path, variables)
    refused = _runtime_of(own) or _another(own, libraries, client)
    parts = [_part(path) for name, path in libraries.items() if not name.startswith(RUNTIME)]
    return Findings(refused, tuple(each for each in parts if each is not None))


def _runtime_of(own: elf.ElfFile) -> str | None:
    versions = _versions(own)
    if versions and versions[0] not in SERVED:
        return f"was linked with the runtime of CUDA {versions[0]}; {RELINK}"
    if not versions and _own(own):
        return f"brings a CUDA runtime of its own (linked statically); {RELINK}"
    return None


def _own(file: elf.ElfFile) -> bool:
    """Whether there is a CUDA runtime within it, or it calls the driver itself."""
    return file.names_driver and not _versions(file)


def _versions(file: elf.ElfFile) -> list[str]:
    names = (each for each in file.needed if each.startswith(RUNTIME))
    return [each.removeprefix(RUNTIME) for each in names]


def _another(own: elf.ElfFile, libraries: Mapping[str, Path], client: Path) -> str | None:
    """Where the loader would take another runtime than the client."""
    names = [RUNTIME + each for each in _versions(own)]
    name = names[0] if names else client.name
    path, client = libraries.get(name), client.with_name(name)
    if path is None or (client.exists() and os.path.samefile(path, client)):
        return None
    first = f"its RPATH {own.rpath}" if own.rpath else "the loader"
    return (
        f"{first} puts {path} before the client; relink it with -Wl,--enable-new-dtags, "
        f"or start it with LD_PRELOAD={client}"
    )


def _part(path: Path) -> str | None:
    try:
        file = elf.read(path)
    except (OSError, elf.NoElfError):
        return None
    versions = _versions(file)
    if versions and versions[0] not in SERVED:
        return f"{path.name} was linked with the runtime of CUDA {versions[0]}: not remote"
    if file.has_gpu_code and _own(file):
        return f"{path.name} brings a CUDA runtime of its own, and sees no remote GPU"
    return None


def _libraries(program: Path, variables: Mapping[str, str]) -> dict[str, Path]:
    """What the loader would load, by name; it tells without starting the program."""
    try:
        told = subprocess.run(
            [program],
            env={**variables, "LD_TRACE_LOADED_OBJECTS": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return {name: Path(path) for name, path in _RESOLVED.findall(told.stdout)}
