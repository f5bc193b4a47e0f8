"""Remote GPUs against native ones and raw sockets, on one machine with NVIDIA GPUs or over the fake
driver: what is right, what it costs, and how that compares with the targets.

    python3 benchmarks/remote.py --build build/gpu -o FOLDER
    python3 benchmarks/remote.py --build build/gpu -o FOLDER --plain   the same without TLS
    python3 benchmarks/remote.py --build build/gpu -o FOLDER --tls     what TLS costs, side by side
    GPUCAST_LIBCUDA=build/wheel/remote/fake/libcuda.so.1 \\
        GPUCAST_FAKE_KERNELS=build/wheel/remote/fake/libprobe_kernels.so \\
        python3 benchmarks/remote.py --build build/wheel --gpus 1 --tls -o FOLDER

Needs Python's standard library only. Writes FOLDER/remote.json, the programs' records and logs;
exit status 1 where a check fails, whatever the figures are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from statistics import median_high
from typing import Any

ALLGATHER_OFF = {"GPUCAST_NCCL": "/nonexistent/libnccl.so.2"}
"""NCCL talks to the GPUs of its own machine, past the CUDA runtime."""

CHANNELS = 4
"""What clients open to each server unless told otherwise."""


class Machine:
    """Servers for all GPUs on loopback, and programs with and without them."""

    def __init__(self, build: Path, out: Path, gpus: int, *, plain: bool = False) -> None:
        self.build, self.out, self.plain, self.failed = build, out, plain, 0
        self.servers: list[subprocess.Popen[str]] = []
        self.addresses: list[str] = []
        for gpu in range(gpus):
            options = ["--gpu", str(gpu), "--listen", "127.0.0.1:0", *["--plain"][: int(plain)]]
            server = subprocess.Popen(
                [build / "remote/gpucast-gpu-server", *options],
                stdout=subprocess.PIPE,
                stderr=(out / f"server{gpu}{'-plain' if plain else ''}.log").open("w"),
                text=True,
            )
            self.servers.append(server)
            assert server.stdout is not None
            found = re.search(r"listening on (\S+)", server.stdout.readline())
            if found is None:
                raise SystemExit(f"server {gpu} did not start; see {out}/server{gpu}.log")
            self.addresses.append(found[1])

    def stop(self) -> None:
        for server in self.servers:
            server.terminate()
        for gpu, server in enumerate(self.servers):
            self.check(f"server {gpu} ends cleanly", server.wait(timeout=30) == 0)

    def run(
        self,
        what: str,
        program: str,
        *arguments: object,
        remote: int = 0,
        quiet: bool = False,
        **variables: str,
    ) -> str:
        """Standard output, natively or over the first `remote` servers; both streams are kept.

        `quiet`: only a failure is told.
        """
        environment = {**os.environ, **variables}
        if remote:
            environment |= {
                **ALLGATHER_OFF,
                "LD_LIBRARY_PATH": str(self.build.resolve() / "remote/client"),
                "GPUCAST_REMOTE": ",".join(self.addresses[:remote]),
                "GPUCAST_REMOTE_PLAIN": str(int(self.plain)),
            }
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

    def check(self, what: str, right: bool, otherwise: str = "") -> None:
        print(f"{'ok      ' if right else 'FAILED  '}{what}{'' if right else ': ' + otherwise}")
        sys.stdout.flush()
        self.failed += not right


PROBE = "remote/probe/gpucast-remote-probe"
MDAPP = "mdapp/gpucast-mdapp"
MICROBENCH = "microbench/gpucast-microbench"

Times = dict[str, float]
"""Seconds, or bytes/second, by name."""


def calls(machine: Machine, megabytes: int) -> dict[str, object]:
    """Latencies and bandwidths beside their targets."""
    size = megabytes << 20

    def figures(what: str, *arguments: object, remote: int = 0, **variables: str) -> Times:
        text = machine.run(what, PROBE, *arguments, remote=remote, **variables)
        return json.loads(text) if text.startswith("{") else {}

    native = figures("calls, native", "measure", size)
    sync = figures("calls, remote, --sync", "measure", size, remote=1, GPUCAST_REMOTE_SYNC="1")
    by_channels = {}
    for channels in (CHANNELS, *(each for each in (1, 2, 4, 8) if each != CHANNELS)):
        sockets = figures(f"{channels} raw sockets", "sockets", size, channels)
        what, asked = f"calls, remote, {channels} channels", str(channels)
        remote = figures(what, "measure", size, remote=1, GPUCAST_REMOTE_CHANNELS=asked)
        by_channels[channels] = {"remote": remote, "sockets": sockets}
        if not (native and remote and sockets):
            continue
        if channels == CHANNELS:
            compare_latencies(native, remote, sockets["socket_round_trip_64"])
        for name, raw in (("h2d_pinned", "socket_up"), ("d2h_pinned", "socket_down")):
            print(
                f"{name}, {channels} channels  native {native[name] / 1e9:6.2f}"
                f"  remote {remote[name] / 1e9:6.2f}"
                f"  as many raw sockets {sockets[raw] / 1e9:6.2f} GB/s"
                f"  remote / raw {remote[name] / sockets[raw]:5.2f}"
                f"  remote / native {remote[name] / native[name]:5.2f}"
            )
    print(
        "targets: blocking 64-byte copies at most 1.5 round trips above native, 256 MiB copies "
        "at least 0.80 of raw, an empty launch submitted in at most 10 us"
    )
    return {"native": native, "sync": sync, "channels": by_channels}


def compare_latencies(native: Times, remote: Times, trip: float) -> None:
    print(f"raw 64-byte round trip {1e6 * trip:.1f} us")
    for name in ("h2d_64", "d2h_64", "launch_submit", "launch_submit_in_a_row"):
        print(
            f"{name:24} native {1e6 * native[name]:7.2f} us"
            f"  remote {1e6 * remote[name]:7.2f} us"
            f"  ratio {remote[name] / native[name]:6.2f}"
            f"  (remote - native) / round trip {(remote[name] - native[name]) / trip:6.2f}"
        )


def trajectories(machine: Machine, gpus: int, n: int, kernels: list[str]) -> None:
    """The same bits natively and remotely, for every schedule that integrates on the host."""
    for schedule, kernel in product(("star-serial", "star-async"), kernels):
        files = []
        for label, remote in (("native", 0), ("remote", gpus)):
            files.append(machine.out / f"{schedule}-{kernel}-{label}.xyz")
            machine.run(
                f"simulate {schedule} {kernel} {label}",
                MDAPP, "simulate", "--engine", "cuda", "--n", n, "--steps", 200, "--every", 20,
                "--gpus", gpus, "--schedule", schedule, "--kernel", kernel,
                "--j-split", 1 if kernel == "tuned" else 0,
                "--trajectory", files[-1], "--force", remote=remote,
            )  # fmt: skip
        same = all(f.exists() for f in files) and files[0].read_bytes() == files[1].read_bytes()
        what = f"{schedule}, {kernel}, {gpus} GPUs: trajectories are bitwise the same"
        machine.check(what, same, f"{files[0]} and {files[1]} differ")


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON Lines; none where a program that failed left no file."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def steps(machine: Machine, gpus: int, sizes: str, kernels: list[str]) -> list[dict[str, object]]:
    """Step times natively, remotely, and remotely with every call waited for."""
    table: dict[tuple[int, int, str, str], Times] = {}
    for label, remote, sync in (("native", 0, "0"), ("remote", gpus, "0"), ("sync", gpus, "1")):
        path = machine.out / f"steps-{label}.jsonl"
        machine.run(
            f"measure steps, {label}", MDAPP, "measure", "--engine", "cuda", "--n", sizes,
            "--gpus", f"1-{gpus}", "--schedule", "star-serial,star-async",
            "--kernel", ",".join(kernels), "--max-time", 0.3, "--warm-up", 0.1,
            "--path", label, "--quiet", "-o", path, "--force",
            remote=remote, GPUCAST_REMOTE_SYNC=sync,
        )  # fmt: skip
        for record in lines(path):
            if record["kind"] == "step":
                key = (record["n"], record["gpus"], record["schedule"], record["kernel"])
                table.setdefault(key, {})[label] = median_high(record["seconds"])
    rows = []
    for (n, count, schedule, kernel), found in sorted(table.items()):
        rows.append({"n": n, "gpus": count, "schedule": schedule, "kernel": kernel, **found})
        times = "  ".join(f"{label} {1e6 * seconds:9.1f} us" for label, seconds in found.items())
        print(f"n {n:6} GPUs {count} {schedule:12} {kernel:7} {times}")
    return rows


def round_trips(machine: Machine, gpus: int, kernel: str) -> float:
    """A step of star-async: round trips a GPU, from the difference of two runs."""
    counted = []
    for count in (200, 400):
        path = machine.out / f"counters-{count}.jsonl"
        path.unlink(missing_ok=True)
        machine.run(
            f"{count} steps, counted", MDAPP, "measure", "--engine", "cuda", "--n", 1000,
            "--gpus", gpus, "--schedule", "star-async", "--kernel", kernel, "--steps", count,
            "--warm-up", 0, "--quiet", "-o", machine.out / "counted.jsonl", "--force",
            remote=gpus, GPUCAST_REMOTE_COUNTERS=str(path),
        )  # fmt: skip
        of = lines(path)
        launches = sum(line["calls"] for line in of if line["entry"] == "cudaLaunchKernel")
        counted.append((launches, sum(line["round_trips"] for line in of)))
    # A step launches one kernel on each GPU, those of the warm-up too.
    (launches, trips), (more_launches, more_trips) = counted
    result = (more_trips - trips) / max(1, more_launches - launches)
    machine.check(
        f"round trips a GPU and step of star-async: {result:.2f}", 0 < result <= 1.0, "more than 1"
    )
    return result


TRANSFERS, LATENCIES = ("h2d_pinned", "d2h_pinned"), ("h2d_64", "d2h_64", "launch_and_wait")


def cost_of_tls(machines: dict[str, Machine], megabytes: int, repeats: int) -> dict[str, object]:
    """Both in turns, so that what else the machine does falls on both: medians of the repeats.

    Beside times the processor time of both sides for copies up and down, which says the same where
    other programs are at work: where all cores are busy, that is what limits.
    """
    size, taken = megabytes << 20, {name: [] for name in machines}  # type: dict[str, list[Times]]
    for k in range(repeats):
        for name, machine in machines.items():
            text = machine.run(f"{name} {k}", PROBE, "measure", size, remote=1, quiet=True)
            if not text:
                return {}
            figures = json.loads(text)
            before = processor_seconds(machine)
            machine.run(f"{name} {k}, copies", PROBE, "copy", size, 4, remote=1, quiet=True)
            figures["processor"] = processor_seconds(machine) - before
            taken[name].append(figures)

    def median(name: str, what: str) -> float:
        return median_high(each[what] for each in taken[name])

    for what in TRANSFERS:
        ratio = median("tls", what) / median("plain", what)
        rates = "  ".join(f"{name} {median(name, what) / 1e9:6.2f} GB/s" for name in machines)
        print(f"{what:16} {rates}  TLS / plain {ratio:5.2f} (target: at least 0.70)")
    ratio = median("plain", "processor") / median("tls", "processor")
    times = "  ".join(f"{name} {median(name, 'processor'):6.2f} s" for name in machines)
    print(f"{'processor time':16} {times}  plain / TLS {ratio:5.2f}")
    for what in LATENCIES:
        more = 1e6 * (median("tls", what) - median("plain", what))
        times = "  ".join(f"{name} {1e6 * median(name, what):6.2f} us" for name in machines)
        print(f"{what:16} {times}  TLS - plain {more:6.2f} us (target: at most 3)")
    return {"repeats": taken}


def processor_seconds(machine: Machine) -> float:
    """Of all programs and of the processes of all clients that have ended."""
    ended = os.times()
    total = ended.children_user + ended.children_system
    for server in machine.servers:
        until_reaped(server.pid)
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return total


def until_reaped(pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + 20
    while children.read_text().strip() and time.monotonic() < deadline:
        time.sleep(0.02)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/gpu"))
    parser.add_argument("--gpus", type=int, default=0, help="default: all that nvidia-smi lists")
    parser.add_argument("--megabytes", type=int, default=256, help="of the large copies")
    parser.add_argument("--n", default="216,1000,8000,64000", help="particles of steps")
    parser.add_argument("--kernels", default="claret,tuned")
    security = parser.add_mutually_exclusive_group()
    security.add_argument("--plain", action="store_true", help="without TLS")
    security.add_argument("--tls", action="store_true", help="only what TLS costs, side by side")
    parser.add_argument("--repeats", type=int, default=5, help="of --tls")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    list_gpus = ["nvidia-smi", "--list-gpus"]
    gpus = options.gpus or len(subprocess.check_output(list_gpus).splitlines())
    kernels = options.kernels.split(",")
    if options.tls:
        return compare_security(options)
    machine = Machine(options.build, options.output, gpus, plain=options.plain)
    try:
        machine.run("probe, native", PROBE, "check")
        machine.run("probe, remote", PROBE, "check", remote=gpus)
        machine.run("probe, remote, --sync", PROBE, "check", remote=gpus, GPUCAST_REMOTE_SYNC="1")
        answer: dict[str, object] = {"gpus": gpus, "calls": calls(machine, options.megabytes)}
        if "tuned" in kernels:
            machine.run("mdapp check, remote", MDAPP, "check", "--engine", "cuda", remote=gpus)
        trajectories(machine, gpus, 1000, kernels)
        answer["round_trips"] = round_trips(machine, gpus, kernels[0])
        answer["steps"] = steps(machine, gpus, options.n, kernels)
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


def compare_security(options: argparse.Namespace) -> int:
    machines = {
        name: Machine(options.build, options.output, 1, plain=name == "plain")
        for name in ("tls", "plain")
    }
    try:
        answer = cost_of_tls(machines, options.megabytes, options.repeats)
    finally:
        for machine in machines.values():
            machine.stop()
    (options.output / "remote-tls.json").write_text(json.dumps(answer, indent=1) + "\n")
    return 1 if any(machine.failed for machine in machines.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
