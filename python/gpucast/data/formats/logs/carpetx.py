"""CarpetX and other programs over AMReX that print its lines (AsterX).

``total evolution compute time`` and ``total iterations`` are sums since the start: their
differences are the iterations, of which the first, slower by start-up, is left out where others
follow. The size is the sum of the cells of all levels, as last printed before: each new grid is a
size of its own.

GPUs are those that AMReX says it initialized; processes alone do not tell, for several may share
one.

Source: CarpetX/src/schedule.cxx, AMReX Src/Base/AMReX_GpuDevice.cpp; published outputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run

_LINE = re.compile(
    r"Grid cells: +(?P<grid>[0-9.eE+-]+)\s"
    r"|level (?P<level>[0-9]+): [0-9]+ boxes, (?P<cells>[0-9]+) cells"
    r"|total evolution compute time: +(?P<seconds>[0-9.eE+-]+) sec"
    r"|total iterations: +(?P<iterations>[0-9]+)\s*\n"
)
_START = re.compile(r"MPI initialized with (?P<ranks>[0-9]+) MPI processes")
_DEVICES = re.compile(
    r"(?:CUDA|HIP|SYCL) initialized with (?P<number>[0-9]+) (?:GPU|device)s?"
    r"(?P<each> per MPI rank)?(?:[^\n]*?(?P<total>[0-9]+) GPU\(?s?\)? used in total)?"
)


def detect(text: str) -> bool:
    """Whether CarpetX printed it."""
    return "(CarpetX)" in text or "total evolution compute time:" in text


def parse(text: str) -> Found:
    """A run for each start and each size."""
    found = Found()
    lines = runs.Lines(text)
    for number, (begin, part) in enumerate(runs.executions(text, _START)):
        ranks = _START.search(part)
        gpus = _gpus(part, int(ranks["ranks"]) if ranks else None)
        samples: dict[float | None, list[tuple[float, int]]] = {}
        for cells, seconds, place in _iterations(part):
            samples.setdefault(cells, []).append((seconds, place))
        if not samples:
            found.unfinished.append(lines.of(begin))
        alone = sum(map(len, samples.values())) == 1
        for at, (cells, timed) in enumerate(samples.items()):
            kept = timed[1:] if at == 0 and len(timed) > 1 else timed
            if at == 0 and len(timed) == 1 and not alone:
                continue
            found.runs.append(
                Run(
                    program="CarpetX",
                    line=lines.of(begin + kept[0][1]),
                    seconds=tuple(seconds for seconds, _ in kept),
                    n=cells,
                    unit="cells",
                    gpus=gpus,
                    unclear="" if gpus else "no line says how many GPUs AMReX initialized",
                    ranks=int(ranks["ranks"]) if ranks else None,
                    execution=number,
                    caveat="its first iteration, which includes start-up" if alone else None,
                )
            )
    return found


def _iterations(part: str) -> Iterator[tuple[float | None, float, int]]:
    """Cells, seconds an iteration, and place of each increase of both sums."""
    levels: dict[int, int] = {}
    grid: float | None = None
    done, spent = 0, 0.0
    seconds: float | None = None
    count: int | None = None
    for match in _LINE.finditer(part):
        if match["level"] is not None:
            level = int(match["level"])
            levels = {key: cells for key, cells in levels.items() if key < level}
            levels[level] = int(match["cells"])
            continue
        if match["grid"] is not None:
            grid = runs.decimal(match["grid"])
            continue
        if match["seconds"] is not None:
            seconds = runs.decimal(match["seconds"])
        else:
            count = int(match["iterations"])
        if seconds is None or count is None:
            continue
        if count > done and seconds > spent:
            yield (
                sum(levels.values()) or grid or None,
                (seconds - spent) / (count - done),
                match.start(),
            )
        done, spent, seconds, count = count, seconds, None, None


def _gpus(part: str, ranks: int | None) -> int | None:
    devices = _DEVICES.search(part)
    if devices is None:
        return None
    if devices["total"]:
        return int(devices["total"])
    if devices["each"]:
        return int(devices["number"]) * ranks if ranks else None
    return int(devices["number"])


FORMATS = (runs.log_format("carpetx", "CarpetX's output", detect, parse),)
