"""What is run for a size and a GPU count: words, files, environment, and their digest."""

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
"""Placeholders that every description has; ``here``: the description's folder."""

LATER = ("workdir", "here")
"""Placeholders whose values are known once a folder is; a part of no digest."""

_SCRIPTS = (".py", ".sh", ".jl", ".lua", ".pl", ".R")
"""Words that end so name what is read; others may name a file that the program writes."""

# LAMMPS and shells write ${L}: that is theirs.
_PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class InFolder:
    """A file that a run finds in its folder: a copy, or a text."""

    name: str
    source: Path | None
    text: str = ""


@dataclass(frozen=True)
class Run:
    """What is run for one cell.

    Attributes:
        words: of the command, but for ``{workdir}`` and ``{here}``.
        ranks: processes, None where nobody said.
        mps: whether its instances are under NVIDIA's Multi-Process Service.
        digest: hash of all that and of the program's own file, so that a changed run is measured
            anew.
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
        """For files."""
        share = self.cell.share.replace("/", "of")
        return f"n{number(self.cell.n)}-gpus{share}-{self.digest[:8]}"

    def placed(self, text: str, workdir: Path, here: Path) -> str:
        """A word or a variable of it, for a folder."""
        return _filled(text, {"workdir": str(workdir), "here": str(here)})


def run_of(program: Program, n: float, share: GpuShare, *, mps: bool = False) -> Run:
    """What a description says of a cell.

    Args:
        share: GPUs, or 1/k of one.
        mps: whether several instances are under NVIDIA's Multi-Process Service.

    Raises:
        InputError: an unknown placeholder, ranks that are no number, a file that cannot be read.
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
    # Only where there is such a thing: other digests stay what they were.
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
    """Raises KeyError: a placeholder that has no value."""
    if "n" not in values:  # the last pass
        pairs = {"{{": "{", "}}": "}"}
        return _PLACE.sub(lambda at: pairs.get(at[0]) or values[at[1]], text)
    # Until then doubled braces stay so, those of values too.
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
    """The program that a command's word starts, as a shell finds it; None: there is none.

    Args:
        search: folders, as in PATH; None: this process's.
    """
    if "/" in word and not Path(word).is_absolute():
        return None  # of the run's folder
    there = shutil.which(word, path=search)
    return None if there is None else Path(there)


def _contents(words: Sequence[str], here: Path, search: str | None) -> list[list[str]]:
    """Names and contents of the program that the first word starts, and of scripts that others
    name by an absolute path or by ``{here}``, the description's folder, which may be moved.

    A program that was compiled anew is thus another. Where it lies tells it apart, too: the Pythons
    of two virtual environments are one file with different packages. A program that is not here (a
    launcher's, on its nodes) has no content; libraries and modules that a program loads while it
    runs are not looked at.
    """
    program = program_of(words[0].replace("{here}", str(here)), search)
    seen = [] if program is None else [(words[0], program)]
    for word in words[1:]:
        path = Path(word.replace("{here}", str(here)))
        if word.endswith(_SCRIPTS) and path.is_absolute() and path.is_file():
            seen.append((word, path))
    return [[word if "{here}" in word else str(path), _content_of(path)] for word, path in seen]


def _sha256(path: Path) -> str:
    """The hash of a file's content.

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
    except InputError:  # may be run and not read
        about = path.stat()
        return f"{about.st_size} bytes of {about.st_mtime_ns}"


@cache
def _hashed(path: Path, number: int, changed: int, size: int) -> str:
    """Once for all cells that share a file, as long as it stays as it is."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
