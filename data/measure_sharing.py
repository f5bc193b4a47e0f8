"""Several instances of a program on one GPU at once: records as `gpucast measure` has them.

    python3 data/measure_sharing.py --mdapp build/gpu/mdapp/gpucast-mdapp -o FOLDER

For machines where gpucast itself is not installed: nothing but the standard library is needed, and
OpenMM where its steps are to be timed, too. Writes FOLDER/mdapp.jsonl, FOLDER/openmm.jsonl, and
with --mps FOLDER/mdapp-mps.jsonl and so on, where the daemon of NVIDIA's Multi-Process Service can
be started in a folder of its own; no setting of the device is touched. Every visit is written at
once. `python -m studies.shared_gpu FOLDER/*.jsonl` then says how near forecasts from one and two
instances come.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

SCHEMA = "gpucast.record/1"
MPS = "nvidia-cuda-mps-control"
SAMPLES = 20
"""Of an instance; medians of parts of its steps where it has more."""

OPENMM = """
import json, sys, time
import openmm as mm

n, steps = int(sys.argv[1]), int(sys.argv[2])
edge = round(n ** (1 / 3))
box = edge * 0.38
system = mm.System()
system.setDefaultPeriodicBoxVectors(mm.Vec3(box, 0, 0), mm.Vec3(0, box, 0), mm.Vec3(0, 0, box))
force = mm.NonbondedForce()
force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
force.setCutoffDistance(min(0.9, 0.45 * box))
places = []
for i in range(edge**3):
    system.addParticle(39.9)
    force.addParticle(0.0, 0.34, 1.0)
    places.append(mm.Vec3(i % edge, i // edge % edge, i // edge**2) * 0.38)
system.addForce(force)
motion = mm.LangevinMiddleIntegrator(120, 1.0, 0.002)
context = mm.Context(system, motion, mm.Platform.getPlatformByName(sys.argv[3]))
context.setPositions(places)
motion.step(max(1, steps // 10))
context.getState(getEnergy=True)
for part in range(20):
    begin = time.perf_counter()
    motion.step(max(1, steps // 20))
    context.getState(getPositions=True)
    seconds = (time.perf_counter() - begin) / max(1, steps // 20)
    print(json.dumps({"seconds": [seconds]}), flush=True)
"""


@dataclass(frozen=True)
class Program:
    """A program: its name, sizes, and the words that run so many steps of a size."""

    name: str
    sizes: Sequence[int]
    words: Callable[[int, int], list[str]]
    guess: Callable[[int], float]  # seconds of a step, roughly


def programs(mdapp: str, engine: str) -> list[Program]:
    """Those that are there."""
    found = []
    if shutil.which(mdapp):
        memory = ["--schedule", "star-async", "--memory", "pinned", "--kernel", "tuned"]
        own = [mdapp, "measure", "--engine", engine, "--gpus", "1", *memory, "--quiet"]
        found.append(
            Program(
                "mdapp",
                [512, 4096, 13824, 32768],
                lambda n, steps: [*own, "--n", str(n), "--warm-up", "0.3", "--steps", str(steps)],
                lambda n: 3e-5 + n * n / 1e12 if engine == "cuda" else 1e-8 * n * n,
            )
        )
    with contextlib.suppress(ImportError):
        import openmm  # noqa: F401

        on = "CUDA" if engine == "cuda" else "CPU"
        found.append(
            Program(
                "openmm",
                [1728, 8000, 32768, 125000],
                lambda n, steps: [sys.executable, "-c", OPENMM, str(n), str(steps), on],
                lambda n: 1e-4 + n * 2e-9 if engine == "cuda" else 5e-7 * n,
            )
        )
    return found


def visit(
    words: list[str], instances: int, environment: dict[str, str], *, gpu: bool
) -> dict[str, Any]:
    """All instances from their start to their ends: fields of a record."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder, f"{i}.log") for i in range(instances)]
        runs, begins, ends = [], [], [0.0] * instances
        with contextlib.ExitStack() as stack:
            usage = stack.enter_context(reading() if gpu else of_cores())
            for log in logs:
                stream = stack.enter_context(log.open("wb"))
                begins.append(time.monotonic())
                runs.append(subprocess.Popen(words, stdout=stream, env=environment))
            stack.callback(lambda: [run.kill() for run in runs])
            while not all(ends):
                for i, run in enumerate(runs):
                    if not ends[i] and run.poll() is not None:
                        ends[i] = time.monotonic()
                time.sleep(0.005)
            busy = usage()
        if any(run.returncode for run in runs):
            raise RuntimeError(f"{words[:4]} failed")
        each = [samples(log.read_text()) for log in logs]
    count = min(map(len, each))
    spans = list(zip(begins, ends, strict=True))
    at_once = statistics.mean(
        sum(max(0.0, min(end, e) - max(begin, b)) for b, e in spans) / (end - begin)
        for begin, end in spans
    )
    together = {"instances": instances, "at_once": at_once} if instances > 1 else {}
    return {
        "seconds": [s for one in each for s in one[-count:]],
        **together,
        **({} if busy is None else {"busy": busy}),
        "took": max(ends) - min(begins),
    }


def samples(output: str) -> list[float]:
    """Seconds a step, at most SAMPLES of them."""
    found = []
    for line in output.splitlines():
        if line.startswith("{"):
            found += json.loads(line).get("seconds", [])
    if not found:
        raise RuntimeError("no step times")
    size = max(1, len(found) // SAMPLES)
    parts = [found[i : i + size] for i in range(0, len(found) - size + 1, size)]
    return [statistics.median(part) for part in parts[-SAMPLES:]]


@contextlib.contextmanager
def reading() -> Iterator[Callable[[], float | None]]:
    """How busy the first GPU is meanwhile, by what the driver says: the upper quartile, since a
    program does not use it while it starts."""
    with tempfile.TemporaryFile() as listing:
        words = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        process = subprocess.Popen([*words, "--id=0", "--loop-ms=400"], stdout=listing)

        def share() -> float | None:
            process.terminate()
            process.wait()
            listing.seek(0)
            lines = listing.read().decode().split()
            read = [float(line) for line in lines if line.isdecimal()]
            return statistics.quantiles(read, n=4)[2] / 100 if len(read) >= 3 else None

        try:
            yield share
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def of_cores() -> Iterator[Callable[[], float | None]]:
    """How busy the processor's cores are meanwhile: what programs that ended have used of them."""
    begin, before = time.monotonic(), os.times()

    def share() -> float:
        now = os.times()
        used = sum(now[2:4]) - sum(before[2:4])
        return min(1.0, used / (time.monotonic() - begin) / len(os.sched_getaffinity(0)))

    yield share


@contextlib.contextmanager
def service() -> Iterator[dict[str, str]]:
    """A daemon of our own, and the variables by which programs find it."""
    with tempfile.TemporaryDirectory(prefix="gpucast-mps-") as folder:
        own = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        environment = {**os.environ, **own, "CUDA_VISIBLE_DEVICES": "0"}
        daemon = subprocess.Popen([MPS, "-f"], env=environment, stdout=subprocess.DEVNULL)

        def told(word: str) -> bool:
            done = subprocess.run(
                [MPS], input=f"{word}\n".encode(), env=environment, capture_output=True, check=False
            )
            return done.returncode == 0

        try:
            deadline = time.monotonic() + 20
            while not told("get_server_list"):
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the Multi-Process Service does not start")
                time.sleep(0.1)
            yield environment
        finally:
            told("quit")
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            daemon.kill()
            daemon.wait()


def measure(
    program: Program, file: TextIO, arguments: argparse.Namespace, environment: dict[str, str],
    *, mps: bool,
) -> None:  # fmt: skip
    """All cells once, then all again, instances of a size next to one another."""
    gpu = arguments.engine == "cuda"
    write(file, {"kind": "machine", "id": platform.node() or "host"})
    steps = {}
    sizes = [n for n in program.sizes if arguments.smallest <= n <= arguments.largest]
    for n in sizes:
        # As many steps as take the time that was asked for, by a first short run.
        first = visit(program.words(n, 40), 1, environment, gpu=False)
        step = max(statistics.median(first["seconds"]), program.guess(n) / 10)
        steps[n] = max(40, round(arguments.seconds / step))
    for number in range(1, arguments.rounds + 1):
        for n in sizes:
            for instances in arguments.instances:
                found = visit(program.words(n, steps[n]), instances, environment, gpu=gpu)
                took = found.pop("took")
                if mps and instances > 1:
                    found["mps"] = True
                about = {"digest": f"{program.name} {steps[n]}", "number": number, "seconds": took}
                write(
                    file,
                    {"kind": "step", "machine": platform.node() or "host",
                     "path": "native" if gpu else "host", "program": program.name, "n": n,
                     "unit": "particles", "gpus": 1, **found, "visit": about},
                )  # fmt: skip
                print(
                    f"{program.name}{' (MPS)' if mps else ''} n={n} 1/{instances}: "
                    f"{1e6 * statistics.median(found['seconds']):.1f} us a step, "
                    f"{found.get('at_once', 1):.2f} at once, busy {found.get('busy')}",
                    flush=True,
                )


def write(file: TextIO, record: dict[str, Any]) -> None:
    """One line."""
    file.write(json.dumps({"schema": SCHEMA, **record}) + "\n")
    file.flush()


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mdapp", default="gpucast-mdapp", help="the mini-app")
    parser.add_argument("--engine", choices=["cuda", "host"], default="cuda")
    parser.add_argument("--instances", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5, help="of an instance alone")
    parser.add_argument("--programs", nargs="+", default=["mdapp", "openmm"])
    parser.add_argument("--smallest", type=int, default=0, help="of the sizes")
    parser.add_argument("--largest", type=int, default=10**9, help="of the sizes")
    parser.add_argument("--mps", action="store_true", help="under the service as well")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    status = 0
    for mps in (False, True) if arguments.mps else (False,):
        for program in programs(arguments.mdapp, arguments.engine):
            if program.name not in arguments.programs:
                continue
            name = arguments.output / f"{program.name}{'-mps' if mps else ''}.jsonl"
            serving = service() if mps else contextlib.nullcontext(dict(os.environ))
            try:
                with serving as environment, name.open("w") as file:
                    measure(program, file, arguments, environment, mps=mps)
            except (RuntimeError, OSError) as error:
                print(f"{name.stem}: {error}", file=sys.stderr)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
