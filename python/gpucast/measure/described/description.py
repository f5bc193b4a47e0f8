"""The keys of a program's description."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from gpucast.data.records import Label, whole
from gpucast.data.workload import LARGEST_GPUS
from gpucast.util.gpu_shares import Device, device, share_of
from gpucast.util.typed_json import Bounds, Length, Location, Pattern, near, shown
from gpucast.util.units import parse_timestep
from gpucast.util.yaml_lines import Lines, seconds

LAUNCHERS: dict[str, list[str]] = {
    "none": [],
    "mpirun": ["mpirun", "-np", "{ranks}"],
    "srun": ["srun", "--nodes={nodes}", "--ntasks={ranks}", "--input=none"],
    "torchrun": ["torchrun", "--standalone", "--nproc_per_node={ranks}"],
}
"""Words before the command, by name."""

OUTPUT = "output"
"""What a run prints, as ``result.file`` calls it."""


def _launcher(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in LAUNCHERS:
        raise ValueError(
            f"{value!r} is no launcher{near(value, list(LAUNCHERS))}; or give its words as a list"
        )
    return LAUNCHERS[value]


def _file(value: object) -> object:
    return {"from": value} if isinstance(value, str) else value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _timestep(value: object) -> object:
    # 2 fs in SI units, as elsewhere, or with a unit.
    return parse_timestep(value) if isinstance(value, str) else value


def _share(value: object) -> object:
    # 1/4 of a GPU: YAML takes it for a text.
    share = share_of(value) if isinstance(value, str) else None
    if share is None or share > 1:
        return value
    return share if share < 1 else 1


def _word(value: object) -> object:
    # Without quotes {n} is a mapping to YAML.
    if isinstance(value, dict) and len(value) == 1 and not any(value.values()):
        raise ValueError(f'needs quotes: "{{{next(iter(value))}}}"')
    return value


def _sizes(value: object) -> object:
    if not isinstance(value, (list, dict)):
        raise ValueError(f"must be a list, or sizes with variables, got {shown(value)}")
    return value


_Word = Annotated[str, Pattern(r"[^\x00]*", "has a null character")]
Word = Annotated[_Word, _word]
Words = Annotated[list[Word], Length()]
FileName = Annotated[str, Pattern(r"[^\x00-\x1f\x7f]+", "has control characters")]
Text = Annotated[str, Length()]
Positive = Annotated[float, Bounds(above=0)]
Gpus = Annotated[int, whole, Bounds(least=1, most=LARGEST_GPUS)]
Few = Annotated[int, whole, Bounds(least=0, most=1000)]


@dataclass(kw_only=True)
class File:
    """A file that a run finds in its folder.

    Attributes:
        from_: copied, relative to the description's folder.
        text: its content, with placeholders, instead.
        to: its name in the run's folder; that of ``from`` where not given.
    """

    from_: FileName | None = None
    text: str | None = None
    to: FileName | None = None


@dataclass(kw_only=True)
class Result:
    """Where a run says how long its steps took; one of importer, regex, json, json_lines and csv.

    Attributes:
        importer: name of a format that ``gpucast import`` reads.
        regex: expression with one named group, a number each time it is found.
        json_: path to a number or a list of such, ``timing.steps[*].ms``, in the whole output or in
            the last line that is an object.
        json_lines: the same in every line that is an object and has it.
        csv: name of a column.
        file: in the run's folder; what it prints where not given.
        unit: of the numbers: s, ms, steps/s, samples/s, ns/day.
        timestep: simulated time of a step (s, or with a unit), which ns/day needs.
        skip: numbers left out, from the first: steps that warm up.
        pick: of several runs in a log that an importer reads, the last or all.
    """

    importer: Label | None = None
    regex: Text | None = None
    json_: Text | None = None
    json_lines: Text | None = None
    csv: Text | None = None
    file: FileName | None = None
    unit: Label = "s"
    timestep: Annotated[Positive | None, _timestep] = None
    skip: Annotated[int, whole, Bounds(least=0)] = 0
    pick: Literal["last", "all"] = "last"

    @property
    def ways(self) -> dict[str, str]:
        """The ways to the numbers, of the five, that are given."""
        ways = {"importer": self.importer, "regex": self.regex, "json": self.json_,
                "json_lines": self.json_lines, "csv": self.csv}  # fmt: skip
        return {name: value for name, value in ways.items() if value is not None}


@dataclass(kw_only=True)
class Program:
    """A program and how it is measured.

    Attributes:
        program, case, unit: as in records.
        path: how the GPUs are reached; ``host``: no GPUs, ``gpus`` counts processor cores.
        command: words, with placeholders; no shell reads them.
        launcher: words before them, with placeholders.
        ranks: processes; the GPU count where a launcher starts them.
        gpus_per_node: of several nodes; one node where not given.
        environment: variables, beside those that are there.
        files: that each run finds in its folder.
        sizes: n, or n with the program's own variables.
        gpus: counts; 1/4: four instances at once on one GPU (path host: on its cores).
        cores_per_gpu: path host: processor cores that a run is confined to, for each of its gpus;
            not confined where not given.
        warmup: runs before those that count, in each visit; ``repeats``: those that count.
        time_limit: of one run, s.
        success: texts that must be in what a successful run prints.
        lines: where its values stand, for messages.
        variables: the program's own of each size.
        folder: where the description lies: its files' names are relative to it.
    """

    program: Label
    case: Label | None = None
    unit: Label | None = None
    path: Label = "native"
    command: Words
    launcher: Annotated[list[Word], _launcher] = field(default_factory=list)
    ranks: Annotated[_Word | Annotated[int, Bounds(least=1)] | None, _word] = None
    gpus_per_node: Gpus | None = None
    environment: dict[str, Word] = field(default_factory=dict)
    files: list[Annotated[File, _file]] = field(default_factory=list)
    sizes: Annotated[list[object] | dict[str, dict[str, Word] | None], _sizes]
    gpus: Annotated[list[Annotated[Fraction | Gpus, _share]], Length()]
    cores_per_gpu: Gpus | None = None
    result: Result
    warmup: Few = 0
    repeats: Annotated[Few, Bounds(least=1)] = 1
    time_limit: Annotated[Positive | None, seconds] = None
    success: Annotated[list[Word], _listed] = field(default_factory=list)
    lines: Lines = field(default_factory=lambda: Lines(None), metadata={"key": None})
    variables: dict[float, dict[str, str]] = field(default_factory=dict, metadata={"key": None})
    folder: Path = field(default_factory=Path, metadata={"key": None})

    @property
    def device(self) -> Device:
        """What its GPU counts count."""
        return device(self.path, self.cores_per_gpu)


def as_written(location: Location) -> bool:
    """Where a plain scalar is a text: ``0.10`` and ``1e6`` reach a program as they stand."""
    return location[:1] in (("command",), ("launcher",), ("environment",), ("success",)) or (
        location[:1] == ("sizes",) and len(location) == 3
    )
