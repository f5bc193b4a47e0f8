"""Records: what was measured, one JSON object a line, schema ``gpucast.record/1``.

A measurement is kept as raw samples with everything needed to read it later: the machine it ran
on, the path to the GPUs, and what was moved or computed. All quantities are SI: seconds, bytes,
hertz. The models here are the one definition; ``records/gpucast.record.schema.json`` is generated
from them for the programs that write records in other languages.

Attribute names are the JSON keys, except ``from``, which is a Python keyword (``from_``), and
``schema`` (``schema_``).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import PydanticKnownError

from gpucast.data.limits import LARGEST_GPUS as LARGEST_GPUS
from gpucast.data.limits import LARGEST_N as LARGEST_N
from gpucast.data.limits import SMALLEST_N
from gpucast.data.vocabulary import (
    MEANING,
    Engine,
    HostMemoryKind,
    LaunchMethod,
    Memory,
    OverlapPart,
    Route,
    Schedule,
    TransferMethod,
)
from gpucast.data.workload import Workload

SCHEMA = "gpucast.record/1"
_LARGEST_INT = 2**63 - 1
_LARGEST_DOUBLE = 1.7976931348623157e308


def _integral(value: object) -> object:
    # JSON does not tell 1000 from 1000.0, and JSON Schema calls both integers.
    if type(value) is float and value.is_integer():
        return int(value)
    return value


# JSON Schema says "no control character" without an anchor: in some dialects of regular
# expressions "$" also matches before a final newline, and "name\n" would pass.
Label = Annotated[
    str,
    Field(strict=True, pattern="^[^\\x00-\\x1f\\x7f-\\x9f]+$"),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "not": {"pattern": "[\\u0000-\\u001f\\u007f-\\u009f]"},
        }
    ),
]
"""Machine ids, paths, kernel labels: any Unicode but control characters, not empty."""

Text = Annotated[str, Field(strict=True, min_length=1)]
"""Prose: not empty, line breaks allowed."""

_UTC = (
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]+)?Z$"
)
Moment = Annotated[
    str,
    Field(strict=True, pattern=_UTC),
    WithJsonSchema({"type": "string", "pattern": _UTC, "not": {"pattern": "\\n"}}),
]
"""A moment in UTC, ISO 8601 with a final Z."""

Count = Annotated[int, Field(strict=True, ge=1, le=_LARGEST_INT), BeforeValidator(_integral)]
Total = Annotated[int, Field(strict=True, ge=0, le=_LARGEST_INT), BeforeValidator(_integral)]
GpuCount = Annotated[int, Field(strict=True, ge=1, le=LARGEST_GPUS), BeforeValidator(_integral)]


def _size(value: object, check: ValidatorFunctionWrapHandler) -> float:
    # Whole numbers stay what they are: a float holds those above 2^53 only nearly.
    if type(value) is int and value > LARGEST_N:
        raise PydanticKnownError("less_than_equal", {"le": LARGEST_N})
    checked: float = check(value)
    if checked < SMALLEST_N:
        raise PydanticKnownError("greater_than_equal", {"ge": SMALLEST_N})
    if type(value) is int:
        return value
    return int(checked) if checked.is_integer() else checked


Size = Annotated[
    float,
    Field(
        strict=True,
        gt=0,
        le=LARGEST_N,
        allow_inf_nan=False,
        json_schema_extra={"minimum": SMALLEST_N},
    ),
    WrapValidator(_size),
]
"""What the work grows with: particles, cells, samples. A whole number is an ``int``."""

# "At most the largest double" is JSON Schema's way to say finite.
Positive = Annotated[float, Field(strict=True, gt=0, le=_LARGEST_DOUBLE, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, le=_LARGEST_DOUBLE, allow_inf_nan=False)]
Finite = Annotated[
    float, Field(strict=True, ge=-_LARGEST_DOUBLE, le=_LARGEST_DOUBLE, allow_inf_nan=False)
]
Samples = Annotated[list[Positive], Field(min_length=1)]
"""Seconds, one a sample, in the order measured."""
PhaseSamples = list[NotNegative]
"""Seconds, one a step; 0 where a phase did not occur or is below the clock's resolution."""

Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
FreeObject = dict[str, JsonValue]


class _Model(BaseModel):
    # Validators are built when they are first used: that takes longer than the rest of the import.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Gpu(_Model):
    """One GPU of a machine; a single entry may stand for several that are alike."""

    name: Label
    sms: Count | None = Field(None, description="streaming multiprocessors")
    cores: Count | None = Field(None, description="FP32 lanes of the whole GPU")
    clock_hz: Positive | None = None
    memory_bytes: Count | None = None
    max_threads_per_sm: Count | None = None
    pci: Text | None = Field(None, description="PCI bus id")
    links: list[JsonValue] | None = Field(None, description="NVLink or other links")


class Tool(_Model):
    """The program that wrote the records."""

    name: Label
    version: Text | None = None


class Copy(_Model):
    """A copy that was under way beside the timed one."""

    from_: Label = Field(alias="from")
    to: Label
    bytes: Count | None = None


class Phases(_Model):
    """Seconds spent in the parts of each step, as the program timed them, or a trace of it."""

    h2d: PhaseSamples | None = None
    kernel: PhaseSamples | None = None
    d2h: PhaseSamples | None = None
    cpu: PhaseSamples | None = None
    exchange: PhaseSamples | None = Field(None, description="between GPUs or processes")
    calls: PhaseSamples | None = Field(
        None, description="the host's calls and waits, beyond the GPUs' copies and kernels"
    )


class StepBytes(_Model):
    """Bytes that one step moves, over all GPUs."""

    h2d: Total
    d2h: Total
    exchange: Total | None = Field(None, description="between GPUs or processes")


class _Record(_Model):
    # Here, so that schema and kind stand first in every line.
    schema_: Literal["gpucast.record/1"] = Field(alias="schema")
    kind: str


class RunToRun(_Model):
    """What differs from run to run of a program, beyond the scatter of one run's samples."""

    sd: NotNegative = Field(description="relative standard deviation of the runs' medians")
    runs: Annotated[int, Field(strict=True, ge=2, le=_LARGEST_INT), BeforeValidator(_integral)]


class _Measurement(_Record):
    """What all timed records share."""

    machine: Label = Field(description="id of the machine record")
    seconds: Samples = Field(description="raw samples, s")
    uncertainty: NotNegative | None = Field(
        None, description="relative half-width of the known rounding of each sample"
    )
    run_to_run: RunToRun | None = None
    cold: Flag | None = Field(None, description="first call: includes one-off start-up")
    caveat: Text | None = None


class Machine(_Record):
    """Where records were measured, by whom, and what one must know to read them."""

    kind: Literal["machine"]
    id: Label
    host: Label | None = None
    cpu: Label | None = None
    cpu_cores: Count | None = None
    gpus: list[Gpu] | None = None
    driver: Text | None = None
    runtime: Text | None = None
    transport: Label | None = Field(
        None,
        description="What carries calls to remote GPUs, in their client's words. tls: a socket, "
        "encrypted; plain: a socket, in the clear; shm: memory that client and server share. "
        "Absent: none are remote, or it is not known.",
    )
    answered: Flag | None = Field(
        None,
        description="remote GPUs: every call waits for its server's answer; absent: not known",
    )
    inline_bytes: Total | None = Field(
        None,
        description="remote GPUs: the largest copy that travels within its message; larger ones "
        "go in pieces over connections of their own; absent: as gpucast does it today",
    )
    topology: FreeObject | None = None
    tool: Tool | None = None
    started: Moment | None = Field(None, description="UTC, ISO 8601 with Z")
    command: list[Annotated[str, Field(strict=True)]] | None = None
    source: Text | None = Field(None, description="citation")
    caveats: list[Text] | None = None


class Transfer(_Measurement):
    """Copies of one size over one route."""

    kind: Literal["transfer"]
    path: Label
    memory: Memory = Field(description="kind of the host memory")
    engine: Engine = Field(description="copy engine, or a kernel that copies")
    route: Route
    from_: Label = Field(alias="from", description='"host", "gpu0", ...')
    to: Label
    bytes: Count
    concurrent: list[Copy] = Field(description="other copies under way; empty if alone")
    method: TransferMethod | None = Field(
        None,
        description=MEANING["TransferMethod"],
    )
    issuer: Label | None = Field(
        None,
        description="of a peer copy, the GPU that makes it: the source writes, the destination "
        "reads; absent: the source, or not known",
    )
    valid: Flag = Field(description="false: the copied bytes were wrong")


class Launch(_Measurement):
    """What starting kernels costs; a sample times ``count`` launches together."""

    kind: Literal["launch"]
    path: Label
    method: LaunchMethod = Field(description=MEANING["LaunchMethod"])
    count: Count
    arguments: Total | None = Field(None, description="the kernel's arguments, 8 bytes each")


class Visit(_Model):
    """A visit of a cell by ``gpucast measure`` with a program that is not gpucast's."""

    digest: Label = Field(
        description="of what was run: command, contents of files and of the program, environment, "
        "n, gpus"
    )
    number: Count = Field(description="1 for the first visit of the cell")
    seconds: Positive = Field(description="that it took, with start, end and warm-up")
    job: Label | None = Field(None, description="of a cluster, that made the visit")
    node: Label | None = Field(None, description="of a cluster, where it was made")
    gpu_uuids: list[Label] | None = Field(None, description="of the GPUs of the job")


class Step(_Measurement):
    """Steps of one program: a size n on some GPUs.

    Schedule and kernel are words of our own programs; steps of others have none.
    """

    kind: Literal["step"]
    path: Label
    schedule: Schedule | None = Field(None, description="absent: not a program of gpucast's")
    kernel: Label | None = None
    program: Label | None = Field(None, description="what ran; absent: one of gpucast's, or unsaid")
    case: Label | None = Field(
        None,
        description="the setting that must be the same for times to be comparable: "
        "input, cutoff, precision, version",
    )
    n: Size = Field(description="what the work grows with")
    unit: Label | None = Field(None, description='what n counts: "atoms", "cells"')
    timestep: Positive | None = Field(None, description="s of simulated time that a step advances")
    gpus: GpuCount
    instances: Count | None = Field(
        None,
        description="of the program at once on these same GPUs, whose samples follow one another, "
        "equally many of each; absent: one",
    )
    mps: Flag | None = Field(None, description="instances under NVIDIA's Multi-Process Service")
    nodes: Count | None = Field(None, description="that share the GPUs out")
    block: Count | None = Field(None, description="threads a block")
    ranks: Count | None = Field(None, description="processes that share the GPUs out")
    memory: Memory | None = Field(None, description="kind of the host memory of the step's copies")
    graph: Flag | None = Field(None, description="launched as a CUDA graph")
    boundary: Label | None = Field(None, description="of the box; absent: open")
    bytes: StepBytes | None = None
    workload: Workload | None = Field(None, description="absent: all-pairs forces")
    phases: Phases | None = None
    energy_drift: Finite | None = Field(None, description="relative, over the whole run")
    at_once: Positive | None = Field(
        None, description="instances that ran at the same time, on average over their runs"
    )
    busy: Share | None = Field(
        None, description="share of the run in which the GPUs (path host: its cores) were at work"
    )
    visit: Visit | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other instances ran on its GPUs at the same time."""
        return (self.instances or 1) > 1


class Overlap(_Measurement):
    """Copies up, copies down and a kernel of one device, begun together: until all have ended.

    ``parts`` of one entry are what each takes alone.
    """

    kind: Literal["overlap"]
    path: Label
    memory: Memory
    device: Label
    bytes: Count = Field(description="of each copy")
    parts: Annotated[list[OverlapPart], Field(min_length=1)]


class Skeleton(_Measurement):
    """A step without its work: data to every GPU, a kernel that only keeps it busy, data back.

    What a schedule's communication costs around a program's kernels, without the program.
    """

    kind: Literal["skeleton"]
    path: Label
    schedule: Schedule
    memory: Memory = Field(description="kind of the host memory")
    gpus: GpuCount
    h2d_bytes: Count = Field(description="to each GPU")
    d2h_bytes: Count = Field(description="from each GPU")
    busy: Positive = Field(description="s that the kernel was asked to keep each GPU busy")
    kernel_seconds: Positive = Field(
        description="s that the kernel takes with its start, as events around it show"
    )


class HostMemory(_Measurement):
    """One loop over host memory of one kind, run by the CPU or by a GPU."""

    kind: Literal["host_memory"]
    memory: HostMemoryKind
    pattern: Label
    runner: Label
    phase: Label
    bytes: Count | None = None


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
    """The fields that say what was run, not what came out, in the order of the class."""
    outcomes = _Measurement.model_fields.keys() | _OUTCOMES.get(kind, set())
    return tuple(name for name in kind.model_fields if name not in outcomes)


KINDS: tuple[str, ...] = tuple(
    get_args(each.model_fields["kind"].annotation)[0] for each in get_args(Record)
)
"""The word by which each kind of record names itself in its field ``kind``."""

RECORD: TypeAdapter[Record] = TypeAdapter(
    Annotated[Record, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)
"""Checks any one record; ``gpucast.data.jsonl`` turns what it finds into one-line errors."""


def build() -> None:
    """Build now what checks and writes records, not when it is first used.

    For work that Ctrl-C may end: an exception that comes while it is built does not get out of it.
    """
    for model in get_args(Record):
        model.model_rebuild()
    RECORD.rebuild()


def json_schema() -> dict[str, object]:
    """The records' JSON Schema (draft 2020-12), for programs in other languages."""
    schema = RECORD.json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:gpucast:record:1",
        "title": "gpucast.record/1",
        "description": "One line of a gpucast data file (JSON Lines). All quantities are SI.",
        **schema,
    }
