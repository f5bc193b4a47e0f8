"""Remote GPUs against native ones and raw sockets, on one machine with NVIDIA GPUs or over the fake
driver: what is right, what it costs, and how that compares with the targets.

    python3 lab/benchmarks/remote.py --build BUILD -o FOLDER
    python3 lab/benchmarks/remote.py --build BUILD -o FOLDER --plain   the same without TLS
    python3 lab/benchmarks/remote.py --build BUILD -o FOLDER --tls     what TLS costs, side by side
    python3 lab/benchmarks/remote.py --build BUILD -o FOLDER --shared  native, remote, and through
                                                                       shared memory, in turns
    python3 lab/benchmarks/remote.py --build BUILD -o FOLDER --copies  copies of 64 KiB to 4 MiB,
                                                                       beside as many raw sockets
    GPUCAST_LIBCUDA=build/wheel/remote/fake/libcuda.so.1 \\
        GPUCAST_FAKE_KERNELS=build/wheel/remote/probe/libprobe_kernels.so \\
        python3 lab/benchmarks/remote.py --build build/wheel --gpus 1 --tls -o FOLDER

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
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median_high
from typing import Any

ALLGATHER_OFF = {"GPUCAST_NCCL": "/nonexistent/libnccl.so.2"}
"""NCCL talks to the GPUs of its own machine, past the CUDA runtime."""

CHANNELS = 4
"""What copies of up to 1 MiB go over; clients on hosts of 16 cores open twice as many."""


class Machine:
    """Servers for all GPUs on loopback and at Unix sockets, and programs with and without them."""

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
                stderr=(out / f"server{gpu}{'-plain' if plain else ''}.log").open("w"),
                text=True,
            )
            self.servers.append(server)
            assert server.stdout is not None
            told = server.stdout.readline() + server.stdout.readline()
            found = re.search(r"listening on (\d\S+)", told)
            if found is None:
                raise SystemExit(f"server {gpu} did not start; see {out}/server{gpu}.log")
            self.addresses.append(found[1])

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
        """Standard output, natively or over the first `remote` servers; both streams are kept.

        `shared`: through memory that client and server share, or not at all.
        `quiet`: only a failure is told.
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
        """What makes a program one over the first `remote` servers."""
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


PATHS = ("native", "remote", "remote-shm")
"""The GPUs themselves, over TCP on loopback, and through shared memory."""

STEP_SIZES = "1000,64000"

TARGETS = {
    **{f"{route}_64": "at most native + 4 us (down)" for route in ("h2d", "d2h")},
    "launch_and_wait": "at most native + 4 us",
    **{f"{route}_pinned": "at least 0.85 of native" for route in ("h2d", "d2h")},
    **{f"{route}_pageable": "at least 0.60 of native" for route in ("h2d", "d2h")},
}


def beside_shared_memory(
    machine: Machine, gpus: int, megabytes: int, repeats: int, kernels: list[str]
) -> dict[str, object]:
    """Calls and copies of one GPU, and steps on all, on each path in turns, so that what else the
    machine does falls on all of them: medians of the repeats. Over the fake driver
    (GPUCAST_LIBCUDA) there is no native path.
    """
    paths = PATHS[1:] if os.environ.get("GPUCAST_LIBCUDA") else PATHS
    remote = {path: 0 if path == "native" else 1 for path in paths}
    machine.run("probe, remote-shm", PROBE, "check", remote=gpus, shared=True)
    taken: dict[str, list[Times]] = {path: [] for path in paths}
    for k, path in product(range(repeats), paths):
        text = machine.run(
            f"calls, {path} {k}", PROBE, "measure", megabytes << 20,
            remote=remote[path], shared=path == "remote-shm", quiet=True,
        )  # fmt: skip
        if text.startswith("{"):
            taken[path].append(json.loads(text))
    rows = {
        what: {path: median_high(each[what] for each in taken[path]) for path in paths}
        for what in taken[paths[-1]][0]
        if all(taken.values())
    }
    for what, found in rows.items():
        rate = what.rpartition("_")[2] in ("pinned", "pageable")
        scale, unit = (1e-9, "GB/s") if rate else (1e6, "us")
        figures = "  ".join(f"{path} {scale * each:9.3f} {unit}" for path, each in found.items())
        compared = ""
        if "native" in found:
            shm, native = found["remote-shm"], found["native"]
            more = 1e6 * (shm - native)
            compared = f"  shm / native {shm / native:5.2f}"
            compared += "" if rate else f"  shm - native {more:6.2f} us"
        target = f"  ({TARGETS[what]})" if what in TARGETS else ""
        print(f"{what:22} {figures}{compared}{target}")
    steps_rows = steps_on_paths(machine, gpus, paths, kernels, repeats)
    return {"repeats": taken, "steps": steps_rows}


def steps_on_paths(
    machine: Machine, gpus: int, paths: tuple[str, ...], kernels: list[str], repeats: int
) -> list[dict[str, object]]:
    """Steps of star-async with 1000 and 64000 particles on all GPUs; the same bits on each path."""
    table: dict[tuple[int, str], dict[str, list[float]]] = {}
    for k, path in product(range(repeats), paths):
        file = machine.out / f"steps-{path}-{k}.jsonl"
        machine.run(
            f"steps, {path} {k}", MDAPP, "measure", "--engine", "cuda", "--n", STEP_SIZES,
            "--gpus", gpus, "--schedule", "star-async", "--kernel", ",".join(kernels),
            "--memory", "pinned", "--max-time", 0.3, "--warm-up", 0.1,
            "--path", path, "--quiet", "-o", file, "--force", quiet=True,
            remote=0 if path == "native" else gpus, shared=path == "remote-shm",
        )  # fmt: skip
        for record in lines(file):
            if record["kind"] == "step":
                of = table.setdefault((record["n"], record["kernel"]), {})
                of.setdefault(path, []).append(median_high(record["seconds"]))
    rows: list[dict[str, object]] = []
    for (n, kernel), found in sorted(table.items()):
        medians = {path: median_high(each) for path, each in found.items()}
        rows.append({"n": n, "gpus": gpus, "kernel": kernel, **medians})
        times = "  ".join(f"{path} {1e6 * each:9.1f} us" for path, each in medians.items())
        ratio, target = "", "1.25" if n == 1000 else "1.05"
        if "native" in medians and "remote-shm" in medians:
            ratio = f"  shm / native {medians['remote-shm'] / medians['native']:5.2f}"
        print(f"star-async n {n:6} GPUs {gpus} {kernel:7} {times}{ratio}  (at most {target})")
    same_bits(machine, gpus, paths, kernels)
    return rows


def same_bits(machine: Machine, gpus: int, paths: tuple[str, ...], kernels: list[str]) -> None:
    for schedule, kernel in product(("star-serial", "star-async"), kernels):
        files = [machine.out / f"{schedule}-{kernel}-{path}.xyz" for path in paths]
        for path, file in zip(paths, files, strict=True):
            machine.run(
                f"simulate {schedule} {kernel} {path}",
                MDAPP, "simulate", "--engine", "cuda", "--n", 1000, "--steps", 200, "--every", 20,
                "--gpus", gpus, "--schedule", schedule, "--kernel", kernel,
                "--j-split", 1 if kernel == "tuned" else 0, "--trajectory", file, "--force",
                remote=0 if path == "native" else gpus, shared=path == "remote-shm", quiet=True,
            )  # fmt: skip
        contents = {file.read_bytes() if file.exists() else None for file in files}
        what = f"{schedule}, {kernel}, {gpus} GPUs: trajectories of {', '.join(paths)} are the same"
        machine.check(what, len(contents) == 1 and None not in contents, "they differ")


SIZES = [2**k for k in range(16, 23)]
"""Bytes of copies that are neither short nor long: 64 KiB to 4 MiB."""

INLINE = {"pieces": "0", "message": "1024", "usual": ""}
"""GPUCAST_REMOTE_INLINE_KIB: all in pieces, none up to 1 MiB, and what is chosen by itself."""


def middle_copies(machine: Machine, repeats: int, times: int = 200) -> list[dict[str, object]]:
    """Copies of each size with the wait for them, beside what raw sockets carry: as many as there
    are channels, or fewer where those are faster. In turns, so that what else the machine does
    falls on all of them: medians of the repeats.
    """
    Key = tuple[str, str, int]
    taken: dict[str, dict[Key, list[float]]] = {}

    def keep(who: str, line: dict[str, Any], seconds: float, memory: str) -> None:
        of = taken.setdefault(who, {})
        of.setdefault((line["route"], memory, line["bytes"]), []).append(seconds)

    def measured(who: str, *arguments: object, remote: int = 0, **variables: str) -> None:
        text = machine.run(who, PROBE, *arguments, remote=remote, quiet=True, **variables)
        for line in map(json.loads, text.splitlines()):
            if who == "raw":
                for memory in ("pinned", "pageable"):
                    keep(who, line, min(line["seconds"].values()), memory)
            else:
                keep(who, line, line["seconds"], line["memory"])

    for _ in range(repeats):
        measured("raw", "socket-times", CHANNELS, times, *SIZES)
        if "GPUCAST_LIBCUDA" not in os.environ:  # which stands for another driver than this one's
            measured("native", "times", times, *SIZES)
        for who, inline in INLINE.items():
            variables = {"GPUCAST_REMOTE_INLINE_KIB": inline}
            measured(who, "times", times, *SIZES, remote=1, **variables)
    rows: list[dict[str, object]] = []
    for key in taken.get("usual", {}):
        seconds = {who: median_high(of[key]) for who, of in taken.items() if key in of}
        route, memory, size = key
        rows.append({"route": route, "memory": memory, "bytes": size, "seconds": seconds})
        told = "  ".join(f"{who} {1e6 * each:7.1f} us" for who, each in seconds.items())
        ratio = seconds["raw"] / seconds["usual"]
        target = "" if ratio >= 0.8 else "  (target: at least 0.80)"
        print(f"{route} {memory:8} {size >> 10:5} KiB  {told}  raw / usual {ratio:5.2f}{target}")
    return rows


TRANSFERS, LATENCIES = ("h2d_pinned", "d2h_pinned"), ("h2d_64", "d2h_64", "launch_and_wait")


def cost_of_tls(machines: dict[str, Machine], megabytes: int, repeats: int) -> dict[str, object]:
    """Both in turns, so that what else the machine does falls on both: medians of the repeats.

    Beside times the processor time of both sides for copies up and down, which says the same where
    other programs are at work: where all cores are busy, that is what limits.
    """
    ways: dict[str, tuple[Machine, dict[str, str]]] = {
        **{name: (machine, {}) for name, machine in machines.items()},
        **{
            f"{name} {CHANNELS}": (machine, {"GPUCAST_REMOTE_CHANNELS": str(CHANNELS)})
            for name, machine in machines.items()
        },
    }
    size, taken = megabytes << 20, {name: [] for name in ways}  # type: dict[str, list[Times]]
    for k in range(repeats):
        for name, (machine, variables) in ways.items():
            text = machine.run(
                f"{name} {k}", PROBE, "measure", size, remote=1, quiet=True, **variables
            )
            if not text:
                return {}
            figures = json.loads(text)
            before = processor_seconds(machine)
            machine.run(
                f"{name} {k}, copies", PROBE, "copy", size, 4, remote=1, quiet=True, **variables
            )
            figures["processor"] = processor_seconds(machine) - before
            taken[name].append(figures)

    def median(name: str, what: str) -> float:
        return median_high(each[what] for each in taken[name])

    for what in TRANSFERS:
        ratio = median("tls", what) / median("plain", what)
        by_four = median(f"tls {CHANNELS}", what) / median(f"plain {CHANNELS}", what)
        rates = "  ".join(f"{name} {median(name, what) / 1e9:6.2f} GB/s" for name in ways)
        print(
            f"{what:16} {rates}  TLS / plain {ratio:5.2f}, over {CHANNELS} channels "
            f"{by_four:5.2f} (target: at least 0.70)"
        )
    ratio = median("plain", "processor") / median("tls", "processor")
    times = "  ".join(f"{name} {median(name, 'processor'):6.2f} s" for name in machines)
    print(f"{'processor time':16} {times}  plain / TLS {ratio:5.2f}")
    for what in LATENCIES:
        more = 1e6 * (median("tls", what) - median("plain", what))
        times = "  ".join(f"{name} {1e6 * median(name, what):6.2f} us" for name in machines)
        print(f"{what:16} {times}  TLS - plain {more:6.2f} us (target: at most 3)")
    return {"repeats": taken}


def processor_seconds(machine: Machine) -> float:
    """Processor time of all programs and of the processes of all clients that have ended, s."""
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
    security.add_argument("--shared", action="store_true", help="only shared memory, side by side")
    parser.add_argument("--copies", action="store_true", help="only copies of 64 KiB to 4 MiB")
    parser.add_argument("--repeats", type=int, default=5, help="of --tls, --shared and --copies")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    list_gpus = ["nvidia-smi", "--list-gpus"]
    gpus = options.gpus or len(subprocess.check_output(list_gpus).splitlines())
    kernels = options.kernels.split(",")
    answer: dict[str, object] = {}
    if options.tls:
        return compare_security(options)
    machine = Machine(options.build, options.output, 1 if options.copies else gpus,
                      plain=options.plain)  # fmt: skip
    if options.shared:
        try:
            answer = beside_shared_memory(
                machine, gpus, options.megabytes, options.repeats, kernels
            )
        finally:
            machine.stop()
        (options.output / "remote-shared.json").write_text(json.dumps(answer, indent=1) + "\n")
        return 1 if machine.failed else 0
    if options.copies:
        try:
            rows = middle_copies(machine, options.repeats)
        finally:
            machine.stop()
        name = f"remote-copies{'-plain' if options.plain else ''}.json"
        (options.output / name).write_text(json.dumps(rows, indent=1) + "\n")
        return 1 if machine.failed else 0
    try:
        machine.run("probe, native", PROBE, "check")
        machine.run("probe, remote", PROBE, "check", remote=gpus)
        machine.run("probe, remote, --sync", PROBE, "check", remote=gpus, GPUCAST_REMOTE_SYNC="1")
        answer = {"gpus": gpus, "calls": calls(machine, options.megabytes)}
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
