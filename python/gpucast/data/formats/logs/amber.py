"""AMBER's pmemd and pmemd.cuda: mdout and mdinfo.

The block of timings over *all* steps is read; the one over the last steps may be 0.00 or
``Infinity``. Its milliseconds a step have two decimals. The elapsed seconds over the steps
(``nstlim``, in mdinfo the completed ones) are more precise and are used if both agree.

GPUs are the ``Task ID`` entries, one for each rank, or 1 without them; devices that are only
visible are not counted. mdinfo states neither size nor GPUs: the user is asked. CPU routine timers
tell nothing about GPUs.

Source: pmemd's mdout; ambermd.org.
"""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part

START = r"Amber (?P<version>[0-9]+) +PMEMD"
TIMING = (
    r"Average timings for all steps:\s*\n\| +Elapsed\(s\) = +(?P<elapsed>[0-9.]+) "
    r"Per Step\(ms\) = +(?P<ms>[0-9.]+)\s"
)


def _read(part: Part) -> None:
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


LOG = Log(
    name="amber", what="AMBER's mdout or mdinfo", read=_read, program="AMBER", unit="atoms",
    start=START, marks=[START, "Average timings for all steps:"],
    facts=[
        START, r"NATOM  *= *(?P<n>[0-9]+)\s", r"\| +\[(?P<precision>[A-Z]+)\]",
        r"Running AMBER/MPI version on +(?P<ranks>[0-9]+) (?:MPI tasks|nodes)",
    ],
    settings=[
        r"\bdt *= *(?P<ps>[0-9.]+)\s*[,\n]",
        r"\bcut *= *(?P<cutoff>[0-9]+(?:\.[0-9]*?[1-9](?=0*\s*[,\n]))?)[.]?0*\s*[,\n]",
    ],
    case="{version}, {precision}, cutoff {cutoff} A",
    gpu_name=r"\| +(?:CUDA|HIP) Device Name: (?P<name>[^\n]+)\n",
    unclear="mdinfo does not name the GPUs; mdout does",
)  # fmt: skip
FORMATS = (LOG.format,)
