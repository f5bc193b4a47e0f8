"""What the driver's own tool says of this machine's GPUs."""

from __future__ import annotations

import subprocess


def asked(query: str) -> list[list[str]]:
    """Rows of what ``nvidia-smi`` answers; none where nobody can be asked."""
    try:
        listing = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True,
            timeout=30, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [[word.strip() for word in line.split(",")] for line in listing.splitlines() if line]
