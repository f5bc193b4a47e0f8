"""Fits a model of another path to traces of several sizes and GPU counts.

Each trace is a cell: its step is forecast on the path (``forecast``). The model of any program's
steps (``fitting.scaling``) is then fitted to these cells and forecasts others. If the program makes
the same calls at all n, cells are added at sizes that were not traced, from its workload
(``workload``), because the model's forms do not know how copies grow on a path.

**Common error.** More traces do not reduce the error of call times on the path: it has variance
s_i^2 = ``EXTRA``^2 (1 - T_native / T) in cell i and is common to all cells. The model has one
factor on T_com for it, which no fit averages out (``model.intervals``). A measurement scatters
around the expected step by ``NATIVE`` in addition, as for one trace.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, from_records
from gpucast.data.formats import Options
from gpucast.data.records import Machine, Step
from gpucast.data.traces.agreement import repeats, said_of_repeats, shape_of, unlike
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.parts import Ints, StepParts, Union
from gpucast.data.traces.reading import read
from gpucast.data.traces.records import LOST, labels_of, record_of
from gpucast.errors import InputError
from gpucast.fitting.scaling import FEWEST_CELLS, fit_scaling
from gpucast.fitting.selection import problem_of
from gpucast.model.adjustments import SimulatedCell, SimulatedSteps
from gpucast.model.content import Domain, FittedSteps, Source
from gpucast.model.fitted import Model
from gpucast.paths.traced.forecast import EXTRA, NATIVE
from gpucast.paths.traced.from_trace import (
    refused_calls,
    refused_in_words,
    traced_programs,
    warnings_of,
)
from gpucast.paths.traced.network import Network
from gpucast.paths.traced.path import PathCosts, path_costs, takes_on
from gpucast.paths.traced.program import CallProgram, Operation, Seconds
from gpucast.paths.traced.timeline import Takes, median_seconds, native_seconds, steady, times_of
from gpucast.paths.traced.workload import Traced, workload_of
from gpucast.util.remarks import Kind, remarks_of

BEYOND = (4.0, 16.0, 64.0)
"""Factors above the largest traced size at which cells are added; below the smallest, all but the
last."""
SCALED = 0.05
"""Sd of ln of a step of a scaled workload around a traced one, without its kernels
(docs/explanation/traces.md)."""
PLAIN = Options()
"""Options when traces state everything."""
LEAST_EXTRA = 0.01
"""Least share of a step that is not native."""
LEAST_SD = 0.05
"""Least sd of the factor on T_com."""


@dataclass(frozen=True)
class CellOnPath:
    """A traced cell on a path.

    Attributes:
        step: the native step record.
        native: native step time (s); seconds, parts: step time and its parts on the path.
        traced: its calls; missed: time (s) of the native step that the simulation misses; share:
            steps in one repetition of the trace.
        warnings: about the trace.
        unknown: sd of ln of the step by the scaling of its workload; 0 if it was traced.
    """

    step: Step
    native: float
    seconds: float
    parts: StepParts
    traced: Traced
    missed: float = 0.0
    share: float = 1.0
    warnings: tuple[str, ...] = ()
    unknown: float = 0.0

    @property
    def sd(self) -> float:
        """Sd of ln of the step by the error of call times on the path."""
        return float(EXTRA * np.sqrt(max(1 - self.native / self.seconds, LEAST_EXTRA)))

    def record(self, path: str) -> Step:
        """Return the step on the path as a record."""
        parts = {"kernel": self.parts.gpu, "cpu": self.parts.cpu, "calls": self.parts.com}
        kept = ("machine", "program", "case", "n", "unit", "gpus", "ranks")
        return jsonl.made(
            Step,
            path=path,
            seconds=[self.seconds],
            phases={name: [value] for name, value in parts.items()},
            # The record's uncertainty is uniform, as of a rounded number.
            uncertainty=float(np.sqrt(3)) * self.unknown or None,
            **{name: getattr(self.step, name) for name in kept},
        )


@dataclass(frozen=True)
class PathModel:
    """A model of a path from several traces, its cells, and the functions that the program calls
    and remote GPUs refuse."""

    model: Model
    cells: tuple[CellOnPath, ...]
    refused: tuple[str, ...] = ()


def path_model(
    files: Sequence[str],
    data: Dataset,
    path: str,
    *,
    options: Options = PLAIN,
    machine: str | None = None,
    network: Network | None = None,
) -> PathModel:
    """Fit a model of traced programs' steps on a path.

    Args:
        files: traces of one program with several sizes or GPU counts.
        data: launches and transfers of that path, and native ones if available.
        options: what the traces do not state: size, GPUs, the range that is a step.
        network: a network other than the one of the measurements.

    Raises:
        InputError: a trace has no repeating step or no size, traces are of several programs, or
            there are too few cells.
    """
    costs = path_costs(data, path, machine=machine, network=network)
    read_traces, shapes = [], []
    refused: dict[str, None] = {}
    for number, file in enumerate(files):
        if any(os.path.realpath(file) == os.path.realpath(other) for other in files[:number]):
            raise InputError("is given twice; its cell would count twice", file=file)
        trace = read(file)
        steps = find_steps(trace, options.range_name)
        programs = traced_programs(trace, steps=steps)
        record = record_of(trace, steps, file, options)
        read_traces.append((file, programs, record))
        shapes.append(shape_of(trace, steps, file, record.gpus))
        if costs.ours:
            refused.update(dict.fromkeys(refused_calls(trace, programs)))
    _one_program([step for *_, step in read_traces], ", ".join(files))
    times = repeats(shapes) if options.range_name is None else [1] * len(shapes)
    cells = [
        cell_on(step, programs, costs, share=share, file=file)
        for (file, programs, step), share in zip(read_traces, times, strict=True)
    ]
    lines = said_of_repeats(shapes, times)
    cells[0] = replace(cells[0], warnings=(*lines, *cells[0].warnings))
    return fitted(cells, data, costs, ", ".join(files), tuple(refused))


def cell_on(
    step: Step,
    programs: Sequence[CallProgram],
    costs: PathCosts,
    share: float = 1,
    file: str = "",
) -> CellOnPath:
    """Forecast a traced cell on a path from the slowest of its processes. ``share``: steps of the
    record in one step of the programs. ``file``: the trace.
    """
    on_path = [seconds_on(program, costs) for program in programs]
    program = programs[int(np.argmax(on_path))]
    native = native_seconds(program)
    missed = native - float(median_seconds(program)[0])
    seconds = max(on_path) + missed
    return CellOnPath(
        step=step,
        native=share * native,
        seconds=share * seconds,
        parts=parts_on(program, takes_on(program, costs)).times(share).lasting(share * seconds),
        traced=Traced(float(step.n), step.gpus, program),
        missed=missed,
        share=share,
        warnings=(*program.warnings, *warnings_of(programs), *_lost(programs, file)),
    )


def seconds_on(program: CallProgram, costs: PathCosts) -> float:
    """Return the median step time (s) on a path."""
    return float(median_seconds(program, takes_on(program, costs))[0])


def parts_on(program: CallProgram, takes: Takes) -> StepParts:
    """Return T_gpu, T_cpu and T_com of a step, as ``traces.parts`` does for recorded steps, as
    means over the steady steps."""
    times = times_of(program, takes)
    begin, end, work, done = (column[:, 0] for column in vars(times).values())
    bounds = np.append(begin, end.max())[program.bound_call] - program.bound_offset
    begins, ends = (steady(edges) for edges in (bounds[:-1], bounds[1:]))
    works = np.isfinite(work)
    drives = program.thread == program.thread[np.minimum(program.bound_call[0], len(program) - 1)]
    computing = _union(work, done, works & program.computes)
    busy = computing | _union(work, done, works) | _union(begin, end, drives)
    first, last = _ns(begins), _ns(ends)
    gpu, either = (float(union.within(first, last).mean()) for union in (computing, busy))
    length = float((last - first).mean())
    return StepParts(gpu / 1e9, (length - either) / 1e9, (either - gpu) / 1e9)


def _union(begin: Seconds, end: Seconds, own: np.ndarray) -> Union:
    return Union.of(_ns(begin[own]), _ns(end[own]))


def _ns(seconds: Seconds) -> Ints:
    return np.asarray(np.round(seconds * 1e9), np.int64)


def _lost(programs: Sequence[CallProgram], file: str) -> list[str]:
    launches = [program.seconds[program.operation == Operation.launch] for program in programs]
    seconds = np.concatenate(launches)
    return [f"{file}: {LOST}"] if seconds.size and not seconds.any() else []


def fitted(
    cells: Sequence[CellOnPath],
    data: Dataset,
    costs: PathCosts,
    name: str,
    refused: tuple[str, ...] = (),
) -> PathModel:
    """Fit a model to cells on a path. ``name`` is that of the traces, ``refused`` are functions
    that they call and remote GPUs refuse.

    Raises:
        InputError: there are too few cells, or they are of several programs.
    """
    known = {(cell.step.n, cell.step.gpus) for cell in cells}
    if len(known) < FEWEST_CELLS:
        raise InputError(
            f"{len(known)} sizes and GPU counts: a model needs {FEWEST_CELLS}; of one trace alone "
            "gpucast what-if answers without -o",
            file=name,
        )
    _one_program([cell.step for cell in cells], name)
    path = costs.name
    machine = jsonl.made(Machine, id=str(cells[0].step.machine))
    everything = [*cells, *scaled_cells(cells, costs)]
    records = from_records(name, [machine, *(cell.record(path) for cell in everything)])
    model = fit_scaling(problem_of(records), look_ahead=False)
    assert model.scaling is not None
    parts = unlike([cell.share * cell.traced.launches / cell.step.gpus for cell in cells])
    doubts = [*([refused_in_words(refused, path)] if refused else []), *parts]
    sizes, counts = zip(*known, strict=True)
    source = Source(path=path, data=data.name, digest=data.digest, launch="trace")
    about = {**vars(model.data), "name": name, "digest": records.digest, "path": "native"}
    about["what_if"] = source
    assumptions = dict.fromkeys(warning for cell in cells for warning in cell.warnings)
    assumptions |= dict.fromkeys(parts)
    fitted_model = replace(
        model,
        name=f"{model.name} on {path}",
        data=FittedSteps(**about),
        domain=Domain(n=(min(sizes), max(sizes)), gpus=(min(counts), max(counts))),
        scaling=replace(model.scaling, traced=True, doubts=doubts),
        simulated=SimulatedSteps(
            com=common_sd(cells),
            visit=NATIVE,
            cells=[
                SimulatedCell(n=float(cell.step.n), gpus=cell.step.gpus, sd=cell.sd)
                for cell in cells
            ],
        ),
        noise=replace(model.noise, sample=float(np.hypot(model.noise.between_cells, NATIVE))),
        remarks=[
            *model.remarks,
            *remarks_of(Kind.ASSUMED, [*assumptions, *costs.warnings]),
        ],
    )
    return PathModel(fitted_model, tuple(cells), refused)


def _one_program(steps: Sequence[Step], name: str) -> None:
    labels = {labels_of(step) for step in steps}
    if len(labels) > 1:
        listed = "; ".join(" ".join(filter(None, label)) for label in sorted(labels, key=str))
        raise InputError(f"traces of several programs or cases: {listed}", file=name)


def scaled_cells(cells: Sequence[CellOnPath], costs: PathCosts) -> list[CellOnPath]:
    """Return cells between and beyond the traced ones, from the workload on each GPU count."""
    scaled = []
    for gpus in sorted({cell.step.gpus for cell in cells}):
        own = {float(cell.step.n): cell for cell in cells if cell.step.gpus == gpus}
        workload = workload_of([cell.traced for cell in own.values()])
        if workload is None:
            continue
        for n in _between_and_beyond(sorted(own)):
            made, sd = workload.at(n, costs)
            near = own[min(own, key=lambda cell: abs(np.log(cell / n)))]
            seconds = near.share * (seconds_on(made.program, costs) + near.missed)
            on_path = parts_on(made.program, takes_on(made.program, costs))
            parts = on_path.times(near.share).lasting(seconds)
            unknown = float(np.hypot(SCALED, sd * parts.gpu / parts.seconds))
            step = replace(near.step, n=n)
            scaled.append(
                replace(
                    near, step=step, seconds=seconds, parts=parts, traced=made, unknown=unknown,
                )
            )  # fmt: skip
    return scaled


def _between_and_beyond(sizes: Sequence[float]) -> list[float]:
    middle = [float(np.sqrt(low * high)) for low, high in itertools.pairwise(sizes)]
    beyond = [sizes[-1] * times for times in BEYOND] + [sizes[0] / times for times in BEYOND[:-1]]
    return sorted(float(round(n)) for n in (*middle, *beyond) if n >= 1)


def common_sd(cells: Sequence[CellOnPath]) -> float:
    """Return the sd of ln of the common factor on T_com, by least squares over cells."""
    shares = np.array([cell.parts.com / cell.parts.seconds for cell in cells])
    moved = np.array([cell.sd for cell in cells])
    return max(LEAST_SD, float(shares @ moved / max(shares @ shares, 1e-12)))
