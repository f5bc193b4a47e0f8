"""Reads CarpetX's output, as simulations.toml describes."""

from __future__ import annotations

from collections.abc import Iterator

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part

LINE = (
    r"Grid cells: +(?P<grid>[0-9.eE+-]+)\s"
    r"|level (?P<level>[0-9]+): [0-9]+ boxes, (?P<cells>[0-9]+) cells"
    r"|total evolution compute time: +(?P<seconds>[0-9.eE+-]+) sec"
    r"|total iterations: +(?P<iterations>[0-9]+)\s*\n"
)


def read(part: Part) -> None:
    """Report the iterations of each grid."""
    facts = part.facts
    devices = facts.get("total") or facts.get("number")
    gpus = int(devices) if devices else None
    if gpus and "each" in facts and "total" not in facts:
        gpus = gpus * (part.whole("ranks") or 0) or None
    iterations = list(_iterations(part))
    if not iterations:
        part.unfinished()
    is_alone = len(iterations) == 1
    caveat = "its first iteration, which includes start-up" if is_alone else None
    samples: dict[float | None, list[tuple[float, int]]] = {}
    for cells, seconds, place in iterations[not is_alone :]:
        samples.setdefault(cells, []).append((seconds, place))
    for cells, timed in samples.items():
        times = [seconds for seconds, _ in timed]
        part.run(timed[0][1], times, None, n=cells, gpus=gpus, caveat=caveat)


def _iterations(part: Part) -> Iterator[tuple[float | None, float, int]]:
    """Yield cells, seconds an iteration, and place of each increase of both sums."""
    levels: dict[int, float] = {}
    grid: float | None = None
    sums, before = dict[str, float](), (0.0, 0.0)
    for match in part.all(LINE):
        name = str(match.lastgroup)
        value = runs.decimal(match[name])
        if name == "cells":
            level = int(match["level"])
            levels = {key: cells for key, cells in levels.items() if key < level}
            levels[level] = int(match["cells"])
        elif name == "grid":
            grid = value
        elif value is not None:
            sums[name] = value
        if len(sums) == 2:
            count, seconds = sums["iterations"] - before[0], sums["seconds"] - before[1]
            if count > 0 and seconds > 0:
                yield sum(levels.values()) or grid or None, seconds / count, match.start()
            before, sums = (sums["iterations"], sums["seconds"]), {}
