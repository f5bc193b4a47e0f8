"""Reads NAMD's output, as molecular_dynamics.toml describes."""

from __future__ import annotations

import re
from itertools import pairwise

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part, positive
from gpucast.errors import InputError

AVERAGE = r"PERFORMANCE: [0-9]+ +averaging [^,\n]+, (?P<seconds>[0-9.eE+-]+) sec/step"


def read(part: Part) -> None:
    """Report the runs; each ends where the next starts or a minimization begins."""
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
    words = part.log.words
    benchmarks = part.all(words["benchmark"], begin, end)
    other = next((line for line in benchmarks if line["cpus"] != benchmarks[0]["cpus"]), None)
    if other is not None:
        raise InputError(
            f"times on {benchmarks[0]['cpus']} and {other['cpus']} CPUs without NAMD's start-up "
            "lines in between; give each run's output in a file of its own",
            line=part.line(other.start()),
        )
    for pattern in (words["benchmark"], words["wall"]):
        matches = positive(part.all(pattern, begin, end), "seconds")
        if matches:
            return matches[1:] or matches
    # An average since the start: the last line covers all steps.
    return positive(part.all(AVERAGE, begin, end), "seconds")[-1:]


def _gpus(part: Part) -> tuple[int | None, str, str | None]:
    """Return the GPUs, why they are unclear, and the path of runs without GPUs."""
    bound, cores, build = part.all(part.log.gpu_name), part.whole("cores"), part.facts.get("build")
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
