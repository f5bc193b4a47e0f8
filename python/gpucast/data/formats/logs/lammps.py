"""Reads LAMMPS's screen output and logs, as molecular_dynamics.toml describes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part
from gpucast.util.remarks import Kind, once

_SETUP = r"Setting up (?P<what>\S+)[^\n]*\n|ERROR[: ]"
_MINIMIZE = r"\n(?:minimize\s|Setting up \w+ style minimization)"
_TASKS = r"(?P<ranks>[0-9]+) MPI tasks x (?P<threads>no|[0-9]+) OpenMP thread"
_GRID = r"(?P<x>[0-9]+) by (?P<y>[0-9]+) by (?P<z>[0-9]+) MPI processor grid"
_SHARED = r"with (?P<ranks>[0-9]+) proc\(s\) per device"
_PACKAGE = r"package\s+gpu\s+(?P<number>-?[0-9]+)"
_KOKKOS = r"KOKKOS mode[^\n]* is enabled"
_KOKKOS_GPUS = r"will use up to (?P<number>[0-9]+) GPU\(s\) per node"
_UNITS = r"(?:Unit style\s*:|units)\s+(?P<units>lj|real|metal|si|cgs|electron|micro|nano)\b"
_STEP = r"(?:Time step\s*:|timestep)\s+(?P<step>[0-9.eE+-]+)\s"
_RATE = (
    r"Performance: (?P<rate>[0-9.eE+-]+) (?P<unit>[nf])s/day, [^\n]{0,60}?"
    r"(?P<steps>[0-9.eE+-]+) timesteps/s"
)
_PAIR = r"pair_style\s+(?P<pair>[^\n#&$]+)\n"
_ACCELERATED = r"acceleration for (?P<accelerated>[\w/]+)"
_SETTINGS = (_PAIR, _ACCELERATED, _UNITS, _STEP)
"""Settings of a run; the last value counts."""
_SECTION = (
    r"\n(?P<name>Pair|Bond|Kspace|Neigh|Comm|Modify)\s*\|[^|\n]*\| *(?P<mean>[0-9.eE+-]+) *\|"
)
_DEVICE_TIME = (
    r"\n(?P<name>Neighbor build|Force calc|CPU Neighbor|CPU Cast/Pack|CPU Driver_Time): +"
    r"(?P<seconds>[0-9.eE+-]+) s\."
)
_TIME_UNITS = {
    "real": 1e15, "metal": 1e12, "electron": 1e15, "micro": 1e6, "nano": 1e9, "si": 1.0,
    "cgs": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class _Devices:
    """What the log states about GPUs."""

    gpus: int | None = None
    unclear: str = ""
    nodes: int | None = None
    path: str | None = None
    how: str | None = None
    warning: tuple[str, str] | None = None


def read(part: Part) -> None:
    """Report the dynamics runs, without minimizations and runs of no steps."""
    loops = part.all(part.log.words["loop"])
    ends = [*(loop.start() for loop in loops), len(part.text)][1:]
    begins = [0, *(loop.end() for loop in loops)]
    settings, known = dict[str, str](), dict[tuple[int, int], _Devices]()
    for loop, start, end in zip(loops, begins, ends, strict=False):
        tail = part.text[loop.end() : end]
        for pattern in (part.log.start, *_SETTINGS):
            for match in part.all(pattern, start, loop.start()):
                settings |= match.groupdict()
        steps, seconds = int(loop["steps"]), runs.decimal(loop["seconds"])
        minimized = re.search(_MINIMIZE, part.text[start : loop.start()])
        if steps < 1 or not seconds or minimized or "Minimization stats" in tail:
            continue
        procs = int(loop["procs"])
        ranks = _ranks(part, tail, procs)
        devices = known.get((ranks, procs)) or _devices(part, ranks, procs)
        known[ranks, procs] = devices
        if devices.warning:
            part.remark(*devices.warning, Kind.READ_AS)
            part.content.remarks = once(part.content.remarks)
        part.run(
            loop.start(), [seconds / steps], runs.rounding_of_six(seconds),
            n=int(loop["atoms"]) or None, gpus=devices.gpus, unclear=devices.unclear,
            path=devices.path, nodes=devices.nodes, ranks=ranks, case=_case(settings, devices),
            timestep=_timestep(settings, tail),
            phases=_phases(tail, devices, ranks, steps, single=len(loops) == 1),
        )  # fmt: skip
    begun = part.find(_SETUP, loops[-1].end() if loops else 0)
    if begun is not None or (not loops and part.find(part.log.start)):
        part.unfinished(begun.start() if begun else 0)


def _ranks(part: Part, tail: str, procs: int) -> int:
    tasks = re.search(_TASKS, tail)
    if tasks is not None:
        return int(tasks["ranks"])
    end = part.text.rfind(" MPI processor grid")
    grid = part.find(_GRID, part.text.rfind("\n", 0, end) + 1) if end >= 0 else None
    return math.prod(map(int, grid.groups())) if grid else procs


def _devices(part: Part, ranks: int, procs: int) -> _Devices:
    if part.find(_KOKKOS):
        return _kokkos(part, ranks, procs)
    names = {match["id"]: match["precision"] for match in part.all(part.log.gpu_name)}
    if names:
        return _package(part, ranks, names)
    package = part.find(_PACKAGE)
    if package or part.find(_ACCELERATED) or part.find(r"suffix\s+gpu"):
        asked = f" (package gpu {package['number']}, of each node)" if package else ""
        message = (
            f"the GPU package ran, but no line lists its devices{asked}; the screen output does"
        )
        return _Devices(unclear=message)
    text = (
        "names no GPU: taken as a run on processor cores, path host (if it ran on GPUs, import it "
        "alone with --gpus)"
    )
    return _Devices(procs, path=runs.HOST, warning=(text, "no GPU"))


def _package(part: Part, ranks: int, names: dict[str, str]) -> _Devices:
    """Return the GPUs of the GPU package from the devices of the first node and the ranks on
    each."""
    devices = len(names)
    how = f"GPU package, {next(iter(names.values())).lower()} precision"
    shared = part.find(_SHARED)
    on_each = int(shared["ranks"]) if shared else 0
    if devices == 1 and ranks == on_each > 1:
        text = (
            f"says that {ranks} ranks share 1 device: read as 1 GPU (where a wrapper shows each "
            "rank its own, import it alone with --gpus)"
        )
        return _Devices(1, nodes=1, how=how, warning=(text, "device"))
    if devices == 1 and ranks > 1 and on_each != 1:
        why = "they share it, or each sees its own, or more nodes have others"
        return _Devices(unclear=f"lists 1 device with {ranks} ranks: {why}", how=how)
    if not on_each or math.ceil(ranks / devices) == on_each:
        return _Devices(devices, nodes=1 if on_each else None, how=how)
    nodes, rest = divmod(ranks, devices * on_each)
    if rest:
        return _Devices(
            unclear=f"lists {devices} device(s) of the first node with {on_each} rank(s) each, of "
            f"{ranks} ranks in all: the other nodes' are not listed", how=how,
        )  # fmt: skip
    return _Devices(
        devices * nodes, nodes=nodes, how=how,
        warning=(f"lists {devices} device(s) with {on_each} rank(s) each for {ranks} "
            f"ranks: read as {nodes} equal nodes, {devices * nodes} GPUs", "nodes"),
    )  # fmt: skip


def _kokkos(part: Part, ranks: int, procs: int) -> _Devices:
    allowed = part.find(_KOKKOS_GPUS)
    if allowed is None:
        return _Devices(unclear="KOKKOS ran, but no line says on how many GPUs", how="KOKKOS")
    number = int(allowed["number"])
    if number == 0:
        return _Devices(procs, path=runs.HOST, how="KOKKOS")
    if ranks <= number:
        return _Devices(ranks, how="KOKKOS")
    if number == 1 or ranks % number:
        return _Devices(
            unclear=f"{ranks} ranks with up to {number} GPU(s) a node: they may share GPUs, or "
            "more nodes have others, or each sees its own", how="KOKKOS",
        )  # fmt: skip
    return _Devices(
        ranks, nodes=ranks // number, how="KOKKOS",
        warning=(f"{ranks} ranks with up to {number} GPUs a node: read as "
            f"{ranks // number} nodes with a GPU for each rank", "ranks"),
    )  # fmt: skip


def _case(settings: dict[str, str], devices: _Devices) -> str | None:
    """Return version, pair style and package, which must be the same."""
    style = " ".join(settings.get("pair", settings.get("accelerated", "")).split())
    words = (settings.get("version"), style, devices.how)
    return ", ".join(word for word in words if word) or None


def _timestep(settings: dict[str, str], tail: str) -> float | None:
    """Return the simulated time of a step (s); None if unknown or in reduced units (lj)."""
    units = settings.get("units")
    if "step" in settings and units in _TIME_UNITS:
        value = runs.decimal(settings["step"])
        return value / _TIME_UNITS[units] if value else None
    rate = re.search(_RATE, tail)
    if rate is None:
        return None
    simulated, done = runs.decimal(rate["rate"]), runs.decimal(rate["steps"])
    if not simulated or not done:
        return None
    size = simulated / (runs.DAY * done) * (1e-9 if rate["unit"] == "n" else 1e-15)
    return float(f"{size:.3g}")  # from rates rounded to three decimals


def _phases(
    tail: str, devices: _Devices, ranks: int, steps: int, *, single: bool
) -> dict[str, float]:
    """Return the seconds a step by phase, if the breakdown is meaningful."""
    if devices.how == "KOKKOS" and devices.path is None:
        return {}
    sections = {name: runs.decimal(mean) or 0.0 for name, mean in re.findall(_SECTION, tail)}
    if not sections:
        return {}
    exchange = {"exchange": sections.get("Comm", 0.0) / steps}
    if devices.path == runs.HOST:
        return {"kernel": (sum(sections.values()) - sections.get("Comm", 0.0)) / steps, **exchange}
    # Device times are sums over all runs since the start.
    times = {
        name: runs.decimal(value) or 0.0 for name, value in re.findall(_DEVICE_TIME, tail) if single
    }
    host = [times[name] for name in times if name.startswith("CPU")]
    if not host:
        return exchange
    phases = {**exchange, "cpu": (sum(host) + sections.get("Modify", 0.0)) / steps}
    if devices.gpus == ranks:
        phases["kernel"] = (times.get("Neighbor build", 0.0) + times.get("Force calc", 0.0)) / steps
    return phases
