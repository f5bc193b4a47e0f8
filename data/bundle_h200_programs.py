"""Make the datasets of real programs from what `scripts/gpu.sh programs` left in a folder.

    .venv/bin/python data/bundle_h200_programs.py FOLDER [--into data/programs]

FOLDER holds `openmm.json` and `ddp.log`, either or both. `gpucast import` reads them, as it would
read anyone's; what the logs do not say of the machine and the runs is added here.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

GPUCAST = Path(sys.executable).with_name("gpucast")
PROGRAMS = Path(__file__).parent / "programs"
SHARED = "The host is shared with others; its CPUs' part of a step may be disturbed."
DDP_LINE = (
    r"model=(?P<case>\S+) gpus=(?P<gpus>\d+) batch=(?P<n>\d+) .* step_time=(?P<seconds>\S+) s"
)


@dataclass(frozen=True)
class Program:
    """A log and what its readers have to know."""

    name: str
    title: str
    caveats: tuple[str, ...]


OPENMM = Program(
    "openmm-h200",
    "OpenMM, water with PME and a Lennard-Jones fluid, on one and two H200",
    (
        "Rigid TIP3P water, cutoff 0.9 nm, Langevin at 300 K, 2 fs; argon melt, cutoff 2.5 sigma,"
        " constant energy, 0.005 tau; mixed precision. A sample is the mean step of 1.5 s, after a"
        " warm-up; a record is a visit.",
        "OpenMM keeps PME on one GPU and shares the other work out; positions go to all GPUs.",
        SHARED,
    ),
)
DDP = Program(
    "ddp-h200",
    "PyTorch DistributedDataParallel, ResNet-50 and a transformer, on one and two H200",
    (
        "ResNet-50 at 224 x 224 pixels (25.6 million parameters), GPT-like transformer of six"
        " layers at 512 tokens (55 million); bfloat16 autocast, gradients in single precision, no"
        " compilation. n is the global batch. A sample is the mean step of 0.6 s, after a warm-up;"
        " a record is a visit.",
        "Batches are random and stay on the GPU: no loading. One GPU runs the same wrapper in a"
        " group of one.",
        SHARED,
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--into", type=Path, default=PROGRAMS)
    arguments = parser.parse_args()
    openmm, ddp = arguments.folder / "openmm.json", arguments.folder / "ddp.log"
    if not openmm.exists() and not ddp.exists():
        print(f"{arguments.folder}: neither openmm.json nor ddp.log", file=sys.stderr)
        return 2
    if openmm.exists():
        system = json.loads(openmm.read_text())["system"]
        records = _imported([openmm], ["--every-run"])
        machine: Json = {"started": system["timestamp"].replace("+00:00", "Z")}
        if "gpu" in system:
            machine |= {"gpus": [{"name": system["gpu"]}], "driver": system["nvidia_driver"]}
        _write(OPENMM, machine, records, arguments.into)
    if ddp.exists():
        _write(DDP, *_training(ddp.read_text()), arguments.into)
    return 0


def _training(log: str) -> tuple[Json, list[Json]]:
    """The machine and the steps of a log of measure_ddp.py, a record a visit."""
    about = re.match(
        r"# torch (?P<torch>[^,;+]+)[^,;]*(?:, (?P<gpu>[^,;]+))?[^;]*; (?P<at>\S+)", log
    )
    if about is None:
        raise SystemExit("ddp.log: its first line is not measure_ddp.py's")
    machine: Json = {"started": about["at"]}
    if about["gpu"]:
        machine["gpus"] = [{"name": about["gpu"]}]
    visits = sorted(set(re.findall(r" visit=(\d+) ", log)), key=int)
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / f"visit-{visit}.log" for visit in visits]
        for visit, part in zip(visits, parts, strict=True):
            part.write_text(
                "".join(re.findall(rf"^model=.* visit={visit} .*\n", log, re.MULTILINE))
            )
        program = f"PyTorch DDP {about['torch']}"
        options = ["--program", program, "--unit", "samples", "--regex", DDP_LINE]
        return machine, _imported(parts, options)


def _imported(logs: list[Path], options: list[str]) -> list[Json]:
    """The steps that `gpucast import` finds in the logs."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "imported.jsonl"
        command = [GPUCAST, "import", *logs, *options, "-o", output]
        subprocess.run([str(part) for part in command], check=True)
        records = [json.loads(line) for line in output.read_text().splitlines()]
    return [record for record in records if record["kind"] == "step"]


def _write(program: Program, machine: Json, steps: list[Json], into: Path) -> None:
    """One machine, for all GPUs that it has; a title; the steps."""
    most = max(step["gpus"] for step in steps)
    head = {"schema": "gpucast.record/1", "kind": "machine", "id": program.name}
    gpus = machine.pop("gpus", [])
    about = {"gpus": gpus * most} if gpus else {}
    source = {"source": "measured by this project", "caveats": list(program.caveats)}
    note = {"schema": head["schema"], "kind": "note", "text": program.title}
    records = [head | about | machine | source, note | {"about": {"title": program.title}}]
    records += [step | {"machine": head["id"]} for step in steps]
    into.mkdir(exist_ok=True)
    target = into / f"{program.name}.jsonl"
    part = target.with_name(f"{target.name}.part")
    lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    part.write_text("".join(lines))
    part.replace(target)
    print(f"{target}: {len(steps)} steps")


if __name__ == "__main__":
    sys.exit(main())
