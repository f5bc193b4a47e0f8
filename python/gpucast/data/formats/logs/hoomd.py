"""HOOMD-blue: the benchmarks' output, and the console of version 2.

``python3 -m hoomd_benchmarks.NAME -v`` prints ``.. R time steps per second`` for each repetition;
without ``-v`` one bare number, which only ``--format hoomd`` takes for one. Version 2 prints
``Average TPS`` at the end of each run, and the number of particles and the GPUs before it. Rates
of hard particle Monte Carlo count trial moves, not steps, and are refused.

Size and GPUs of the benchmarks are arguments and are not printed.

Source: hoomd_benchmarks/common.py of glotzerlab/hoomd-benchmarks.
"""

from __future__ import annotations

import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.errors import InputError

_RATE = re.compile(r"(?:^|\s)(?P<rate>[0-9.]+(?:e[+-]?[0-9]+)?) time steps per second")
_AVERAGE = re.compile(r"Average TPS: (?P<rate>[0-9.]+(?:e[+-]?[0-9]+)?)\s")
_MOVES = re.compile(r"[0-9] trial moves per second")
_PARTICLES = re.compile(r'Group "all" created containing (?P<number>[0-9]+) particles')
_VERSION = re.compile(r"HOOMD-blue v?(?P<version>[0-9]+\.[0-9]+\.[0-9]+)")
_DEVICES = re.compile(r"running on the following GPU\(s\):\n(?P<list>(?: *\[[0-9]+\][^\n]*\n)+)")
_BEGUN = re.compile(r"running for [0-9.e+]+ steps|\*\* starting run \*\*")


def detect(text: str) -> bool:
    """Whether HOOMD-blue or its benchmarks printed it; a bare number could be anybody's."""
    if any(rate.search(text) for rate in (_RATE, _AVERAGE, _MOVES)):
        return True
    return "HOOMD-blue" in text and _BEGUN.search(text) is not None


def parse(text: str) -> Found:
    """A run for each run of version 2, or one of all repetitions of a benchmark.

    Raises:
        InputError: rates that count no steps.
    """
    if (moves := _MOVES.search(text)) is not None:
        raise InputError(
            "counts trial moves, not time steps; time the run and write a table n,gpus,seconds",
            line=runs.Lines(text).of(moves.start()),
        )
    lines = runs.Lines(text)
    bare = runs.decimal(text.strip())
    if bare:
        return Found([_run([text.strip()], 1, None)])
    particles, devices = _PARTICLES.search(text), _DEVICES.search(text)
    number = int(particles["number"]) if particles else None
    gpus = devices["list"].count("\n") if devices else None
    found = Found()
    rates = [each for each in _RATE.finditer(text) if runs.decimal(each["rate"])]
    if rates:
        line = lines.of(rates[0].start("rate"))
        found.runs.append(_run([each["rate"] for each in rates], line, text, number, gpus))
    for each in _AVERAGE.finditer(text):
        if runs.decimal(each["rate"]):
            line = lines.of(each.start())
            found.runs.append(_run([each["rate"]], line, text, number, gpus))
    if not found.runs:
        begun = _BEGUN.search(text)
        found.unfinished.append(lines.of(begun.start() if begun else 0))
    return found


def _run(
    rates: list[str], line: int, text: str | None, n: int | None = None, gpus: int | None = None
) -> Run:
    version = _VERSION.search(text) if text else None
    return Run(
        program="HOOMD-blue",
        line=line,
        seconds=tuple(1.0 / float(rate) for rate in rates),
        uncertainty=max(map(runs.rounding, rates)),
        n=n,
        unit="particles",
        gpus=gpus,
        case=version["version"] if version else None,
    )


FORMATS = (runs.log_format("hoomd", "HOOMD-blue's output", detect, parse),)
