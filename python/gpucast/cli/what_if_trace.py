"""``gpucast what-if TRACE``: a step of a traced program on another path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from gpucast.cli import options
from gpucast.cli.figure_files import check_figure
from gpucast.cli.options import option, refuse
from gpucast.cli.output import load, print_json, say, tell_fit
from gpucast.errors import InputError
from gpucast.util.files import check_output
from gpucast.util.number_lists import size
from gpucast.util.remarks import Kind, remarks_of
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration, number, percent

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.paths.replay.causes import Cause
    from gpucast.paths.replay.forecast import TraceForecast
    from gpucast.paths.replay.maps import NetworkMap
    from gpucast.paths.replay.network import Network

MUCH = 0.05
"""Share of a native step; nobody does anything about less."""
NOT_LONGER = "\nA step takes no longer there; what calls cost beyond what they cost natively:\n"


@dataclass(frozen=True)
class Asked:
    """What is asked of models and of traces."""

    transfers: list[str] | None = option(
        "Dataset with skeletons of steps, or transfers and launches, of the other path.",
        "--transfers",
        "--data",
    )
    path: str | None = options.PATH
    machine: str | None = options.MACHINE
    explain: bool = options.EXPLAIN
    json: bool = options.JSON
    force: bool = options.FORCE


@dataclass(frozen=True)
class OfTraces:
    """Options that traces alone have."""

    network: str | None = option(
        "For a trace: another network than the path was measured on: 25Gb/s,30us (bandwidth, round "
        "trip)."
    )
    range_name: str | None = option(
        "For a trace: NVTX range that is a step; kernel:NAME: from one launch of it to the next.",
        "--range",
    )
    n: str | None = option(
        "For a model of traces (-o): size of those whose command lines do not say it.",
        "-n",
        "--size",
    )
    from_name: str | None = option(
        "For a model of traces: finds in files' names what command lines do not say: groups n, "
        "gpus.",
        metavar="REGEX",
    )
    map_to: Path | None = option(
        "For a trace: figure (png, pdf, svg) of how many times as long a step takes, over round "
        "trip and bandwidth of a network.",
        "--map",
        metavar="FIGURE",
    )


def _other_path(asked: Asked, of_traces: OfTraces) -> tuple[Dataset, str, _How]:
    """The dataset, its path, and what else a simulation is told. Raises InputError."""
    from gpucast.paths.replay.network import parse_network

    if asked.path is None:
        raise InputError("which path the trace is to be made on", field="--path")
    if not asked.transfers:
        raise InputError("a dataset with launches and transfers of that path", field="--data")
    network = None if of_traces.network is None else parse_network(of_traces.network)
    return load(*asked.transfers), asked.path, {"machine": asked.machine, "network": network}


def answer(file: str, asked: Asked, of_traces: OfTraces) -> None:
    """Forecast and print.

    Raises:
        InputError: the trace, the dataset or an option is wrong.
    """
    from gpucast.data.traces import read
    from gpucast.data.traces.finding_steps import find_steps
    from gpucast.paths.replay.forecast import trace_on_path

    of_several = replace(of_traces, network=None, range_name=None, map_to=None)
    refuse(
        of_several,
        "is for a model of several traces (-o); of one trace nothing depends on it",
        file,
    )
    map_to = of_traces.map_to
    if map_to is not None:
        check_figure(map_to, force=asked.force)
    data, path, how = _other_path(asked, of_traces)
    trace = read(file)
    steps = find_steps(trace, of_traces.range_name)
    forecast = trace_on_path(trace, data, path, steps=steps, **how)
    tell_fit(remarks_of(Kind.ASSUMED, forecast.warnings), explain=asked.explain)
    answered = content(forecast)
    if map_to is not None:
        from gpucast.paths.replay.maps import network_map
        from gpucast.show.plots import network_map as figure
        from gpucast.show.plots import style

        over = network_map(trace, data, path, steps=steps, native=forecast.native, **how)
        style.save(figure.network_map(over), map_to, force=asked.force)
        answered["map"] = map_content(over)
    if asked.json:
        print_json(answered)
        return
    show(forecast)
    if map_to is not None:
        say(f"\n{over.sentence}.\nwritten: {map_to}")


class _How(TypedDict):
    machine: str | None
    network: Network | None


def write_model(names: list[str], asked: Asked, of_traces: OfTraces, output: Path | None) -> None:
    """Simulate several traces, and write a model of the path.

    Raises:
        InputError: a trace, the dataset or an option is wrong, or the traces are too few.
    """
    from gpucast.data.formats import Options
    from gpucast.data.formats.several import check_stated
    from gpucast.paths.replay.models import path_model

    if of_traces.map_to is not None:
        raise InputError("is of one trace", field="--map")
    if output is None:
        raise InputError("where to write the model of several traces is needed", field="-o")
    check_output(output, force=asked.force)
    data, path, how = _other_path(asked, of_traces)
    n = None if of_traces.n is None else size(of_traces.n, "-n")
    given = Options(range_name=of_traces.range_name, from_name=of_traces.from_name, size=n)
    check_stated(given)
    modelled = path_model(names, data, path, options=given, **how)
    modelled.model.save(output, force=asked.force)
    tell_fit(modelled.model.remarks, explain=asked.explain)
    cells = [
        {
            "n": cell.step.n,
            "gpus": cell.step.gpus,
            "native": cell.native,
            "seconds": cell.seconds,
            "t_gpu": cell.parts.gpu,
            "t_cpu": cell.parts.cpu,
            "t_com": cell.parts.com,
        }
        for cell in modelled.cells
    ]
    if asked.json:
        refused = {"runs_there": not modelled.refused, "refused_calls": list(modelled.refused)}
        print_json({**modelled.model.content, "traces": cells, **refused})
        return
    _say_refused(modelled.refused, path)
    print_rows(
        sorted(cells, key=lambda cell: (cell["gpus"], cell["n"])),
        [
            Column("n", "n", number),
            Column("GPUs", "gpus"),
            Column("natively", "native", duration),
            Column(f"on {path}", "seconds", duration),
            *(Column(f"T_{part}", f"t_{part}", duration) for part in ("gpu", "cpu", "com")),
        ],
    )
    known = modelled.model.simulated
    assert known is not None  # path_model sets it
    say(
        f"\nForm: {modelled.model.form}; T_com is known to {percent(known.com, 0)}, common to all "
        f"cells, and a measurement differs by {percent(known.visit, 1)} besides"
    )
    say(f"Model written to {output}")


def map_content(over: NetworkMap) -> dict[str, object]:
    """The map as JSON; seconds and bytes a second."""
    bandwidth, ratio = over.measured
    return {
        **{name: getattr(over, name) for name in ("program", "sentence", "native")},
        **{name: getattr(over, name).tolist() for name in ("round_trips", "bandwidths", "ratios")},
        "measured": {"bandwidth": bandwidth, "ratio": ratio},
    }


def content(forecast: TraceForecast) -> dict[str, object]:
    """The JSON answer; seconds."""
    same = ("path", "native", "replayed", "seconds", "low", "high", "ratio", "extra", "steps")
    return {
        **{name: getattr(forecast, name) for name in same},
        "calls_per_step": forecast.calls,
        "causes": [vars(cause) for cause in forecast.causes],
        "helps": [vars(change) for change in forecast.helps],
        "runs_there": not forecast.refused,
        "refused_calls": list(forecast.refused),
        "warnings": list(forecast.warnings),
    }


def _say_refused(refused: tuple[str, ...], path: str) -> None:
    from gpucast.paths.replay.from_trace import refused_in_words

    if refused:
        words = refused_in_words(refused, path)
        say(f"{words[0].upper()}{words[1:]}.")


def longer_by_much(forecast: TraceForecast) -> bool:
    """Whether one would do something about it."""
    return forecast.extra > MUCH * forecast.native


def whole_percents(causes: Sequence[Cause]) -> list[int]:
    """Shares in whole per cent that add up to what all of them do: those that are cut most are
    rounded up."""
    exact = [100 * cause.share for cause in causes]
    whole = [math.floor(share) for share in exact]
    missing = round(sum(exact)) - sum(whole)
    most_cut = sorted(range(len(exact)), key=lambda at: whole[at] - exact[at])
    for at in most_cut[:missing]:
        whole[at] += 1
    return whole


def _signed(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}"


def show(forecast: TraceForecast) -> None:
    """The answer for people."""
    _say_refused(forecast.refused, forecast.path)
    low, high = duration(forecast.low), duration(forecast.high)
    print(f"A step on {forecast.path}: {duration(forecast.seconds)}", end="")
    say(f" (90 %: {low} ... {high}), {forecast.ratio:.3g} times")
    say(
        f"as long as natively: {duration(forecast.native)} recorded, {duration(forecast.replayed)} "
        f"simulated ({forecast.steps} steps of {forecast.calls:.4g} calls)."
    )
    if forecast.causes:
        longer = forecast.extra > 0
        say(f"\nOf {duration(forecast.extra)} more a step:\n" if longer else NOT_LONGER)
        print_rows(
            zip(forecast.causes, whole_percents(forecast.causes), strict=True),
            [
                Column("calls", lambda row: row[0].words),
                Column("a step", lambda row: row[0].per_step or None, ".4g"),
                Column("costs", lambda row: row[0].seconds, _signed),
                Column(
                    "of all costs",
                    lambda row: row[1] if row[0].seconds > 0 else None,
                    "{} %".format,
                ),
            ],
        )
    if not forecast.helps and longer_by_much(forecast):
        print("\nPinned memory, fewer waits, joined kernels: none would make it 2 % shorter.")
    if forecast.helps:
        print("\nWhat would help:\n")
        print_rows(
            forecast.helps, [Column("", "words"), Column("a step then takes", "seconds", duration)]
        )
