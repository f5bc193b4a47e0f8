"""NAMD 2 and 3: what it prints.

Seconds a step are printed before ``s/step``; the number after them is days/ns in one version and
ns/day in another. ``Benchmark time`` lines appear after a few hundred steps; the first is left out
if others follow, because loads are still being balanced. Otherwise the wall time (not the CPU time)
of ``TIMING`` lines is used, then ``PERFORMANCE``; never ``Initial time``.

GPUs are distinct devices of distinct hosts in ``binding to CUDA device`` lines. NAMD's processors
are threads, its nodes are processes, its physical nodes are machines; it lists the devices of the
first two machines. In builds without GPUs, processor cores count as devices, path ``host``.
With multiple time stepping, a step is the shortest one.

Source: src/DeviceCUDA.C, src/Node.C, src/Controller.C.
"""

from __future__ import annotations

import re
from itertools import pairwise

from gpucast.data.formats.logs import log, runs
from gpucast.data.formats.logs.log import Log, Part
from gpucast.errors import InputError

BANNER = r"Info: NAMD (?P<version>\S+) for (?P<build>\S+)"
BINDING = (
    r"binding to (?:CUDA|HIP) device (?P<id>[0-9]+) on (?P<host>\S+): '(?P<name>[^'\n]*)'"
    r"(?:[^\n]*?PCI: (?P<pci>[0-9a-f:]+))?"
)
BENCHMARK = r"Info: Benchmark time: (?P<cpus>[0-9]+) CPUs (?P<seconds>[0-9.eE+-]+) s/step"
WALL = r"TIMING: [0-9]+ +CPU: [^,\n]+, [^,\n]+ +Wall: [^,\n]+, (?P<seconds>[0-9.eE+-]+)/step"
AVERAGE = r"PERFORMANCE: [0-9]+ +averaging [^,\n]+, (?P<seconds>[0-9.eE+-]+) sec/step"


def _read(part: Part) -> None:
    gpus, unclear, path = _gpus(part)
    is_timed = False
    starts = [match.start() for match in part.all("TCL: (?:Running|Minimizing) for")]
    for begin, end in pairwise([0, *starts, len(part.text)]):
        minimizes = part.text.startswith("TCL: Minimizing", begin)
        samples = [] if minimizes else _samples(part, begin, end)
        if samples:
            times = [float(sample["seconds"]) for sample in samples]
            width = max(map(runs.rounding_of_six, times))
            part.run(samples[0].start(), times, width, gpus=gpus, unclear=unclear, path=path)
            is_timed = True
    if not is_timed and "TCL: Minimizing for" not in part.text:
        part.unfinished()


def _samples(part: Part, begin: int, end: int) -> list[re.Match[str]]:
    """Return the lines with seconds a step, without a first one during load balancing.

    Raises:
        InputError: the lines are of several runs.
    """
    benchmarks = part.all(BENCHMARK, begin, end)
    other = next((line for line in benchmarks if line["cpus"] != benchmarks[0]["cpus"]), None)
    if other is not None:
        raise InputError(
            f"times on {benchmarks[0]['cpus']} and {other['cpus']} CPUs without NAMD's start-up "
            "lines in between; give each run's output in a file of its own",
            line=part.line(other.start()),
        )
    for pattern in (BENCHMARK, WALL):
        matches = log.positive(part.all(pattern, begin, end), "seconds")
        if matches:
            return matches[1:] or matches
    # An average since the start: the last line covers all steps.
    return log.positive(part.all(AVERAGE, begin, end), "seconds")[-1:]


def _gpus(part: Part) -> tuple[int | None, str, str | None]:
    """Return the GPUs, why they are unclear, and the path of runs without GPUs."""
    bound, cores, build = part.all(BINDING), part.whole("cores"), part.facts.get("build")
    if not bound and build and cores and not re.search("CUDA|HIP|SYCL|oneAPI", build, re.I):
        return cores, "", runs.HOST
    hosts = {match["host"] for match in bound}
    devices = {(match["host"], match["pci"] or match["id"]) for match in bound}
    machines, processes = part.whole("nodes") or len(hosts), part.whole("ranks") or 1
    unclear = ""
    if not bound:
        unclear = "no line says to which devices NAMD was bound"
    elif machines > len(hosts):
        unclear = f"lists the devices of {len(hosts)} of {machines} machines"
    elif (
        len(bound) > len(devices) == len(hosts)
        and processes > machines
        and not any(match["pci"] for match in bound)
    ):
        unclear = (
            "several processes of a machine name the same device: they may share it, or each sees "
            "only its own"
        )
    return None if unclear else len(devices), unclear, None


LOG = Log(
    name="namd", what="NAMD's log", read=_read, program="NAMD", unit="atoms",
    start=BANNER, end="WallClock:", marks=[BANNER, BENCHMARK, WALL],  # devices are bound before it
    facts=[
        BANNER, r"Info: (?P<n>[0-9]+) ATOMS\n", r"Info: TIMESTEP +(?P<fs>[0-9.eE+-]+)\s",
        r"Info: CUTOFF +(?P<cutoff>[0-9.eE+-]+)\s", r"(?P<resident>GPU-resident) mode",
        r"Info: Running on (?P<cores>[0-9]+) processors, (?P<ranks>[0-9]+) nodes, "
        r"(?P<nodes>[0-9]+) physical nodes",
    ],
    case="{version}, {resident}, cutoff {cutoff} A", gpu_name=BINDING,
)  # fmt: skip
FORMATS = (LOG.format,)
