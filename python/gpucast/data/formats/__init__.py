"""Other programs' files, read into records and written from them: one module for each format.

To add a format, add a module here with a tuple ``FORMATS``: ``gpucast import`` and every command
that takes data detect it, and ``gpucast data export`` offers it if it can be written.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset
from gpucast.data.records import Entry, Machine, Measurement, Step
from gpucast.data.selection import KIND, only
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.files import read_bytes
from gpucast.util.number_lists import one_each, whole_each
from gpucast.util.remarks import Remark
from gpucast.util.units import parse_timestep

UNNAMED = "imported"
"""Machine of records whose file names no machine."""


def stated(
    text: str,
    default: Any = None,
    *names: str,
    read: Callable[[str, str], object] | None = None,
    **more: Any,
) -> Any:
    """Declare a field that users state; commands have an option for it.

    Args:
        text: its help.
        names: of its option, if they differ from the field's name.
        read: converts the option's text to a value; the second argument is the option's name.
        more: other settings of the option, such as ``min``.
    """
    described = {"help": text, "names": names, "read": read, "more": more}
    if default is dict:
        return field(default_factory=dict, metadata=described)
    return field(default=default, metadata=described)


def _columns(text: str, option: str) -> Mapping[str, str]:
    from gpucast.data.formats.tables.columns import named

    return named(text)


@dataclass(frozen=True)
class Options:
    """What the user states about a file of another program; None: not stated.

    Attributes:
        timestep: s.
        columns: names of a table's columns by role: ``{"n": "atoms"}``; a unit follows a colon.
        gpus, size: those of the file being read; ``gpus_of_files``, ``size_of_files``: one for
            each file, or one for all.
        overrule: whether stated GPUs and sizes override those in the log.
        whose: who states them, for messages.
    """

    columns: Mapping[str, str] = stated(
        "A table's columns, if their names do not tell: n=atoms,gpus=devices,seconds=run:us; "
        "seconds=*:ms for all times below GPU counts. Also time or rate (seconds in other units: "
        "ms, steps/s, samples/s, ns/day, hours/ns), steps (of a row, if its time covers all of "
        "them), timestep, nodes, ranks, program, case, machine, gpu_type, instances, repeat (*: "
        "rows are repetitions whatever other columns say); gpus=nodes*4.",
        dict,
        read=_columns,
        metavar="ROLE=COLUMN[:UNIT],...",
    )
    timestep: float | None = stated(
        "Simulated time of a step, such as 2fs; ns/day needs it.",
        read=parse_timestep,
        metavar="TIME",
    )
    program: str | None = stated("What ran, if the file does not state it.")
    case: str | None = stated("Input, cutoff, precision, ..., if the file does not state it.")
    unit: str | None = stated("What n counts (atoms, cells), if the file does not state it.")
    decimal: Literal["point", "comma"] | None = stated(
        "How a table writes decimals, if its numbers do not tell."
    )
    sheet: str | None = stated("Sheet of a workbook, if several have tables.")
    gpus: int | None = None
    gpus_of_files: tuple[int, ...] | None = stated(
        "GPUs of runs whose log does not state them or is unclear; for several files a list, one "
        "entry for each.",
        None,
        "--gpus",
        read=whole_each,
        metavar="LIST",
    )
    steps: int | None = stated(
        "Steps of each run, if a log or table has the time of the whole run only (1: a run is "
        "the step), or of each time that --regex finds.",
        min=1,
    )
    gpus_per_node: int | None = stated(
        "GPUs of each node, if a log or table states nodes only.", min=1
    )
    size: float | None = None
    size_of_files: tuple[float, ...] | None = stated(
        "Size of runs whose log does not state it: 1e6, 5M, 64x64x128, R02B09; for several files "
        "a list, one entry for each.",
        None,
        "-n",
        "--size",
        read=one_each,
        metavar="LIST",
    )
    size_of: Literal["all", "gpu"] | None = stated(
        "Whether -n is the size of all GPUs together or of each, so that n grows with them "
        "(weak scaling, the batch of each GPU)."
    )
    from_name: str | None = stated(
        "Finds in a log's file name what the log does not state or has wrong: named groups n, "
        "gpus, nodes, ranks, case, program, as in '(?P<gpus>[0-9]+)gpu'.",
        metavar="REGEX",
    )
    regex: str | None = stated(
        "Finds the runs of any text: named groups n, gpus, nodes, ranks, steps, seconds or "
        "rate, unit, case, program; a group holds until it is found again.",
        metavar="REGEX",
    )
    range_name: str | None = stated(
        "NVTX range that is a step of a trace; kernel:NAME: from one launch to the next.",
        None,
        "--range",
        metavar="NAME",
    )
    every_run: bool = stated(
        "Take all runs of one size in a log, not only the last.", False, "--every-run"
    )
    block: int | None = stated(
        "Threads a block of the steps' kernel; occupancy needs it and --sms.", min=1
    )
    path: str = stated("How the GPUs are reached, if the file does not state it.", "native")
    schedule: str | None = stated(
        "How steps of gpucast's own programs move data, if the file does not state it: "
        "star-serial, star-async, allgather or mpi."
    )
    kernel: str | None = stated("Label of the steps' kernel, if the file does not state it.")
    machine: str = stated("Id of the machine; the same for files of the same machine.", UNNAMED)
    bytes: int = stated("Buffer size (bytes) of nvbandwidth's copies.", 512 * 2**20, min=1)
    overrule: bool = False
    whose: str = "the option"

    def of_file(self, number: int, count: int) -> Options:
        """Return the options for one of several files, by its number from 0.

        Raises:
            InputError: the number of sizes or GPU counts is neither 1 nor the number of files.
        """
        told: dict[str, Any] = {}
        listed = ("gpus", self.gpus_of_files, "--gpus"), ("size", self.size_of_files, "-n")
        for name, values, option in listed:
            if values is None:
                continue
            if len(values) not in (1, count):
                raise InputError(f"{len(values)} are stated for {count} files", field=option)
            told[name] = values[0 if len(values) == 1 else number]
        return replace(self, **told) if told else self


@dataclass(frozen=True)
class Imported:
    """What a file held.

    Attributes:
        entries: records of ``Options.machine``.
        machine: fields of a machine record that the file states, as JSON.
        remarks: what users must know about the records.
        notes: what was understood and what was left out for good reasons; one line each.
        nodes: numbers of nodes of the runs that got their GPU count from ``Options.gpus``.
    """

    entries: list[Entry]
    machine: dict[str, object] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nodes: Collection[int] = ()


@dataclass(frozen=True)
class Format:
    """How to recognise, read and write one format.

    Attributes:
        name: as in ``--format NAME``.
        what: what it is, in a few words.
        detect: whether a text is of this format; never raises.
        read: ``read(text, file, options)``; ``file`` is a name for messages. Raises InputError.
        write: converts a dataset to a text of this format; None if the format is only read.
        log: whether it is a program's output: in any encoding, recognized by words that tables
            do not have.
        rank: if a text may be of several formats, that of lowest rank is taken.
        binary: whether it is not text: ``detect`` and ``read`` then take bytes.
    """

    name: str
    what: str
    detect: Callable[[Any], bool]
    read: Callable[[Any, str, Options], Imported]
    write: Callable[[Dataset], str] | None = None
    log: bool = False
    rank: int = 0
    binary: bool = False


@dataclass(frozen=True)
class PathFormat:
    """How to recognise and read a format by path, not content; other layers define such formats.

    Attributes:
        name, what: as in ``Format``.
        detect: whether a file or folder is of this format; never raises.
        read: ``read(path, options)``. Raises InputError.
        together: ``together(imported, options)``: interprets several files together. Raises
            InputError whose ``file`` is one of them.
    """

    name: str
    what: str
    detect: Callable[[str], bool]
    read: Callable[[str, Options], Imported]
    together: Callable[[Sequence[Imported], Options], Sequence[Imported]] | None = None
    log = True


AnyFormat = Format | PathFormat


def formats() -> dict[str, Format]:
    """Return all text formats by name."""
    return {form.name: form for form in all_formats() if not form.binary}


def described() -> str:
    """Return a short description of each format."""
    return "; ".join(form.what for form in all_formats())


def read_file(path: str, options: Options, name: str | None = None) -> tuple[Imported, Format]:
    """Read a file of any format, detected from its content or given by ``name``.

    Raises:
        InputError: the file cannot be read, has no known format, or is wrong.
    """
    content = read_bytes(path)
    if not content.strip():
        raise InputError("is empty", file=path)
    known = [other.name for other in all_formats()]
    if name is not None and name not in known:
        raise InputError(f"{name!r} is unknown; it is one of {', '.join(known)}", field="--format")
    form = recognized(content, path, options, name)
    if form is None:
        raise InputError(_unknown(content), file=path)
    given = content if form.binary else printed(content) if form.log else _text(content, path)
    return form.read(given, path, options), form


def _unknown(content: bytes) -> str:
    """Return the message about a file of no known format, with what to do."""
    from gpucast.data.formats.logs.suggested import options
    from gpucast.data.formats.tables.columns import may_be_rate, shown
    from gpucast.data.formats.tables.grid import table_names

    text = printed(content[: 1 << 20])
    made = options(text)
    names = table_names(text) if made is None else []
    rates = sorted(filter(may_be_rate, names), key=lambda name: "cpu" in name.casefold())
    if rates:
        others = f" (or {', '.join(map(shown, rates[1:4]))})" if rates[1:] else ""
        column = f"--columns seconds={shown(rates[0])}{others}"
        way = f"import with {column} -n SIZE (or n=COLUMN)"
    elif (busy := of_utilization(printed(content[:_LOOKED_AT]))) is not None:
        return busy
    elif made is not None:
        way = f"if it is a log, this may read it: {made}"
    elif names:
        way = (
            "name its columns with --columns n=COLUMN,gpus=COLUMN,seconds=COLUMN:UNIT; it has "
            f"{', '.join(names)}"
        )
    else:
        way = (
            "a table needs a header line such as n,gpus,seconds, or its columns named with "
            "--columns; a log is read by --regex, such as 'step time (?P<seconds>[0-9.]+)'"
        )
    return f"is of no known format; {way}"


_MONITORED = re.compile(
    r"utili[sz]ation[._ ]?gpu|gpu[._ -]?util|DCGM_FI_|nvidia_smi_|nvidia_gpu_duty_cycle", re.I
)
"""Names in the exports of nvidia-smi, DCGM and exporters for Prometheus."""


def of_utilization(text: str) -> str | None:
    """Return the message for a monitor's export of GPU utilization, which has no step times; None
    for other texts."""
    if not _MONITORED.search(text):
        return None
    return (
        "holds GPU utilization, which does not tell step times: a GPU may be busy in slow steps, "
        "too; take the size n, the GPU count and the time of a step, or steps or samples a second, "
        "from the program's own log"
    )


def recognized(
    content: bytes, file: str, options: Options, name: str | None = None
) -> Format | None:
    """Return the format of a file's content, or that of this name; None if unknown.

    Raises:
        InputError: the file needs no import, or is not text.
    """
    known = all_formats()
    if name is not None:
        return next((form for form in known if form.name == name), None)
    for form in known:
        if form.binary and form.detect(content):
            return form
    if content.startswith(_OLD_WORKBOOK):
        raise InputError("is an old workbook (.xls); save it as .xlsx or CSV", file=file)
    if holds_records(content):
        raise InputError("holds gpucast records already; use it as it is", file=file)
    if content.lstrip()[:1] in (b"{", b"["):
        limits.check_json(content, file)
    if MODEL_MARK.encode() in content[:4096]:
        raise InputError("is a fitted model, not measurements", file=file)
    if options.regex is not None:
        return next(form for form in known if form.name == PATTERN)
    if options.columns:
        text = _text(content, file)
        return next(form for form in known if form.name == "csv")
    text = printed(content)
    for log in sorted((form for form in known if form.log), key=lambda form: form.rank):
        if log.detect(text):
            return log
    text = _text(content, file)
    tables = (form for form in known if not form.log and not form.binary)
    return next((form for form in tables if form.detect(text)), None)


_LOOKED_AT = 65536
"""Bytes of a file of no known format that are searched for clues."""

PATTERN = "regex"
"""Name of the format of texts whose runs ``--regex`` finds."""


def printed(content: bytes) -> str:
    """Return a program's output as text, whatever its encoding and line ends.

    In encodings other than UTF-8, names and messages are lost, but no numbers or keywords. Ranks
    that launchers put before each line are removed.
    """
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if wide else "utf-8-sig", errors="replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n") if _RANK.match(text) else []
    if lines and all(_RANK.match(line) or not line.strip() for line in lines):
        return "\n".join(_RANK.sub("", line) for line in lines)
    return text


_RANK = re.compile(r"\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?|(?:[0-9]+:(?: |$))+")
"""Prefixes of the lines of a process: ``srun -l``, ``mpirun --tag-output``."""


def holds_records(content: bytes) -> bool:
    """Return whether a file's content begins like gpucast records."""
    return b'"gpucast.record/' in content[:4096]


_OLD_WORKBOOK = bytes.fromhex("d0cf11e0a1b11ae1")
MODEL_MARK = '"gpucast.model/'


@cache
def all_formats() -> tuple[Format, ...]:
    """Return all formats that are detected from a file's content."""
    known: list[Format] = []
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        known += getattr(importlib.import_module(module.name), "FORMATS", ())
    # If several formats can read a log, the first by name does.
    return tuple(sorted(known, key=lambda form: form.name if form.log else ""))


def entry(
    options: Options,
    value: Mapping[str, object],
    *,
    file: str,
    line: int | None = None,
) -> Entry:
    """Return a record of ``options.machine`` from its JSON object. Raises InputError."""
    record = jsonl.record({**value, "machine": options.machine}, file=file, line=line)
    assert not isinstance(record, Machine)
    return record


def check_single_machine(data: Dataset, records: Sequence[Measurement], kind: str) -> None:
    """Raise InputError if there are no records, or records of several machines."""
    machines = list(dict.fromkeys(record.machine for record in records))
    if not machines:
        raise InputError(f"holds no {kind} records", file=data.name)
    if len(machines) > 1:
        raise InputError(
            f"holds several ({', '.join(machines)}); name one", file=data.name, field="--machine"
        )


def check_single_kind(data: Dataset, but: Collection[str] = ()) -> None:
    """Raise InputError if steps of different kinds would become repetitions.

    ``but``: fields that the format can express.
    """
    for name in KIND:
        if name not in but:
            only(data.steps, name, data.name)


GPUS_OF_NODE = {
    "juwels booster": 4, "jureca dc": 4, "jupiter": 4, "jedi": 4, "perlmutter": 4, "polaris": 4,
    "summit": 6, "sierra": 4, "lassen": 4, "leonardo": 4, "marconi100": 4, "marenostrum 5": 4,
    "piz daint": 1, "alps": 4, "isambard ai": 4, "meluxina": 4, "karolina": 8, "raven": 4,
    "horeka": 4, "selene": 8, "eos": 8, "dgx a100": 8, "dgx h100": 8, "dgx h200": 8, "dgx 1": 8,
    "dgx 2": 16, "p4d.24xlarge": 8, "p5.48xlarge": 8,
}  # fmt: skip
"""GPUs per node of machines known by name, without those whose cards count as two GPUs each."""


def gpus_of_node(options: Options) -> int | None:
    """Return the GPUs of each node, as stated or by the machine's name."""
    name = re.sub(r"[\s_-]+", " ", options.machine.casefold())
    return options.gpus_per_node or GPUS_OF_NODE.get(name)


FLAT = 0.85
"""Steps do not scale if the most GPUs take more than this share of the fewest GPUs' time."""


def are_flat(entries: Iterable[Entry]) -> bool:
    """Return whether steps of the same size take as long on at least twice the GPUs."""
    sizes: dict[object, dict[int, float]] = {}
    for step in entries:
        if isinstance(step, Step):
            times = sizes.setdefault((step.machine, step.path, step.program, step.case, step.n), {})
            times[step.gpus] = statistics.median(step.seconds)
    several = [times for times in sizes.values() if max(times) >= 2 * min(times)]
    return bool(several) and all(times[max(times)] > FLAT * times[min(times)] for times in several)


def check_size_of(entries: Iterable[Entry], options: Options) -> None:
    """Raise InputError if a stated size may be that of each GPU."""
    sizes = set(options.size_of_files or ())
    stated = [step for step in entries if isinstance(step, Step) and step.n in sizes]
    if options.size_of is None and are_flat(stated):
        raise InputError(
            f"times do not change with the GPU count: if {stated[0].n:g} is the size of each GPU, "
            "import with --size-of gpu; if not, with --size-of all",
            field="-n",
        )


def check_gpus_of_all(options: Options, nodes: Collection[int], file: str) -> None:
    """Raise InputError if ``gpus`` would apply to runs on several numbers of nodes."""
    gpus = options.gpus
    if gpus is not None and len(set(nodes)) > 1:
        counts = ", ".join(map(str, sorted(set(nodes))))
        raise InputError(
            f"{gpus} would be the GPUs of every run, but these are on {counts} nodes; if each node "
            f"has {gpus}, import with --gpus-per-node {gpus}",
            file=file,
            field="--gpus",
        )


def _text(content: bytes, path: str) -> str:
    # In spreadsheet programs, "Unicode text" is UTF-16.
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            "not UTF-8 text; save it as UTF-8 (spreadsheets: CSV UTF-8)", file=path, line=line
        ) from None
    if not text.strip():
        raise InputError("is empty", file=path)
    return text
