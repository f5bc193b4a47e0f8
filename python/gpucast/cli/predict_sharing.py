"""``gpucast predict --gpus 1/4,1/2,1,2``: several instances on one GPU, and GPUs for one
instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucast.cli import options
from gpucast.cli.output import print_marked, say
from gpucast.util import JsonObject
from gpucast.util.gpu_shares import share_text
from gpucast.util.tables import Column
from gpucast.util.units import duration, number, percent

if TYPE_CHECKING:
    from gpucast.model.fitted import Model
    from gpucast.model.forecasts import Forecasts
    from gpucast.model.intervals import Interval

STEPS = 1_000_000
"""Number of steps of an instance for which GPU hours are stated."""

_HOUR = 3600.0

_TIMES = {name: name for name in ("seconds", "low", "high", "extrapolated")}
_GAIN = {"gain_low": "speedup_low", "gain_high": "speedup_high"}


def rows_of(
    model: Model,
    forecasts: Forecasts,
    n: Sequence[float],
    instances: Sequence[int],
    interval: Interval,
) -> list[JsonObject]:
    """Return the throughput of instances for each n: those that share a GPU, largest number first,
    then one instance on the GPUs of each forecast (``forecasts``).

    Raises:
        InputError: the model has no information about instances on one GPU.
    """
    names = ("n", "gpus", "seconds", "low", "high", "extrapolated")
    cells = zip(*(getattr(forecasts, name).tolist() for name in names), strict=True)
    alone = [_row(model, 1, dict(zip(names, cell, strict=True))) for cell in cells]
    alone_on_one = model.forecasts(n, [1.0] * len(n), interval).seconds
    one = dict(zip(map(float, n), map(float, alone_on_one), strict=True))
    rows = sorted(
        [*_shared(model, n, instances, interval), *alone],
        key=lambda row: n.index(float(row["n"])),
    )
    return [row | {"gain": row["steps_per_second"] * one[float(row["n"])]} for row in rows]


def _shared(
    model: Model, n: Sequence[float], instances: Sequence[int], interval: Interval
) -> list[JsonObject]:
    from gpucast.model.sharing import shared_forecasts, sharing_of

    ways = [way.mps for way in model.sharing or ()] or [sharing_of(model).mps]
    pairs = [(size, count) for size in n for count in sorted(instances, reverse=True)]
    sizes, counts = zip(*pairs, strict=True)
    rows = []
    for mps in ways:
        forecasts = shared_forecasts(model, sizes, counts, interval, mps=mps)
        for i, (size, count) in enumerate(pairs):
            times, gain = (
                {key: getattr(forecasts, name)[i].item() for key, name in names.items()}
                for names in (_TIMES, _GAIN)
            )
            rows.append(_row(model, count, {"n": size, "gpus": 1, **times}) | {"mps": mps} | gain)
    return rows


def _row(model: Model, instances: int, cell: JsonObject) -> JsonObject:
    from gpucast.model.rates import ns_per_day

    rate, gpus = instances / cell["seconds"], int(cell["gpus"])
    timestep = model.timestep
    return {
        "model": model.name,
        "n": cell["n"],
        "gpus": gpus,
        "instances": instances,
        "mps": False,
        **{name: cell[name] for name in ("seconds", "low", "high")},
        "steps_per_second": rate,
        "ns_per_day": None if timestep is None else float(ns_per_day(timestep, 1 / rate)),
        "gpu_hours": STEPS * gpus / rate / _HOUR,
        "gain_low": None,
        "gain_high": None,
        "extrapolated": cell["extrapolated"],
    }


def show_fitted(model: Model) -> None:
    """Print what a fit says about instances on one GPU, a line for each way of sharing it."""
    from gpucast.fitting.sharing import busy_share
    from gpucast.model.sharing import shared_forecasts

    for way in model.sharing or ():
        forecasts = shared_forecasts(model, [way.reference], [4.0], mps=way.mps)
        gain, low, high = (
            float(values[0])
            for values in (forecasts.speedup, forecasts.speedup_low, forecasts.speedup_high)
        )
        how = "under the Multi-Process Service" if way.mps else "in turn"
        say(
            f"\ninstances on one GPU, {how} ({len(way.n)} cells): at n = "
            f"{number(float(f'{way.reference:.3g}'))} one needs it for "
            f"{percent(busy_share(way, way.reference), 0)} of a step; four together are "
            f"{gain:.2f} ({low:.2f} ... {high:.2f}) times as fast as one"
        )


def show(rows: Sequence[JsonObject], interval: str) -> None:
    """Print the table."""
    in_time = all(row["ns_per_day"] is not None for row in rows)
    key, speed = ("ns_per_day", "ns/day") if in_time else ("steps_per_second", "steps/s")
    print_marked(
        rows,
        [
            Column("model", "model"),
            Column("n", "n", number),
            Column("GPUs", lambda row: share_text(row["gpus"], row["instances"]), side="r"),
            Column("instances", lambda row: f"{row['instances']}{', MPS' if row['mps'] else ''}"),
            Column("step time", "seconds", duration),
            Column(options.INTERVALS[interval], span),
            Column(f"together, {speed}", key, ".4g"),
            Column("gain", _gain),
            Column("GPU hours / 1e6 steps", "gpu_hours", ".3g"),
        ],
    )


def span(row: JsonObject) -> str:
    """The interval of a forecast time."""
    return f"{duration(row['low'])} ... {duration(row['high'])}"


def _gain(row: JsonObject) -> str:
    """The aggregate speed relative to one instance on one GPU."""
    if row["gain_low"] is None:
        return f"{row['gain']:.2f}"
    return f"{row['gain']:.2f} ({row['gain_low']:.2f} ... {row['gain_high']:.2f})"
