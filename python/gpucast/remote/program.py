"""Checks before a program starts whether it will use remote GPUs.

The client replaces the shared CUDA runtime. A program or library with a CUDA runtime of its own
never calls the client: it would compute on this machine's GPUs, or find none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from gpucast.errors import InputError
from gpucast.remote import SERVED, elf

RUNTIME = "libcudart.so."

RELINK = (
    f"link it with the shared runtime of CUDA {' or '.join(SERVED)}: nvcc -cudart shared, or "
    "CUDA_RUNTIME_LIBRARY Shared in CMake"
)

ALLOW = "it would not compute on remote GPUs (--allow-local-cuda lets it use those of this machine)"

_RESOLVED = re.compile(r"^\s*(\S+) => (/.*) \(0x[0-9a-f]+\)$", re.MULTILINE)


def require_remote(program: str, variables: Mapping[str, str], client: Path) -> None:
    """Refuse a program that would not use remote GPUs alone.

    Raises:
        InputError: it, or a library that it is linked with, has a CUDA runtime of its own, or finds
            another one first.
    """
    refused = why_not(program, variables, client)
    if refused is not None:
        raise InputError(refused, file=program)


def why_not(program: str, variables: Mapping[str, str], client: Path) -> str | None:
    """Return why a program with this environment would not use remote GPUs alone; None if it would.

    Scripts and interpreters cannot be checked and are accepted: libraries that they load later find
    the guard.

    Args:
        program: its name, which is searched in PATH.
        variables: its environment.
        client: a client library; those of other versions are in the same folder.
    """
    path = shutil.which(program, path=variables.get("PATH"))
    try:
        own = elf.read(path) if path is not None else None
    except (OSError, elf.NoElfError):
        own = None
    if own is None:
        return None
    if not own.is_dynamic:
        statically = f"is linked statically, and sees no remote GPU; {RELINK}"
        return statically if _own(own) else None
    libraries = _libraries(own.path, variables)
    refused = _runtime_of(own) or _another(own, libraries, client)
    parts = (_part(path) for name, path in libraries.items() if not name.startswith(RUNTIME))
    return refused or next((problem for problem in parts if problem is not None), None)


def _runtime_of(own: elf.ElfFile) -> str | None:
    versions = _versions(own)
    if versions and versions[0] not in SERVED:
        return f"was linked with the runtime of CUDA {versions[0]}; {RELINK}"
    if not versions and _own(own):
        return (
            f"brings a CUDA runtime of its own (linked statically), or calls the driver; {RELINK}"
        )
    return None


def _own(file: elf.ElfFile) -> bool:
    """Whether it contains a CUDA runtime, or calls the driver itself."""
    return file.names_driver and not _versions(file)


def _versions(file: elf.ElfFile) -> list[str]:
    names = (name for name in file.needed if name.startswith(RUNTIME))
    return [name.removeprefix(RUNTIME) for name in names]


def _another(own: elf.ElfFile, libraries: Mapping[str, Path], client: Path) -> str | None:
    """Return a message if the loader would find another runtime before the client."""
    names = [RUNTIME + version for version in _versions(own)]
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
        return (
            f"needs {path.name}, which was linked with the runtime of CUDA {versions[0]}; {ALLOW}"
        )
    if file.has_gpu_code and _own(file):
        return f"needs {path.name}, which brings a CUDA runtime of its own; {ALLOW}"
    return None


def _libraries(program: Path, variables: Mapping[str, str]) -> dict[str, Path]:
    """Return the libraries that the loader would load, by name, without starting the program."""
    try:
        traced = subprocess.run(
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
    return {name: Path(path) for name, path in _RESOLVED.findall(traced.stdout)}
