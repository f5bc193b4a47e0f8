"""``gpucast what-if TRACE``: a step of a traced program on another path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from gpucast.cli import remarks
from gpucast.cli.figure_files import check_figure
from gpucast.cli.output import print_json, say
from gpucast.errors import InputError
from gpucast.replay.causes import Cause
from gpucast.replay.forecast import TraceForecast
from gpucast.replay.from_trace import refused_in_words
from gpucast.util.files import check_output
from gpucast.util.remarks import Kind, remarks_of
from gpucast.util.tables import print_table
from gpucast.util.units import duration, number, percent

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.replay.maps import NetworkMap
    from gpucast.replay.network import Network

MUCH = 0.05
"""Share of a native step; about less nobody does anything."""
NOT_LONGER = "\nA step takes no longer there; what calls cost beyond what they cost natively:\n"


@dataclass(frozen=True)
class Asked:
    """The command's options for traces."""

    data: list[str]
    path: str | None
    machine: str | None
    network: str | None
    range_name: str | None
    from_name: str | None
    size: float | None
    explain: bool
    json: bool
    force: bool

    def of_path(self) -> tuple[Dataset, str, Network | None]:
        """The dataset, its path, and the network. Raises InputError."""
        from gpucast.cli.loading import load
        from gpucast.replay.network import parse_network

        if self.path is None:
            raise InputError("which path the trace is to be made on", field="--path")
        if not self.data:
            raise InputError("a dataset with launches and transfers of that path", field="--data")
        between = None if self.network is None else parse_network(self.network)
        return load(*self.data), self.path, between


def answer(file: str, asked: Asked, *, map_to: Path | None = None) -> None:
    """Forecast and print; ``map_to``: a figure over round trip and bandwidth.

    Raises:
        InputError: the trace, the dataset or an option is wrong.
    """
    from gpucast.replay.forecast import trace_on_path
    from gpucast.traces import read
    from gpucast.traces.finding_steps import find_steps

    for name, value in (("-n", asked.size), ("--from-name", asked.from_name)):
        if value is not None:
            raise InputError(
                "is for a model of several traces (-o); of one trace nothing depends on it",
                file=file,
                field=name,
            )
    if map_to is not None:
        check_figure(map_to, force=asked.force)
    data, path, network = asked.of_path()
    how: _How = {"machine": asked.machine, "network": network}
    trace = read(file)
    steps = find_steps(trace, asked.range_name)
    found = trace_on_path(trace, data, path, steps=steps, **how)
    remarks.of_fit(remarks_of(Kind.ASSUMED, found.warnings), explain=asked.explain)
    answered = content(found)
    if map_to is not None:
        from gpucast.plots import network_map as figure
        from gpucast.plots import style
        from gpucast.replay.maps import network_map

        over = network_map(trace, data, path, steps=steps, native=found.native, **how)
        style.save(figure.network_map(over), map_to, force=asked.force)
        answered["map"] = map_content(over)
    if asked.json:
        print_json(answered)
        return
    show(found)
    if map_to is not None:
        say(f"\n{over.sentence}.\nwritten: {map_to}")


class _How(TypedDict):
    machine: str | None
    network: Network | None


def write_model(
    names: list[str], asked: Asked, output: Path | None, *, map_to: Path | None = None
) -> None:
    """Simulate several traces, and write a model of the path.

    Raises:
        InputError: a trace, the dataset or an option is wrong, or the traces are too few.
    """
    from gpucast.data.formats import Options
    from gpucast.data.formats.several import check_stated
    from gpucast.replay.models import path_model

    if map_to is not None:
        raise InputError("is of one trace", field="--map")
    if output is None:
        raise InputError("where to write the model of several traces is needed", field="-o")
    check_output(output, force=asked.force)
    data, path, network = asked.of_path()
    options = Options(range_name=asked.range_name, from_name=asked.from_name, size=asked.size)
    check_stated(options)
    found = path_model(names, data, path, options=options, machine=asked.machine, network=network)
    found.model.save(output, force=asked.force)
    remarks.of_fit(found.model.remarks, explain=asked.explain)
    if asked.json:
        cells = [
            {
                "n": each.step.n,
                "gpus": each.step.gpus,
                "native": each.native,
                "seconds": each.seconds,
                "t_gpu": each.parts.gpu,
                "t_cpu": each.parts.cpu,
                "t_com": each.parts.com,
            }
            for each in found.cells
        ]
        refused = {"runs_there": not found.refused, "refused_calls": list(found.refused)}
        print_json({**found.model.content, "traces": cells, **refused})
        return
    _say_refused(found.refused, path)
    print_table(
        ["n", "GPUs", "natively", f"on {path}", "T_gpu", "T_cpu", "T_com"],
        [
            [
                number(each.step.n),
                each.step.gpus,
                *map(duration, (each.native, each.seconds)),
                *map(duration, (each.parts.gpu, each.parts.cpu, each.parts.com)),
            ]
            for each in sorted(found.cells, key=lambda each: (each.step.gpus, each.step.n))
        ],
        "rrrrrrr",
    )
    known = found.model.simulated
    assert known is not None  # path_model sets it
    say(
        f"\nForm: {found.model.form}; T_com is known to {percent(known.com, 0)}, common to all "
        f"cells, and a measurement differs by {percent(known.visit, 1)} besides"
    )
    say(f"Model written to {output}")


def map_content(over: NetworkMap) -> dict[str, object]:
    """The map as JSON; seconds and bytes a second."""
    bandwidth, ratio = over.measured
    return {
        "program": over.program,
        "sentence": over.sentence,
        "native": over.native,
        "round_trips": over.round_trips.tolist(),
        "bandwidths": over.bandwidths.tolist(),
        "ratios": over.ratios.tolist(),
        "measured": {"bandwidth": bandwidth, "ratio": ratio},
    }


def content(found: TraceForecast) -> dict[str, object]:
    """The JSON answer; seconds."""
    return {
        "path": found.path,
        "native": found.native,
        "replayed": found.replayed,
        "seconds": found.seconds,
        "low": found.low,
        "high": found.high,
        "ratio": found.ratio,
        "extra": found.extra,
        "steps": found.steps,
        "calls_per_step": found.calls,
        "causes": [vars(each) for each in found.causes],
        "helps": [vars(each) for each in found.helps],
        "runs_there": not found.refused,
        "refused_calls": list(found.refused),
        "warnings": list(found.warnings),
    }


def _say_refused(refused: tuple[str, ...], path: str) -> None:
    if refused:
        said = refused_in_words(refused, path)
        say(f"{said[0].upper()}{said[1:]}.")


def longer_by_much(found: TraceForecast) -> bool:
    """Whether one would do something about it."""
    return found.extra > MUCH * found.native


def whole_percents(causes: Sequence[Cause]) -> list[int]:
    """Shares in whole per cent that add up to what all of them do: those that are cut most are
    rounded up."""
    exact = [100 * each.share for each in causes]
    found = [math.floor(each) for each in exact]
    missing = round(sum(exact)) - sum(found)
    most_cut = sorted(range(len(exact)), key=lambda at: found[at] - exact[at])
    for at in most_cut[:missing]:
        found[at] += 1
    return found


def _signed(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}"


def show(found: TraceForecast) -> None:
    """The answer for people."""
    _say_refused(found.refused, found.path)
    print(f"A step on {found.path}: {duration(found.seconds)}", end="")
    say(f" (90 %: {duration(found.low)} ... {duration(found.high)}), {found.ratio:.3g} times")
    say(
        f"as long as natively: {duration(found.native)} recorded, {duration(found.replayed)} "
        f"simulated ({found.steps} steps of {found.calls:.4g} calls)."
    )
    if found.causes:
        longer = found.extra > 0
        say(f"\nOf {duration(found.extra)} more a step:\n" if longer else NOT_LONGER)
        rows = [
            [
                each.words,
                f"{each.per_step:.4g}" if each.per_step else None,
                _signed(each.seconds),
                f"{share} %" if each.seconds > 0 else None,
            ]
            for each, share in zip(found.causes, whole_percents(found.causes), strict=True)
        ]
        print_table(["calls", "a step", "costs", "of all costs"], rows, "lrrr")
    if not found.helps and longer_by_much(found):
        print("\nPinned memory, fewer waits, joined kernels: none would make it 2 % shorter.")
    if found.helps:
        print("\nWhat would help:\n")
        print_table(
            ["", "a step then takes"],
            [[each.words, duration(each.seconds)] for each in found.helps],
            "lr",
        )
