"""Other programs' files, read into records and written from them: one module a format.

To add a format, drop a module in here that has a tuple ``FORMATS``; ``gpucast import`` and every
command that takes data then detect it, and ``gpucast data export`` offers it where it can write.
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
"""Machine of records whose file names none."""


def stated(
    text: str,
    default: Any = None,
    *names: str,
    read: Callable[[str, str], object] | None = None,
    **more: Any,
) -> Any:
    """A field that users state; commands make an option of it.

    Args:
        text: what it is for.
        names: of its option, where they are not the field's.
        read: makes the value of the option's text, given its name for messages.
        more: what the option has besides, such as ``min``.
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
    """What a file of another program does not say itself; None: nobody said.

    Attributes:
        timestep: s.
        columns: names of a table's columns by what they hold: ``{"n": "atoms"}``; a unit after a
            colon.
        gpus, size: of the file that is read; ``gpus_of_files``, ``size_of_files``: of one file
            after another, or one for all.
        overrule: whether GPUs and sizes stated win over what the log says.
        whose: who states them, for messages.
    """

    columns: Mapping[str, str] = stated(
        "A table's columns, where their names do not tell: n=atoms,gpus=devices,seconds=run:us; "
        "seconds=*:ms of all times below GPU counts. Also time or rate (seconds in other units: "
        "ms, steps/s, samples/s, ns/day, hours/ns), steps (of a row, where its time is of all of "
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
    program: str | None = stated("What ran, where the file does not say.")
    case: str | None = stated("Input, cutoff, precision, ..., where the file does not say.")
    unit: str | None = stated("What n counts (atoms, cells), where the file does not say.")
    decimal: Literal["point", "comma"] | None = stated(
        "How a table writes decimals, where its numbers do not tell."
    )
    sheet: str | None = stated("Sheet of a workbook, of several.")
    gpus: int | None = None
    gpus_of_files: tuple[int, ...] | None = stated(
        "GPUs of runs whose log does not say or leaves it unclear; for several files a list, one "
        "of each.",
        None,
        "--gpus",
        read=whole_each,
        metavar="LIST",
    )
    steps: int | None = stated(
        "Steps of each run, where a log or table says the time of the whole run only (1: a run is "
        "the step), or of each time that --regex finds.",
        min=1,
    )
    gpus_per_node: int | None = stated(
        "GPUs of each node, where a log or table says the nodes only.", min=1
    )
    size: float | None = None
    size_of_files: tuple[float, ...] | None = stated(
        "Size of runs whose log does not say it: 1e6, 5M, 64x64x128, R02B09; for several files a "
        "list, one of each.",
        None,
        "-n",
        "--size",
        read=one_each,
        metavar="LIST",
    )
    size_of: Literal["all", "gpu"] | None = stated(
        "What -n is the size of: all GPUs together, or each of them, so that n grows with them "
        "(weak scaling, the batch of each GPU)."
    )
    from_name: str | None = stated(
        "Finds in a log's file name what the log does not say, or wrongly: named groups n, gpus, "
        "nodes, ranks, case, program, as in '(?P<gpus>[0-9]+)gpu'.",
        metavar="REGEX",
    )
    regex: str | None = stated(
        "Finds the runs of any text: named groups n, gpus, nodes, ranks, steps, seconds or "
        "rate, unit, case, program; a group holds until it is found again.",
        metavar="REGEX",
    )
    range_name: str | None = stated(
        "NVTX range that is a step of a trace; kernel:NAME: from one launch of it to the next.",
        None,
        "--range",
        metavar="NAME",
    )
    every_run: bool = stated(
        "Take all runs of one size in a log, not the last alone.", False, "--every-run"
    )
    block: int | None = stated(
        "Threads a block of the steps' kernel; occupancy needs it and --sms.", min=1
    )
    path: str = stated("How the GPUs are reached, where the file does not say.", "native")
    schedule: str | None = stated(
        "How steps of gpucast's own programs move data, where the file does not say: "
        "star-serial, star-async, allgather or mpi."
    )
    kernel: str | None = stated("Label of the steps' kernel, where the file does not say.")
    machine: str = stated("Id of the machine; the same for files of the same machine.", UNNAMED)
    bytes: int = stated("Buffer size (bytes) of nvbandwidth's copies.", 512 * 2**20, min=1)
    overrule: bool = False
    whose: str = "the option"

    def of_file(self, number: int, count: int) -> Options:
        """For one of several files, by its number from 0.

        Raises:
            InputError: neither one size, or GPU count, is stated nor one for each file.
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
        remarks: what one must know of them.
        notes: what was understood and what left out, where that is no reason to worry; one line
            each.
        nodes: how many runs had of whose GPUs ``Options.gpus`` is the count.
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
        write: a dataset as a text of this format, or None where the format is only read.
        log: whether it is what a program prints: in any encoding, and known by words that no table
            has.
        rank: of several that a text may be of, the least is taken.
        binary: whether it is no text: ``detect`` and ``read`` then take bytes.
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
    """How to recognise and read what is known by its files, not by one content; of other layers.

    Attributes:
        name, what: as of a ``Format``.
        detect: whether a file or folder is of this format; never raises.
        read: ``read(path, options)``. Raises InputError.
        together: ``together(imported, options)``: each of several that were read, as the others
            make it. Raises InputError whose ``file`` is of one of them.
    """

    name: str
    what: str
    detect: Callable[[str], bool]
    read: Callable[[str, Options], Imported]
    together: Callable[[Sequence[Imported], Options], Sequence[Imported]] | None = None
    log = True


AnyFormat = Format | PathFormat


def formats() -> dict[str, Format]:
    """All formats that are text, by name."""
    return {form.name: form for form in all_formats() if not form.binary}


def described() -> str:
    """What can be read, in a few words each."""
    return "; ".join(form.what for form in all_formats())


def read_file(path: str, options: Options, name: str | None = None) -> tuple[Imported, Format]:
    """Read a file of any format; which one is told by its content, or by ``name``.

    Raises:
        InputError: the file cannot be read, is of no known format, or is wrong.
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
    """What to say of a file of no known format, and what one may do with it."""
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
            f"of its columns {', '.join(names)} say which are what: "
            "--columns n=COLUMN,gpus=COLUMN,seconds=COLUMN:UNIT"
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
"""Names in exports of nvidia-smi, DCGM and exporters for Prometheus."""


def of_utilization(text: str) -> str | None:
    """What to say to those who bring a monitor's export of GPU utilization for step times; None:
    it is none."""
    if not _MONITORED.search(text):
        return None
    return (
        "holds GPU utilization, which tells no step time: a GPU is busy in slow steps as in fast "
        "ones; needed are the size n, the GPU count and the time of a step, or steps or samples a "
        "second, as the program's own log says them"
    )


def recognized(
    content: bytes, file: str, options: Options, name: str | None = None
) -> Format | None:
    """The format of a file's content, or that of this name; None: none that is known.

    Raises:
        InputError: it holds what needs no import, or is no text.
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
"""Bytes of a file of no known format that are searched for what it is."""

PATTERN = "regex"
"""Name of the format of texts whose runs the user's regular expression finds."""


def printed(content: bytes) -> str:
    """What a program printed, as text: bytes in any encoding, lines in any system's way.

    Names and messages in other encodings than UTF-8 are lost; numbers and keywords are not. Ranks
    that launchers put before every line are left out.
    """
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if wide else "utf-8-sig", errors="replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n") if _RANK.match(text) else []
    if lines and all(_RANK.match(line) or not line.strip() for line in lines):
        return "\n".join(_RANK.sub("", line) for line in lines)
    return text


_RANK = re.compile(r"\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?|(?:[0-9]+:(?: |$))+")
"""What launchers put before each line of a process: ``srun -l``, ``mpirun --tag-output``."""


def holds_records(content: bytes) -> bool:
    """Whether a file's content is records of ours, as far as its beginning shows."""
    return b'"gpucast.record/' in content[:4096]


_OLD_WORKBOOK = bytes.fromhex("d0cf11e0a1b11ae1")
MODEL_MARK = '"gpucast.model/'


@cache
def all_formats() -> tuple[Format, ...]:
    """All formats that files' contents tell."""
    known: list[Format] = []
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        known += getattr(importlib.import_module(module.name), "FORMATS", ())
    # Where several may read a log, the first by name does.
    return tuple(sorted(known, key=lambda form: form.name if form.log else ""))


def entry(
    options: Options,
    value: Mapping[str, object],
    *,
    file: str,
    line: int | None = None,
) -> Entry:
    """A record of ``options.machine`` from its JSON object. Raises InputError."""
    record = jsonl.record({**value, "machine": options.machine}, file=file, line=line)
    assert not isinstance(record, Machine)
    return record


def check_single_machine(data: Dataset, records: Sequence[Measurement], kind: str) -> None:
    """Raise InputError where there are no records, or records of several machines."""
    machines = list(dict.fromkeys(record.machine for record in records))
    if not machines:
        raise InputError(f"holds no {kind} records", file=data.name)
    if len(machines) > 1:
        raise InputError(
            f"holds several ({', '.join(machines)}); name one", file=data.name, field="--machine"
        )


def check_single_kind(data: Dataset, but: Collection[str] = ()) -> None:
    """Raise InputError where steps that differ in kind alone would become repetitions.

    ``but``: fields that the format has a word for.
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
"""GPUs of the nodes of machines that are known by name, where cards are not counted in halves."""


def gpus_of_node(options: Options) -> int | None:
    """GPUs of each node, as the user says, or as those of a machine of this name have."""
    name = re.sub(r"[\s_-]+", " ", options.machine.casefold())
    return options.gpus_per_node or GPUS_OF_NODE.get(name)


FLAT = 0.85
"""The share of the time on the fewest GPUs that the most take, where steps do not scale at all."""


def are_flat(entries: Iterable[Entry]) -> bool:
    """Whether steps of the same size take as long on twice the GPUs, or more."""
    sizes: dict[object, dict[int, float]] = {}
    for step in entries:
        if isinstance(step, Step):
            times = sizes.setdefault((step.machine, step.path, step.program, step.case, step.n), {})
            times[step.gpus] = statistics.median(step.seconds)
    several = [times for times in sizes.values() if max(times) >= 2 * min(times)]
    return bool(several) and all(times[max(times)] > FLAT * times[min(times)] for times in several)


def check_size_of(entries: Iterable[Entry], options: Options) -> None:
    """Raise InputError where a size that was stated may be that of each GPU."""
    sizes = set(options.size_of_files or ())
    stated = [step for step in entries if isinstance(step, Step) and step.n in sizes]
    if options.size_of is None and are_flat(stated):
        raise InputError(
            f"times do not change with the GPU count: is {stated[0].n:g} the size of each GPU? "
            "import with --size-of gpu if it is, with --size-of all if not",
            field="-n",
        )


def check_gpus_of_all(options: Options, nodes: Collection[int], file: str) -> None:
    """Raise InputError where ``gpus`` would be the count of runs on several numbers of nodes."""
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
    # Spreadsheet programs call UTF-16 "Unicode text".
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
