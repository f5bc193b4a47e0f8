"""NAMD 2 and 3: what it prints.

Seconds a step are those before ``s/step``; the number after them is days/ns in one version and
ns/day in another. ``Benchmark time`` lines come once a few hundred steps have run: the first is
left out where others follow, for loads are still being balanced. Without them the wall time of
``TIMING`` lines counts (not the CPU time), then ``PERFORMANCE``. ``Initial time`` is none.

GPUs are distinct devices of distinct hosts in ``binding to CUDA device`` lines. Processors are
threads, nodes are processes, physical nodes are machines; NAMD lists the devices of the first two.
With multiple time stepping a step is the short one.

Source: src/DeviceCUDA.C, src/Node.C, src/Controller.C.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run

_START = re.compile(r"Info: NAMD (?P<version>\S+) for (?P<build>\S+)")
_ATOMS = re.compile(r"Info: (?P<atoms>[0-9]+) ATOMS\n")
_TIMESTEP = re.compile(r"Info: TIMESTEP +(?P<femtoseconds>[0-9.eE+-]+)\s")
_CUTOFF = re.compile(r"Info: CUTOFF +(?P<angstrom>[0-9.eE+-]+)\s")
_RUNNING = re.compile(
    r"Info: Running on (?P<cores>[0-9]+) processors, (?P<processes>[0-9]+) nodes, "
    r"(?P<machines>[0-9]+) physical nodes"
)
_BINDING = re.compile(
    r"binding to (?:CUDA|HIP) device (?P<id>[0-9]+) on (?P<host>\S+): '(?P<name>[^'\n]*)'"
    r"(?:[^\n]*?PCI: (?P<pci>[0-9a-f:]+))?"
)
_PART = re.compile(r"TCL: (?P<what>Running|Minimizing) for (?P<steps>[0-9]+) steps")
_BENCHMARK = re.compile(
    r"Info: Benchmark time: (?P<cores>[0-9]+) CPUs (?P<seconds>[0-9.eE+-]+) s/step"
)
_TIMING = re.compile(
    r"TIMING: [0-9]+ +CPU: [^,\n]+, [^,\n]+ +Wall: [^,\n]+, (?P<seconds>[0-9.eE+-]+)/step"
)
_PERFORMANCE = re.compile(
    r"PERFORMANCE: [0-9]+ +averaging [^,\n]+, (?P<seconds>[0-9.eE+-]+) sec/step"
)
_GPU_BUILD = re.compile(r"CUDA|HIP|SYCL|oneAPI", re.IGNORECASE)


def detect(text: str) -> bool:
    """Whether NAMD printed it."""
    return _START.search(text) is not None or _BENCHMARK.search(text) is not None


def parse(text: str) -> Found:
    """A run for each ``run`` of dynamics that was timed."""
    found = Found()
    lines = runs.Lines(text)
    for number, (begin, part) in enumerate(_executions(text)):
        _read(part, begin, number, lines, found)
    return found


def _executions(text: str) -> Iterator[tuple[int, str]]:
    """Place and text of each start; devices are bound before the banner, after the last end."""
    banners = [match.start() for match in _START.finditer(text)]
    bounds = [0]
    for banner, following in itertools.pairwise(banners):
        end = text.rfind("WallClock:", banner, following)
        bounds.append(following if end < 0 else end)
    for begin, end in zip(bounds, [*bounds[1:], len(text)], strict=True):
        yield begin, text[begin:end]


def _read(part: str, begin: int, number: int, lines: runs.Lines, found: Found) -> None:
    marks = list(_PART.finditer(part))
    places = [0, *(mark.start() for mark in marks), len(part)]
    kinds = ["Running", *(mark["what"] for mark in marks)]
    atoms, timestep, running = (each.search(part) for each in (_ATOMS, _TIMESTEP, _RUNNING))
    gpus, unclear, path = _gpus(part, running)
    dt = runs.decimal(timestep["femtoseconds"]) if timestep else None
    timed = 0
    for kind, first, last in zip(kinds, places, places[1:], strict=False):
        samples = _samples(part[first:last])
        if kind != "Running" or not samples:
            continue
        timed += 1
        found.runs.append(
            Run(
                program="NAMD",
                line=lines.of(begin + first + samples[0].start()),
                seconds=tuple(float(sample["seconds"]) for sample in samples),
                uncertainty=max(runs.rounding_of_six(float(each["seconds"])) for each in samples),
                n=int(atoms["atoms"]) if atoms else None,
                unit="atoms",
                gpus=gpus,
                unclear=unclear,
                path=path,
                nodes=int(running["machines"]) if running else None,
                ranks=int(running["processes"]) if running else None,
                case=_case(part),
                timestep=dt / runs.FEMTOSECONDS if dt else None,
                execution=number,
            )
        )
    found.gpu_names += [match["name"] for match in _BINDING.finditer(part) if match["name"]]
    if not timed and "Minimizing" not in kinds:
        found.unfinished.append(lines.of(begin))


def _samples(part: str) -> list[re.Match[str]]:
    """The lines whose seconds a step count; the first of several is still being balanced."""
    for pattern in (_BENCHMARK, _TIMING):
        matches = [each for each in pattern.finditer(part) if runs.decimal(each["seconds"])]
        if matches:
            return matches[1:] or matches
    # An average since the start: the last says all.
    return [each for each in _PERFORMANCE.finditer(part) if runs.decimal(each["seconds"])][-1:]


def _gpus(part: str, running: re.Match[str] | None) -> tuple[int | None, str, str | None]:
    """GPUs, why they are not clear, and the path of runs without GPUs."""
    start = _START.search(part)
    bound = list(_BINDING.finditer(part))
    if not bound:
        if start is not None and not _GPU_BUILD.search(start["build"]) and running is not None:
            return int(running["cores"]), "", runs.HOST
        return None, "no line says to which devices NAMD was bound", None
    hosts = {match["host"] for match in bound}
    devices = {(match["host"], match["pci"] or match["id"]) for match in bound}
    machines = int(running["machines"]) if running else len(hosts)
    processes = int(running["processes"]) if running else 1
    if machines > len(hosts):
        return None, f"lists the devices of {len(hosts)} of {machines} machines", None
    shared = len(bound) > len(devices) and len(devices) == len(hosts)
    if shared and processes > machines and not any(match["pci"] for match in bound):
        return (
            None,
            "several processes of a machine name the same device: they share it, or each sees "
            "only its own",
            None,
        )
    return len(devices), "", None


def _case(part: str) -> str | None:
    start, cutoff = _START.search(part), _CUTOFF.search(part)
    resident = "GPU-resident" if "GPU-resident mode" in part else None
    words = [start["version"] if start else None, resident]
    words.append(f"cutoff {cutoff['angstrom']} A" if cutoff else None)
    return ", ".join(word for word in words if word) or None


FORMATS = (runs.log_format("namd", "NAMD's log", detect, parse),)
