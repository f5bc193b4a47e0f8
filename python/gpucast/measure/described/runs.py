"""What is run for a size and a GPU count: command, files, environment, and their digest."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpucast.data.selection import StepSelection
from gpucast.errors import InputError, from_os_error
from gpucast.measure.described.description import Program
from gpucast.measure.design.cells import Cell
from gpucast.util.gpu_shares import GpuShare
from gpucast.util.typed_json import Location, near
from gpucast.util.units import number, plain

OWN = ("n", "gpus", "ranks", "nodes", "workdir", "here")
"""Placeholders of every description; ``here`` is the description's folder."""

LATER = ("workdir", "here")
"""Placeholders whose values are known once the run has a folder; digests leave them out."""

_SCRIPTS = (".py", ".sh", ".jl", ".lua", ".pl", ".R")
"""Files with these endings are read by the program; others it may write."""

# ${L} belongs to LAMMPS or a shell.
_PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class InFolder:
    """A file that is put into a run's folder: a copy of ``source``, or ``text``."""

    name: str
    source: Path | None
    text: str = ""


@dataclass(frozen=True)
class Run:
    """What is run for one cell.

    Attributes:
        words: the command line, in which only ``{workdir}`` and ``{here}`` are not filled in.
        ranks: number of processes; None if not stated.
        mps: whether its instances use NVIDIA's Multi-Process Service.
        digest: hash of all this and of the program's file; a changed run is measured again.
    """

    cell: Cell
    words: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[InFolder, ...]
    ranks: int | None
    nodes: int
    digest: str
    mps: bool = False

    @property
    def name(self) -> str:
        """Name for the run's files."""
        share = self.cell.share.replace("/", "of")
        return f"n{number(self.cell.n)}-gpus{share}-{self.digest[:8]}"

    def placed(self, text: str, workdir: Path, here: Path) -> str:
        """Fill the run's folders into one of its words or variables."""
        return _filled(text, {"workdir": str(workdir), "here": str(here)})


def run_of(program: Program, n: float, share: GpuShare, *, mps: bool = False) -> Run:
    """Return the run of a cell.

    Args:
        share: number of GPUs, or 1/k of a GPU.
        mps: whether several instances use NVIDIA's Multi-Process Service.

    Raises:
        InputError: a placeholder is unknown, ranks is not a number, or a file cannot be read.
    """
    gpus, instances = share.numerator, share.denominator
    values = _values(program, n, gpus)
    words = [
        _at(program, values, (key, i), word)
        for key, listed in (("launcher", program.launcher), ("command", program.command))
        for i, word in enumerate(listed)
    ]
    environment = {
        name: _at(program, values, ("environment", name), text)
        for name, text in program.environment.items()
    }
    files = tuple(_files(program, values))
    ranks = int(values["ranks"]) if program.launcher or program.ranks is not None else None
    content: dict[str, object] = {
        "words": words,
        "environment": environment,
        "files": [
            [file.name, _sha256(file.source) if file.source else file.text] for file in files
        ],
        "programs": _contents(
            words[len(program.launcher) :], program.folder, environment.get("PATH")
        ),
        "cell": [number(n), gpus, values["ranks"], values["nodes"]],
        "runs": [program.warmup, program.repeats],
    }
    # Other digests must stay as they were before these keys existed.
    if instances > 1:
        content["instances"] = [instances, mps]
    if program.cores_per_gpu is not None:
        content["cores"] = program.cores_per_gpu * gpus
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    series = StepSelection(path=program.path, program=program.program, case=program.case)
    cell = Cell(series, plain(n), gpus, instances)
    nodes = int(values["nodes"])
    shared_by = mps and instances > 1
    return Run(cell, tuple(words), environment, files, ranks, nodes, digest, shared_by)


def _values(program: Program, n: float, gpus: int) -> dict[str, str]:
    own = program.variables.get(n, {})
    nodes = math.ceil(gpus / (program.gpus_per_node or gpus))
    values = {**own, "n": number(n), "gpus": str(gpus), "nodes": str(nodes)}
    usual = "{gpus}" if program.launcher else "1"
    ranks = _at(program, values, ("ranks",), str(program.ranks or usual))
    if not (ranks.isascii() and ranks.isdecimal() and 1 <= int(ranks) <= 10**7):
        raise program.lines.error(f"{ranks!r} is no number of processes", ("ranks",))
    return {**values, "ranks": ranks, **{name: f"{{{name}}}" for name in LATER}}


def _at(program: Program, values: Mapping[str, str], location: Location, text: str) -> str:
    try:
        return _filled(text, values)
    except KeyError as error:
        name = str(error.args[0])
        known = [*OWN, *(own for own in values if own not in OWN)]
        raise program.lines.error(
            f"unknown placeholder {{{name}}}{near(name, known)}", location
        ) from None


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in placeholders; raises KeyError for one that has no value."""
    if "n" not in values:  # the last pass
        pairs = {"{{": "{", "}}": "}"}
        return _PLACE.sub(lambda at: pairs.get(at[0]) or values[at[1]], text)
    # Before the last pass, doubled braces stay doubled, also in values.
    return _PLACE.sub(lambda at: at[0] if at[0] in ("{{", "}}") else _kept(at[1], values), text)


def _kept(name: str, values: Mapping[str, str]) -> str:
    value = values[name]
    return value if name in LATER else value.replace("{", "{{").replace("}", "}}")


def _files(program: Program, values: Mapping[str, str]) -> Iterable[InFolder]:
    for i, file in enumerate(program.files):
        here: Location = ("files", i)
        if (file.from_ is None) == (file.text is None):
            raise program.lines.error("needs from (to copy a file) or text (to make one)", here)
        source = None
        if file.from_ is not None:
            name = _last(_at(program, values, (*here, "from"), file.from_))
            source = program.folder / name
            if not source.is_file():
                raise program.lines.error(f"no file {name!r} beside the description", here)
        elif file.to is None:
            raise program.lines.error("missing: the name of the file that is made", (*here, "to"))
        to = Path(_last(_at(program, values, (*here, "to"), file.to or Path(name).name)))
        if to.is_absolute() or ".." in to.parts:
            raise program.lines.error(f"{str(to)!r} is not within the folder", (*here, "to"))
        text = _at(program, values, (*here, "text"), file.text or "")
        yield InFolder(str(to), source, text)


def _last(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def program_of(word: str, search: str | None) -> Path | None:
    """Return the program that a shell would start for a command's first word; None if it finds
    none.

    Args:
        search: folders to search, as in PATH; None: the caller's PATH.
    """
    if "/" in word and not Path(word).is_absolute():
        return None  # relative to the run's folder
    program = shutil.which(word, path=search)
    return None if program is None else Path(program)


def _contents(words: Sequence[str], here: Path, search: str | None) -> list[list[str]]:
    """Return names and hashes of the program that the first word starts, and of the scripts that
    other words name by an absolute path or by ``{here}`` (the description's folder, which may be
    moved).

    A recompiled program thus counts as another one. So does a program at another place: the Python
    of two virtual environments is one file with different packages. A program that exists only on
    the compute nodes has no hash. Libraries and modules that a program loads are not checked.
    """
    program = program_of(words[0].replace("{here}", str(here)), search)
    seen = [] if program is None else [(words[0], program)]
    for word in words[1:]:
        path = Path(word.replace("{here}", str(here)))
        if word.endswith(_SCRIPTS) and path.is_absolute() and path.is_file():
            seen.append((word, path))
    return [[word if "{here}" in word else str(path), _content_of(path)] for word, path in seen]


def _sha256(path: Path) -> str:
    """Return the hash of a file's content.

    Raises:
        InputError: it cannot be read.
    """
    try:
        about = path.stat()
        return _hashed(path, about.st_ino, about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise from_os_error(error, path) from error


def _content_of(path: Path) -> str:
    try:
        return _sha256(path)
    except InputError:  # the file may be executable and not readable
        about = path.stat()
        return f"{about.st_size} bytes of {about.st_mtime_ns}"


@cache
def _hashed(path: Path, number: int, changed: int, size: int) -> str:
    """Hash a file once for all cells that share it; the arguments change when the file does."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
