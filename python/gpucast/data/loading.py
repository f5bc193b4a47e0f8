"""Data from wherever they are: bundled datasets, files of records, and what can be imported.

``load`` takes names and files as they are; ``read`` also takes data frames, and what a table or a
log does not say itself.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from gpucast.data import bundled_files, formats, jsonl
from gpucast.data.dataset import UNNAMED_GPU, Dataset, PathLike, merged
from gpucast.data.formats import (
    Imported,
    Options,
    PathFormat,
    check_size_of,
    stated,
    tables,
)
from gpucast.data.formats.several import Several, read_files
from gpucast.data.formats.tables.columns import named
from gpucast.data.formats.tables.grid import FRAME
from gpucast.data.records import Entry, Machine
from gpucast.data.wording import in_words
from gpucast.errors import InputError
from gpucast.util import JsonObject, version
from gpucast.util.files import read_bytes
from gpucast.util.number_lists import size as one_size
from gpucast.util.units import parse_timestep

if TYPE_CHECKING:
    import pandas

Source: TypeAlias = "PathLike | pandas.DataFrame"
"""What ``read`` takes."""


@dataclass(frozen=True)
class GpuFacts:
    """What the user says of a machine's GPUs."""

    cores: int | None = stated("FP32 lanes of one GPU; the GPU term wave needs them.", min=1)
    sms: int | None = stated(
        "Multiprocessors of one GPU; the GPU term occupancy needs them and --block.", min=1
    )
    name: str | None = stated("Name of the GPUs.", None, "--gpu-name")


@dataclass(frozen=True)
class Imports:
    """What several foreign files hold together.

    Attributes:
        machines: a record for each machine that an entry names.
        entries: of each source, in the order given.
        names: of each source.
        files: name and format of each file that was read; a folder has several.
        warnings, notes: one line each, with the file's name.
    """

    machines: list[Machine]
    entries: list[list[Entry]]
    names: list[str]
    files: list[tuple[str, str]]
    warnings: list[str]
    notes: list[str]

    def lines(self) -> list[tuple[str, jsonl.Lines]]:
        """The records of each source, with its name; machines before all others."""
        if not self.names:
            return []
        sources = zip(self.names, map(jsonl.numbered, self.entries), strict=True)
        return [(" + ".join(self.names), jsonl.numbered(self.machines)), *sources]

    def dataset(self, name: str) -> Dataset:
        """All of it. Raises InputError."""
        return merged(name, self.lines(), warnings=self.warnings, understood=self.notes)


class Stated(TypedDict, total=False):
    """What files do not say themselves, as keywords of ``read`` and ``load``."""

    columns: Mapping[str, str] | str | None
    timestep: float | str | None
    program: str | None
    case: str | None
    unit: str | None
    machine: str
    path: str
    schedule: str | None
    kernel: str | None
    block: int | None
    cores: int | None
    sms: int | None
    gpu_name: str | None
    decimal: Literal["point", "comma"] | None
    sheet: str | None
    gpus: int | Sequence[int] | None
    gpus_per_node: int | None
    n: float | str | Sequence[float] | None
    size_of: Literal["all", "gpu"] | None
    steps: int | None
    regex: str | None
    from_name: str | None
    every_run: bool


def _options(stated: Mapping[str, Any]) -> tuple[Options, GpuFacts]:
    """The options, and facts on GPUs, that keywords state. Raises InputError, TypeError."""
    unknown = stated.keys() - Stated.__annotations__.keys()
    if unknown:
        known = ", ".join(Stated.__annotations__)
        raise TypeError(f"{sorted(unknown)[0]!r} is no keyword here; there are {known}")
    told = {name: value for name, value in stated.items() if value is not None}
    facts = GpuFacts(told.pop("cores", None), told.pop("sms", None), told.pop("gpu_name", None))
    if "columns" in told:
        told["columns"] = named(told["columns"])
    if isinstance(told.get("timestep"), str):
        told["timestep"] = parse_timestep(told["timestep"], "timestep")
    for name, field in ("gpus", "gpus_of_files"), ("n", "size_of_files"):
        if name in told:
            value = told.pop(name)
            listed = isinstance(value, Sequence) and not isinstance(value, str)
            sizes = [one_size(size) if isinstance(size, str) else size
                     for size in (value if listed else [value])]  # fmt: skip
            told[field] = tuple(sizes)
    return Options(**told), facts


def load(
    *names_or_paths: PathLike,
    options: Options | None = None,
    others: Sequence[PathFormat] = (),
    **stated: Unpack[Stated],
) -> Dataset:
    """Bundled datasets, files of records, and files that ``gpucast import`` takes, as one dataset.

    Args:
        names_or_paths: bundled names (``"p2p-copy"``) or paths; at least one. A bundled name wins
            over a file of the same name in the current folder; write ``./NAME`` for the file.
        options: what files that have to be imported do not say, in place of ``stated``.
        others: formats beside those of files' contents, such as those of
            ``gpucast.data.traces.records.TRACES``.
        stated: the same as keywords: those of ``read``.

    Raises:
        InputError: a name that is neither (near matches are listed), a file that is no valid file
            of records and of no format that is known, a record of a machine that no file
            describes, the same file twice, or one machine id with different GPUs.
    """
    own, gpu = _options(stated)
    if not names_or_paths:
        raise InputError("name at least one dataset or file")
    bundled = bundled_files()
    sources: list[tuple[str, Path]] = []
    for given in names_or_paths:
        name = os.fspath(given)
        path = bundled.get(name) if isinstance(given, str) else None
        if path is None:
            path = Path(name)
            if not path.exists():
                raise _unknown(name, bundled)
        if any(path.samefile(other) for _, other in sources):
            raise InputError("is given twice; its samples would count twice", file=name)
        sources.append((name, path))
    foreign = [
        name
        for name, path in sources
        if path != bundled.get(name) and _is_foreign(path, name, options or own, others)
    ]
    imports = import_files(foreign, options or own, gpu, others=others)
    records = [(name, jsonl.read(path)) for name, path in sources if name not in foreign]
    order = [name for name, _ in sources]
    # Imported machines come first, whatever they are called together.
    files = sorted(
        [*imports.lines(), *records],
        key=lambda file: order.index(file[0]) if file[0] in order else -1,
    )
    return merged(" + ".join(order), files, warnings=imports.warnings, understood=imports.notes)


def read(*sources: Source, **stated: Unpack[Stated]) -> Dataset:
    """Timings of any program, from tables (CSV, Excel, Parquet, data frames) and logs.

    Columns are known by usual names: ``atoms``, ``gpus``, ``ms/step``, ``ns/day`` and so on; others
    are left out. ``repr`` of the answer says what was understood.

    Args:
        sources: files, folders of them, and data frames; at least one.
        columns: names of columns by what they hold, where their names do not tell:
            ``{"n": "Size", "gpus": "Devices", "seconds": "Run:ms"}``, with a unit after a colon.
            Roles: n, gpus, seconds (also called time or rate), steps (of a row, where times are of
            all of them), timestep, nodes, ranks, program, case, machine, gpu_type, repeat, path,
            schedule, kernel, unit.
        timestep: simulated time of a step, which ns/day needs: s, or text such as ``"2fs"``.
        program, case, unit: what ran, the setting that must be the same for times to be
            comparable, and what n counts, where the files do not say.
        machine, path: id of the machine, and how its GPUs were reached.
        schedule, kernel, block: of steps of gpucast's own programs; block: threads a block.
        cores, sms, gpu_name: FP32 lanes and multiprocessors of one GPU, and what it is called.
        decimal: how decimals are written, where the numbers do not tell.
        sheet: of a workbook with several tables.
        gpus, gpus_per_node, n: of runs whose log or table does not say them; gpus and n of several
            files may be lists, one of each file. n may be text: ``"64x64x128"``.
        size_of: ``"gpu"`` where n is the size of each GPU (weak scaling), ``"all"`` of all of them.
        steps: of each run, where a log or table says the time of whole runs only.
        regex: finds the runs of a text by its named groups n, gpus, nodes, ranks, steps, seconds or
            rate, unit, case, program.
        from_name: finds n, gpus, nodes, ranks, case or program of a log in its file's name.
        every_run: also runs of a log that a later one of the same size makes a rehearsal.

    Raises:
        InputError: names file, line and column, and what to do.
    """
    if not sources:
        raise InputError("name at least one file or data frame")
    imports = import_files(sources, *_options(stated))
    return imports.dataset(" + ".join(imports.names))


def dataset_of(data: Dataset | Source) -> Dataset:
    """A dataset as it is; a data frame, file or bundled name read as one. Raises InputError."""
    if isinstance(data, Dataset):
        return data
    return load(data) if isinstance(data, (str, os.PathLike)) else read(data)


def import_files(
    sources: Sequence[Source],
    options: Options,
    gpu: GpuFacts = GpuFacts(),
    form: str | None = None,
    others: Sequence[PathFormat] = (),
) -> Imports:
    """Read other programs' files, and data frames, as records of one machine or several.

    Args:
        sources: names of files and folders, or data frames.
        options: what the files do not say.
        gpu: added to what the files say of GPUs.
        form: name of the files' format, where their content does not tell.
        others: as of ``load``.

    Raises:
        InputError: a file is wrong or of no known format, or files contradict one another.
    """
    paths = [os.fspath(source) for source in sources if isinstance(source, (str, os.PathLike))]
    several = read_files(paths, options, form, others)
    frames = [source for source in sources if not isinstance(source, (str, os.PathLike))]
    parts = [
        _part(source, options.of_file(0, 1) if len(frames) == 1 else options, several)
        for source in sources
    ]
    read = [imported for part in parts for imported in part.read]
    facts = _machine_facts(read)
    facts["gpus"] = _gpus(facts.get("gpus"), gpu)
    described: JsonObject = {
        "kind": "machine",
        "tool": {"name": "gpucast import", "version": version()},
        **{key: value for key, value in facts.items() if value is not None},
        "source": "imported from " + ", ".join(part.cited for part in parts),
    }
    entries = [[entry for imported in part.read for entry in imported.entries] for part in parts]
    check_size_of([entry for own in entries for entry in own], options)
    ids = dict.fromkeys(entry.machine for own in entries for entry in own)
    machines = []
    for name in [name for name in ids if name is not None] or [options.machine] * bool(read):
        record = jsonl.record({**described, "id": name})
        assert isinstance(record, Machine)
        machines.append(record)
    lines: list[str] = []
    for part, kept in zip(parts, entries, strict=True):
        notes = [note for imported in part.read for note in imported.notes]
        programs: dict[str | None, list[Entry]] = {}  # whose sizes count different things
        for entry in kept:
            programs.setdefault(getattr(entry, "program", None), []).append(entry)
        words = [line for own in programs.values() for line in in_words(own)]
        lines += [f"{part.name}: {line}" for line in (*words, *dict.fromkeys(notes))]
    return Imports(
        machines,
        entries,
        names=[part.name for part in parts],
        files=[(file_read.file, file_read.format.name) for file_read in several.read],
        warnings=several.warnings,
        notes=[*lines, *several.notes],
    )


@dataclass(frozen=True)
class _Part:
    """What one source gave: a file, a folder, or a data frame."""

    name: str
    cited: str
    read: list[Imported]


def _part(source: Source, options: Options, several: Several) -> _Part:
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        read = [one for one in several.read if one.source == name]
        cited = _cited(name, [one.file for one in read])
        return _Part(name, cited, [one.imported for one in read])
    # By what it has, not by its class: who has a frame has imported pandas, others need not.
    if not all(hasattr(source, name) for name in ("columns", "index", "dtypes")):
        raise InputError(f"{type(source).__name__} is neither a file's name nor a data frame")
    imported = tables.read(tables.grid.from_frame(source, FRAME), options)
    return _Part(FRAME, f"a data frame of {len(source)} rows", [imported])


def _is_foreign(path: Path, name: str, options: Options, others: Sequence[PathFormat]) -> bool:
    """Whether a file is to be imported; what is neither records nor importable is an error."""
    if path.is_dir() or any(form.detect(str(path)) for form in others):
        return True
    if path.name.endswith(".jsonl.gz"):
        return False
    content = read_bytes(name)
    if formats.holds_records(content):
        return False
    # What looks like records, or is called so, is for their reader to complain about.
    ours = not content.strip() or path.suffix == ".jsonl" or content.lstrip()[:1] in (b"{", b"[")
    try:
        form = formats.recognized(content, name, options)
    except InputError:
        if path.suffix == ".jsonl":
            return False
        raise
    return form is not None or not ours


def _machine_facts(imported: list[Imported]) -> JsonObject:
    facts: JsonObject = {}
    for one in imported:
        for key, value in one.machine.items():
            if facts.setdefault(key, value) != value:
                raise InputError(
                    "differs between the files; import them one by one, each with --machine",
                    field=key,
                )
    return facts


def _gpus(stated: list[JsonObject] | None, given: GpuFacts) -> list[JsonObject] | None:
    """GPUs as the files state them, with what the user adds; one entry where files are silent."""
    added = {key: value for key, value in vars(given).items() if value is not None}
    if stated is None and not added:
        return None
    return [{"name": UNNAMED_GPU, **gpu, **added} for gpu in stated or [{}]]


def _cited(source: str, files: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for file in files:
        for path in sorted(Path(file).rglob("*")) if Path(file).is_dir() else [Path(file)]:
            if path.is_file():
                digest.update(path.read_bytes())
    # File names may be any bytes; records are UTF-8.
    shown = os.fsencode(os.path.basename(os.path.normpath(source)))
    count = f"{len(files)} files, " if list(files) != [source] else ""
    return f"{shown.decode('utf-8', 'backslashreplace')} ({count}sha256 {digest.hexdigest()[:12]})"


def _unknown(name: str, bundled: Iterable[str]) -> InputError:
    names = list(bundled)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    there = f"near: {', '.join(near)}" if near else f"bundled: {', '.join(names) or 'none'}"
    return InputError(f"no such file or bundled dataset; {there}", file=name)
