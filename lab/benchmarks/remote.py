"""Compare remote GPUs with native ones: results are checked; calls, copies and steps are timed.

    python3 lab/benchmarks/remote.py --build BUILD -o FOLDER
    GPUCAST_LIBCUDA=build/wheel/remote/fake/libcuda.so.1 \\
        GPUCAST_FAKE_KERNELS=build/wheel/remote/probe/libprobe_kernels.so \\
        python3 lab/benchmarks/remote.py --build build/wheel --gpus 1 -o FOLDER

On one machine with NVIDIA GPUs, or over the fake driver, which has no native path. Runs of the
paths alternate, so that other load of the machine affects all of them; figures are medians of the
repeats. Needs Python's standard library only. Writes FOLDER/remote.json, the programs' records and
logs; exits with status 1 if a check fails, whatever the figures are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median_high
from typing import Any

ALLGATHER_OFF = {"GPUCAST_NCCL": "/nonexistent/libnccl.so.2"}
"""NCCL reaches the GPUs of its own machine without the CUDA runtime."""

PROBE = "remote/probe/gpucast-remote-probe"
MDAPP = "mdapp/gpucast-mdapp"
MICROBENCH = "microbench/gpucast-microbench"


class Machine:
    """Servers for all GPUs on loopback and at Unix sockets, and programs that run with or without
    them."""

    def __init__(
        self, build: Path, out: Path, gpus: int, *, plain: bool = False, options: Sequence[str] = ()
    ) -> None:
        self.build, self.out, self.plain, self.failed = build, out, plain, 0
        self.servers: list[subprocess.Popen[str]] = []
        self.addresses: list[str] = []
        self.sockets: list[str] = []
        self.folder = tempfile.TemporaryDirectory(prefix="gpucast-")
        for gpu in range(gpus):
            self.sockets.append(f"unix:{self.folder.name}/{gpu}")
            listen = f"{self.sockets[-1]},127.0.0.1:0"
            words = ["--gpu", str(gpu), "--listen", listen, *["--plain"][: int(plain)], *options]
            server = subprocess.Popen(
                [build / "remote/gpucast-gpu-server", *words],
                stdout=subprocess.PIPE,
                stderr=(out / f"server{gpu}.log").open("w"),
                text=True,
            )
            self.servers.append(server)
            assert server.stdout is not None
            lines = server.stdout.readline() + server.stdout.readline()
            address = re.search(r"listening on (\d\S+)", lines)
            if address is None:
                raise SystemExit(f"server {gpu} did not start; see {out}/server{gpu}.log")
            self.addresses.append(address[1])

    def stop(self) -> None:
        for server in self.servers:
            server.terminate()
        for gpu, server in enumerate(self.servers):
            self.check(f"server {gpu} ends cleanly", server.wait(timeout=30) == 0)
        self.folder.cleanup()

    def run(
        self,
        what: str,
        program: str,
        *arguments: object,
        remote: int = 0,
        shared: bool = False,
        quiet: bool = False,
        **variables: str,
    ) -> str:
        """Run a program natively or over the first `remote` servers; its standard output is
        returned.

        Both streams are kept. `shared`: copies go through memory that client and server share.
        `quiet`: only a failure is reported.
        """
        environment = {**os.environ, **variables}
        if remote:
            environment |= self.variables(remote, shared=shared)
        log = self.out / (re.sub(r"\W+", "-", what) + ".log")
        try:
            finished = subprocess.run(
                [self.build / program, *map(str, arguments)],
                env=environment, capture_output=True, text=True, check=False, timeout=240,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            self.check(what, False, "took more than four minutes")
            return ""
        if not quiet or finished.returncode != 0:
            log.write_text(finished.stdout + finished.stderr)
            otherwise = f"exit status {finished.returncode}, see {log}"
            self.check(what, finished.returncode == 0, otherwise)
        return finished.stdout

    def variables(self, remote: int, *, shared: bool = False) -> dict[str, str]:
        """Environment variables with which a program uses the first `remote` servers."""
        return {
            **ALLGATHER_OFF,
            "LD_LIBRARY_PATH": str(self.build.resolve() / "remote/client"),
            "GPUCAST_REMOTE": ",".join((self.sockets if shared else self.addresses)[:remote]),
            "GPUCAST_REMOTE_PLAIN": str(int(self.plain)),
            "GPUCAST_REMOTE_TRANSPORT": "shared-memory" if shared else "auto",
        }

    def check(self, what: str, right: bool, otherwise: str = "") -> None:
        print(f"{'ok      ' if right else 'FAILED  '}{what}{'' if right else ': ' + otherwise}")
        sys.stdout.flush()
        self.failed += not right


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON Lines; none if a program failed and left no file."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


TARGETS = {
    **{f"{route}_64": "at most native + 4 us (down)" for route in ("h2d", "d2h")},
    "launch_and_wait": "at most native + 4 us",
    **{f"{route}_pinned": "at least 0.85 of native" for route in ("h2d", "d2h")},
    **{f"{route}_pageable": "at least 0.60 of native" for route in ("h2d", "d2h")},
}
"""Targets of shared memory."""


class OnPaths:
    """Programs run natively, over TCP on loopback, and through shared memory."""

    def __init__(self, machine: Machine, kernels: list[str], repeats: int) -> None:
        self.machine, self.kernels, self.repeats = machine, kernels, repeats
        native = [] if os.environ.get("GPUCAST_LIBCUDA") else ["native"]
        self.paths = [*native, "remote", "remote-shm"]
        self.gpus = len(machine.servers)

    def run(self, what: str, path: str, *words: object, gpus: int = 0, quiet: bool = True) -> str:
        """Standard output of a program on a path, on all GPUs or on `gpus` of them."""
        remote = 0 if path == "native" else gpus or self.gpus
        shared = path == "remote-shm"
        named = f"{what}, {path}"
        return self.machine.run(named, *map(str, words), remote=remote, shared=shared, quiet=quiet)

    def calls(self, megabytes: int) -> dict[str, dict[str, float]]:
        """Seconds, or bytes/second, of calls and copies of one GPU, by name and path."""
        taken: dict[str, list[dict[str, float]]] = {path: [] for path in self.paths}
        for k, path in product(range(self.repeats), self.paths):
            text = self.run(f"calls {k}", path, PROBE, "measure", megabytes << 20, gpus=1)
            if text.startswith("{"):
                taken[path].append(json.loads(text))
        if not all(taken.values()):
            return {}
        medians = {
            what: {path: median_high(run[what] for run in taken[path]) for path in self.paths}
            for what in taken["remote"][0]
        }
        for what, by_path in medians.items():
            rate = what.rpartition("_")[2] in ("pinned", "pageable")
            print(compared(what, by_path, "GB/s" if rate else "us", TARGETS.get(what, "")))
        return medians

    def steps(self, schedule: str, sizes: str) -> list[dict[str, object]]:
        """Seconds of a step on all GPUs: a row for each size and kernel."""
        taken: dict[tuple[int, str], dict[str, list[float]]] = {}
        for k, path in product(range(self.repeats), self.paths):
            file = self.machine.out / f"steps-{path}-{k}.jsonl"
            self.run(
                f"steps {k}", path, MDAPP, "measure", "--engine", "cuda", "--n", sizes,
                "--gpus", self.gpus, "--schedule", schedule, "--kernel", ",".join(self.kernels),
                "--memory", "pinned", "--max-time", 0.3, "--warm-up", 0.1, "--path", path,
                "--quiet", "-o", file, "--force",
            )  # fmt: skip
            for record in lines(file):
                if record["kind"] == "step":
                    runs = taken.setdefault((record["n"], record["kernel"]), {})
                    runs.setdefault(path, []).append(median_high(record["seconds"]))
        rows = []
        for (n, kernel), by_path in sorted(taken.items()):
            medians = {path: median_high(runs) for path, runs in by_path.items()}
            rows.append({"n": n, "gpus": self.gpus, "kernel": kernel, **medians})
            target = f"at most {1.25 if n == 1000 else 1.05} of native"
            print(compared(f"{schedule}, {kernel}, n {n}", medians, "us", target))
        return rows

    def same_bits(self) -> None:
        """Check that trajectories are the same on every path, and with a step as one CUDA graph."""
        ways = (("star-serial",), ("star-async",), ("star-async", "--graph"))
        for way, kernel in product(ways, self.kernels):
            name = "".join(way)
            files = [self.machine.out / f"{name}-{kernel}-{path}.xyz" for path in self.paths]
            for path, file in zip(self.paths, files, strict=True):
                self.run(
                    f"simulate {name} {kernel}", path, MDAPP, "simulate", "--engine", "cuda",
                    "--n", 1000, "--steps", 200, "--every", 20, "--gpus", self.gpus,
                    "--kernel", kernel, "--j-split", 1 if kernel == "tuned" else 0,
                    "--trajectory", file, "--force", "--schedule", *way,
                )  # fmt: skip
            contents = {file.read_bytes() if file.exists() else None for file in files}
            what = f"{name}, {kernel}, {self.gpus} GPUs: trajectories of all paths are the same"
            self.machine.check(what, len(contents) == 1 and None not in contents, "they differ")


def compared(what: str, by_path: dict[str, float], unit: str, target: str) -> str:
    scale = {"GB/s": 1e-9, "us": 1e6}[unit]
    line = f"{what:28}" + "".join(
        f"  {path} {scale * value:9.3f} {unit}" for path, value in by_path.items()
    )
    if "native" in by_path:
        shm, native = by_path["remote-shm"], by_path["native"]
        line += f"  shm / native {shm / native:5.2f}"
        line += f"  shm - native {scale * (shm - native):6.2f} us" if unit == "us" else ""
    return f"{line}  ({target})" if target else line


def round_trips(machine: Machine, kernel: str) -> float:
    """Round trips per GPU in a step of star-async, from the difference of two runs."""
    gpus, counted = len(machine.servers), []
    for count in (200, 400):
        path = machine.out / f"counters-{count}.jsonl"
        path.unlink(missing_ok=True)
        machine.run(
            f"{count} steps, counted", MDAPP, "measure", "--engine", "cuda", "--n", 1000,
            "--gpus", gpus, "--schedule", "star-async", "--kernel", kernel, "--steps", count,
            "--warm-up", 0, "--quiet", "-o", machine.out / "counted.jsonl", "--force",
            remote=gpus, GPUCAST_REMOTE_COUNTERS=str(path),
        )  # fmt: skip
        counters = lines(path)
        launches = sum(line["calls"] for line in counters if line["entry"] == "cudaLaunchKernel")
        counted.append((launches, sum(line["round_trips"] for line in counters)))
    # A step launches one kernel on each GPU; steps of the warm-up do as well.
    (launches, trips), (more_launches, more_trips) = counted
    result = (more_trips - trips) / max(1, more_launches - launches)
    machine.check(
        f"round trips per GPU and step of star-async: {result:.2f}",
        0 < result <= 1.0,
        "more than 1",
    )
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/gpu"))
    parser.add_argument("--gpus", type=int, default=0, help="default: all that nvidia-smi lists")
    parser.add_argument("--megabytes", type=int, default=256, help="size of the large copies")
    parser.add_argument("--n", default="1000,64000", help="particles of steps")
    parser.add_argument("--kernels", default="claret,tuned")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    list_gpus = ["nvidia-smi", "--list-gpus"]
    gpus = options.gpus or len(subprocess.check_output(list_gpus).splitlines())
    machine = Machine(options.build, options.output, gpus)
    paths = OnPaths(machine, options.kernels.split(","), options.repeats)
    try:
        for path in paths.paths:
            paths.run("probe", path, PROBE, "check", quiet=False)
        machine.run("probe, --sync", PROBE, "check", remote=gpus, GPUCAST_REMOTE_SYNC="1")
        if "tuned" in paths.kernels:
            machine.run("mdapp check, remote", MDAPP, "check", "--engine", "cuda", remote=gpus)
        paths.same_bits()
        answer = {
            "gpus": gpus,
            "round_trips": round_trips(machine, paths.kernels[0]),
            "calls": paths.calls(options.megabytes),
            "steps": paths.steps("star-async", options.n),
        }
        machine.run(
            "microbench, remote", MICROBENCH, "measure", "--engine", "cuda", "--budget", 30,
            "--path", "remote", "--quiet", "-o", options.output / "microbench-remote.jsonl",
            "--force", remote=gpus,
        )  # fmt: skip
    finally:
        machine.stop()
    (options.output / "remote.json").write_text(json.dumps(answer, indent=1) + "\n")
    print(f"{machine.failed} failed")
    return 1 if machine.failed else 0


if __name__ == "__main__":
    sys.exit(main())
