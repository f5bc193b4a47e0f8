"""AMBER's pmemd and pmemd.cuda: mdout and mdinfo.

Of the timings, the block over *all* steps counts; that over the last ones may be 0.00 or
``Infinity``. Its milliseconds a step have two decimals: the elapsed seconds over the steps
(``nstlim``, in mdinfo the completed ones) have more, and are taken where the two agree.

GPUs are the ``Task ID`` entries, one a rank, and 1 without them; devices that are only visible
count for nothing. mdinfo names neither size nor GPUs. CPU routine timers say nothing on GPUs.

Source: pmemd's mdout; ambermd.org.
"""

from __future__ import annotations

import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run

_START = re.compile(r"Amber (?P<version>[0-9]+) +PMEMD")
_ATOMS = re.compile(r"NATOM  *= *(?P<atoms>[0-9]+)\s")
_STEPS = re.compile(r"nstlim *= *(?P<steps>[0-9]+)\s*[,\n]")
_COMPLETED = re.compile(r"Completed: +(?P<steps>[0-9]+) \(")
_TIMESTEP = re.compile(r"\bdt *= *(?P<picoseconds>[0-9.]+)\s*[,\n]")
_CUTOFF = re.compile(r"\bcut *= *(?P<angstrom>[0-9]+[.]?[0-9]*)\s*[,\n]")
_MINIMIZATION = re.compile(r"imin *= *1\s*[,\n]")
_GPU = re.compile(r"\| GPU \((?:CUDA|HIP)\) Version of PMEMD in use")
_TASK = re.compile(r"\| +Task ID: +(?P<id>[0-9]+)\s")
_DEVICE = re.compile(r"\| +(?:CUDA|HIP) Device Name: (?P<name>[^\n]+)\n")
_PRECISION = re.compile(r"\| +\[(?P<precision>[A-Z]+)\]")
_MPI = re.compile(r"Running AMBER/MPI version on +(?P<ranks>[0-9]+) (?:MPI tasks|nodes)")
_TIMING = re.compile(
    r"Average timings for all steps:\s*\n\| +Elapsed\(s\) = +(?P<elapsed>[0-9.]+) "
    r"Per Step\(ms\) = +(?P<each>[0-9.]+)\s"
)


def detect(text: str) -> bool:
    """Whether pmemd wrote it."""
    return _START.search(text) is not None or "Average timings for all steps:" in text


def parse(text: str) -> Found:
    """A run for each mdout or mdinfo in the text; minimizations are none."""
    return runs.of_executions(text, _START, _read)


def _read(part: str, begin: int, number: int, lines: runs.Lines, found: Found) -> None:
    if _MINIMIZATION.search(part):
        return
    timings = list(_TIMING.finditer(part))
    timing = timings[-1] if timings else None
    seconds = _seconds(part, timing) if timing else None
    if timing is None or seconds is None:
        found.unfinished.append(lines.of(begin))
        return
    atoms, mpi = _ATOMS.search(part), _MPI.search(part)
    tasks = len({task["id"] for task in _TASK.finditer(part)})
    ranks = int(mpi["ranks"]) if mpi else tasks or None
    gpus: int | None = None
    path = None
    if _GPU.search(part):
        gpus = tasks or 1
    elif _START.search(part):
        gpus, path = ranks or 1, runs.HOST
    timestep = _TIMESTEP.findall(part)
    picoseconds = runs.decimal(timestep[-1]) if timestep else None
    found.gpu_names += [match["name"].strip() for match in _DEVICE.finditer(part)]
    found.runs.append(
        Run(
            program="AMBER",
            line=lines.of(begin + timing.start()),
            seconds=(seconds[0],),
            uncertainty=seconds[1],
            n=int(atoms["atoms"]) if atoms else None,
            unit="atoms",
            gpus=gpus,
            unclear="" if gpus else "mdinfo does not name the GPUs; mdout does",
            path=path,
            ranks=ranks,
            case=_case(part),
            timestep=picoseconds / runs.PICOSECONDS if picoseconds else None,
            execution=number,
        )
    )


def _seconds(part: str, timing: re.Match[str]) -> tuple[float, float] | None:
    """Seconds a step and the relative half-width of their rounding."""
    elapsed, each = runs.decimal(timing["elapsed"]), runs.decimal(timing["each"])
    counted = _COMPLETED.findall(part) or _STEPS.findall(part)
    steps = int(counted[-1]) if counted else 0
    if elapsed and steps:
        seconds = elapsed / steps
        # Half of a unit of the second decimal, and the elapsed time's own rounding.
        if each is None or abs(seconds * 1e3 - each) <= 0.0051 + 0.01 * each:
            return seconds, runs.rounding(timing["elapsed"])
    return (each / 1e3, runs.rounding(timing["each"])) if each else None


def _case(part: str) -> str | None:
    version, precision = _START.search(part), _PRECISION.search(part)
    cutoff = _CUTOFF.findall(part)
    words = [version["version"] if version else None, precision["precision"] if precision else None]
    words.append(f"cutoff {float(cutoff[-1]):g} A" if cutoff else None)
    return ", ".join(word for word in words if word) or None


FORMATS = (runs.log_format("amber", "AMBER's mdout or mdinfo", detect, parse),)
