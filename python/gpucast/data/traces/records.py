"""A trace as a step record, for ``gpucast import``.

n, the case and the number of GPUs come from the recorded command line (``--n 4096``, ``--case``),
unless the user states them; GPUs without any work do not count. Our own programs also state
schedule, kernel and memory there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.data.formats import Imported, Options, PathFormat
from gpucast.data.formats.logs.runs import Found, Run, UnclearError, decimal, imported
from gpucast.data.records import Step
from gpucast.data.traces import tables
from gpucast.data.traces.agreement import Shape, repeats, said_of_repeats, shape_of, unlike
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.native_step import native_steps
from gpucast.data.traces.parts import StepParts, StepWork, parts_of, work_of
from gpucast.data.traces.reading import is_trace, read
from gpucast.data.traces.steps import Steps
from gpucast.data.traces.trace import Process, Trace
from gpucast.util.remarks import Kind, Remark, remark, remarks_of
from gpucast.util.units import duration, number, size

OWN = "gpucast-mdapp"
MOST_SAMPLES = 200
"""Number of steps of a trace that are kept: more add no information."""
LOST = "kernels were launched but none was recorded: T_gpu is unknown; record again"
RECORDED = "recorded while tracing all of the GPUs' work, which lengthens steps"
_SIZE = ("--n", "--size")
_LABELS = ("program", "case", "schedule", "kernel", "memory")


@dataclass(frozen=True)
class Observed:
    """The traced step of the slowest process of a run.

    Attributes:
        seconds: times of steps; alone: whether they are, or nearly are, as without a recorder.
        parts: the parts of a step that takes their median.
        work: the work of all processes together.
        gpus: the number of GPUs with any work; None if several processes may have shared them.
        lost: whether kernels were launched but none was recorded.
    """

    seconds: list[float]
    alone: bool
    parts: StepParts
    work: StepWork
    gpus: int | None
    lost: bool = False


@dataclass(frozen=True)
class ImportedTrace(Imported):
    """The record of a trace, and the shape by which traces of one program are compared."""

    observation: Observed = field(kw_only=True)
    shape: Shape = field(kw_only=True)

    @property
    def step(self) -> Step:
        """The record."""
        return _step_of(self)

    def repeated(self, times: int, remarks: Sequence[Remark]) -> Imported:
        """Return the record with ``times`` of its steps as one, and with remarks about it."""
        changed = {name: _longer(getattr(self.step, name), times)
                   for name in ("seconds", "phases", "bytes")}  # fmt: skip
        longer = _longer(self.observation, times, ("seconds", "parts", "work"))
        return replace(
            self,
            entries=[replace(self.step, **changed)],
            remarks=[*self.remarks, *remarks],
            notes=[*self.notes[:-1], _understood(longer)],
            observation=longer,
        )


def _longer(value: Any, times: int, fields: Sequence[str] = ()) -> Any:
    """Multiply numbers, in lists and in fields of objects, for a step of ``times`` consecutive
    ones.

    ``fields``: the fields with such numbers; all if none is named.
    """
    if isinstance(value, list):
        return [times * number for number in value]
    if is_dataclass(value) and not isinstance(value, type):
        parts = {name: _longer(getattr(value, name), times) for name in fields or vars(value)}
        return replace(value, **parts)
    return None if value is None else times * value


def observed(trace: Trace, found: Steps | None = None) -> Observed:
    """Return the steps of a trace; ``found``: the steps if they were detected before.

    Raises:
        InputError: there is no repeating step.
    """
    steps = (found or find_steps(trace)).processes
    traced = [(trace.processes[own.process], own) for own in steps]
    natives = [native_steps(*own, trace.run.seconds_untraced) for own in traced]
    slowest = int(np.argmax([native.median for native in natives]))
    native = natives[slowest]
    works = [list(vars(work_of(*own)).values()) for own in traced]
    devices = [set(process.work["device"].tolist()) for process, _ in traced]
    used: set[int] = set().union(*devices)
    return Observed(
        seconds=_evenly(native.seconds),
        alone=native.alone,
        parts=parts_of(*traced[slowest]).lasting(native.median),
        work=StepWork(*np.sum(works, axis=0).tolist()),
        gpus=len(used) if sum(map(len, devices)) == len(used) else None,
        lost=any(_lost(process) for process, _ in traced),
    )


def _lost(process: Process) -> bool:
    launches = [number for number, name in process.names.items() if "LaunchKernel" in name]
    launched = process.calls["name"].isin(launches).any()
    return bool(launched) and not bool((process.work["kind"] != tables.COPY).any())


def run_of(trace: Trace, found: Observed) -> Run:
    """Return the run of a trace."""
    options = _options(trace.run.command)
    stated = next((options[name] for name in _SIZE if name in options), None)
    parts, work = found.parts, found.work
    more: dict[str, object] = {}
    if trace.program == OWN:
        names = ("schedule", "kernel", "memory")
        more = {name: options[f"--{name}"] for name in names if f"--{name}" in options}
    if work.up or work.down:
        sizes = {"h2d": round(work.up), "d2h": round(work.down)}
        more["bytes"] = sizes | ({"exchange": round(work.between)} if work.between else {})
    return Run(
        program=trace.program,
        line=None,
        seconds=tuple(found.seconds),
        n=None if stated is None else decimal(stated),
        gpus=found.gpus,
        unclear="its processes may have shared GPUs",
        case=options.get("--case"),
        ranks=len(trace.processes) if len(trace.processes) > 1 else None,
        phases={} if found.lost else {"kernel": parts.gpu, "cpu": parts.cpu, "calls": parts.com},
        caveat=None if found.alone else RECORDED,
        more=more,
    )


def read_records(path: str, options: Options) -> Imported:
    """Read the step record of a trace.

    Raises:
        InputError: there is no repeating step, or the size is not stated.
    """
    trace = read(path)
    steps = find_steps(trace, options.range_name)
    observation = observed(trace, steps)
    result = _imported(trace, observation, path, options)
    result.notes.append(_understood(observation))
    shape = shape_of(trace, steps, path, _step_of(result).gpus)
    return ImportedTrace(**vars(result), observation=observation, shape=shape)


def record_of(trace: Trace, steps: Steps, file: str, options: Options) -> Step:
    """Return the step record of a trace whose steps were detected.

    Raises:
        InputError: as ``read_records``.
    """
    return _step_of(_imported(trace, observed(trace, steps), file, options))


def _step_of(imported: Imported) -> Step:
    (step,) = imported.entries
    assert isinstance(step, Step)
    return step


def labels_of(step: Step) -> tuple[str | None, ...]:
    """Return the labels of steps, which are equal in all records of one program."""
    return tuple(getattr(step, name) for name in _LABELS)


def together(traces: Sequence[Imported], options: Options) -> list[Imported]:
    """Return the records of traces; the steps of one program are made the same part of it
    (``agreement``).

    Raises:
        InputError: the repeating parts of the traces are not the same.
    """
    read = [one for one in traces if isinstance(one, ImportedTrace)]
    if options.range_name is not None:  # the user defines the step
        return list(read)
    programs: dict[tuple[str | None, ...], list[ImportedTrace]] = {}
    for one in read:
        programs.setdefault(labels_of(one.step), []).append(one)
    made: dict[str, Imported] = {}
    for own in programs.values():
        shapes = [one.shape for one in own]
        times = repeats(shapes)
        launches = [shape.a_gpu * several for shape, several in zip(shapes, times, strict=True)]
        doubts = remarks_of(Kind.READ_AS, unlike(launches))
        for one, several in zip(own, times, strict=True):
            taken = said_of_repeats([one.shape], [several])
            remarks = [remark(Kind.READ_AS, text, about="steps") for text in taken]
            made[one.shape.file] = one.repeated(several, [*remarks, *doubts])
            doubts = []  # stated only once
    return [made[one.shape.file] for one in read]


def _imported(trace: Trace, found: Observed, path: str, options: Options) -> Imported:
    run = run_of(trace, found)
    names = [name for name in dict.fromkeys(trace.run.machine.gpus) if name]
    remarks = [remark(Kind.LACKS, text, about=text) for text in trace.missing]
    if found.lost:
        remarks.append(remark(Kind.LACKS, LOST, about="kernels"))
    kept = Found([run], remarks=remarks, gpu_names=names)
    try:
        return imported(kept, path, options)
    except UnclearError as error:
        if error.field == "-n":
            error.message = (
                "its command line has no --n, the size with which the work grows; state it by -n, "
                "or by --from-name 'n(?P<n>[0-9]+)' if file names have it"
            )
        raise


def _understood(found: Observed) -> str:
    parts, work = found.parts, found.work
    counts = ", ".join(
        f"{number(round(count, 1))} {name}"
        for count, name in (
            (work.launches, "launches"), (work.copies, "copies"), (work.waits, "waits")
        )
    )  # fmt: skip
    return (
        f"a step of {duration(parts.seconds)}: T_gpu {duration(parts.gpu)}, "
        f"T_cpu {duration(parts.cpu)}, T_com {duration(parts.com)}; {counts}; "
        f"{size(round(work.up))} to the GPUs, {size(round(work.down))} back"
    )


def _options(command: Sequence[str]) -> dict[str, str]:
    """Return the options of a command line with their values: ``--n 4096`` or ``--n=4096``."""
    options: dict[str, str] = {}
    for word, following in itertools.pairwise([*command, ""]):
        name, is_set, value = word.partition("=")
        if name.startswith("--") and (is_set or following):
            options.setdefault(name, value if is_set else following)
    return options


def _evenly(seconds: NDArray[np.float64]) -> list[float]:
    """Return the steps that are kept, in order of time: evenly chosen from the sorted ones, so that
    the median stays."""
    if seconds.size <= MOST_SAMPLES:
        return [float(value) for value in seconds]
    places = (2 * np.arange(MOST_SAMPLES) + 1) * seconds.size // (2 * MOST_SAMPLES)
    kept = np.sort(np.argsort(seconds, kind="stable")[places])
    return [float(value) for value in seconds[kept]]


TRACES = PathFormat(
    "trace", "traces of CUDA calls: gpucast trace, nsys, Kineto", is_trace, read_records, together
)
"""For ``gpucast.data.loading``."""
