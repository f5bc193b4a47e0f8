"""Reads HOOMD-blue's output, as molecular_dynamics.toml describes."""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part, positive
from gpucast.errors import InputError

DEVICES = r"running on the following GPU\(s\):\n(?P<list>(?: *\[[0-9]+\][^\n]*\n)+)"


def read(part: Part) -> None:
    """Report a benchmark's repetitions, the runs of version 2, or a bare rate."""
    words = part.log.words
    if (moves := part.find(words["moves"])) is not None:
        raise InputError(
            "counts trial moves, not time steps; time the run and write a table n,gpus,seconds",
            line=part.line(moves.start()),
        )
    bare, devices = part.text.strip(), part.find(DEVICES)
    gpus = devices["list"].count("\n") if devices else None
    repetitions, averages = (
        positive(part.all(words[name]), "rate") for name in ("rate", "average")
    )
    timed = [repetitions] * bool(repetitions) + [[average] for average in averages]
    for rates in timed:
        printed = [match["rate"] for match in rates]
        width = max(map(runs.rounding, printed))
        part.run(rates[0].start("rate"), [1 / float(rate) for rate in printed], width, gpus=gpus)
    if (rate := runs.decimal(bare) or 0) > 0:
        part.run(0, [1 / rate], runs.rounding(bare))
    elif not timed:
        begun = part.find(words["begun"])
        part.unfinished(begun.start() if begun else 0)
