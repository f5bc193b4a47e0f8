"""``gpucast what-if TRACE``: a step of a traced program on another path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpucast.cli.figure_files import check_figure
from gpucast.cli.output import print_json, warn
from gpucast.errors import InputError
from gpucast.replay.forecast import TraceForecast
from gpucast.util.tables import print_table
from gpucast.util.units import duration, percent

if TYPE_CHECKING:
    from gpucast.replay.maps import NetworkMap

MOST_CAUSES = 6


def answer(
    file: str,
    data: list[str],
    path: str | None,
    *,
    machine: str | None,
    network: str | None,
    range_name: str | None,
    json: bool,
    map_to: Path | None = None,
    force: bool = False,
) -> None:
    """Forecast and print; ``map_to``: a figure over round trip and bandwidth.

    Raises:
        InputError: the trace, the dataset or an option is wrong.
    """
    from gpucast.cli.loading import load
    from gpucast.replay.network import parse_network
    from gpucast.replay.what_if import trace_on_path
    from gpucast.traces import read

    if path is None:
        raise InputError("which path the trace is to be made on", field="--path")
    if not data:
        raise InputError("a dataset with launches and transfers of that path", field="--data")
    between = None if network is None else parse_network(network)
    if map_to is not None:
        check_figure(map_to, force=force)
    trace, of_path = read(file), load(*data)
    found = trace_on_path(
        trace, of_path, path, machine=machine, network=between, range_name=range_name
    )
    for text in found.warnings:
        warn(text)
    answered = content(found)
    if map_to is not None:
        from gpucast.plots import network_map as figure
        from gpucast.plots import style
        from gpucast.replay.maps import network_map

        over = network_map(
            trace, of_path, path, machine=machine, network=between, range_name=range_name
        )
        style.save(figure.network_map(over), map_to, force=force)
        answered["map"] = map_content(over)
    if json:
        print_json(answered)
        return
    show(found)
    if map_to is not None:
        print(f"\n{over.sentence}\nwritten: {map_to}")


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
        "warnings": list(found.warnings),
    }


def show(found: TraceForecast) -> None:
    """The answer for people."""
    print(f"A step on {found.path}: {duration(found.seconds)}", end="")
    print(f" (90 %: {duration(found.low)} ... {duration(found.high)}), {found.ratio:.3g} times")
    print(
        f"as long as natively: {duration(found.native)} recorded, {duration(found.replayed)} "
        f"simulated ({found.steps} steps of {found.calls:.4g} calls)."
    )
    if found.causes:
        print(f"\nOf {duration(max(found.extra, 0))} more a step:\n")
        print_table(
            ["calls", "a step", "costs", "of the extra"],
            [
                [each.words, f"{each.per_step:.4g}", duration(each.seconds), percent(each.share, 0)]
                for each in found.causes[:MOST_CAUSES]
            ],
            "lrrr",
        )
    if found.helps:
        print("\nWhat would help:\n")
        print_table(
            ["", "a step then takes"],
            [[each.words, duration(each.seconds)] for each in found.helps],
            "lr",
        )
