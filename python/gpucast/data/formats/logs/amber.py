"""Reads AMBER's mdout and mdinfo, as molecular_dynamics.toml describes."""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part

TIMING = (
    r"Average timings for all steps:\s*\n\| +Elapsed\(s\) = +(?P<elapsed>[0-9.]+) "
    r"Per Step\(ms\) = +(?P<ms>[0-9.]+)\s"
)


def read(part: Part) -> None:
    """Report the run over all steps."""
    if part.find(r"imin *= *1\s*[,\n]"):  # a minimization
        return
    timing = part.last(TIMING)
    counted = part.last(r"Completed: +(?P<steps>[0-9]+) \(") or part.last(
        r"nstlim *= *(?P<steps>[0-9]+)\s*[,\n]"
    )
    divisors = {"elapsed": int(counted["steps"]) if counted else 0, "ms": 1e3}
    seconds = {
        name: value / divisor
        for name, divisor in divisors.items()
        if timing and divisor and (value := runs.decimal(timing[name]))
    }
    if timing is None or not seconds:
        part.unfinished()
        return
    elapsed, rounded = seconds.get("elapsed"), seconds.get("ms")
    # Half a unit of the second decimal, and the elapsed time's own rounding.
    agree = elapsed and (not rounded or abs(elapsed - rounded) <= 5.1e-6 + 0.01 * rounded)
    name = "elapsed" if agree else "ms"
    tasks = len({task["id"] for task in part.all(r"\| +Task ID: +(?P<id>[0-9]+)\s")})
    ranks, gpus, path = part.whole("ranks") or tasks or None, None, None
    if part.find(r"\| GPU \((?:CUDA|HIP)\) Version of PMEMD in use"):
        gpus = tasks or 1
    elif "version" in part.facts:
        gpus, path = ranks or 1, runs.HOST
    part.run(
        timing.start(), [seconds[name]], runs.rounding(timing[name]),
        gpus=gpus, path=path, ranks=ranks,
    )  # fmt: skip
