"""GROMACS's md.log.

Seconds a step are the wall time over the steps that the accounting counted (the calls of
``Force``), which are neither ``nsteps`` nor the last step's number once counters were reset; where
that differs from the printed ns/day by more than its digits can, the ns/day are taken. Columns of
``Performance:`` are told by the line above it: versions differ.

GPUs are those selected on the first node times the nodes. Where every rank names device 0, they
share one GPU or each sees only its own (a wrapper that sets the visible devices): that is asked.

The accounting knows the host's work and the communication, but no kernel: GPU time shows only as
waiting, part of it as waiting for the state. Rows marked * are of separate PME ranks, which run
beside the others.

Source: gmxlib/nrnb.cpp (print_perf), timing/wallcycle.cpp, taskassignment/reportgpuusage.cpp.
"""

from __future__ import annotations

import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.util.remarks import Kind, remark

_START = re.compile(r"GROMACS version:\s+(?:VERSION )?(?P<version>\S+)")
_ATOMS = re.compile(r"There are: (?P<atoms>[0-9]+) Atoms")
_RANKS = re.compile(r"Using (?P<ranks>[0-9]+) MPI (?:process|thread)")
_THREADS = re.compile(r"Using (?P<threads>[0-9]+) OpenMP threads?\b")
_NODES = re.compile(r"Running on (?P<nodes>[0-9]+) nodes? with total")
# "On host X" stands before it in builds with a library of MPI only.
_SELECTED = re.compile(r"\b(?P<gpus>[0-9]+) GPUs? (?:auto-|user-)?selected for this run")
_ON_GPUS = re.compile(r"Using GPU \S+ non-?bonded|Mapping of GPU IDs?|\bon the GPU\b")
"""What runs on GPUs say, but not on how many."""
_BUILT_FOR_GPUS = re.compile(r"\nGPU support: +(?!disabled|none)\w")
_MAPPING = re.compile(
    r"Mapping of GPU IDs? to the (?P<tasks>[0-9]+) GPU tasks? in the (?P<ranks>[0-9]+) ranks? "
    r"on this node:\s+(?P<ids>[A-Za-z0-9:,]+)"
)
_GPU_NAME = re.compile(r"#[0-9]+: (?:NVIDIA |name: )(?P<name>[^,\n]+),")
_MULTI = re.compile(r"This is simulation [0-9]+ out of (?P<number>[0-9]+) running")
_PARAMETER = re.compile(r"\n +(?P<name>integrator|dt|coulombtype|rcoulomb) += (?P<value>\S+)(?=\n)")
_PRECISION = re.compile(r"\nPrecision: +(?P<precision>\w+)")
_PERFORMANCE = re.compile(r"\n(?P<columns>[^\n]+)\nPerformance: +(?P<values>[^\n]+)\n")
_TIME = re.compile(r"\n +Time: +[0-9.]+ +(?P<wall>[0-9.]+) +[0-9.]+")
_ROW = re.compile(
    r"\n (?P<name>[A-Z][^\n*]{0,40}?)(?P<other> \*)? +[0-9]+ +[0-9]+ +(?P<calls>[0-9]+) +"
    r"(?P<wall>[0-9.]+) +[0-9.]+ +[0-9.]+(?=\n)"
)
_ACCOUNTING = re.compile(r"\n (?:Activity|Computing): +Num ")
"""Above the table of what the wall time went into; ``Computing`` until version 2022."""
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


def detect(text: str) -> bool:
    """Whether it is a log of mdrun; what mdrun prints on the screen lacks the size."""
    return _START.search(text) is not None and "GROMACS" in text


def parse(text: str) -> Found:
    """A run for each start of mdrun that came to its end; minimizations are none."""
    return runs.of_executions(text, _START, _read)


def _read(part: str, begin: int, number: int, lines: runs.Lines, found: Found) -> None:
    parameters = {match["name"]: match["value"] for match in _PARAMETER.finditer(part)}
    if parameters.get("integrator") in _STATIONARY:
        return
    timestep = _picoseconds(parameters.get("dt"))
    performance = _PERFORMANCE.search(part)
    timed = _seconds(part, performance, timestep) if performance else None
    if performance is None or timed is None:
        start = _START.search(part)
        found.unfinished.append(lines.of(begin + (start.start() if start else 0)))
        return
    seconds, uncertainty = timed
    atoms, ranks, nodes = _ATOMS.search(part), _RANKS.search(part), _NODES.search(part)
    rank_count = int(ranks["ranks"]) if ranks else 1
    node_count = int(nodes["nodes"]) if nodes else 1
    gpus, unclear, path = _gpus(part, rank_count, node_count)
    if path != runs.HOST:
        found.gpu_names += [match["name"].strip() for match in _GPU_NAME.finditer(part)]
    elif _BUILT_FOR_GPUS.search(part):
        text = "built for GPUs, but used none: taken as a run on processor cores, path host"
        found.remarks.append(remark(Kind.READ_AS, text, about="no GPU"))
    found.runs.append(
        Run(
            program="GROMACS",
            line=lines.of(begin + performance.start("values")),
            seconds=(seconds,),
            uncertainty=uncertainty,
            n=int(atoms["atoms"]) if atoms else None,
            unit="atoms",
            gpus=gpus,
            unclear=unclear,
            path=path,
            nodes=node_count,
            ranks=rank_count,
            case=_case(part, parameters),
            timestep=timestep,
            phases=_phases(part, path),
            execution=number,
        )
    )


def _seconds(
    part: str, performance: re.Match[str], timestep: float | None
) -> tuple[float, float] | None:
    """Seconds a step, and the relative half-width of their rounding; None where none is printed."""
    columns = re.findall(r"\(([^()]+)\)", performance["columns"])
    printed = dict(zip(columns, performance["values"].split(), strict=False))
    rate = printed.get("ns/day", "")
    speed = runs.decimal(rate)
    by_rate = None
    if timestep and speed:
        by_rate = timestep * runs.NANOSECONDS * runs.DAY / speed
    wall = _TIME.search(part)
    calls = _calls(part)
    if wall and calls and (clock := runs.decimal(wall["wall"])):
        by_clock = clock / calls
        if by_rate is None or abs(by_clock / by_rate - 1) <= _AGREE + runs.rounding(rate):
            return by_clock, runs.rounding(wall["wall"])
    return (by_rate, runs.rounding(rate)) if by_rate else None


def _calls(part: str) -> int | None:
    """Steps counted: the calls of Force."""
    return next((int(row["calls"]) for row in _ROW.finditer(part) if row["name"] == "Force"), None)


def _gpus(part: str, ranks: int, nodes: int) -> tuple[int | None, str, str | None]:
    """GPUs of all nodes, why they are not clear, and the path of runs without GPUs."""
    selected, mapping, multi = _SELECTED.search(part), _MAPPING.search(part), _MULTI.search(part)
    if multi is not None:
        return None, f"one of {multi['number']} simulations that run together on some GPUs", None
    if selected is None and _ON_GPUS.search(part):
        return None, "works on GPUs, but no line says how many were selected", None
    if selected is None:
        threads = _THREADS.search(part)
        return ranks * (int(threads["threads"]) if threads else 1), "", runs.HOST
    here = int(selected["gpus"])
    on_node = int(mapping["ranks"]) if mapping else ranks if nodes == 1 else None
    if on_node is None or on_node * nodes != ranks:
        return None, f"lists the {here} GPU(s) of one of {nodes} nodes, which differ", None
    if here == 1 and on_node > 1:
        return (
            None,
            f"all {on_node} ranks of a node name the same GPU: they share it, or each sees only "
            "its own",
            None,
        )
    return here * nodes, "", None


def _picoseconds(text: str | None) -> float | None:
    value = runs.decimal(text) if text else None
    return value / runs.PICOSECONDS if value and value > 0 else None


def _case(part: str, parameters: dict[str, str]) -> str | None:
    version, precision = _START.search(part), _PRECISION.search(part)
    words = [version["version"] if version else None, precision["precision"] if precision else None]
    words.append(parameters.get("coulombtype"))
    if "rcoulomb" in parameters:
        words.append(f"rcoulomb {parameters['rcoulomb']} nm")
    return ", ".join(word for word in words if word) or None


def _phases(part: str, path: str | None) -> dict[str, float]:
    """Seconds a step of the host's work and of communication, of the ranks that do not do PME.

    Without GPUs, cores stand for them, and what is no communication is their work.
    """
    calls, heads = _calls(part), list(_ACCOUNTING.finditer(part))
    if not calls or not heads:
        return {}
    sums = {"kernel": 0.0, "cpu": 0.0, "exchange": 0.0}
    # The accounting of floating-point operations above has a total, too; below this table's stands
    # what PME ranks did within its rows.
    table = part[heads[-1].end() :].partition("\n Total   ")[0]
    for row in _ROW.finditer(table):
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


FORMATS = (runs.log_format("gromacs", "GROMACS's md.log", detect, parse),)
