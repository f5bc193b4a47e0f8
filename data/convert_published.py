"""Turn the tables in published/source into the bundled datasets in published.

Each function converts one source document's table; facts about a machine are stated only where
they are public and certain. Run after any change: python data/convert_published.py
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from gpucast.data import jsonl
from gpucast.data.formats.csv_transfers import ENDS
from gpucast.data.workload import ALL_PAIRS

FOLDER = Path(__file__).parent / "published"
MIB = 2**20
MB = 10**6
GB = 10**9

Fields = dict[str, object]


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
            first: Fields = {"cold": True, "caveat": "first call: includes one-off start-up"}
            for row in _rows("p2p_copy_hpcsystems.csv"):
                seconds = float(row[f"{column}_{route}_s"])
                timed = {"seconds": [seconds], "uncertainty": 0.5e-6 / seconds, **first}
                yield _copy(machine, route, bytes=int(row["bytes"]), memory="pinned", **timed)
                first = {}


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
        for route in ("h2d", "d2h"):
            timed = _at_rate(32 * MIB, row[f"{route}_MBps"], MIB)
            yield _copy(_GTX480, route, memory=memory, **timed)
        yield _copy(_GTX480, "local", **_at_rate(32 * MIB, row["d2d_MBps"], MIB, counted=2))


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
        told = {"memory": _HOST_MEMORY[row["memory"]], "seconds": [float(row["seconds"])]}
        yield {"kind": "host_memory", "machine": _GTX480, **row, **told}


# --- driver models (Kopp 2012) --------------------------------------------------------------


def copy_timed() -> Iterator[Fields]:
    """Pageable and pinned copies under the display and the compute driver model."""
    machines = {"GeForce GTX 460": "geforce-gtx460-wddm", "Quadro 4000": "quadro-4000-tcc"}
    for machine, gpu, driver in (
        (
            "geforce-gtx460-wddm",
            _gpu("GeForce GTX 460", 336, 7, 1536),
            "WDDM (display driver model)",
        ),
        ("quadro-4000-tcc", _gpu("Quadro 4000", 256, 8, 1536), "TCC (compute driver)"),
    ):
        yield _machine(
            machine,
            [gpu],
            'N. Kopp, "Faster copies to CUDA GPUs", CodeProject (2012)',
            [
                "MB/s are 2^20 bytes per second, whole numbers; each is the mean of 100 copies.",
                "Windows 7 64-bit, PCIe generation 2 x16.",
                "The two driver models were measured on different GPUs.",
            ],
            driver=driver,
        )
    yield _title("Pageable and pinned copies of 256 MiB under the WDDM and TCC driver models")
    for row in _rows("copy_timed_2012.csv"):
        about = {"memory": row["memory"], "caveat": "mean of 100 copies"}
        for route, column in (("h2d", "up_MBps"), ("d2h", "down_MBps")):
            timed = _at_rate(256 * MIB, row[column], MIB)
            yield _copy(machines[row["gpu"]], route, **about, **timed)


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
    name: str, gpus: list[Fields] | None, source: str, caveats: list[str], **more: object
) -> Fields:
    listed = {} if gpus is None else {"gpus": gpus}
    about = {"source": source, "caveats": caveats}
    return {"kind": "machine", "id": name, **listed, **more, **about}


def _title(text: str) -> Fields:
    return {"kind": "note", "text": text, "about": {"title": text}}


def _copy(machine: str, route: str, **more: object) -> Fields:
    """A transfer record; natively, alone and of unknown memory unless told otherwise."""
    start, end = ENDS[route]
    return {
        "kind": "transfer", "machine": machine, "path": "native", "memory": "unknown",
        "engine": "copy", "route": route, "from": start, "to": end, "concurrent": [],
        "valid": True, **more,
    }  # fmt: skip


def _at_rate(size: int, printed: str, unit: int, counted: int = 1) -> Fields:
    """Bytes, seconds and uncertainty of a copy of which a rate was printed, in units a second.

    ``counted``: how often the source counts each byte.
    """
    seconds = counted * size / (float(printed) * unit)
    return {"bytes": size, "seconds": [seconds], "uncertainty": _rounding(printed)}


if __name__ == "__main__":
    for each, content in datasets().items():
        (FOLDER / f"{each}.jsonl").write_text(content, encoding="utf-8", newline="\n")
