"""Pairs per second of gpucast-mdapp's force kernels, and of OpenMM with the same force, in one run.

    .venv/bin/python lab/benchmarks/mdapp_pairs.py [--program PATH] [--gpus 1-4] [--json FILE]

On GPUs: all kernels, the instructions per pair counted in the machine code, the share of the GPU's
issue rate, and OpenMM on its CUDA platform (if it is there). Without GPUs: the host engine on one
thread and on all, compared with a plain scalar loop in double precision and OpenMM on its CPU
platform. Pairs are ordered pairs, n^2 per step, for all programs, whether or not a program uses
that forces are opposite. Exits with status 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import openmm_salt
import sass

Json = dict[str, Any]
"""The program's answer, with figures that are added to it."""

PROGRAM = Path(sys.executable).parent / "gpucast-mdapp"
# Ordered pairs per second of one H200; its share of the issue limit is shown next to it.
H200_BOUNDS = {"tuned": 1.3e12, "tuned, with energies": 1.0e12, "tuned, minimum image": 0.85e12}
HOST_BOUND = 6.0  # times the scalar double loop, on one core
SCALING_BOUND = 0.75  # of one thread's rate, for each of all threads


# Names of the kernel's forms, by boundary and by whether energies are summed.
FORMS = {
    ("open", False): "tuned",
    ("open", True): "tuned, with energies",
    ("minimum-image", False): "tuned, minimum image",
    ("dsf", False): "tuned, dsf",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--gpus", help="as the program takes it; default: 1, or 1-cores on a CPU")
    parser.add_argument("--n", default="0", help="particles; default: the program's")
    parser.add_argument("--json", type=Path, help="file for all figures measured")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    has_gpu = _has_gpu(arguments.program)
    gpus = arguments.gpus or ("1" if has_gpu or cores == 1 else f"1,{cores}")
    ours = _throughput(arguments.program, gpus, arguments.n)
    openmm = _openmm(ours["n"], "CUDA" if has_gpu else "CPU")
    rows = ours["throughput"]
    loops = _instruction_counts(arguments.program) if has_gpu else {}
    limit = ours.get("cores", 0) * ours.get("clock_hz", 0)
    print(f"n = {ours['n']} on {ours['device']}")
    print(f"{'kernel':<34}{'GPUs':>5}{'pairs/s':>12}{'each':>12}  instructions  of issue limit")
    for row in rows:
        rate = row.get("pairs_per_second_and_gpu", row["pairs_per_second"])
        pairs = f"{row['pairs_per_second']:>12.3e}{rate:>12.3e}"
        line = f"{row['kernel']:<34}{row.get('gpus', 1):>5}{pairs}"
        if row["kernel"] in loops and row.get("gpus") == 1:
            count = loops[row["kernel"]]
            share = rate * count / limit
            row |= {"instructions_a_pair": count, "share_of_issue_limit": share}
            line += f"{count:>14.2f}{100 * share:>14.1f} %"
        print(line)
    if openmm is None:
        print("OpenMM is not installed (pip install openmm; on GPUs openmm-cuda-13 as well)")
    else:
        tuned = next(row for row in rows if row["kernel"] == "tuned" and row["gpus"] == 1)
        factor = tuned["pairs_per_second"] / openmm["pairs_per_second"]
        name = f"OpenMM {openmm['version']}, {openmm['platform']}, single"
        print(f"{name:<34}{1:>5}{openmm['pairs_per_second']:>12.3e}{'':>12}  tuned: {factor:.2f} x")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(ours | {"openmm": openmm}, indent=1) + "\n")
    return _verdict(ours)


def _has_gpu(program: Path) -> bool:
    tiny = ["--engine", "cuda", "--n", "1", "--seconds", "0.001", "--warm-up", "0"]
    return subprocess.run([program, "throughput", *tiny], capture_output=True).returncode == 0


def _throughput(program: Path, gpus: str, n: str) -> Json:
    command = [program, "throughput", "--gpus", gpus, "--n", n, "--json"]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


def _instruction_counts(program: Path) -> dict[str, float]:
    """Instructions per pair by kernel name, in the form for many particles."""
    try:
        loops = sass.tuned_loops(program)
    except sass.SassError as error:
        print(f"instructions not counted: {error}")
        return {}
    # Sorted by particles per thread: the form for the most particles comes last.
    forms = (((loop.boundary, loop.with_energies), loop.instructions_a_pair) for loop in loops)
    return {FORMS[form]: instructions for form, instructions in forms if form in FORMS}


def _openmm(n: int, platform_name: str) -> Json | None:
    """Ordered pairs per second of whole steps on one GPU or one thread, or None without OpenMM."""
    try:
        import openmm

        platform = openmm.Platform.getPlatformByName(platform_name)
    except Exception:
        return None
    salt = openmm_salt.NACL
    system = openmm.System()
    side = round(n ** (1 / 3) + 0.5)
    cells = [(x, y, z) for x in range(side) for y in range(side) for z in range(side)][:n]
    types = [sum(cell) % 2 for cell in cells]
    for kind in types:
        system.addParticle(salt.masses[kind])
    system.addForce(openmm_salt.force(openmm, salt, types))
    integrator = openmm.VerletIntegrator(1e-4)  # ps: no particle moves far
    properties = {"Precision": "single"} if platform_name == "CUDA" else {"Threads": "1"}
    context = openmm.Context(system, integrator, platform, properties)
    spacing = 0.282  # nm, of solid NaCl
    context.setPositions([openmm.Vec3(*(spacing * c for c in cell)) for cell in cells])

    def steps(count: int) -> float:
        begin = time.perf_counter()
        integrator.step(count)
        context.getState(getVelocities=True)  # waits
        return time.perf_counter() - begin

    steps(3)
    count = max(3, int(2 / steps(1)))
    few, many = min(steps(1) for _ in range(2)), steps(1 + count)
    seconds = (many - few) / count  # without the time to read the state
    return {
        "version": openmm.version.short_version,
        "platform": platform_name,
        "seconds_a_step": seconds,
        "pairs_per_second": float(n) ** 2 / seconds,
    }


def _verdict(ours: Json) -> int:
    rows = ours["throughput"]
    checks = []
    if ours["engine"] == "host":
        tuned = [row for row in rows if row["kernel"] == "tuned"]
        alone, last = tuned[0], tuned[-1]
        checks = [
            ("over the scalar double loop", alone["over_scalar_double_loop"], HOST_BOUND),
            (f"efficiency of {last['gpus']} threads", last["efficiency"], SCALING_BOUND),
        ]
    elif "H200" in ours["device"] and ours["n"] >= 262144:
        checks = [
            (f"{row['kernel']}, pairs/s", row["pairs_per_second"], H200_BOUNDS[row["kernel"]])
            for row in rows
            if row["kernel"] in H200_BOUNDS and row["gpus"] == 1
        ]
    for what, value, bound in checks:
        verdict = "ok" if value >= bound else "MISSED"
        print(f"{what}: {value:.4g}, bound {bound:.4g}: {verdict}")
    return int(any(value < bound for _, value, bound in checks))


if __name__ == "__main__":
    sys.exit(main())
