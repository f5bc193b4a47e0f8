"""Copies of four GPUs at once, of known rates."""

from typing import Any

from made_data import transfer

BYTES = 64_000_000
LINK, DUPLEX, NVLINK = 50e9, 80e9, 400e9
READS, WRITES = 120e9, 105e9  # of host memory, one direction at a time
READS_BESIDE, WRITES_BESIDE = 60e9, 50e9  # both at once
UP, DOWN = [("host", f"gpu{i}") for i in range(4)], [(f"gpu{i}", "host") for i in range(4)]

Copy = tuple[str, str]


def spread(seconds: float) -> list[float]:
    return [seconds * (1 + 1e-4 * i) for i in (-3, -2, -1, 0, 1, 2, 3)]


def record(copy: Copy, rate: float, *beside: Copy) -> dict[str, Any]:
    start, end = copy
    route = "h2d" if start == "host" else "d2h" if end == "host" else "peer"
    return transfer(
        route,
        BYTES,
        spread(BYTES / rate),
        **{"from": start, "to": end},
        memory="unknown" if route == "peer" else "pinned",
        method="gated",
        concurrent=[{"from": a, "to": b} for a, b in beside],
    )


def four_gpus() -> list[dict[str, Any]]:
    """Links of 50 GB/s each way, 80 both; host memory of less than four links; NVLink."""
    peers = [(f"gpu{a}", f"gpu{b}") for a in range(4) for b in range(4) if a != b]
    made = [record(copy, LINK) for copy in (*UP, *DOWN)]
    made += [record(copy, NVLINK) for copy in peers]
    for up, down in zip(UP, DOWN, strict=True):
        made += [record(up, DUPLEX / 2, down), record(down, DUPLEX / 2, up)]
    made += [
        record(UP[0], LINK, UP[1]),
        record(DOWN[0], LINK, DOWN[1]),
        record(UP[0], LINK, DOWN[1]),
    ]
    for k in (2, 3, 4):
        if k > 2:
            made.append(record(UP[0], READS / k, *UP[1:k]))
            made.append(record(DOWN[0], WRITES / k, *DOWN[1:k]))
        made.append(record(UP[0], READS_BESIDE / k, *UP[1:k], *DOWN[:k]))
        made.append(record(DOWN[0], WRITES_BESIDE / k, *DOWN[1:k], *UP[:k]))
    made.append(record(("gpu0", "gpu1"), NVLINK / 3, ("gpu0", "gpu2"), ("gpu0", "gpu3")))
    made.append(record(("gpu1", "gpu0"), NVLINK / 3, ("gpu2", "gpu0"), ("gpu3", "gpu0")))
    apart = [("gpu1", "gpu0"), ("gpu2", "gpu3"), ("gpu3", "gpu2")]
    made.append(record(("gpu0", "gpu1"), NVLINK, *apart))
    return made
