"""Turn the tables in published/source into the bundled datasets in published.

Each function converts one source document's table; titles and machines come from datasets.toml in
the tables' folder. Run after any change: python lab/data/convert_published.py
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from pathlib import Path

from gpucast.data import jsonl
from gpucast.data.formats.tables import ENDS
from gpucast.data.workload import ALL_PAIRS

FOLDER = Path(__file__).parents[2] / "data" / "published"
MIB = 2**20
MB = 10**6
GB = 10**9

Fields = dict[str, object]


def datasets() -> dict[str, str]:
    """The content of every bundled dataset's file, by name."""
    made = {
        "p2p-copy": p2p_copy(),
        "dscuda": dscuda("improved"),
        "dscuda-original": dscuda("original"),
        "bandwidthtest-gtx480": bandwidthtest(),
        "host-memory-gtx480": host_memory(),
        "copy-timed-2012": copy_timed(),
        "pcie-contention-cirrascale": pcie_contention(),
    }
    known = tomllib.loads((FOLDER / "source" / "datasets.toml").read_text(encoding="utf-8"))
    return {
        name: jsonl.to_text(map(jsonl.record, (*_about(**known[name]), *records)))
        for name, records in made.items()
    }


def _about(title: str, machines: list[Fields]) -> Iterator[Fields]:
    """The first records of a dataset."""
    for machine in machines:
        yield {"kind": "machine", **machine}
    yield {"kind": "note", "text": title, "about": {"title": title}}


def p2p_copy() -> Iterator[Fields]:
    """Two machines, routes staged and peer, 1 byte to 1 GiB."""
    for machine, column in (("tesla-c2050", "c2050"), ("geforce-gtx580", "gtx580")):
        for route in ("staged", "peer"):
            first: Fields = {"cold": True, "caveat": "first call: includes one-off start-up"}
            for row in _rows("p2p_copy_hpcsystems.csv"):
                seconds = float(row[f"{column}_{route}_s"])
                timed = {"seconds": [seconds], "uncertainty": 0.5e-6 / seconds, **first}
                yield _copy(machine, route, bytes=int(row["bytes"]), memory="pinned", **timed)
                first = {}


def dscuda(version: str) -> Iterator[Fields]:
    """Steps of Claret on one GPU, local and remote, with the copies of the remote paths."""
    machine = "geforce-gtx280"
    for row in _rows("dscuda_transfer.csv"):
        for path in ("infiniband", "ethernet100"):
            for route in ("h2d", "d2h"):
                timed = _at_rate(int(row["bytes"]), row[f"{path}_{route}_MBps"], MB)
                yield _copy(machine, route, path=path, **timed)
    for path in ("local", "infiniband", "ethernet100"):
        for row in _rows("dscuda_claret.csv"):
            yield _claret_step(machine, path, int(row["n"]), row[f"{version}_{path}"])


def _claret_step(machine: str, path: str, n: int, gflops: str) -> Fields:
    where: Fields = {"machine": machine, "path": path}
    if float(gflops) == 0:
        text = f"n = {n}: the source prints 0 Gflops (less than 0.5), which gives no time"
        return {"kind": "note", **where, "text": text, "about": {"n": n, "gpus": 1, "gflops": 0}}
    seconds = ALL_PAIRS.operations * n**2 / (float(gflops) * 1e9)
    return {
        "kind": "step", **where, "schedule": "star-serial", "kernel": "claret", "n": n, "gpus": 1,
        "seconds": [seconds], "uncertainty": _rounding(gflops),
    }  # fmt: skip


_GTX480 = "geforce-gtx480"


def bandwidthtest() -> Iterator[Fields]:
    """The CUDA SDK's own bandwidthTest on the machine of ``host_memory``."""
    for row in _rows("bandwidthtest_gtx480.csv"):
        memory = _memory(row)
        for route in ("h2d", "d2h"):
            timed = _at_rate(32 * MIB, row[f"{route}_MBps"], MIB)
            yield _copy(_GTX480, route, memory=memory, **timed)
        yield _copy(_GTX480, "local", **_at_rate(32 * MIB, row["d2d_MBps"], MIB, counted=2))


def host_memory() -> Iterator[Fields]:
    """Loops over 50 MB of host memory of four kinds, by the GPU and by the CPU."""
    for row in _rows("host_memory_gtx480.csv"):
        fields = {"memory": _memory(row), "seconds": [float(row["seconds"])]}
        yield {"kind": "host_memory", "machine": _GTX480, **row, **fields}


def copy_timed() -> Iterator[Fields]:
    """Pageable and pinned copies under the display and the compute driver model."""
    machines = {"GeForce GTX 460": "geforce-gtx460-wddm", "Quadro 4000": "quadro-4000-tcc"}
    for row in _rows("copy_timed_2012.csv"):
        about = {"memory": row["memory"], "caveat": "mean of 100 copies"}
        for route, column in (("h2d", "up_MBps"), ("d2h", "down_MBps")):
            timed = _at_rate(256 * MIB, row[column], MIB)
            yield _copy(machines[row["gpu"]], route, **about, **timed)


def pcie_contention() -> Iterator[Fields]:
    """Peer copies in both directions, alone and beside other pairs."""
    machine = "cirrascale-gb5470"
    together: dict[str, list[Fields]] = {}
    for row in _rows("pcie_contention_cirrascale.csv"):
        ends = {"from": f"gpu{row['from_gpu']}", "to": f"gpu{row['to_gpu']}"}
        together.setdefault(row["experiment"], []).append(ends)
    for row in _rows("pcie_contention_cirrascale.csv"):
        experiment = row["experiment"]
        here = {"from": f"gpu{row['from_gpu']}", "to": f"gpu{row['to_gpu']}"}
        yield _copy(
            machine, "peer", **here, **_at_rate(GB, row["GBps"], GB),
            concurrent=[ends for ends in together[experiment] if ends != here],
            caveat=f"experiment {experiment}; a rate: size of the copies not stated",
        )  # fmt: skip


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = (FOLDER / "source" / name).read_text(encoding="utf-8")
    yield from csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))


def _rounding(printed: str) -> float:
    """Half of the last printed digit, relative to the value."""
    decimals = len(printed.partition(".")[2])
    # Not 0.5 * 10**-decimals: the quotient of two exact decimals is rounded once.
    return 5 / (float(printed) * 10.0 ** (decimals + 1))


def _memory(row: dict[str, str]) -> str:
    """Kind of host memory; all of the source's page-locked memory is write-combined."""
    return row["memory"].removeprefix("pinned_").replace("_", "-")


def _copy(machine: str, route: str, **more: object) -> Fields:
    """A transfer record; native, alone and of unknown memory unless ``more`` differs."""
    start, end = ENDS[route]
    return {
        "kind": "transfer", "machine": machine, "path": "native", "memory": "unknown",
        "engine": "copy", "route": route, "from": start, "to": end, "concurrent": [],
        "valid": True, **more,
    }  # fmt: skip


def _at_rate(size: int, printed: str, unit: int, counted: int = 1) -> Fields:
    """Bytes, seconds and uncertainty of a copy whose rate was printed, in units per second.

    ``counted``: how often the source counts each byte.
    """
    seconds = counted * size / (float(printed) * unit)
    return {"bytes": size, "seconds": [seconds], "uncertainty": _rounding(printed)}


if __name__ == "__main__":
    for name, content in datasets().items():
        (FOLDER / f"{name}.jsonl").write_text(content, encoding="utf-8", newline="\n")
