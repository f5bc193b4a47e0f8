"""GPUs that are not there: those of ``gpucast remote serve --fake``, known by their name alone."""

from __future__ import annotations

from gpucast.data.records import Machine
from gpucast.util.remarks import Kind, Remark, remark

FAKE_GPU = "fake GPU "
"""How the name of a GPU begins that the fake driver (remote/fake) lends; its number follows."""


def warning(machine: Machine) -> Remark | None:
    """What is to be said of times that were measured on such GPUs; None of those of real ones."""
    names = [gpu.name for gpu in machine.gpus or [] if gpu.name.startswith(FAKE_GPU)]
    if not names:
        return None
    return remark(
        Kind.REHEARSED,
        f"measured on a rehearsed GPU ({names[0]}): no GPU computed, its times tell of none",
    )
