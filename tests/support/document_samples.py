"""What a machine may measure of what the documents' tables hold."""

from typing import Any

from made_data import launch, transfer

SIZES = [2**power for power in range(0, 31, 2)]


def seconds(size: float) -> float:
    return 1e-5 + size / 5e10


def series(route: str, **other: Any) -> list[dict[str, Any]]:
    return [transfer(route, size, [seconds(size)] * 7, **other) for size in SIZES]


def host_memory(memory: str, pattern: str, runner: str, phase: str, took: float) -> dict[str, Any]:
    return {
        "kind": "host_memory", "machine": "m", "memory": memory, "pattern": pattern,
        "runner": runner, "phase": phase, "bytes": 25_000_000, "seconds": [took],
    }  # fmt: skip


def overlap(*parts: str, took: float) -> dict[str, Any]:
    return {
        "kind": "overlap", "machine": "m", "path": "native", "memory": "pinned",
        "device": "gpu0", "bytes": 1 << 26, "parts": list(parts), "seconds": [took],
    }  # fmt: skip


PEERS = [("gpu1", "gpu0"), ("gpu2", "gpu3"), ("gpu3", "gpu2")]


def whole() -> list[dict[str, Any]]:
    beside = [{"from": a, "to": b} for a, b in PEERS]
    return [
        *(r for memory in ("pinned", "pageable", "write-combined")
          for route in ("h2d", "d2h")
          for r in series(route, memory=memory, method="call")),
        *series("h2d", memory="pinned", method="gated"),
        *series("staged", method="call"),
        *series("peer", memory="unknown", method="gated"),
        transfer("peer", 5 * 10**8, [2e-3], memory="unknown", concurrent=beside),
        host_memory("pageable", "sequential", "cpu", "loop", 0.01),
        host_memory("pageable", "random", "cpu", "loop", 0.05),
        host_memory("pageable", "sequential", "gpu", "loop", 0.001),
        host_memory("pageable", "sequential", "gpu", "copy", 0.004),
        host_memory("mapped", "sequential", "gpu", "loop", 0.006),
        launch(16, [3.2e-5], arguments=4),
        overlap("h2d", took=1e-3), overlap("d2h", took=1e-3), overlap("kernel", took=2e-3),
        overlap("h2d", "d2h", took=1.25e-3), overlap("h2d", "d2h", "kernel", took=2e-3),
    ]  # fmt: skip
