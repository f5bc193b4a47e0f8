"""Traces of several sizes and GPU counts as a model of another path.

Each trace is a cell: its steps are simulated on the path, as ``forecast`` does with one. What fits
go through any program's steps (``fitting.scaling``) then goes through these, and forecasts what
nobody traced. Where the program's calls stay the same as n grows, cells are simulated also at sizes
that nobody traced, from its workload (``workload``): forms know little of what copies cost on a
path as they grow.

**What all cells have in common.** The path's costs are not known better by more traces. Each draw
of them (``forecast.draws_of``) is therefore made of all cells at once, and moves cell i by

    ln T_i' - ln T_i = s_i d,    s_i = T_com / T of the cell,

with one d for all: its standard deviation, by least squares over cells and draws, is the model's
factor on T_com, which no fit averages out (``model.intervals``). A measurement differs from the
expected step by what visits differ, too (``PathCosts.spread_visit``).
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
from gpucast.data.records import Step
from gpucast.data.traces.agreement import repeats, said_of_repeats, shape_of, unlike
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.parts import StepParts
from gpucast.data.traces.reading import read
from gpucast.data.traces.records import LOST, labels_of, record_of
from gpucast.errors import InputError
from gpucast.fitting.scaling import FEWEST_CELLS, fit_scaling
from gpucast.fitting.selection import pose
from gpucast.model.content import Domain, FittedSteps, Source
from gpucast.model.scaling import ScalingModel
from gpucast.model.scaling_content import SimulatedCell, SimulatedSteps
from gpucast.paths.replay.forecast import KERNELS, draws_of
from gpucast.paths.replay.from_trace import (
    refused_calls,
    refused_in_words,
    traced_programs,
    warnings_of,
)
from gpucast.paths.replay.network import Network
from gpucast.paths.replay.path import PathCosts
from gpucast.paths.replay.program import CallProgram, Operation, Seconds
from gpucast.paths.replay.skeletons import step_costs
from gpucast.paths.replay.step_times import median_seconds, native_seconds, parts_on
from gpucast.paths.replay.workload import Traced, workload_of
from gpucast.util.remarks import Kind, remarks_of

BEYOND = (4.0, 16.0, 64.0)
"""Times the largest traced size, to which workloads are followed; below the least, not the last."""
SCALED = 0.05
"""Sd of ln of a step of a scaled workload about one that was traced, its kernels' aside:
docs/explanation/traces.md."""
DRAWS = 60
"""Draws of the path's costs, which tell their standard deviation to a tenth."""
PLAIN = Options()
"""Traces say everything themselves."""
LEAST_SD = 0.05
"""The factor on T_com is known no better: ``COMMON``, below which draws do not go."""


@dataclass(frozen=True)
class CellOnPath:
    """A traced cell on a path.

    Attributes:
        step: the native step record.
        native: s of a step; seconds: on the path, parts: likewise.
        drawn: s of the step for each draw of the path's costs.
        traced: its calls; missed: s of the native step that their simulation misses; share: of
            what was simulated, that is a step.
        warnings: of the trace.
        unknown: sd of ln of the step by what is not known of its workload; 0: it was traced.
    """

    step: Step
    native: float
    seconds: float
    parts: StepParts
    drawn: Seconds
    traced: Traced
    missed: float = 0.0
    share: float = 1.0
    warnings: tuple[str, ...] = ()
    unknown: float = 0.0

    @property
    def sd(self) -> float:
        """Sd of ln of the step by the path's costs, about what was simulated."""
        return float(np.sqrt(np.mean(np.square(np.log(self.drawn / self.seconds)))))

    def record(self, path: str) -> Step:
        """The step on the path, as if it had been measured."""
        parts = {"kernel": self.parts.gpu, "cpu": self.parts.cpu, "calls": self.parts.com}
        kept = ("machine", "program", "case", "n", "unit", "gpus", "ranks")
        made = {
            "kind": "step",
            "path": path,
            "seconds": [self.seconds],
            "phases": {name: [value] for name, value in parts.items()},
            # Even between two ends, as a rounded number is.
            "uncertainty": float(np.sqrt(3)) * self.unknown or None,
            **{name: getattr(self.step, name) for name in kept},
        }
        record = jsonl.record({key: value for key, value in made.items() if value is not None})
        assert isinstance(record, Step)
        return record


@dataclass(frozen=True)
class PathModel:
    """What several traces say of a path: a model of it, the cells it goes through, and functions
    that the program calls and remote GPUs refuse."""

    model: ScalingModel
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
    seed: int = 1,
) -> PathModel:
    """A model of traced programs' steps on a path.

    Args:
        files: traces of one program, several sizes or GPU counts.
        data: launches and transfers of that path, native ones beside them if there are.
        options: what the traces do not say: size, GPUs, which range is a step.
        network: another network than the path was measured on.

    Raises:
        InputError: a trace without a repeating step or a size, traces of several programs, or too
            few cells.
    """
    costs = step_costs(data, path, machine=machine, network=network)
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
        refused.update(dict.fromkeys(refused_calls(trace, programs)))
    _one_program([step for *_, step in read_traces], ", ".join(files))
    times = repeats(shapes) if options.range_name is None else [1] * len(shapes)
    cells = [
        cell_on(step, programs, costs, seed, share=share, file=file)
        for (file, programs, step), share in zip(read_traces, times, strict=True)
    ]
    lines = said_of_repeats(shapes, times)
    cells[0] = replace(cells[0], warnings=(*lines, *cells[0].warnings))
    return fitted(cells, data, costs, ", ".join(files), tuple(refused))


def cell_on(
    step: Step,
    programs: Sequence[CallProgram],
    costs: PathCosts,
    seed: int = 1,
    share: float = 1,
    file: str = "",
) -> CellOnPath:
    """A traced cell on a path: the slowest of its processes.

    ``seed``: the same for all cells, so that their draws are of the same costs. ``share``: steps of
    the record in one of the programs'. ``file``: of the trace.
    """
    there = [median_seconds(program, costs) for program in programs]
    program = programs[int(np.argmax(there))]
    native = native_seconds(program)
    missed = native - median_seconds(program)
    seconds = max(there) + missed
    draws = draws_of(costs, DRAWS, seed)
    drawn = [float(np.median(draw.step_seconds(program))) + missed for draw in draws]
    return CellOnPath(
        step=step,
        native=share * native,
        seconds=share * seconds,
        parts=parts_on(program, costs).times(share).lasting(share * seconds),
        drawn=share * np.array(drawn),
        traced=Traced(float(step.n), step.gpus, program),
        missed=missed,
        share=share,
        warnings=(*program.warnings, *warnings_of(programs), *_lost(programs, file)),
    )


def _lost(programs: Sequence[CallProgram], file: str) -> list[str]:
    launches = [one.seconds[one.operation == Operation.launch] for one in programs]
    seconds = np.concatenate(launches)
    return [f"{file}: {LOST}"] if seconds.size and not seconds.any() else []


def fitted(
    cells: Sequence[CellOnPath],
    data: Dataset,
    costs: PathCosts,
    name: str,
    refused: tuple[str, ...] = (),
) -> PathModel:
    """The model that goes through cells on a path; ``name``: of the traces, ``refused``: what they
    call that remote GPUs refuse.

    Raises:
        InputError: too few cells, or of several programs.
    """
    known = {(cell.step.n, cell.step.gpus) for cell in cells}
    if len(known) < FEWEST_CELLS:
        raise InputError(
            f"{len(known)} sizes and GPU counts: a model needs {FEWEST_CELLS}; of one trace alone "
            "gpucast what-if answers without -o",
            file=name,
        )
    _one_program([cell.step for cell in cells], name)
    path = costs.path if costs.network is None else f"{costs.path} over {costs.network}"
    machine = jsonl.record({"kind": "machine", "id": str(cells[0].step.machine)})
    everything = [*cells, *scaled_cells(cells, costs)]
    records = from_records(name, [machine, *(cell.record(path) for cell in everything)])
    model = fit_scaling(pose(records), look_ahead=False)
    parts = unlike([cell.share * cell.traced.launches / cell.step.gpus for cell in cells])
    doubts = [*([refused_in_words(refused, path)] if refused else []), *parts]
    sizes, counts = zip(*known, strict=True)
    source = Source(path=path, data=data.name, digest=data.digest, launch="trace")
    about = {**vars(model.data), "name": name, "digest": records.digest, "path": "native"}
    about["what_if"] = source
    said_of_cells = dict.fromkeys(warning for cell in cells for warning in cell.warnings)
    said_of_cells |= dict.fromkeys(parts)
    fitted_model = replace(
        model,
        name=f"{model.name} on {path}",
        data=FittedSteps(**about),
        domain=Domain(n=(min(sizes), max(sizes)), gpus=(min(counts), max(counts))),
        scaling=replace(model.scaling, traced=True, doubts=doubts),
        simulated=SimulatedSteps(
            com=common_sd(cells),
            visit=costs.spread_visit,
            kernels=KERNELS,
            cells=[
                SimulatedCell(n=float(cell.step.n), gpus=cell.step.gpus, sd=cell.sd)
                for cell in cells
            ],
        ),
        noise=replace(
            model.noise, sample=float(np.hypot(model.noise.between_cells, costs.spread_visit))
        ),
        remarks=[
            *model.remarks,
            *remarks_of(Kind.ASSUMED, [*said_of_cells, *costs.warnings]),
        ],
    )
    return PathModel(fitted_model, tuple(cells), refused)


def _one_program(steps: Sequence[Step], name: str) -> None:
    labels = {labels_of(step) for step in steps}
    if len(labels) > 1:
        listed = "; ".join(" ".join(filter(None, label)) for label in sorted(labels, key=str))
        raise InputError(f"traces of several programs or cases: {listed}", file=name)


def scaled_cells(cells: Sequence[CellOnPath], costs: PathCosts) -> list[CellOnPath]:
    """Cells between the traced ones and beyond, from the program's workload on as many GPUs."""
    scaled = []
    for gpus in sorted({cell.step.gpus for cell in cells}):
        own = {float(cell.step.n): cell for cell in cells if cell.step.gpus == gpus}
        workload = workload_of([cell.traced for cell in own.values()])
        if workload is None:
            continue
        for n in _between_and_beyond(sorted(own)):
            made, sd = workload.at(n, costs)
            near = own[min(own, key=lambda cell: abs(np.log(cell / n)))]
            seconds = near.share * (median_seconds(made.program, costs) + near.missed)
            parts = parts_on(made.program, costs).times(near.share).lasting(seconds)
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
    """Standard deviation of d, by least squares over cells and draws."""
    shares = np.array([cell.parts.com / cell.parts.seconds for cell in cells])
    moved = np.array([np.log(cell.drawn / cell.seconds) for cell in cells])
    d = shares @ moved / (shares @ shares)
    # What d does not explain is a cell's own, but comes of the same costs: it is kept with it.
    left = np.square(moved - np.outer(shares, d)).sum() / (shares @ shares)
    return max(LEAST_SD, float(np.sqrt(np.mean(np.square(d)) + left / d.size)))
