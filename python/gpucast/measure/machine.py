"""This machine: its driver's answers, and who else computes on it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from statistics import median


def nvidia_smi(query: str) -> list[list[str]]:
    """Return the rows that ``nvidia-smi`` prints; none if it does not run."""
    return [[word.strip() for word in line.split(",")] for line in _listing(query)]


def occupants() -> list[str]:
    """Return the programs that use this machine's GPUs now, as far as the driver lists them."""
    listing = _listing("--query-compute-apps=pid,process_name,used_memory")
    rows = map(_OCCUPANT.fullmatch, listing)
    return [row.expand(r"\2 (process \1, \3)") for row in rows if row is not None]


_OCCUPANT = re.compile(r"\s*(\d+)\s*,\s*(.*?)\s*,\s*([^,]*?)\s*")
"""Process, name (which may hold commas) and memory."""


def _listing(query: str) -> list[str]:
    try:
        listing = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True,
            timeout=30, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [line for line in listing.splitlines() if line]


def sharing() -> str | None:
    """Return a text about others who use this machine's processors; None if nobody does."""
    others = _others_at_work()
    if not others:
        return None
    return (
        f"shared machine: {others} other tasks at work on {os.cpu_count()} cores when measuring "
        "began"
    )


def _others_at_work() -> int:
    """Return how many other tasks run or wait for a processor; 0 if not known."""
    seen = []
    try:
        for _ in range(5):
            with open("/proc/loadavg", encoding="ascii") as stream:
                seen.append(int(stream.read().split()[3].partition("/")[0]) - 1)
            time.sleep(0.01)
    except (OSError, ValueError, IndexError):
        return 0
    return max(0, int(median(seen)))
