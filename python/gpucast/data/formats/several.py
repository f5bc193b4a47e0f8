"""Several files and folders at once.

In a folder and its sub-folders, every file of a known format is read; the others are counted. Files
of a folder that are wrong, or need information from the user, are left out with a warning; a file
that the user named is read or refused. A run in two files (LAMMPS's screen output and its log) is
taken once, from the more complete one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpucast.data.formats import (
    AnyFormat,
    Imported,
    Options,
    PathFormat,
    check_gpus_of_all,
    read_file,
    recognized,
)
from gpucast.data.formats.logs.runs import NAMES, UnclearError, compiled, identity
from gpucast.data.records import Step
from gpucast.data.workload import LARGEST_GPUS, LARGEST_N, SMALLEST_N
from gpucast.errors import InputError, from_os_error

_FEW = 3
_NAMED = 8
_HEAD = 2**20
"""Number of bytes by which a format is recognized; of a trajectory, only these are read."""


@dataclass(frozen=True)
class Read:
    """A file that was read, and the file or folder that the user named."""

    file: str
    source: str
    imported: Imported
    format: AnyFormat


@dataclass
class Several:
    """The content of files and folders.

    Attributes:
        read: the files.
        warnings: warnings of the files; common ones are merged.
        notes: skipped files, one line each.
    """

    read: list[Read] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_files(
    paths: Sequence[str],
    options: Options,
    name: str | None = None,
    others: Sequence[PathFormat] = (),
) -> Several:
    """Read files, and the files of known formats in folders.

    ``others``: formats that are recognized by path; they are tried first.

    The user's ``gpus`` and ``size`` override those of a single file; with several files they
    complete those without.

    Raises:
        InputError: a named file is wrong or unclear and no other file has its runs, or nothing
            could be read.
    """
    check_stated(options)
    several = Several()
    files: dict[str, str] = {}
    alone = True
    for path in paths:
        if os.path.isdir(path) and _of(others, path, name) is None:
            alone = False
            for file in _known(path, options, name, several.notes, others):
                files.setdefault(file, path)
        else:
            files.setdefault(path, path)
    options = replace(options, overrule=alone and len(files) == 1)
    failed: dict[str, InputError] = {}
    for number, (file, source) in enumerate(files.items()):
        own = options.of_file(number, len(files))
        check_stated(own)
        try:
            other = _of(others, file, name)
            if other is None:
                several.read.append(Read(file, source, *read_file(file, own, name)))
            else:
                several.read.append(Read(file, source, other.read(file, own), other))
        except InputError as error:
            if file in paths and not isinstance(error, UnclearError):
                raise
            failed[file] = error
    for other in others:
        _beside_one_another(several, other, options, failed, paths)
    nodes = {count for file_read in several.read for count in file_read.imported.nodes}
    if len(nodes) > 1 and len(options.gpus_of_files or ()) < 2:
        check_gpus_of_all(options.of_file(0, 1), nodes, " + ".join(paths))
    several.warnings = _together(several.read) + _models(several.read)
    repeated = _without_repeated(several, failed)
    for file, problem in failed.items():
        if file in paths or not several.read:
            raise problem
    several.warnings += _left_out(failed)
    if repeated:
        file, owner = repeated[0]
        many = f"{len(repeated)} files repeat runs of others, such as " if len(repeated) > 1 else ""
        several.notes.append(f"{many}{file}: the same runs as {owner}: left out")
    if paths and not any(file_read.imported.entries for file_read in several.read):
        reason = (*several.warnings, *several.notes, "no runs")[0]
        raise InputError(f"{reason}; nothing is left to import")
    return several


def _beside_one_another(
    found: Several,
    other: PathFormat,
    options: Options,
    failed: dict[str, InputError],
    named: Sequence[str],
) -> None:
    """Interpret the files of a format together; those that contradict others count as failed."""
    if other.together is None:
        return
    while own := [at for at, file_read in enumerate(found.read) if file_read.format is other]:
        try:
            made = other.together([found.read[at].imported for at in own], options)
        except InputError as error:
            wrong = [file_read for file_read in found.read if file_read.file == error.file]
            if error.file in named or not wrong:
                raise
            failed[wrong[0].file] = error
            found.read = [file_read for file_read in found.read if file_read is not wrong[0]]
            continue
        for at, imported in zip(own, made, strict=True):
            found.read[at] = replace(found.read[at], imported=imported)
        return


def _of(others: Sequence[PathFormat], path: str, name: str | None) -> PathFormat | None:
    """Return the format of a path, or the named one, among the other formats."""
    if name is not None:
        return next((form for form in others if form.name == name), None)
    return next((form for form in others if form.detect(path)), None)


def check_stated(options: Options) -> None:
    """Raise InputError for values that no run can have."""
    if options.from_name is not None:
        compiled(options.from_name, "--from-name", NAMES)
    size, gpus = options.size, options.gpus
    if size is not None and not SMALLEST_N <= size <= LARGEST_N:
        raise InputError(f"{size:g} is not a size greater than 0 and up to 1e18", field="-n")
    for count, option in (gpus, "--gpus"), (options.gpus_per_node, "--gpus-per-node"):
        if count is not None and not 1 <= count <= LARGEST_GPUS:
            raise InputError(f"{count} is not a GPU count from 1 to {LARGEST_GPUS}", field=option)
    if gpus is not None and options.gpus_per_node is not None:
        raise InputError("conflicts with --gpus; give one of them", field="--gpus-per-node")


def _together(read: Iterable[Read]) -> list[str]:
    """Return the files' warnings; a warning of many files names the first of them."""
    # A warning without a subject may mean anything, so that it is not merged.
    saying: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for file_read in read:
        for one in file_read.imported.remarks:
            same = saying.setdefault((one.kind, one.about or one.text), [])
            same.append((one.text, file_read.file))
    lines: list[str] = []
    for same in saying.values():
        texts, files = zip(*same, strict=True)
        many = len({*files})
        lines += texts if many <= _FEW else [f"{many} files, as {texts[0]}"]
    return lines


def _models(read: Iterable[Read]) -> list[str]:
    """Drop the GPU models of logs if they differ, because one machine cannot have several."""
    logs = [one for one in read if one.format.log and "gpus" in one.imported.machine]
    models = {str(one.imported.machine["gpus"]): one.file for one in logs}
    if len(models) < 2:
        return []
    for one in logs:
        del one.imported.machine["gpus"]
    first, second, *_ = models.values()
    return [
        f"{second}: names other GPUs than {first}; if they are different machines, import each "
        "separately, with --machine"
    ]


def _known(
    folder: str,
    options: Options,
    name: str | None,
    notes: list[str],
    others: Sequence[PathFormat],
) -> Iterator[str]:
    """Yield files of known formats in a folder and its sub-folders, sorted by name."""
    files = list(_files(folder))
    skipped = 0
    for file in files:
        if _of(others, file, name) is not None or _is_known(file, options, name):
            yield file
        else:
            skipped += 1
    if not files:
        raise InputError("holds no files", file=folder)
    if skipped:
        notes.append(f"{folder}: {skipped} of {len(files)} files are of no known format: skipped")


def _files(folder: str) -> Iterator[str]:
    def failed(error: OSError) -> None:
        raise from_os_error(error) from error

    for top, folders, files in os.walk(folder, onerror=failed):
        folders.sort()
        yield from filter(os.path.isfile, (os.path.join(top, file) for file in sorted(files)))


def _is_known(file: str, options: Options, name: str | None) -> bool:
    try:
        with open(file, "rb") as stream:
            head = stream.read(_HEAD)
        if b"\0" in head[:4096] and not head.startswith((b"\xff\xfe", b"\xfe\xff", b"PK")):
            return False
        return bool(head.strip()) and recognized(head, file, options, name) is not None
    except OSError as error:
        raise from_os_error(error, file) from error
    except InputError:
        return False


def _without_repeated(several: Several, failed: dict[str, InputError]) -> list[tuple[str, str]]:
    """Leave out files whose runs are all in an earlier file, and unclear files whose runs are in
    any file, which then do not count as failed; return the names of both files."""
    owners: dict[object, str] = {}
    kept, dropped = [], []
    for file_read in several.read:
        entries = file_read.imported.entries
        known = [identity(entry) for entry in entries if isinstance(entry, Step)]
        if known and len(known) == len(entries) and owners.keys() >= set(known):
            dropped.append((file_read.file, owners[known[0]]))
            continue
        kept.append(file_read)
        for key in known:
            if key is not None:
                owners.setdefault(key, file_read.file)
    several.read = kept
    for file, error in list(failed.items()):
        runs = error.runs if isinstance(error, UnclearError) else ()
        if runs and owners.keys() >= set(runs):
            dropped.append((file, owners[runs[0]]))
            del failed[file]
    return dropped


def _left_out(failed: dict[str, InputError]) -> list[str]:
    """Describe the files of folders that could not be read: a line for those that need information
    from the user, and one for those that are wrong."""
    unclear = {file: error for file, error in failed.items() if isinstance(error, UnclearError)}
    wrong = {file: error for file, error in failed.items() if file not in unclear}
    lines = []
    if unclear:
        options = " and ".join(dict.fromkeys(str(error.field) for error in unclear.values()))
        lines.append(f"left out until {options} is given: {_listed(unclear)}")
    if wrong:
        lines.append(f"left out because they cannot be read: {_listed(wrong)}")
    return lines


def _listed(failed: Mapping[str, InputError]) -> str:
    """Return the error of the first file, and the names of the others."""
    first, *others = failed
    names = [*others[:_NAMED], f"{len(others) - _NAMED} more"][: min(len(others), _NAMED + 1)]
    return f"{failed[first]}" + ("; also " + ", ".join(names) if names else "")
