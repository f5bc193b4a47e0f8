"""What a piece of GPU work is called in tables and figures."""

from __future__ import annotations

import pandas as pd

from gpucast.traces import tables
from gpucast.traces.kernel_names import short
from gpucast.traces.trace import Process


def labels_of(process: Process, work: pd.DataFrame) -> list[tuple[str, str]]:
    """Kind and name of each piece of work."""
    names = {number: short(process.name_of(number)) for number in work["name"].unique().tolist()}
    return [
        ("kernel", names[name])
        if kind == tables.KERNEL
        else ("copy", _copied(direction, source, target, asynchronous))
        if kind == tables.COPY
        else ("set", "memset")
        if kind == tables.SET
        else ("graph", "graph")
        for kind, name, direction, source, target, asynchronous in zip(
            work["kind"].tolist(), work["name"].tolist(), work["direction"].tolist(),
            work["from_memory"].tolist(), work["to_memory"].tolist(),
            work["asynchronous"].tolist(), strict=True,
        )
    ]  # fmt: skip


def _copied(direction: int, source: int, target: int, asynchronous: int) -> str:
    text = tables.DIRECTIONS.get(direction, "copy")
    host = source if direction == tables.TO_DEVICE else target
    if direction in (tables.TO_DEVICE, tables.TO_HOST) and host in tables.MEMORIES and host:
        text += f", {tables.MEMORIES[host]}"
    return text + (", async" if asynchronous else "")
