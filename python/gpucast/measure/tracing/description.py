"""What ``run.json`` says of a recorded run (docs/reference/trace-format.md)."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from typing import Any

SCHEMA = "gpucast.trace/1"


def describe(command: Sequence[str], started: float) -> dict[str, Any]:
    """A run that began at ``started`` (s since 1970) and has not ended."""
    return {
        "schema": SCHEMA,
        "source": "cupti",
        "command": list(command),
        "machine": _machine(),
        "started": started,
    }


def ended(status: int) -> dict[str, int]:
    """How a program ended, of the status that ``subprocess`` gives: negative for a signal."""
    return {"signal": -status} if status < 0 else {"status": status}


def _machine() -> dict[str, Any]:
    rows = [row.split(", ") for row in _of_driver("name,driver_version").splitlines()]
    return {
        "name": platform.node(),
        "gpus": [row[0] for row in rows],
        "driver": rows[0][1] if rows and len(rows[0]) > 1 else "",
        "cpu": _processor(),
    }


def _of_driver(fields: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""  # the program may know GPUs that it does not


def _processor() -> str:
    try:
        with open(os.path.join(os.sep, "proc", "cpuinfo"), encoding="utf-8") as lines:
            named = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            return next(named, platform.machine())
    except OSError:
        return platform.machine()
