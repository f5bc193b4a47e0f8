"""Exports of GPU monitors: what to say to those who bring them for step times."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"utili[sz]ation[._ ]?gpu|gpu[._ -]?util|DCGM_FI_|nvidia_smi_|nvidia_gpu_duty_cycle",
    re.IGNORECASE,
)
"""Of nvidia-smi, DCGM and exporters for Prometheus."""


def of_utilization(text: str) -> str | None:
    """What is missing from a text that holds GPU utilization; None: it holds none."""
    if not _NAMES.search(text):
        return None
    return (
        "holds GPU utilization, which tells no step time: a GPU is busy in slow steps as in fast "
        "ones; needed are the size n, the GPU count and the time of a step, or steps or samples a "
        "second, as the program's own log says them"
    )
