"""Step times in the words of those who train models: tokens or samples a second, the share of the
GPUs' peak that is used (MFU), and what a million of them cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucast.data.formats import stated
from gpucast.errors import InputError
from gpucast.model.intervals import Array
from gpucast.util import number_lists
from gpucast.util.tables import Column
from gpucast.util.units import number, whole_percent

HOUR = 3600.0
MILLION = 1e6
MOST_MFU = 1.5
"""A larger share of the peak is a mistake in a unit."""


def units_of(text: str, option: str) -> tuple[str, float]:
    """``tokens=4096``: what steps take, and how many for each of n; 1 where nothing is said."""
    name, _, amount = text.partition("=")
    if not name.isprintable() or not 0 < len(name) <= 20:
        raise InputError(f"{text!r} is nothing such as samples or tokens=4096", field=option)
    return name, number_lists.size(amount, option) if amount else 1.0


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """What is known of a job beside its step times; where it is known.

    Attributes:
        units: what a step takes, and how many for each of n.
        flops: operations of one of these; of a step where ``units`` are not known.
        peak_flops: of a GPU, flop/s.
        price: of a GPU hour.
    """

    units: tuple[str, float] | None = stated(
        "What a step takes for each of n: samples, or tokens=4096.",
        None,
        "--units",
        read=units_of,
        metavar="NAME[=COUNT]",
    )
    flops: float | None = stated(
        "Operations of one of the --units (without: of a step); with --peak-flops for MFU.",
        None,
        "--flops",
        read=number_lists.size,
        metavar="FLOP",
    )
    peak_flops: float | None = stated(
        "Peak of a GPU, flop/s.", None, "--peak-flops", read=number_lists.size, metavar="FLOP/S"
    )
    price: float | None = stated(
        "Price of a GPU hour: with --units the cost of a million is shown.",
        None,
        "--price",
        read=number_lists.size,
        metavar="MONEY",
    )

    def __post_init__(self) -> None:
        if (self.flops is None) != (self.peak_flops is None):
            field, other = ("flops", "peak-flops")[:: 1 if self.peak_flops is None else -1]
            raise InputError(f"says nothing without --{other}", field=f"--{field}")
        if self.price is not None and self.units is None:
            raise InputError("says nothing without --units", field="--price")

    @property
    def unit(self) -> str:
        """What a step takes."""
        return self.units[0] if self.units else ""

    def columns(self, n: Array, gpus: Array, seconds: Array) -> dict[str, Any]:
        """What is known of steps of the whole n: ``units_per_second``, ``mfu``,
        ``cost_per_million`` (of units)."""
        units = np.asarray(n, dtype=np.float64) * (self.units[1] if self.units else np.nan)
        gpu_seconds = np.asarray(gpus, dtype=np.float64) * seconds
        columns = {}
        if self.units is not None:
            columns["units_per_second"] = units / seconds
        if self.flops is not None and self.peak_flops is not None:
            operations = self.flops * (units if self.units else 1.0)
            columns["mfu"] = operations / (gpu_seconds * self.peak_flops)
            if np.max(columns["mfu"], initial=0.0) > MOST_MFU:
                raise InputError(
                    f"--flops {self.flops:g} would be {np.max(columns['mfu']):.3g} times the GPUs' "
                    f"{self.peak_flops:g}: both are in flop (/s), not in Tflop",
                    field="--peak-flops",
                )
        if self.price is not None:
            columns["cost_per_million"] = self.price * gpu_seconds / HOUR / (units / MILLION)
        return columns


def columns_of(row: Mapping[str, object], unit: str) -> list[Column]:
    """How tables show those of these columns that a row has."""
    columns = [
        Column(f"{unit}/s", "units_per_second", rounded),
        Column("MFU", "mfu", whole_percent),
        Column(f"cost/10^6 {unit}", "cost_per_million", ".3g"),
    ]
    return [column for column in columns if column.value in row]


NONE = Throughput()
"""Nothing is known beside step times."""


def rounded(rate: float) -> str:
    """A rate with four digits."""
    return number(float(f"{rate:.4g}"))
