"""Who else computes on this machine: steps that are measured meanwhile are longer."""

from __future__ import annotations

import os
import re
import subprocess
import time
from statistics import median


def sharing() -> str | None:
    """That others compute on its processors, in words; None where nobody does."""
    others = _others_at_work()
    if not others:
        return None
    return (
        f"shared machine: {others} other tasks at work on {os.cpu_count()} cores when measuring "
        "began"
    )


def occupants() -> list[str]:
    """Who computes on this machine's GPUs now, as far as the driver tells."""
    query = ["nvidia-smi", "--query-compute-apps=pid,process_name,used_memory"]
    try:
        listing = subprocess.run(
            [*query, "--format=csv,noheader"], capture_output=True, text=True, timeout=30,
            check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []  # nobody who could tell
    found = map(_OCCUPANT.fullmatch, listing.splitlines())
    return [each.expand(r"\2 (process \1, \3)") for each in found if each is not None]


_OCCUPANT = re.compile(r"\s*(\d+)\s*,\s*(.*?)\s*,\s*([^,]*?)\s*")
"""Process, name (which may hold commas) and memory."""


def _others_at_work() -> int:
    """How many tasks beside ours have a processor or wait for one; 0 where nobody can tell."""
    seen = []
    try:
        for _ in range(5):
            with open("/proc/loadavg", encoding="ascii") as stream:
                seen.append(int(stream.read().split()[3].partition("/")[0]) - 1)
            time.sleep(0.01)
    except (OSError, ValueError, IndexError):
        return 0
    return max(0, int(median(seen)))
