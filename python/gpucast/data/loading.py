"""Loads data from bundled datasets, files of records, and files that can be imported.

``load`` takes names and files as they are; ``read`` also takes data frames, and options for what a
table or log does not state.
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
"""A source for ``read``."""


@dataclass(frozen=True)
class GpuFacts:
    """What the user states about a machine's GPUs."""

    cores: int | None = stated("FP32 lanes of one GPU; the GPU term wave needs them.", min=1)
    sms: int | None = stated(
        "Multiprocessors of one GPU; the GPU term occupancy needs them and --block.", min=1
    )
    name: str | None = stated("Name of the GPUs.", None, "--gpu-name")


@dataclass(frozen=True)
class Imports:
    """The content of several foreign files.

    Attributes:
        machines: a record for each machine that an entry names.
        entries: those of each source, in the given order.
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
        """Return the records of each source with its name; machines come first."""
        if not self.names:
            return []
        sources = zip(self.names, map(jsonl.numbered, self.entries), strict=True)
        return [(" + ".join(self.names), jsonl.numbered(self.machines)), *sources]

    def dataset(self, name: str) -> Dataset:
        """Return everything as a dataset. Raises InputError."""
        return merged(name, self.lines(), warnings=self.warnings, understood=self.notes)


class Stated(TypedDict, total=False):
    """What files do not state, as keywords of ``read`` and ``load``."""

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
    """Return options and facts about GPUs from keywords. Raises InputError, TypeError."""
    unknown = stated.keys() - Stated.__annotations__.keys()
    if unknown:
        known = ", ".join(Stated.__annotations__)
        raise TypeError(f"{sorted(unknown)[0]!r} is not a keyword here; known are {known}")
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
    """Load bundled datasets, files of records, and importable files as one dataset.

    Args:
        names_or_paths: bundled names (``"p2p-copy"``) or paths; at least one. A bundled name wins
            over a file of the same name in the current folder; write ``./NAME`` for the file.
        options: what imported files do not state, in place of ``stated``.
        others: additional formats that are recognized by path, such as
            ``gpucast.data.traces.records.TRACES``.
        stated: the same as keywords: those of ``read``.

    Raises:
        InputError: a name is neither (near matches are listed), a file is neither a valid file of
            records nor of a known format, no file describes a record's machine, a file is given
            twice, or a machine id has different GPUs.
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
            raise InputError("is given twice, so that its samples would count twice", file=name)
        sources.append((name, path))
    foreign = [
        name
        for name, path in sources
        if path != bundled.get(name) and _is_foreign(path, name, options or own, others)
    ]
    imports = import_files(foreign, options or own, gpu, others=others)
    records = [(name, jsonl.read(path)) for name, path in sources if name not in foreign]
    order = [name for name, _ in sources]
    # Imported machines come first, whatever their names.
    files = sorted(
        [*imports.lines(), *records],
        key=lambda file: order.index(file[0]) if file[0] in order else -1,
    )
    return merged(" + ".join(order), files, warnings=imports.warnings, understood=imports.notes)


def read(*sources: Source, **stated: Unpack[Stated]) -> Dataset:
    """Read timings of any program from tables (CSV, Excel, Parquet, data frames) and logs.

    Columns are recognized by usual names (``atoms``, ``gpus``, ``ms/step``, ``ns/day`` etc.);
    others are left out. ``repr`` of the result states how the sources were interpreted.

    Args:
        sources: files, folders of files, and data frames; at least one.
        columns: names of columns by role, if their names do not tell:
            ``{"n": "Size", "gpus": "Devices", "seconds": "Run:ms"}``, with a unit after a colon.
            Roles: n, gpus, seconds (also called time or rate), steps (of a row, if its time covers
            all of them), timestep, nodes, ranks, program, case, machine, gpu_type, repeat, path,
            schedule, kernel, unit.
        timestep: simulated time of a step, which ns/day needs: s, or text such as ``"2fs"``.
        program, case, unit: what ran, the setting that must be the same for times to be
            comparable, and what n counts, if the files do not state them.
        machine, path: id of the machine, and how its GPUs were reached.
        schedule, kernel, block: for steps of gpucast's own programs; block: threads per block.
        cores, sms, gpu_name: FP32 lanes and multiprocessors of one GPU, and its name.
        decimal: how decimals are written, if the numbers do not tell.
        sheet: sheet of a workbook with several tables.
        gpus, gpus_per_node, n: for runs whose log or table does not state them; gpus and n may be
            lists with an entry for each file. n may be text: ``"64x64x128"``.
        size_of: ``"gpu"`` if n is the size of each GPU (weak scaling), ``"all"`` if of all GPUs.
        steps: steps of each run, if a log or table has times of whole runs only.
        regex: finds the runs of a text by its named groups n, gpus, nodes, ranks, steps, seconds or
            rate, unit, case, program.
        from_name: finds n, gpus, nodes, ranks, case or program in a log's file name.
        every_run: also read runs of a log that precede another one of the same size.

    Raises:
        InputError: names file, line and column, and what to do.
    """
    if not sources:
        raise InputError("name at least one file or data frame")
    imports = import_files(sources, *_options(stated))
    return imports.dataset(" + ".join(imports.names))


def dataset_of(data: Dataset | Source) -> Dataset:
    """Return a dataset as it is, or read a data frame, file or bundled name. Raises InputError."""
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
    """Read other programs' files and data frames as records of one or several machines.

    Args:
        sources: names of files and folders, or data frames.
        options: what the files do not state.
        gpu: added to what the files state about GPUs.
        form: name of the files' format, if their content does not tell.
        others: as for ``load``.

    Raises:
        InputError: a file is wrong or has no known format, or files contradict each other.
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
        programs: dict[str | None, list[Entry]] = {}  # their sizes count different things
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
    """The content of one source: a file, a folder, or a data frame."""

    name: str
    cited: str
    read: list[Imported]


def _part(source: Source, options: Options, several: Several) -> _Part:
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        read = [one for one in several.read if one.source == name]
        cited = _cited(name, [one.file for one in read])
        return _Part(name, cited, [one.imported for one in read])
    # Duck typing, because pandas is imported only by those who have a frame.
    if not all(hasattr(source, name) for name in ("columns", "index", "dtypes")):
        raise InputError(f"{type(source).__name__} is neither a file's name nor a data frame")
    imported = tables.read(tables.grid.from_frame(source, FRAME), options)
    return _Part(FRAME, f"a data frame of {len(source)} rows", [imported])


def _is_foreign(path: Path, name: str, options: Options, others: Sequence[PathFormat]) -> bool:
    """Return whether a file must be imported. Raises InputError if it is neither importable nor
    records."""
    if path.is_dir() or any(form.detect(str(path)) for form in others):
        return True
    if path.name.endswith(".jsonl.gz"):
        return False
    content = read_bytes(name)
    if formats.holds_records(content):
        return False
    # The reader of records reports errors in files that look like records or have their name.
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
    """Return the GPUs as the files and the user state them; one entry if the files do not."""
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
    # File names may have any bytes; records are UTF-8.
    shown = os.fsencode(os.path.basename(os.path.normpath(source)))
    count = f"{len(files)} files, " if list(files) != [source] else ""
    return f"{shown.decode('utf-8', 'backslashreplace')} ({count}sha256 {digest.hexdigest()[:12]})"


def _unknown(name: str, bundled: Iterable[str]) -> InputError:
    names = list(bundled)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    there = f"near: {', '.join(near)}" if near else f"bundled: {', '.join(names) or 'none'}"
    return InputError(f"no such file or bundled dataset; {there}", file=name)
