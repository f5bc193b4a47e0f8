"""Measure the time and energy of a step of many programs on one GPU, as records.

    python lab/benchmarks/energy.py -o FOLDER [--mdapp PROGRAM] [--seconds 420]

A second process reads NVML's energy counter and power a hundred times a second
(FOLDER/sampled.csv). First the counter is compared with the integral of sampled power, on runs of
10 s (a note); then each cell is visited three times, in random order (FOLDER/energy.jsonl). The
joules of a step are what the counter gained while steps ran, interpolated linearly between its
readings; the program runs before and after the window, so that power is steady at both ends. The
host's energy is not included.

A sample is the mean of consecutive steps that take 5 ms in total; the host does not wait between
them.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import ctypes
import datetime
import itertools
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Step = Callable[[], object]
POWER_AVERAGE, POWER_INSTANT = 185, 186  # NVML's fields: mean of the last second, now
WARM_UP, WINDOW, AFTER = 0.4, 1.0, 0.15  # s
PERIOD = 0.01  # s between the sampler's readings


class FieldValue(ctypes.Structure):
    _fields_ = (
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("value_type", ctypes.c_int),
        ("status", ctypes.c_int),
        ("value", ctypes.c_uint),
        ("upper", ctypes.c_uint),
    )


def sample(file: Path) -> None:
    """Write t (monotonic clock, s), the energy counter (mJ), power now and averaged (mW), SM clock
    (MHz) and temperature (C) of GPU 0 until killed."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    device = ctypes.c_void_p()
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
        sys.exit("NVML does not start")
    energy, clock, temperature = ctypes.c_ulonglong(), ctypes.c_uint(), ctypes.c_uint()
    power = ctypes.c_uint()
    values = (FieldValue * 2)(FieldValue(field=POWER_INSTANT), FieldValue(field=POWER_AVERAGE))
    status = nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy))
    if status:
        sys.exit(f"NVML has no energy counter here: status {status}")
    with file.open("w") as out:
        out.write("t,energy_mj,instant_mw,average_mw,usage_mw,sm_mhz,celsius\n")
        while True:
            begin = time.monotonic()
            nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy))
            read = time.monotonic()
            nvml.nvmlDeviceGetFieldValues(device, 2, values)
            nvml.nvmlDeviceGetPowerUsage(device, ctypes.byref(power))
            nvml.nvmlDeviceGetClockInfo(device, 1, ctypes.byref(clock))
            nvml.nvmlDeviceGetTemperature(device, 0, ctypes.byref(temperature))
            now, mean = (v.value if v.status == 0 else "" for v in values)
            out.write(
                f"{(begin + read) / 2:.6f},{energy.value},{now},{mean},{power.value},"
                f"{clock.value},{temperature.value}\n"
            )
            out.flush()
            time.sleep(max(0.0, PERIOD - (time.monotonic() - begin)))


class Sampled:
    """Readings that the sampler has written."""

    def __init__(self, file: Path) -> None:
        self._file, self._position, self._rest = file, 0, ""
        self.rows: list[tuple[float, ...]] = []
        self.ticks: list[tuple[float, float]] = []  # s, J: the first reading of each value

    def read(self) -> None:
        with self._file.open() as lines:
            lines.seek(self._position)
            text = self._rest + lines.read()
            self._position = lines.tell()
        *whole, self._rest = text.split("\n")
        for line in whole:
            if line.startswith("t,"):
                continue
            row = tuple(float(word) if word else float("nan") for word in line.split(","))
            self.rows.append(row)
            if not self.ticks or row[1] / 1e3 != self.ticks[-1][1]:
                self.ticks.append((row[0], row[1] / 1e3))

    def energy_at(self, t: float) -> float:
        """The counter at a time, interpolated linearly between its changes, J."""
        k = min(max(bisect.bisect([s for s, _ in self.ticks], t), 1), len(self.ticks) - 1)
        (s0, e0), (s1, e1) = self.ticks[k - 1], self.ticks[k]
        return e0 + (e1 - e0) * (t - s0) / (s1 - s0)

    def joules(self, begin: float, end: float) -> float:
        """What the counter gained between two times, J."""
        self.read()
        return self.energy_at(end) - self.energy_at(begin)

    def integral(self, begin: float, end: float, column: int) -> float:
        """Integrate sampled power by trapezoids (columns: 2 instantaneous, 3 and 4 averaged), J."""
        rows = [row for row in self.rows if begin <= row[0] <= end and row[column] == row[column]]
        if len(rows) < 2:
            return float("nan")
        total = sum(
            (b[0] - a[0]) * (a[column] + b[column]) / 2e3 for a, b in itertools.pairwise(rows)
        )
        return total * (end - begin) / (rows[-1][0] - rows[0][0])

    def tick(self, begin: float, end: float) -> float:
        """The longest time between two changes of the counter within a window, s."""
        times = [s for s, _ in self.ticks if begin <= s <= end]
        return max((b - a for a, b in itertools.pairwise(times)), default=end - begin)


# --- programs ----------------------------------------------------------------------------------
# Each function makes a step of size n. Inputs are made once and stay on the GPU.


def trained(torch: Any, model: Any, inputs: Any, loss: Callable[[Any], Any], autocast: Any) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            value = loss(model(inputs))
        value.backward()
        optimizer.step()

    return step


def bf16(torch: Any) -> Any:
    return lambda: torch.autocast("cuda", dtype=torch.bfloat16)


def mlp(torch: Any, n: int, autocast: Any, tf32: bool) -> Step:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    nn = torch.nn
    width = 4096
    model = nn.Sequential(
        *(m for _ in range(6) for m in (nn.Linear(width, width), nn.GELU()))
    ).cuda()
    x = torch.randn(n, width, device="cuda")
    return trained(torch, model, x, lambda y: y.float().square().mean(), autocast)


def mlp_bf16(torch: Any, n: int) -> Step:
    return mlp(torch, n, bf16(torch), True)


def mlp_tf32(torch: Any, n: int) -> Step:
    return mlp(torch, n, contextlib.nullcontext, True)


def mlp_fp32(torch: Any, n: int) -> Step:
    return mlp(torch, n, contextlib.nullcontext, False)


def transformer_bf16(torch: Any, n: int) -> Step:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(
        1024, 16, 4096, dropout=0.0, batch_first=True, norm_first=True
    )
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
    x = torch.randn(n // 1024, 1024, 1024, device="cuda")
    return trained(torch, model, x, lambda y: y.float().square().mean(), bf16(torch))


def attention_bf16(torch: Any, n: int) -> Step:
    """Long sequences: n tokens, 16 heads of 64."""
    q = torch.randn(1, 16, n, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    attention = torch.nn.functional.scaled_dot_product_attention

    def step() -> None:
        q.grad = None
        attention(q, q, q, is_causal=True).sum().backward()

    return step


def block(torch: Any, width: int) -> Any:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
            )

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.body(x))

    return Block()


def resnet(torch: Any) -> Any:
    nn = torch.nn
    layers: list[Any] = [nn.Conv2d(3, 64, 7, stride=2, padding=3), nn.MaxPool2d(2)]
    width = 64
    for stage in range(4):
        if stage:
            layers.append(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1))
            width *= 2
        layers += [block(torch, width), block(torch, width)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def resnet_bf16(torch: Any, n: int) -> Step:
    model = resnet(torch).cuda().to(memory_format=torch.channels_last)
    x = torch.randn(n, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    return trained(torch, model, x, lambda y: y.float().square().mean(), bf16(torch))


def resnet_infer(torch: Any, n: int) -> Step:
    model = resnet(torch).cuda().half().eval()
    x = torch.randn(n, 3, 224, 224, device="cuda", dtype=torch.half)

    def step() -> None:
        with torch.inference_mode():
            model(x)

    return step


def stream(torch: Any, n: int) -> Step:
    a, b = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    return lambda: torch.add(a, b, alpha=1e-3, out=a)


def adam(torch: Any, n: int) -> Step:
    p = torch.nn.Parameter(torch.rand(n, device="cuda"))
    p.grad = torch.rand(n, device="cuda")
    return torch.optim.AdamW([p], lr=1e-4, fused=True).step  # type: ignore[no-any-return]


def fft(torch: Any, n: int) -> Step:
    side = round(n ** (1 / 3))
    x = torch.randn(side, side, side, device="cuda", dtype=torch.complex64)
    return lambda: torch.fft.ifftn(torch.fft.fftn(x))


def sparse_cg(torch: Any, n: int) -> Step:
    """Ten conjugate gradient iterations on the 5-point Laplacian, double precision."""
    side = round(n**0.5)
    i = torch.arange(side * side, device="cuda")
    rows, columns, values = [i], [i], [torch.full((len(i),), 4.0)]
    for shift, inside in (
        (1, i % side < side - 1),
        (-1, i % side > 0),
        (side, i < side * (side - 1)),
        (-side, i >= side),
    ):
        rows.append(i[inside])
        columns.append(i[inside] + shift)
        values.append(torch.full((int(inside.sum()),), -1.0))
    matrix = torch.sparse_coo_tensor(
        torch.stack((torch.cat(rows), torch.cat(columns))),
        torch.cat(values).double().cuda(),
        (len(i), len(i)),
    ).to_sparse_csr()
    b = torch.rand(len(i), device="cuda", dtype=torch.double)

    def step() -> None:
        x, r = torch.zeros_like(b), b.clone()
        p, rr = r.clone(), r @ r
        for _ in range(10):
            q = matrix @ p
            alpha = rr / (p @ q)
            x += alpha * p
            r -= alpha * q
            rr, before = r @ r, rr
            p = r + (rr / before) * p

    return step


def nbody(torch: Any, n: int) -> Step:
    x = torch.rand(n, 3, device="cuda")
    rows = min(n, 4096)

    def step() -> None:
        for i in range(0, n, rows):
            d = x[None] - x[i : i + rows, None]
            w = (d.square().sum(-1) + 1e-4).rsqrt()
            ((w * w * w)[..., None] * d).sum(1)

    return step


def gemm_fp64(torch: Any, n: int) -> Step:
    a = torch.rand(n, n, device="cuda", dtype=torch.double)
    return lambda: a @ a


PROGRAMS: dict[str, tuple[Callable[[Any, int], Step], str, str, tuple[int, ...]]] = {
    "mlp-train": (mlp_bf16, "bf16", "samples", (256, 1024, 2048, 4096, 8192, 16384)),
    "mlp-train-tf32": (mlp_tf32, "tf32", "samples", (256, 512, 1024, 2048, 4096, 8192)),
    "mlp-train-fp32": (mlp_fp32, "fp32", "samples", (256, 512, 1024, 2048, 4096)),
    "transformer-train": (
        *(transformer_bf16, "bf16", "tokens"),
        (2048, 4096, 8192, 16384, 32768, 65536),
    ),
    "attention-train": (attention_bf16, "bf16", "tokens", (2048, 4096, 8192, 16384, 32768, 65536)),
    "resnet-train": (resnet_bf16, "bf16", "samples", (16, 32, 64, 128, 256, 512)),
    "resnet-infer": (resnet_infer, "fp16", "samples", (1, 4, 16, 64, 256, 1024)),
    "stream": (stream, "fp32", "elements", tuple(1 << i for i in (20, 24, 26, 27, 28, 29))),
    "adamw": (adam, "fp32", "parameters", tuple(1 << i for i in (20, 24, 26, 27, 28, 29))),
    "fft": (fft, "complex64", "points", tuple(i**3 for i in (64, 128, 192, 256, 384, 512))),
    "sparse-cg": (
        *(sparse_cg, "fp64", "unknowns"),
        tuple(i**2 for i in (256, 1024, 2048, 3072, 4096, 6144)),
    ),
    "nbody": (nbody, "fp32", "particles", (1024, 4096, 8192, 16384, 32768)),
    "gemm-fp64": (gemm_fp64, "fp64", "rows", (1024, 2048, 4096, 6144, 8192, 12288)),
}
MDAPP = (1000, 4096, 16384, 32768, 64000, 110592, 175616)
CHECKED = (
    ("mlp-train", 16384),
    ("stream", 1 << 29),
    ("resnet-infer", 1),
    ("sparse-cg", 1024**2),
    ("fft", 256**3),
)


def run_for(torch: Any, step: Step, seconds: float, together: int) -> list[float]:
    """Run steps for some seconds: each sample is the mean of steps between two waits of the
    host."""
    samples = []
    end = time.monotonic() + seconds
    begin = time.monotonic()
    while begin < end:
        for _ in range(together):
            step()
        torch.cuda.synchronize()
        now = time.monotonic()
        samples.append((now - begin) / together)
        begin = now
    return samples


def visit(torch: Any, name: str, n: int, window: float) -> tuple[list[float], int, float, float]:
    """Samples, steps in each sample, and begin and end of the window."""
    step = PROGRAMS[name][0](torch, n)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    before = run_for(torch, step, WARM_UP / 2, 1)
    together = max(1, round(5e-3 / (sum(before) / len(before))))
    run_for(torch, step, WARM_UP / 2, together)
    begin = time.monotonic()
    samples = run_for(torch, step, window, together)
    end = time.monotonic()
    run_for(torch, step, AFTER, together)
    del step
    torch.cuda.empty_cache()
    return samples, together, begin, end


def at_most(values: list[float], count: int) -> list[float]:
    """At most ``count`` of the values, evenly chosen and in order."""
    if len(values) <= count:
        return values
    return [values[i * len(values) // count] for i in range(count)]


def records_of_mdapp(program: str, n: int, sampled: Sampled) -> Iterator[dict[str, Any]]:
    """Records of a cell of gpucast-mdapp: its energy is the power in the middle of its timed steps
    times their mean time."""
    command = [program, "measure", "--engine", "cuda", "--kernel", "tuned", "--n", str(n)]
    command += ["--gpus", "1", "--schedule", "star-async", "--memory", "pinned", "--quiet"]
    command += [
        "--warm-up",
        "0.2",
        "--interval",
        "0.0001",
        "--max-time",
        str(WINDOW),
        "--path",
        "native",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        end = time.monotonic()
        record = json.loads(line)
        if record["kind"] != "step":
            continue
        total = sum(record["seconds"])
        if total > 0.6:
            time.sleep(0.3)
            begin = end - total + 0.15
            power = sampled.joules(begin, end - 0.15) / (end - 0.15 - begin)
            steps = len(record["seconds"])
            record |= energy_of(sampled, begin, end - 0.15, power * total / steps)
        record["seconds"] = at_most(record["seconds"], 60)
        for phase, seconds in record.get("phases", {}).items():
            record["phases"][phase] = at_most(seconds, 60)
        yield record
    if process.wait():
        print(f"{program}: n {n}: exit status {process.returncode}", file=sys.stderr)


def energy_of(sampled: Sampled, begin: float, end: float, joules: float) -> dict[str, float]:
    # Either end may lie anywhere within a period of the counter; power is steady to about 10 %.
    error = 0.1 * 2 * sampled.tick(begin - 0.1, end + 0.1) / (end - begin)
    return {"joules": float(f"{joules:.6g}"), "joules_uncertainty": float(f"{error:.2g}")}


def query(fields: str) -> str:
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={fields}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def machine(torch: Any, identity: str) -> dict[str, Any]:
    gpu = torch.cuda.get_device_properties(0)
    clock = query("clocks.max.sm").partition(" ")[0]
    return {
        "schema": "gpucast.record/1",
        "kind": "machine",
        "id": identity,
        "host": "vm",
        "cpu": platform.processor() or platform.machine(),
        "cpu_cores": os.cpu_count(),
        "gpus": [
            {
                "name": gpu.name,
                "sms": gpu.multi_processor_count,
                "clock_hz": float(clock) * 1e6,
                "memory_bytes": gpu.total_memory,
            }
        ],
        "driver": query("driver_version"),
        "runtime": f"CUDA {torch.version.cuda}, PyTorch {torch.__version__}",
        "tool": {"name": "lab/benchmarks/energy.py"},
        "started": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": sys.argv,
        "caveats": [
            "joules: NVML's counter of the GPU's energy, without the host's; power limit "
            + query("power.limit")
        ],
    }


def check(torch: Any, sampled: Sampled, seconds: float) -> list[dict[str, Any]]:
    """Compare the counter's joules with integrals of sampled power, idle and for each program."""
    rows = []
    for name, n in (("idle", 1), *CHECKED):
        if name == "idle":
            torch.zeros(1, device="cuda")
            torch.cuda.synchronize()
            time.sleep(2)
            begin = time.monotonic()
            time.sleep(seconds / 2)
            end = time.monotonic()
        else:
            _, _, begin, end = visit(torch, name, n, seconds)
        time.sleep(0.3)
        counter = sampled.joules(begin, end)
        row = {
            "program": name,
            "n": n,
            "seconds": end - begin,
            "counter": counter,
            "instant": sampled.integral(begin, end, 2),
            # A mean over the last second belongs half a second earlier.
            "average": sampled.integral(begin + 0.5, end, 3) * (end - begin) / (end - begin - 0.5),
            "usage": sampled.integral(begin, end, 4),
            "tick": sampled.tick(begin, end),
            "ticks": sum(begin <= t <= end for t, _ in sampled.ticks),
        }
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--mdapp", help="gpucast-mdapp")
    parser.add_argument("--seconds", type=float, default=420, help="no visit begins after them")
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument(
        "--check", type=float, default=10, help="seconds of a run that checks the counter"
    )
    parser.add_argument("--machine", default="h100/native")
    parser.add_argument("--sample", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sample:
        sample(arguments.sample)
    last = time.monotonic() + arguments.seconds

    import torch

    out: Path = arguments.output
    out.mkdir(parents=True, exist_ok=True)
    csv = out / "sampled.csv"
    csv.unlink(missing_ok=True)
    sampler = subprocess.Popen([sys.executable, __file__, "-o", str(out), "--sample", str(csv)])
    try:
        time.sleep(1)
        if sampler.poll() is not None:
            sys.exit("the energy counter cannot be read (see above)")
        measure(torch, arguments, Sampled(csv), last)
    finally:
        sampler.kill()


def measure(torch: Any, arguments: argparse.Namespace, sampled: Sampled, last: float) -> None:
    out: Path = arguments.output
    checked = check(torch, sampled, arguments.check)
    cells: list[tuple[str, int]] = [
        (name, n) for name, (_, _, _, ns) in PROGRAMS.items() for n in ns
    ]
    if arguments.mdapp:
        cells += [("mdapp", n) for n in MDAPP]
    chance = random.Random(36)
    with (out / "energy.jsonl").open("w") as file:

        def write(record: dict[str, Any]) -> None:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            file.flush()

        write(machine(torch, arguments.machine))
        write(
            {
                "schema": "gpucast.record/1",
                "kind": "note",
                "machine": arguments.machine,
                "text": "NVML's energy counter and the integral of sampled power, J",
                "about": {"checked": checked},
            }
        )
        for number in range(1, arguments.visits + 1):
            for name, n in chance.sample(cells, len(cells)):
                if time.monotonic() > last:
                    print(f"visit {number}: ended because time is up", flush=True)
                    return
                began = time.monotonic()
                try:
                    made = [*visit_records(torch, arguments, sampled, name, n)]
                except Exception as error:  # the other cells are still measured
                    print(f"{name}, n {n}: {str(error).splitlines()[0]}", flush=True)
                    torch.cuda.empty_cache()
                    continue
                for record in made:
                    took = round(time.monotonic() - began, 3)
                    record["visit"] = {
                        "digest": f"{name}-{n}",
                        "number": number,
                        "seconds": took,
                    }
                    write(record)
            print(
                f"visit {number}: {time.monotonic() - last + arguments.seconds:.0f} s", flush=True
            )


def visit_records(
    torch: Any, arguments: argparse.Namespace, sampled: Sampled, name: str, n: int
) -> Iterator[dict[str, Any]]:
    if name == "mdapp":
        for record in records_of_mdapp(arguments.mdapp, n, sampled):
            yield record | {"machine": arguments.machine}
        return
    samples, together, begin, end = visit(torch, name, n, WINDOW)
    time.sleep(0.15)
    joules = sampled.joules(begin, end) / (len(samples) * together)
    yield {
        "schema": "gpucast.record/1",
        "kind": "step",
        "machine": arguments.machine,
        "path": "native",
        "program": name,
        "case": PROGRAMS[name][1],
        "n": n,
        "unit": PROGRAMS[name][2],
        "gpus": 1,
        "seconds": [float(f"{s:.5g}") for s in at_most(samples, 60)],
    } | energy_of(sampled, begin, end, joules)


if __name__ == "__main__":
    main()
