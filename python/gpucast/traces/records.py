"""A trace as a step record: what ``gpucast import`` makes of it.

n, the case and the number of GPUs are those of the recorded command line (``--n 4096``,
``--case``), unless the user says them; GPUs are those that did any work. A program of ours also
states its schedule, kernel and memory there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpucast.data.formats import Imported, Options, PathFormat
from gpucast.data.formats.logs.runs import Found, Run, UnclearError, decimal, imported
from gpucast.data.records import Step
from gpucast.traces import tables
from gpucast.traces.agreement import Shape, repeats, said_of_repeats, shape_of, unlike
from gpucast.traces.finding_steps import find_steps
from gpucast.traces.native_step import native_steps
from gpucast.traces.parts import StepParts, StepWork, parts_of, work_of
from gpucast.traces.reading import is_trace, read
from gpucast.traces.steps import Steps
from gpucast.traces.trace import Process, Trace
from gpucast.util.remarks import Kind, Remark, remark, remarks_of
from gpucast.util.units import duration, number, size

OWN = "gpucast-mdapp"
MOST_SAMPLES = 200
"""Steps of a trace that are kept: more say nothing new."""
LOST = "kernels were launched and none is on record: T_gpu is not known; record again"
RECORDED = "recorded while tracing all of the GPUs' work, which lengthens steps"
_SIZE = ("--n", "--size")
_LABELS = ("program", "case", "schedule", "kernel", "memory")


@dataclass(frozen=True)
class Observed:
    """A traced step, of the slowest process of its run.

    Attributes:
        seconds: of steps; alone: whether they are as without a recorder, or nearly.
        parts: of a step that takes their median.
        work: of all processes together.
        gpus: that did any work; None where several processes may have shared them.
        lost: whether kernels were launched and none is on record.
    """

    seconds: list[float]
    alone: bool
    parts: StepParts
    work: StepWork
    gpus: int | None
    lost: bool = False

    def times(self, repeats: int) -> Observed:
        """So many of them in a row."""
        return replace(
            self,
            seconds=[repeats * each for each in self.seconds],
            parts=self.parts.times(repeats),
            work=StepWork(**{name: repeats * each for name, each in vars(self.work).items()}),
        )


@dataclass(frozen=True)
class ImportedTrace(Imported):
    """A trace's record, and by what those of one program are held beside one another."""

    found: Observed = field(kw_only=True)
    shape: Shape = field(kw_only=True)

    @property
    def step(self) -> Step:
        """The record."""
        (step,) = self.entries
        assert isinstance(step, Step)
        return step

    def repeated(self, times: int, said: Sequence[Remark]) -> Imported:
        """Where so many of its steps are one, with what is said of that."""
        found = self.found.times(times)
        changed: dict[str, object] = {"seconds": [times * each for each in self.step.seconds]}
        if self.step.phases is not None:
            phases = self.step.phases
            stated = {name: each for name, each in vars(phases).items() if each is not None}
            scaled = {name: [times * one for one in each] for name, each in stated.items()}
            changed["phases"] = phases.model_copy(update=scaled)
        if self.step.bytes is not None:
            sizes = {name: each for name, each in vars(self.step.bytes).items() if each is not None}
            scaled_sizes = {name: times * each for name, each in sizes.items()}
            changed["bytes"] = self.step.bytes.model_copy(update=scaled_sizes)
        return replace(
            self,
            entries=[self.step.model_copy(update=changed)],
            remarks=[*self.remarks, *said],
            notes=[*self.notes[:-1], _understood(found)],
            found=found,
        )


def observed(trace: Trace, found: Steps | None = None) -> Observed:
    """What a trace says of its steps; ``found``: where they were found already.

    Raises:
        InputError: no repeating step.
    """
    steps = (found or find_steps(trace)).processes
    processes = [trace.processes[each.process] for each in steps]
    untraced = trace.run.seconds_untraced
    taken = [native_steps(*each, untraced) for each in zip(processes, steps, strict=True)]
    slowest = int(np.argmax([each.median for each in taken]))
    native = taken[slowest]
    parts = parts_of(processes[slowest], steps[slowest])
    works = [work_of(*each) for each in zip(processes, steps, strict=True)]
    devices = [set(each.work["device"].tolist()) for each in processes]
    apart = sum(map(len, devices)) == len(set().union(*devices))
    return Observed(
        seconds=_evenly(native.seconds),
        alone=native.alone,
        parts=parts.lasting(native.median),
        work=StepWork(*np.sum([list(vars(each).values()) for each in works], axis=0).tolist()),
        gpus=len(set().union(*devices)) if apart else None,
        lost=any(_lost(each) for each in processes),
    )


def _lost(process: Process) -> bool:
    launches = [number for number, name in process.names.items() if "LaunchKernel" in name]
    launched = process.calls["name"].isin(launches).any()
    return bool(launched) and not bool((process.work["kind"] != tables.COPY).any())


def run_of(trace: Trace, found: Observed) -> Run:
    """The run that a trace is of."""
    said = _options(trace.run.command)
    stated = next((said[each] for each in _SIZE if each in said), None)
    parts, work = found.parts, found.work
    more: dict[str, object] = {}
    if trace.program == OWN:
        names = ("schedule", "kernel", "memory")
        more = {each: said[f"--{each}"] for each in names if f"--{each}" in said}
    if work.up or work.down:
        more["bytes"] = {"h2d": round(work.up), "d2h": round(work.down)}
        if work.between:
            more["bytes"] |= {"exchange": round(work.between)}  # type: ignore[operator]
    return Run(
        program=trace.program,
        line=None,
        seconds=tuple(found.seconds),
        n=None if stated is None else decimal(stated),
        gpus=found.gpus,
        unclear="its processes may have shared GPUs",
        case=said.get("--case"),
        ranks=len(trace.processes) if len(trace.processes) > 1 else None,
        phases={} if found.lost else {"kernel": parts.gpu, "cpu": parts.cpu, "calls": parts.com},
        caveat=None if found.alone else RECORDED,
        more=more,
    )


def read_records(path: str, options: Options) -> Imported:
    """The step record of a trace.

    Raises:
        InputError: no repeating step, or a size that nobody states.
    """
    trace = read(path)
    steps = find_steps(trace, options.range_name)
    found = observed(trace, steps)
    result = _imported(trace, found, path, options)
    (step,) = result.entries
    assert isinstance(step, Step)
    shape = shape_of(trace, steps, path, step.gpus)
    result.notes.append(_understood(found))
    return ImportedTrace(**vars(result), found=found, shape=shape)


def labels_of(step: Step) -> tuple[str | None, ...]:
    """Whose steps they are: those of one program have them all alike."""
    return tuple(getattr(step, name) for name in _LABELS)


def together(traces: Sequence[Imported], options: Options) -> list[Imported]:
    """Records of traces, those of one program as steps of the same stretch of it (``agreement``).

    Raises:
        InputError: what repeats is not the same stretch in all of them.
    """
    read = [each for each in traces if isinstance(each, ImportedTrace)]
    if options.range_name is not None:  # the user says what a step is
        return list(read)
    programs: dict[tuple[str | None, ...], list[ImportedTrace]] = {}
    for each in read:
        programs.setdefault(labels_of(each.step), []).append(each)
    made: dict[str, Imported] = {}
    for own in programs.values():
        shapes = [each.shape for each in own]
        times = repeats(shapes)
        said = unlike([each.a_gpu * often for each, often in zip(shapes, times, strict=True)])
        for each, often in zip(own, times, strict=True):
            taken = said_of_repeats([each.shape], [often])
            remarks = [remark(Kind.READ_AS, text, about="steps") for text in taken]
            made[each.shape.file] = each.repeated(
                often, [*remarks, *remarks_of(Kind.READ_AS, said)]
            )
            said = []  # once is enough
    return [made[each.shape.file] for each in read]


def _imported(trace: Trace, found: Observed, path: str, options: Options) -> Imported:
    run = run_of(trace, found)
    names = [name for name in dict.fromkeys(trace.run.machine.gpus) if name]
    said = [remark(Kind.LACKS, text, about=text) for text in trace.missing]
    if found.lost:
        said.append(remark(Kind.LACKS, LOST, about="kernels"))
    kept = Found([run], remarks=said, gpu_names=names)
    try:
        return imported(kept, path, options)
    except UnclearError as error:
        if error.field == "-n":
            error.message = (
                "its command line has no --n, and n is what the work grows with; state it by -n, "
                "or by --from-name 'n(?P<n>[0-9]+)' where files' names say it"
            )
        raise


def record_of(trace: Trace, steps: Steps, file: str, options: Options) -> Step:
    """The step record of a trace that was read, and whose steps were found.

    Raises:
        InputError: as ``read_records``.
    """
    (step,) = _imported(trace, observed(trace, steps), file, options).entries
    assert isinstance(step, Step)
    return step


def _understood(found: Observed) -> str:
    parts, work = found.parts, found.work
    counts = ", ".join(
        f"{number(round(each, 1))} {name}"
        for each, name in (
            (work.launches, "launches"), (work.copies, "copies"), (work.waits, "waits")
        )
    )  # fmt: skip
    return (
        f"a step of {duration(parts.seconds)}: T_gpu {duration(parts.gpu)}, "
        f"T_cpu {duration(parts.cpu)}, T_com {duration(parts.com)}; {counts}; "
        f"{size(round(work.up))} to the GPUs, {size(round(work.down))} back"
    )


def _options(command: Sequence[str]) -> dict[str, str]:
    """Options of a command line with their values, ``--n 4096`` or ``--n=4096``."""
    found: dict[str, str] = {}
    if not command:  # a folder that the recorder's library left by itself
        return found
    for word, following in zip(command, [*command[1:], ""], strict=True):
        name, is_set, value = word.partition("=")
        if name.startswith("--") and (is_set or following):
            found.setdefault(name, value if is_set else following)
    return found


def _evenly(seconds: NDArray[np.float64]) -> list[float]:
    """As many as are kept, in time: evenly of the sorted ones, so that their median stays."""
    if seconds.size <= MOST_SAMPLES:
        return [float(each) for each in seconds]
    places = (2 * np.arange(MOST_SAMPLES) + 1) * seconds.size // (2 * MOST_SAMPLES)
    kept = np.sort(np.argsort(seconds, kind="stable")[places])
    return [float(each) for each in seconds[kept]]


TRACES = PathFormat(
    "trace", "traces of CUDA calls: gpucast trace, nsys, Kineto", is_trace, read_records, together
)
"""For ``gpucast.data.loading``."""
