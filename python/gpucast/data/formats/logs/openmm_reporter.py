"""Reads the table of OpenMM's StateDataReporter, as molecular_dynamics.toml describes."""

from __future__ import annotations

import itertools
import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part

ELAPSED, SPEED = "Elapsed Time (s)", "Speed (ns/day)"
Row = dict[str, str]


def read(part: Part) -> None:
    """Report one run, with the rows of the table as samples."""
    header = part.find(part.log.start)
    if header is None:
        return
    rows = _rows(part, header)
    timestep = _timestep(rows)
    samples, widths = [], []
    for before, after in itertools.pairwise(_numbers(rows, ELAPSED)):
        steps, seconds = after[0] - before[0], after[1] - before[1]
        if steps > 0 and seconds > 0:
            samples.append(seconds / steps)
            widths.append(2 * after[1] * after[2] / seconds)
    speeds = [speed for speed in _numbers(rows, SPEED) if speed[1] > 0]
    if not samples and timestep and speeds:
        samples, widths = [timestep * runs.NANOSECONDS * runs.DAY / speeds[-1][1]], [speeds[-1][2]]
    if samples:
        part.run(header.start(), samples, max(widths), timestep=timestep)
    elif len(rows) > 1 and not {ELAPSED, SPEED} & rows[0].keys():
        text = f"no {ELAPSED} and no {SPEED}: report with elapsedTime=True"
        part.remark(f"line {part.line(header.start())}: {text}", ELAPSED)
    else:
        part.unfinished()


def _rows(part: Part, header: re.Match[str]) -> list[Row]:
    """Return the complete rows below a header; a last line without a line end may be cut off."""
    names = re.findall(r'"([^"]+)"', header[0])
    lines = part.text[header.end() :].split("\n")[:-1]
    cells = ([cell.strip() for cell in line.split(header["separator"])] for line in lines)
    return [dict(zip(names, row, strict=True)) for row in cells if len(row) == len(names)]


def _numbers(rows: list[Row], name: str) -> list[tuple[float, float, float]]:
    """Return step, number and rounding of the rows that have both."""
    numbers = []
    for row in rows:
        # Tables saved by other programs may have decimal commas.
        texts = [row.get(key, "") for key in ("Step", name)]
        texts = [text.replace(",", ".") if text.count(",") == 1 else text for text in texts]
        step, number = map(runs.decimal, texts)
        if step is not None and number is not None:
            numbers.append((step, number, runs.rounding(texts[1])))
    return numbers


def _timestep(rows: list[Row]) -> float | None:
    """Return the simulated time of a step (s), from the first and the last row."""
    times = _numbers(rows, "Time (ps)")
    if not times:
        return None
    (first, begin, _), (last, end, _) = times[0], times[-1]
    if last <= first:
        first, begin = 0.0, 0.0
    if last <= first or end <= begin:
        return None
    return float(f"{(end - begin) / (last - first):.6g}") / runs.PICOSECONDS
