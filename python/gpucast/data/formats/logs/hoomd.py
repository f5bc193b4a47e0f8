"""HOOMD-blue: the benchmarks' output, and the console of version 2.

``python3 -m hoomd_benchmarks.NAME -v`` prints ``.. R time steps per second`` for each repetition;
without ``-v`` it prints a bare number, which is read only with ``--format hoomd``. Version 2 prints
``Average TPS`` at the end of each run, and the number of particles and the GPUs before it. Rates
of hard particle Monte Carlo count trial moves, not steps, and are refused.

The benchmarks do not print size and GPUs, which are arguments: the user is asked.

Source: hoomd_benchmarks/common.py of glotzerlab/hoomd-benchmarks.
"""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part, positive
from gpucast.errors import InputError

RATE = r"(?:^|\s)(?P<rate>[0-9.]+(?:e[+-]?[0-9]+)?) time steps per second"
AVERAGE = r"Average TPS: (?P<rate>[0-9.]+(?:e[+-]?[0-9]+)?)\s"
MOVES = r"[0-9] trial moves per second"
BEGUN = r"running for [0-9.e+]+ steps|\*\* starting run \*\*"
DEVICES = r"running on the following GPU\(s\):\n(?P<list>(?: *\[[0-9]+\][^\n]*\n)+)"


def _read(part: Part) -> None:
    if (moves := part.find(MOVES)) is not None:
        raise InputError(
            "counts trial moves, not time steps; time the run and write a table n,gpus,seconds",
            line=part.line(moves.start()),
        )
    bare, devices = part.text.strip(), part.find(DEVICES)
    gpus = devices["list"].count("\n") if devices else None
    repetitions, averages = (positive(part.all(rate), "rate") for rate in (RATE, AVERAGE))
    timed = [repetitions] * bool(repetitions) + [[average] for average in averages]
    for rates in timed:
        printed = [match["rate"] for match in rates]
        width = max(map(runs.rounding, printed))
        part.run(rates[0].start("rate"), [1 / float(rate) for rate in printed], width, gpus=gpus)
    if (rate := runs.decimal(bare) or 0) > 0:
        part.run(0, [1 / rate], runs.rounding(bare))
    elif not timed:
        begun = part.find(BEGUN)
        part.unfinished(begun.start() if begun else 0)


LOG = Log(
    name="hoomd", what="HOOMD-blue's output", read=_read, program="HOOMD-blue", unit="particles",
    marks=[RATE, AVERAGE, MOVES, ("HOOMD-blue", BEGUN)],
    facts=[
        r'Group "all" created containing (?P<n>[0-9]+) particles',
        r"HOOMD-blue v?(?P<version>[0-9]+\.[0-9]+\.[0-9]+)",
    ],
    case="{version}",
)  # fmt: skip
FORMATS = (LOG.format,)
