"""Turn the tables in data/published/source into the bundled datasets in data/published.

Each function converts one source document's table; facts about a machine are stated only where
they are public and certain. Run after any change: python scripts/convert_published.py
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpucast.data import jsonl
from gpucast.data.workload import ALL_PAIRS

FOLDER = Path(__file__).parents[1] / "data" / "published"
MIB = 2**20
MB = 10**6
GB = 10**9

Fields = dict[str, Any]


def datasets() -> dict[str, str]:
    """Content of every bundled dataset's file, by name."""
    made = {
        "p2p-copy": p2p_copy(),
        "dscuda": dscuda("improved"),
        "dscuda-original": dscuda("original"),
        "bandwidthtest-gtx480": bandwidthtest(),
        "host-memory-gtx480": host_memory(),
        "copy-timed-2012": copy_timed(),
        "pcie-contention-cirrascale": pcie_contention(),
    }
    return {
        name: jsonl.to_text(jsonl.record(fields) for fields in records)
        for name, records in made.items()
    }


# --- peer against staged copies (HPC Systems) -----------------------------------------------


def p2p_copy() -> Iterator[Fields]:
    """Two machines, routes staged and peer, 1 byte to 1 GiB."""
    source = (
        'HPC Systems Inc., Total Disclosure Site, "GPUDirect ni yoru Peer access no sokudo" '
        "(Speed of peer access with GPUDirect)"
    )
    caveats = [
        (
            "The row of 1 byte was the first call of each route and carries one-off start-up cost; "
            "these records are marked cold."
        ),
        "One timed call a size; times are rounded to 1 microsecond (uncertainty).",
        (
            "staged: device to host into pinned memory, then host to device; peer: "
            "cudaMemcpyPeer and cudaDeviceSynchronize; timed with gettimeofday."
        ),
    ]
    yield _machine(
        "tesla-c2050", [_gpu("Tesla C2050", 448, 14, 1536)] * 2, source, caveats,
        cpu="Intel Xeon W3520", runtime="CUDA 4.0",
    )  # fmt: skip
    yield _machine(
        "geforce-gtx580", [_gpu("GeForce GTX 580", 512, 16, 1536)] * 4, source,
        [*caveats, "Two of the machine's four GPUs took part."],
        cpu="Intel Xeon W3565", runtime="CUDA 4.0",
    )  # fmt: skip
    yield _title("Copies between two GPUs: staged through the host, and peer to peer")
    for machine, column in (("tesla-c2050", "c2050"), ("geforce-gtx580", "gtx580")):
        for route in ("staged", "peer"):
            for at, row in enumerate(_rows("p2p_copy_hpcsystems.csv")):
                seconds = float(row[f"{column}_{route}_s"])
                first: Fields = {"cold": True, "caveat": "first call: includes one-off start-up"}
                yield _transfer(
                    machine, "native", "pinned", route, "gpu0", "gpu1", int(row["bytes"]),
                    seconds, uncertainty=0.5e-6 / seconds, **(first if at == 0 else {}),
                )  # fmt: skip


# --- remote GPUs (DS-CUDA) ------------------------------------------------------------------


def dscuda(version: str) -> Iterator[Fields]:
    """Claret's steps on one GPU, local and remote, with the copies of the remote paths."""
    machine = "geforce-gtx280"
    source = 'DS-CUDA package 1.0.9 (2012), Japanese user guide, section "measured performance"'
    allocation = {
        "improved": "improved: device memory is allocated anew only when n changes.",
        "original": "original: device memory is allocated and freed in every step.",
    }
    yield _machine(
        machine,
        [_gpu("GeForce GTX 280", 240, 30, 1024)],
        source,
        [
            (
                "Steps: the source prints whole Gflops; seconds = 78 n^2 / (Gflops 1e9), 78 "
                "flops an ordered pair of particles. Rounding alone is +-50 % at n = 64 and "
                "+-0.3 % at 5832."
            ),
            "Cells that the source rounds to 0 Gflops have no time; they are notes.",
            f"Steps, {allocation[version]}",
            (
                "Transfers: MB/s of 1e6 bytes with one decimal; +-17 % for the slowest. "
                "Kind of host memory not stated."
            ),
            (
                "Generation of the InfiniBand not stated; ethernet100 is 100 Mbit/s Ethernet. "
                "The GPU is in the server; path local is the same program without DS-CUDA."
            ),
        ],
    )
    yield _title(f"Claret MD steps on a local and a remote GPU ({version}), and remote copies")
    for row in _rows("dscuda_transfer.csv"):
        size = int(row["bytes"])
        for path in ("infiniband", "ethernet100"):
            for route, start, end in (("h2d", "host", "gpu0"), ("d2h", "gpu0", "host")):
                rate = row[f"{path}_{route}_MBps"]
                yield _transfer(
                    machine, path, "unknown", route, start, end, size,
                    size / (float(rate) * MB), uncertainty=_rounding(rate),
                )  # fmt: skip
    for path in ("local", "infiniband", "ethernet100"):
        for row in _rows("dscuda_claret.csv"):
            yield _claret_step(machine, path, int(row["n"]), row[f"{version}_{path}"])


def _claret_step(machine: str, path: str, n: int, gflops: str) -> Fields:
    if float(gflops) == 0:
        return {
            "kind": "note", "machine": machine, "path": path,
            "text": f"n = {n}: the source prints 0 Gflops (less than 0.5), which gives no time",
            "about": {"n": n, "gpus": 1, "gflops": 0},
        }  # fmt: skip
    return {
        "kind": "step", "machine": machine, "path": path, "schedule": "star-serial",
        "kernel": "claret", "n": n, "gpus": 1,
        "seconds": [ALL_PAIRS.operations_of_step(n) / (float(gflops) * 1e9)],
        "uncertainty": _rounding(gflops),
    }  # fmt: skip


# --- host memory (2010) ---------------------------------------------------------------------

_GTX480 = "geforce-gtx480"
_GTX480_SOURCE = (
    '"CUDA PagedLockedHostMemory no seinou ni tsuite" (On the performance of CUDA page-locked '
    "host memory), 2010"
)
_HOST_MEMORY = {
    "pageable": "pageable",
    "pinned_write_combined": "write-combined",
    "mapped": "mapped",
    "mapped_write_combined": "mapped-write-combined",
}


def bandwidthtest() -> Iterator[Fields]:
    """The CUDA SDK's own bandwidthTest on the machine of ``host_memory``."""
    size = 33554432
    yield _machine(
        _GTX480,
        [_gpu("GeForce GTX 480", 480, 15, 1536)],
        _GTX480_SOURCE,
        [
            "MB/s are 2^20 bytes per second, as bandwidthTest prints them; one decimal.",
            "The tool's pinned run was write-combined as well.",
            (
                "bandwidthTest counts a copy within the GPU twice (read and write); the seconds of "
                "route local are for one copy: 2 bytes / rate."
            ),
            "The tool averages several copies; the source prints one figure.",
        ],
        tool={"name": "bandwidthTest", "version": "CUDA SDK 3.0"},
    )
    yield _title("bandwidthTest: pageable and write-combined host memory, 32 MiB")
    for row in _rows("bandwidthtest_gtx480.csv"):
        memory = _HOST_MEMORY[row["memory"]]
        for route, start, end, counted in (
            ("h2d", "host", "gpu0", 1),
            ("d2h", "gpu0", "host", 1),
            ("local", "gpu0", "gpu0", 2),
        ):
            rate = row[f"{'d2d' if route == 'local' else route}_MBps"]
            yield _transfer(
                _GTX480, "native", "unknown" if route == "local" else memory, route, start, end,
                size, counted * size / (float(rate) * MIB), uncertainty=_rounding(rate),
            )  # fmt: skip


def host_memory() -> Iterator[Fields]:
    """Loops over 50 MB of host memory of four kinds, by the GPU and by the CPU."""
    yield _machine(
        _GTX480,
        [_gpu("GeForce GTX 480", 480, 15, 1536)],
        _GTX480_SOURCE,
        [
            (
                "The source labels its figures nsec, but its own MByte/sec column shows that "
                "they are microseconds (34878 us x 2695 MiB/s = 94 MB = two arrays); stored in "
                "seconds."
            ),
            "One single run each; arrays of 50,000,000 bytes, grid (1,1,1) x (128,1,1).",
            (
                "runner gpu_copy_only: copies, no kernel; gpu: copies and kernel; cpu: the same "
                "loop on the CPU over the same buffer. Phase all includes allocation and release."
            ),
            (
                "Phase all of pattern simple on the GPU is about 1.1 s longer than of the "
                "others, for every kind of memory: probably one-off start-up; the source does "
                "not say."
            ),
            "The kernels are far from using the GPU fully: one block of 128 threads.",
        ],
    )
    yield _title("Kinds of host memory against access patterns, GPU and CPU, 50 MB")
    for row in _rows("host_memory_gtx480.csv"):
        yield {
            "kind": "host_memory", "machine": _GTX480, "memory": _HOST_MEMORY[row["memory"]],
            "pattern": row["pattern"], "runner": row["runner"], "phase": row["phase"],
            "seconds": [float(row["seconds"])],
        }  # fmt: skip


# --- driver models (Kopp 2012) --------------------------------------------------------------


def copy_timed() -> Iterator[Fields]:
    """Pageable and pinned copies under the display and the compute driver model."""
    size = 256 * MIB
    machines = {
        "GeForce GTX 460": ("geforce-gtx460-wddm", _gpu("GeForce GTX 460", 336, 7, 1536)),
        "Quadro 4000": ("quadro-4000-tcc", _gpu("Quadro 4000", 256, 8, 1536)),
    }
    models = {"WDDM": "WDDM (display driver model)", "TCC": "TCC (compute driver)"}
    rows = list(_rows("copy_timed_2012.csv"))
    for gpu, (machine, facts) in machines.items():
        model = next(row["driver_model"] for row in rows if row["gpu"] == gpu)
        yield _machine(
            machine,
            [facts],
            'N. Kopp, "Faster copies to CUDA GPUs", CodeProject (2012)',
            [
                "MB/s are 2^20 bytes per second, whole numbers; each is the mean of 100 copies.",
                "Windows 7 64-bit, PCIe generation 2 x16.",
                "The two driver models were measured on different GPUs.",
            ],
            driver=models[model],
        )
    yield _title("Pageable and pinned copies of 256 MiB under the WDDM and TCC driver models")
    for row in rows:
        for route, start, end, column in (
            ("h2d", "host", "gpu0", "up_MBps"),
            ("d2h", "gpu0", "host", "down_MBps"),
        ):
            rate = row[column]
            yield _transfer(
                machines[row["gpu"]][0], "native", row["memory"], route, start, end, size,
                size / (float(rate) * MIB), uncertainty=_rounding(rate),
                caveat="mean of 100 copies",
            )  # fmt: skip


# --- contention (Cirrascale) ----------------------------------------------------------------


def pcie_contention() -> Iterator[Fields]:
    """Peer copies in both directions, alone and beside other pairs."""
    machine = "cirrascale-gb5470"
    yield _machine(
        machine,
        None,
        'Cirrascale, "Demonstrating PCIe Performance"',
        [
            (
                "The source gives rates only (GB/s of 1e9 bytes, one decimal), not the size of the "
                "copies; seconds here are for 1e9 bytes at that rate."
            ),
            (
                "Eight GPUs (model not stated) behind two PEX 8780 switches (SR3514): pairs 0-4 "
                "and 1-5 share the switches' upstream x16 ports, pair 2-3 stays inside one switch."
            ),
            "Each pair copies in both directions at once: no record is of a copy alone.",
        ],
        topology={"gpus": 8, "switches": "two PEX 8780 (SR3514)"},
    )
    yield _title("Peer copies of pairs that share PCIe links, and of pairs that do not")
    rows = list(_rows("pcie_contention_cirrascale.csv"))
    for row in rows:
        here = (f"gpu{row['from_gpu']}", f"gpu{row['to_gpu']}")
        together = [
            (f"gpu{other['from_gpu']}", f"gpu{other['to_gpu']}")
            for other in rows
            if other["experiment"] == row["experiment"]
        ]
        yield _transfer(
            machine, "native", "unknown", "peer", *here, GB, GB / (float(row["GBps"]) * GB),
            concurrent=[{"from": a, "to": b} for a, b in together if (a, b) != here],
            uncertainty=_rounding(row["GBps"]),
            caveat=f"experiment {row['experiment']}; a rate: size of the copies not stated",
        )  # fmt: skip


# --- pieces ---------------------------------------------------------------------------------


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = (FOLDER / "source" / name).read_text(encoding="utf-8")
    yield from csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))


def _rounding(printed: str) -> float:
    """Half of the last printed digit, relative to the value."""
    decimals = len(printed.partition(".")[2])
    # Not 0.5 * 10**-decimals: the quotient of two exact decimals is rounded once.
    return 5 / (float(printed) * 10.0 ** (decimals + 1))


def _gpu(name: str, cores: int, sms: int, threads: int) -> Fields:
    return {"name": name, "sms": sms, "cores": cores, "max_threads_per_sm": threads}


def _machine(
    name: str, gpus: list[Fields] | None, source: str, caveats: list[str], **more: Any
) -> Fields:
    listed = {} if gpus is None else {"gpus": gpus}
    return {
        "kind": "machine", "id": name, **listed, **more, "source": source, "caveats": caveats,
    }  # fmt: skip


def _title(text: str) -> Fields:
    return {"kind": "note", "text": text, "about": {"title": text}}


def _transfer(
    machine: str,
    path: str,
    memory: str,
    route: str,
    start: str,
    end: str,
    size: int,
    seconds: float,
    concurrent: list[Fields] | None = None,
    **more: Any,
) -> Fields:
    return {
        "kind": "transfer", "machine": machine, "path": path, "memory": memory, "engine": "copy",
        "route": route, "from": start, "to": end, "bytes": size, "concurrent": concurrent or [],
        "seconds": [seconds], "valid": True, **more,
    }  # fmt: skip


if __name__ == "__main__":
    for each, content in datasets().items():
        (FOLDER / f"{each}.jsonl").write_text(content, encoding="utf-8", newline="\n")
