"""Time OpenMM over system sizes and GPUs, and write what its own benchmark.py would write.

    python data/measure_openmm.py --device 0 0,1 --seconds 300 -o openmm.json

The file has the form of `benchmark.py --outfile`, with one entry a visit and two keys more:
`visit`, and `num_atoms`, which OpenMM's own test names stand for and these do not. All cells are
measured once before any is measured again; the device lists of a system follow one another. Every
visit is written at once, so a killed run loses one. A cell that cannot be run is named on stderr
and makes the status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform as host
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openmm
from openmm_systems import WORKLOADS, Workload

SECONDS_PER_DAY = 86400
CONSTRAINT_TOLERANCE = 1e-5  # benchmark.py's
ATOMS = [5_000, 10_000, 32_000, 100_000, 270_000, 560_000, 1_000_000, 2_000_000]
SEVERAL_DEVICES_STEPS = 250
"""OpenMM shares its work out among GPUs anew in the first 200 steps."""


@dataclass
class Run:
    """A system on its devices, with what it takes to go on with it."""

    workload: Workload
    device: str
    context: Any

    def seconds(self, steps: int) -> float:
        """Wall time of so many steps, from an idle device to an idle one."""
        self.context.getState(energy=True)
        begin = time.perf_counter()
        self.context.getIntegrator().step(steps)
        self.context.getState(energy=True)
        return time.perf_counter() - begin

    def warm_up(self, seconds: float, steps: int = 1) -> float:
        """Runs for at least that long, since an idle GPU's clock is low; returns a step's time."""
        spent = 0.0
        longest = (0, 0.0)  # steps in one go and their seconds: a few steps at a time are slower
        while True:
            took = self.seconds(steps)
            spent += took
            longest = max(longest, (steps, took))
            if spent >= seconds:
                return longest[1] / longest[0]
            steps = max(1, min(10 * steps, int(steps * (seconds - spent) / took) + 1))


def main() -> int:
    arguments = _arguments()
    known = [
        openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())
    ]
    if arguments.platform not in known:
        print(f"no platform {arguments.platform}, only {', '.join(known)}", file=sys.stderr)
        print(*openmm.Platform.getPluginLoadFailures(), sep="\n", file=sys.stderr)
        return 1
    begin = time.monotonic()
    runs: list[Run] = []
    results: dict[str, Any] = {"system": _system_info(), "benchmarks": []}
    failed = False
    for atoms in arguments.atoms:
        for test in arguments.test:
            workload = WORKLOADS[test](atoms)
            for device in arguments.device:
                try:
                    run = _started(workload, device, arguments.platform, arguments.precision)
                except openmm.OpenMMException as error:
                    print(
                        f"{test}, {workload.atoms} atoms, device {device}: {error}", file=sys.stderr
                    )
                    failed = True
                    continue
                runs.append(run)
                _visit(run, 1, arguments, results)
    print(f"round 1: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    for visit in range(2, arguments.rounds + 1):
        needed = len(runs) * (arguments.window + arguments.warm_up) * 1.1
        if time.monotonic() - begin + needed > arguments.seconds:
            print(f"round {visit} not begun: it takes {needed:.0f} s", file=sys.stderr)
            break
        for run in runs:
            _visit(run, visit, arguments, results)
        print(f"round {visit}: at {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", default="CUDA", help="default: %(default)s")
    parser.add_argument("--device", nargs="+", default=["0"], help="device lists, such as 0 0,1")
    parser.add_argument("--precision", default="mixed", help="default: %(default)s")
    parser.add_argument("--test", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--atoms", nargs="+", type=int, default=ATOMS, help="about how many")
    parser.add_argument("--rounds", type=int, default=3, help="visits of a cell")
    parser.add_argument("--window", type=float, default=1.5, help="s measured in a visit")
    parser.add_argument("--warm-up", type=float, default=0.3, help="s before that")
    parser.add_argument(
        "--seconds", type=float, default=3600, help="a round is begun if it ends by then"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="JSON file; is replaced")
    return parser.parse_args()


def _started(workload: Workload, device: str, platform_name: str, precision: str) -> Run:
    """A context on the devices, compiled, warm and with its work shared out."""
    begin = time.monotonic()
    platform = openmm.Platform.getPlatform(platform_name)
    offered = {"DeviceIndex": device, "Precision": precision}
    properties = {key: offered[key] for key in offered if key in platform.getPropertyNames()}
    integrator = workload.integrator()
    integrator.setConstraintTolerance(CONSTRAINT_TOLERANCE)
    context = openmm.Context(workload.system, integrator, platform, properties)
    context.setPositions(workload.positions)
    context.setVelocities(workload.velocities())
    context.applyVelocityConstraints(CONSTRAINT_TOLERANCE)
    run = Run(workload, device, context)
    run.warm_up(0.0, SEVERAL_DEVICES_STEPS if "," in device else 5)
    took = time.monotonic() - begin
    print(f"{workload.test} {workload.atoms} on {device}: ready in {took:.1f} s", file=sys.stderr)
    return run


def _visit(run: Run, visit: int, arguments: argparse.Namespace, results: dict[str, Any]) -> None:
    """Measures a window of steps, adds it to the results and writes these."""
    steps = max(10, round(arguments.window / run.warm_up(arguments.warm_up)))
    entry = _entry(run, steps, run.seconds(steps))
    results["benchmarks"].append(entry | {"visit": visit})
    part = arguments.output.with_name(f"{arguments.output.name}.part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    os.replace(part, arguments.output)
    print(
        f"{entry['test']:<14}{entry['num_atoms']:>9} on {run.device:<5}"
        f"{1e3 * entry['elapsed_time'] / steps:>10.4f} ms/step {entry['ns_per_day']:>9.2f} ns/day",
        flush=True,
    )


def _entry(run: Run, steps: int, seconds: float) -> dict[str, Any]:
    """A measured window as benchmark.py writes it."""
    workload = run.workload
    platform = run.context.getPlatform()
    properties = {
        name: platform.getPropertyValue(run.context, name) for name in platform.getPropertyNames()
    }
    return {
        "test": workload.test,
        "constraints": workload.constraints,
        "hydrogen_mass": "1",
        "cutoff": workload.cutoff,
        "ensemble": workload.ensemble,
        "precision": properties.get("Precision", "mixed"),
        "timestep_in_fs": 1e3 * workload.timestep,
        "platform": platform.getName(),
        "platform_properties": properties,
        "steps": steps,
        "elapsed_time": seconds,
        "ns_per_day": 1e-3 * workload.timestep * steps / seconds * SECONDS_PER_DAY,
        "num_atoms": workload.atoms,
    }


def _system_info() -> dict[str, str]:
    """What benchmark.py says of the machine, less its name."""
    info = {
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "openmm_version": openmm.version.version,
        "cpuarch": host.machine(),
        "system": host.system(),
    }
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=driver_version,gpu_name", "--format=csv,noheader"]
        answer = subprocess.run(query, capture_output=True, text=True, check=False)
        first = answer.stdout.partition("\n")[0].split(", ")
        if answer.returncode == 0 and len(first) == 2:
            info["nvidia_driver"], info["gpu"] = first
    return info


if __name__ == "__main__":
    sys.exit(main())
