"""Reads GROMACS's md.log, as molecular_dynamics.toml describes."""

from __future__ import annotations

import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part
from gpucast.util.remarks import Kind

# Builds with an MPI library print "On host X" before it.
SELECTED = r"\b(?P<gpus>[0-9]+) GPUs? (?:auto-|user-)?selected for this run"
ON_GPUS = r"Using GPU \S+ non-?bonded|Mapping of GPU IDs?|\bon the GPU\b"
"""Lines of runs on GPUs that do not state their number."""
BUILT_FOR_GPUS = r"\nGPU support: +(?!disabled|none)\w"
MAPPING = (
    r"Mapping of GPU IDs? to the (?P<tasks>[0-9]+) GPU tasks? in the (?P<ranks>[0-9]+) ranks? "
    r"on this node:\s+(?P<ids>[A-Za-z0-9:,]+)"
)
MULTI = r"This is simulation [0-9]+ out of (?P<number>[0-9]+) running"
PERFORMANCE = r"\n(?P<columns>[^\n]+)\nPerformance: +(?P<values>[^\n]+)\n"
TIME = r"\n +Time: +[0-9.]+ +(?P<wall>[0-9.]+) +[0-9.]+"
ROW = (
    r"\n (?P<name>[A-Z][^\n*]{0,40}?)(?P<other> \*)? +[0-9]+ +[0-9]+ +(?P<calls>[0-9]+) +"
    r"(?P<wall>[0-9.]+) +[0-9.]+ +[0-9.]+(?=\n)"
)
FORCE = r"\n Force(?: \*)? +[0-9]+ +[0-9]+ +(?P<calls>[0-9]+) +[0-9.]+ +[0-9.]+ +[0-9.]+(?=\n)"
ACCOUNTING = r"\n (?:Activity|Computing): +Num "
"""The heading of the table of wall times; ``Computing`` until version 2022."""
_HOST = {
    "Neighbor search", "Domain decomp.", "DD comm. load", "Force", "Bonded F", "Launch GPU ops.",
    "Launch PP GPU ops.", "Launch PME GPU ops.", "NB X/F buffer ops.", "Write traj.", "Update",
    "Constraints",
}  # fmt: skip
_EXCHANGE = {
    "DD comm. bounds", "Comm. coord.", "Wait + Comm. F", "Send X to PME", "Wait + Recv. PME F",
    "Comm. energies",
}  # fmt: skip
_STATIONARY = {"steep", "cg", "l-bfgs", "nm", "tpi", "tpic"}
_AGREE = 0.01


def read(part: Part) -> None:
    """Report the run that the accounting timed."""
    if part.facts.get("integrator") in _STATIONARY:
        return
    performance = part.find(PERFORMANCE)
    force = part.find(FORCE)
    calls = int(force["calls"]) if force else None
    timed = _seconds(part, performance, calls) if performance else None
    if performance is None or timed is None:
        part.unfinished()
        return
    ranks, nodes = part.whole("ranks") or 1, part.whole("nodes") or 1
    gpus, unclear = _gpus(part, ranks, nodes)
    path = None if gpus or unclear else runs.HOST
    names = part.all(r"#[0-9]+: (?:NVIDIA |name: )(?P<name>[^,\n]+),")
    if path != runs.HOST:
        part.content.gpu_names += [match["name"].strip() for match in names]
    elif part.find(BUILT_FOR_GPUS):
        text = "built for GPUs, but used none: taken as a run on processor cores, path host"
        part.remark(text, "no GPU", Kind.READ_AS)
    if path == runs.HOST:
        gpus = ranks * (part.whole("threads") or 1)
    part.run(
        performance.start("values"), [timed[0]], timed[1], gpus=gpus, unclear=unclear, path=path,
        ranks=ranks, nodes=nodes, phases=_phases(part, path, calls),
    )  # fmt: skip


def _seconds(
    part: Part, performance: re.Match[str], calls: int | None
) -> tuple[float, float] | None:
    """Return the seconds a step and the relative half-width of their rounding; None if unknown.

    ``calls``: number of steps, the calls of Force.
    """
    columns = re.findall(r"\(([^()]+)\)", performance["columns"])
    printed = dict(zip(columns, performance["values"].split(), strict=False))
    rate = printed.get("ns/day", "")
    speed = runs.decimal(rate)
    by_rate = None
    if part.timestep and speed:
        by_rate = part.timestep * runs.NANOSECONDS * runs.DAY / speed
    wall = part.find(TIME)
    if wall and calls and (clock := runs.decimal(wall["wall"])):
        by_clock = clock / calls
        if by_rate is None or abs(by_clock / by_rate - 1) <= _AGREE + runs.rounding(rate):
            return by_clock, runs.rounding(wall["wall"])
    return (by_rate, runs.rounding(rate)) if by_rate else None


def _gpus(part: Part, ranks: int, nodes: int) -> tuple[int | None, str]:
    """Return the GPUs of all nodes, or why they are unclear; neither for runs without GPUs."""
    selected, mapping, multi = map(part.find, (SELECTED, MAPPING, MULTI))
    if multi is not None:
        return None, f"one of {multi['number']} simulations that run together on some GPUs"
    if selected is None:
        works = part.find(ON_GPUS) is not None
        return None, "works on GPUs, but no line says how many were selected" if works else ""
    here = int(selected["gpus"])
    on_node = int(mapping["ranks"]) if mapping else ranks if nodes == 1 else None
    if on_node is None or on_node * nodes != ranks:
        return None, f"lists the {here} GPU(s) of one of {nodes} nodes, which differ"
    if here == 1 and on_node > 1:
        reason = "they share it, or each sees only its own"
        return None, f"all {on_node} ranks of a node name the same GPU: {reason}"
    return here * nodes, ""


def _phases(part: Part, path: str | None, calls: int | None) -> dict[str, float]:
    """Return the seconds a step of host work and communication, for ranks that do not do PME.

    Without GPUs, cores are the devices, and all but communication is their work.
    """
    head = part.last(ACCOUNTING)
    if not calls or head is None:
        return {}
    sums = {"kernel": 0.0, "cpu": 0.0, "exchange": 0.0}
    # The floating-point accounting above has a total, too; below this table are the PME ranks'
    # shares of its rows.
    end = part.text.find("\n Total   ", head.end())
    for row in part.all(ROW, head.end(), None if end < 0 else end):
        if row["other"]:
            continue
        name, wall = row["name"].strip(), runs.decimal(row["wall"]) or 0.0
        if name in _EXCHANGE:
            sums["exchange"] += wall
        elif path == runs.HOST:
            sums["kernel"] += wall
        elif name in _HOST:
            sums["cpu"] += wall
    del sums["cpu" if path == runs.HOST else "kernel"]
    return {name: wall / calls for name, wall in sums.items()}
