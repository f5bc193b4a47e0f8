"""Records: what was measured, one JSON object per line, schema ``gpucast.record/1``.

A measurement is kept as raw samples with everything needed to interpret it later: the machine, the
path to the GPUs, and what was moved or computed. All quantities are SI: seconds, bytes, hertz. The
classes here are the only definition; ``records/gpucast.record.schema.json`` is generated from them
for programs in other languages.

Attribute names are the JSON keys, except ``from``, which is a Python keyword (``from_``), and
``schema`` (``schema_``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Literal, get_args, get_type_hints

from gpucast.data.vocabulary import (
    Engine,
    HostMemoryKind,
    LaunchMethod,
    Memory,
    OverlapPart,
    Route,
    Schedule,
    TransferMethod,
)
from gpucast.data.workload import LARGEST_GPUS, LARGEST_N, SMALLEST_N, Workload
from gpucast.util.typed_json import Bounds, Length, Pattern

SCHEMA = "gpucast.record/1"
_LARGEST_INT = 2**63 - 1
_LARGEST_DOUBLE = 1.7976931348623157e308


def whole(value: object) -> object:
    """Convert 1000.0 to 1000: JSON does not distinguish them, JSON Schema calls both integers, and
    YAML reads 1e6 as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _writable(value: object) -> object:
    # Values made in memory may not be writable: NaN, or half of a surrogate pair.
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"cannot be written as JSON: {str(error).split(':')[0]}") from None
    return value


Label = Annotated[str, Pattern(r"[^\x00-\x1f\x7f-\x9f]+", "has control characters")]
"""Machine ids, paths, kernel labels: not empty, any Unicode except control characters."""
Text = Annotated[str, Length()]
"""Prose: not empty, line breaks allowed."""
Moment = Annotated[
    str,
    Pattern(
        "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        "T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]+)?Z",
        "must be a UTC time such as 2025-01-31T12:00:00Z",
    ),
]
"""A moment in UTC, ISO 8601 with a final Z."""

Count = Annotated[int, whole, Bounds(least=1, most=_LARGEST_INT)]
Total = Annotated[int, whole, Bounds(least=0, most=_LARGEST_INT)]
GpuCount = Annotated[int, whole, Bounds(least=1, most=LARGEST_GPUS)]
Size = Annotated[float, whole, Bounds(above=0, least=SMALLEST_N, most=LARGEST_N)]
"""What the work grows with: particles, cells, samples. A whole number is an ``int``."""

# JSON Schema expresses finite as "at most the largest double".
Positive = Annotated[float, Bounds(above=0, most=_LARGEST_DOUBLE)]
NotNegative = Annotated[float, Bounds(least=0, most=_LARGEST_DOUBLE)]
Finite = Annotated[float, Bounds(least=-_LARGEST_DOUBLE, most=_LARGEST_DOUBLE)]
Samples = Annotated[list[Positive], Length()]
"""Seconds, one for each sample, in the order measured."""
PhaseSamples = list[NotNegative]
"""Seconds, one for each step; 0 if a phase did not occur or is below the clock's resolution."""

Share = Annotated[float, Bounds(least=0, most=1)]
FreeObject = Annotated[dict[str, object], _writable]
FreeList = Annotated[list[object], _writable]


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU of a machine; a single entry may stand for several equal ones."""

    name: Label
    sms: Annotated[Count | None, "streaming multiprocessors"] = None
    cores: Annotated[Count | None, "FP32 lanes of the whole GPU"] = None
    clock_hz: Positive | None = None
    memory_bytes: Count | None = None
    max_threads_per_sm: Count | None = None
    pci: Annotated[Text | None, "PCI bus id"] = None
    links: Annotated[FreeList | None, "NVLink or other links"] = None


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The program that wrote the records."""

    name: Label
    version: Text | None = None


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A copy that ran at the same time as the timed one."""

    from_: Label
    to: Label
    bytes: Count | None = None


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Seconds spent in the parts of each step, as the program or a trace timed them."""

    h2d: PhaseSamples | None = None
    kernel: PhaseSamples | None = None
    d2h: PhaseSamples | None = None
    cpu: PhaseSamples | None = None
    exchange: Annotated[PhaseSamples | None, "between GPUs or processes"] = None
    calls: Annotated[
        PhaseSamples | None, "the host's calls and waits, beyond the GPUs' copies and kernels"
    ] = None


@dataclass(frozen=True, kw_only=True)
class StepBytes:
    """Bytes that one step moves, over all GPUs."""

    h2d: Total
    d2h: Total
    exchange: Annotated[Total | None, "between GPUs or processes"] = None


@dataclass(frozen=True, kw_only=True)
class _Record:
    # Defined here, so that schema and kind are first in every line.
    schema_: Literal["gpucast.record/1"]
    kind: str


@dataclass(frozen=True, kw_only=True)
class RunToRun:
    """Differences between runs of a program, beyond the scatter of one run's samples."""

    sd: Annotated[NotNegative, "relative standard deviation of the runs' medians"]
    runs: Annotated[int, whole, Bounds(least=2, most=_LARGEST_INT)]


@dataclass(frozen=True, kw_only=True)
class _Measurement(_Record):
    """The fields that all timed records have."""

    machine: Annotated[Label, "id of the machine record"]
    seconds: Annotated[Samples, "raw samples, s"]
    uncertainty: Annotated[
        NotNegative | None, "relative half-width of the known rounding of each sample"
    ] = None
    run_to_run: RunToRun | None = None
    cold: Annotated[bool | None, "first call: includes one-off start-up"] = None
    caveat: Text | None = None


@dataclass(frozen=True, kw_only=True)
class Machine(_Record):
    """Where and by whom records were measured, and what one must know to interpret them."""

    kind: Literal["machine"]
    id: Label
    host: Label | None = None
    cpu: Label | None = None
    cpu_cores: Count | None = None
    gpus: list[Gpu] | None = None
    driver: Text | None = None
    runtime: Text | None = None
    transport: Annotated[
        Label | None,
        "Transport of calls to remote GPUs, in their client's words. tls: an encrypted socket; "
        "plain: an unencrypted socket; shm: memory that client and server share. "
        "Absent: no GPU is remote, or it is not known.",
    ] = None
    answered: Annotated[
        bool | None, "remote GPUs: whether every call waits for an answer; absent: not known"
    ] = None
    inline_bytes: Annotated[
        Total | None,
        "remote GPUs: the largest copy that is sent within its message; larger ones are sent "
        "in pieces over separate connections; absent: as in the current gpucast",
    ] = None
    topology: FreeObject | None = None
    tool: Tool | None = None
    started: Annotated[Moment | None, "UTC, ISO 8601 with Z"] = None
    command: list[str] | None = None
    source: Annotated[Text | None, "citation"] = None
    caveats: list[Text] | None = None


@dataclass(frozen=True, kw_only=True)
class Transfer(_Measurement):
    """Copies of one size over one route."""

    kind: Literal["transfer"]
    path: Label
    memory: Annotated[Memory, "kind of the host memory"]
    engine: Annotated[Engine, "copy engine, or a kernel that copies"]
    route: Route
    from_: Annotated[Label, '"host", "gpu0", ...']
    to: Label
    bytes: Count
    concurrent: Annotated[list[Copy], "other copies under way; empty if alone"]
    method: TransferMethod | None = None
    issuer: Annotated[
        Label | None,
        "the GPU that makes a peer copy: the source writes, the destination "
        "reads; absent: the source, or not known",
    ] = None
    valid: Annotated[bool, "false: the copied bytes were wrong"]


@dataclass(frozen=True, kw_only=True)
class Launch(_Measurement):
    """The cost of starting kernels; a sample times ``count`` launches together."""

    kind: Literal["launch"]
    path: Label
    method: LaunchMethod
    count: Count
    arguments: Annotated[Total | None, "the kernel's arguments, 8 bytes each"] = None


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A visit of a cell by ``gpucast measure`` with a program that is not gpucast's."""

    digest: Annotated[
        Label,
        "digest of what was run: command, contents of files and program, environment, n, gpus",
    ]
    number: Annotated[Count, "1 for the first visit of the cell"]
    seconds: Annotated[Positive, "its duration, with start, end and warm-up"]
    job: Annotated[Label | None, "the cluster's job that made the visit"] = None
    node: Annotated[Label | None, "the cluster's node on which it was made"] = None
    gpu_uuids: Annotated[list[Label] | None, "the job's GPUs"] = None


@dataclass(frozen=True, kw_only=True)
class Step(_Measurement):
    """Steps of one program: a size n on some GPUs.

    Schedule and kernel describe gpucast's own programs; steps of others have none.
    """

    kind: Literal["step"]
    path: Label
    schedule: Annotated[Schedule | None, "absent: not one of gpucast's programs"] = None
    kernel: Label | None = None
    program: Annotated[Label | None, "absent: one of gpucast's, or not stated"] = None
    case: Annotated[
        Label | None,
        "the setting that must be the same for times to be comparable: "
        "input, cutoff, precision, version",
    ] = None
    n: Annotated[Size, "the quantity that the work grows with"]
    unit: Annotated[Label | None, 'what n counts: "atoms", "cells"'] = None
    timestep: Annotated[Positive | None, "s of simulated time that a step advances"] = None
    gpus: GpuCount
    instances: Annotated[
        Count | None,
        "number of the program's instances that ran at once on these GPUs; samples are sorted "
        "by instance, with equal numbers of each; absent: one",
    ] = None
    mps: Annotated[bool | None, "instances under NVIDIA's Multi-Process Service"] = None
    nodes: Annotated[Count | None, "number of nodes with these GPUs"] = None
    block: Annotated[Count | None, "threads per block"] = None
    ranks: Annotated[Count | None, "number of processes that use these GPUs"] = None
    memory: Annotated[Memory | None, "kind of the host memory of the step's copies"] = None
    graph: Annotated[bool | None, "launched as a CUDA graph"] = None
    boundary: Annotated[Label | None, "boundary of the box; absent: open"] = None
    bytes: StepBytes | None = None
    workload: Annotated[Workload | None, "absent: all-pairs forces"] = None
    phases: Phases | None = None
    energy_drift: Annotated[Finite | None, "relative, over the whole run"] = None
    at_once: Annotated[
        Positive | None, "instances that ran at the same time, on average over their runs"
    ] = None
    busy: Annotated[
        Share | None, "share of the run in which the GPUs (path host: its cores) worked"
    ] = None
    joules: Annotated[
        Positive | None, "mean energy of a step, all its GPUs together, without the host's"
    ] = None
    joules_uncertainty: Annotated[
        NotNegative | None, "relative half-width of joules due to the counter"
    ] = None
    visit: Visit | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other instances ran on its GPUs at the same time."""
        return (self.instances or 1) > 1


@dataclass(frozen=True, kw_only=True)
class Overlap(_Measurement):
    """Copies up, copies down and a kernel of one device, started together, until all have ended.

    ``parts`` with one entry: the time of that part alone.
    """

    kind: Literal["overlap"]
    path: Label
    memory: Memory
    device: Label
    bytes: Annotated[Count, "of each copy"]
    parts: Annotated[list[OverlapPart], Length()]


@dataclass(frozen=True, kw_only=True)
class Skeleton(_Measurement):
    """A step without its work: data to every GPU, a kernel that only keeps it busy, data back.

    This is the cost of a schedule's communication around a program's kernels.
    """

    kind: Literal["skeleton"]
    path: Label
    schedule: Schedule
    memory: Annotated[Memory, "kind of the host memory"]
    gpus: GpuCount
    h2d_bytes: Annotated[Count, "to each GPU"]
    d2h_bytes: Annotated[Count, "from each GPU"]
    busy: Annotated[Positive, "s that the kernel was asked to keep each GPU busy"]
    kernel_seconds: Annotated[
        Positive, "s that the kernel takes with its start, as events around it show"
    ]


@dataclass(frozen=True, kw_only=True)
class HostMemory(_Measurement):
    """One loop over host memory of one kind, run by the CPU or by a GPU."""

    kind: Literal["host_memory"]
    memory: HostMemoryKind
    pattern: Label
    runner: Label
    phase: Label
    bytes: Count | None = None


@dataclass(frozen=True, kw_only=True)
class Note(_Record):
    """Something that is not a measurement: why a cell was skipped, what was not understood."""

    kind: Literal["note"]
    machine: Label | None = None
    path: Label | None = None
    text: Text
    about: FreeObject | None = None


Record = Machine | Transfer | Launch | Step | Overlap | Skeleton | HostMemory | Note
Measurement = Transfer | Launch | Step | Overlap | Skeleton | HostMemory
Entry = Measurement | Note
"""Everything but machines."""

_OUTCOMES: dict[type[Measurement], set[str]] = {
    Transfer: {"valid"},
    Step: {"bytes", "phases", "energy_drift", "at_once", "busy", "visit"},
    Skeleton: {"kernel_seconds"},
}


@cache
def settings_of(kind: type[Measurement]) -> tuple[str, ...]:
    """Return the fields that state what was run, not what resulted, in the order of the class."""
    outcomes = {member.name for member in fields(_Measurement)} | _OUTCOMES.get(kind, set())
    return tuple(member.name for member in fields(kind) if member.name not in outcomes)


KINDS: dict[str, type[Record]] = {
    get_args(get_type_hints(kind)["kind"])[0]: kind for kind in get_args(Record)
}
"""The kinds of records by the value of their field ``kind``."""
