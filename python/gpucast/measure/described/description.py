"""The keys of a program's description."""

from __future__ import annotations

from collections.abc import Callable
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
"""Words that start the command line, by the launcher's name."""

OUTPUT = "output"
"""The name by which ``result.file`` means what a run prints."""


def _texts(convert: Callable[[str], object]) -> Callable[[object], object]:
    """Return a function that converts texts and leaves other values."""
    return lambda value: convert(value) if isinstance(value, str) else value


@_texts
def _launcher(value: str) -> object:
    if value not in LAUNCHERS:
        raise ValueError(
            f"{value!r} is no launcher{near(value, list(LAUNCHERS))}; or give its words as a list"
        )
    return LAUNCHERS[value]


_file = _texts(lambda name: {"from": name})
_listed = _texts(lambda word: [word])
_timestep = _texts(parse_timestep)  # a number is in seconds; a text has a unit, such as 2fs


@_texts
def _share(value: str) -> object:
    # YAML reads 1/4 (of a GPU) as a text.
    share = share_of(value)
    if share is None or share > 1:
        return value
    return share if share < 1 else 1


def _word(value: object) -> object:
    # YAML reads {n} without quotes as a mapping.
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
    """A file that is put into a run's folder.

    Attributes:
        from_: the file to copy, relative to the description's folder.
        text: instead of ``from``, the file's content, with placeholders.
        to: its name in the run's folder; by default that of ``from``.
    """

    from_: FileName | None = None
    text: str | None = None
    to: FileName | None = None


@dataclass(kw_only=True)
class Result:
    """Where a run states its step times: exactly one of importer, regex, json, json_lines, csv.

    Attributes:
        importer: name of a format that ``gpucast import`` reads.
        regex: expression with one named group, which is a number in each match.
        json_: path to a number or a list of numbers, such as ``timing.steps[*].ms``, in the whole
            output or in the last line that is a JSON object.
        json_lines: the same path, looked up in every line that is a JSON object.
        csv: name of a CSV column.
        file: the file to read in the run's folder; by default what the run prints.
        unit: the numbers' unit: s, ms, steps/s, samples/s, ns/day.
        timestep: simulated time per step (s, or with a unit); ns/day needs it.
        skip: how many numbers to leave out at the start, for warm-up steps.
        pick: whether to take the last or all of several runs that an importer finds in a log.
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
        """Those of the five ways to find the numbers that are given."""
        ways = {"importer": self.importer, "regex": self.regex, "json": self.json_,
                "json_lines": self.json_lines, "csv": self.csv}  # fmt: skip
        return {name: value for name, value in ways.items() if value is not None}


@dataclass(kw_only=True)
class Program:
    """A program and how it is measured.

    Attributes:
        program, case, unit: as in records.
        path: how the GPUs are reached; with ``host``, ``gpus`` counts processor cores.
        command: words of the command line, with placeholders; no shell reads them.
        launcher: words that come first, with placeholders.
        ranks: number of processes; by default the GPU count if there is a launcher, else 1.
        gpus_per_node: GPUs of each node; by default all are on one node.
        environment: variables that are set in addition to those of the caller.
        files: files that are put into each run's folder.
        sizes: n, or n with the program's own variables.
        gpus: GPU counts; 1/4 means four instances at once on one GPU (path host: on its cores).
        cores_per_gpu: on path host, the processor cores that a run is confined to for each of its
            gpus; by default it is not confined.
        warmup: runs in each visit that are not counted; ``repeats``: those after them that are.
        time_limit: longest time of one run (s).
        success: texts that a successful run prints.
        lines: the line of each value, for error messages.
        variables: the program's own variables for each size.
        folder: the description's folder, to which file names are relative.
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
        """What its GPU counts count: GPUs or processor cores."""
        return device(self.path, self.cores_per_gpu)


def as_written(location: Location) -> bool:
    """Whether a plain scalar here is kept as text: a program gets ``0.10`` and ``1e6`` as
    written."""
    return location[:1] in (("command",), ("launcher",), ("environment",), ("success",)) or (
        location[:1] == ("sizes",) and len(location) == 3
    )
