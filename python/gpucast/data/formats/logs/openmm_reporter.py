"""OpenMM's StateDataReporter: a table whose header is ``#"Step","Time (ps)",...``.

Seconds a step are differences of ``Elapsed Time (s)`` over differences of ``Step``, one sample a
row after the first: what happened before the first row includes start-up. Without elapsed times
the last ``Speed (ns/day)`` counts, an average since the first report, with the time step from
``Time (ps)``. Neither size nor GPUs are in the table.

Source: wrappers/python/openmm/app/statedatareporter.py of openmm/openmm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.util.remarks import Kind, remark

_HEADER = re.compile(r'^#("[^"\n]+"(?:[^"\n]{1,3}"[^"\n]+")+)[ \t]*\n', re.MULTILINE)
STEP, TIME = "Step", "Time (ps)"
ELAPSED, SPEED = "Elapsed Time (s)", "Speed (ns/day)"


def detect(text: str) -> bool:
    """Whether it has the header of a StateDataReporter."""
    header = _HEADER.search(text)
    return header is not None and f'"{STEP}"' in header[1]


def parse(text: str) -> Found:
    """A run for each header."""
    found = Found()
    lines = runs.Lines(text)
    for number, (begin, part) in enumerate(runs.executions(text, _HEADER)):
        header = _HEADER.search(part)
        if header is None:
            continue
        line = lines.of(begin + header.start())
        rows = _rows(part, header)
        samples, uncertainty = _samples(rows)
        timestep = _timestep(rows)
        if not samples and timestep:
            samples, uncertainty = _speed(rows, timestep)
        if not samples:
            if len(rows) > 1 and not {ELAPSED, SPEED} & rows[0].keys():
                text = f"line {line}: no {ELAPSED} and no {SPEED}: report with elapsedTime=True"
                found.remarks.append(remark(Kind.LACKS, text, about=ELAPSED))
            else:
                found.unfinished.append(line)
            continue
        run = Run(
            program="OpenMM",
            line=line,
            seconds=tuple(samples),
            uncertainty=uncertainty,
            unit="atoms",
            unclear="a StateDataReporter does not say on how many GPUs it ran",
            timestep=timestep,
            execution=number,
        )
        found.runs.append(run)
    return found


Row = Mapping[str, str]


def _rows(part: str, header: re.Match[str]) -> list[Row]:
    """The whole rows below a header; a last line without an end may be cut off."""
    names = re.findall(r'"([^"]+)"', header[1])
    between = re.search(r'"([^"]+)"', header[1][1 + len(names[0]) :])
    separator = between[1] if between else ","
    rows: list[Row] = []
    for line in part[header.end() :].splitlines(keepends=True):
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) == len(names) and line.endswith("\n"):
            rows.append(dict(zip(names, fields, strict=True)))
    return rows


def _number(row: Row, name: str) -> float | None:
    text = row.get(name, "")
    # Where another program saved the table, decimals may have a comma.
    return runs.decimal(text.replace(",", ".") if text.count(",") == 1 else text)


def _samples(rows: list[Row]) -> tuple[list[float], float | None]:
    """Seconds a step from row to row, and the relative half-width of their rounding."""
    samples: list[float] = []
    width = 0.0
    before: tuple[float, float] | None = None
    for row in rows:
        step, elapsed = _number(row, STEP), _number(row, ELAPSED)
        if step is None or elapsed is None:
            continue
        if before is not None and step > before[0] and elapsed > before[1]:
            samples.append((elapsed - before[1]) / (step - before[0]))
            absolute = elapsed * runs.rounding(f"{row[ELAPSED].replace(',', '.')}")
            width = max(width, 2 * absolute / (elapsed - before[1]))
        before = step, elapsed
    return samples, width if samples else None


def _speed(rows: list[Row], timestep: float) -> tuple[list[float], float | None]:
    """Seconds a step from the last speed."""
    for row in reversed(rows):
        speed = _number(row, SPEED)
        if speed:
            seconds = timestep * runs.NANOSECONDS * runs.DAY / speed
            return [seconds], runs.rounding(row[SPEED].replace(",", "."))
    return [], None


def _timestep(rows: list[Row]) -> float | None:
    """Simulated seconds of a step, from the first and the last row."""
    known = [(_number(row, STEP), _number(row, TIME)) for row in rows]
    whole = [(step, time) for step, time in known if step is not None and time is not None]
    if not whole:
        return None
    (first, begin), (last, end) = whole[0], whole[-1]
    if last <= first:
        first, begin = 0.0, 0.0
    if last <= first or end <= begin:
        return None
    return float(f"{(end - begin) / (last - first):.6g}") / runs.PICOSECONDS


FORMATS = (runs.log_format("openmm-reporter", "OpenMM's StateDataReporter", detect, parse),)
