"""Facts of the machine, or of the nodes, on which a described program runs."""

from __future__ import annotations

import os
import platform

from gpucast.data import jsonl
from gpucast.data.records import Machine
from gpucast.errors import GpucastError
from gpucast.measure import paths, programs
from gpucast.measure.described import allocation


def facts_here(path: str) -> Machine:
    """What is known of it; in an allocation of Slurm's ``host`` is the cluster."""
    where = paths.HOST if path == "host" else paths.NATIVE
    try:
        facts = programs.probe(where, None)
    except GpucastError:
        # Without our own programs, or where GPUs are on other nodes only.
        facts = _known_of_host()
    cluster = allocation.cluster()
    if cluster is not None:  # a job that goes on may have got another node
        facts = facts.model_copy(update={"host": cluster})
    return facts


def _known_of_host() -> Machine:
    made = jsonl.record(
        {"kind": "machine", "id": "host", "host": platform.node() or "host",
         "cpu_cores": os.cpu_count() or 1}
    )  # fmt: skip
    assert isinstance(made, Machine)
    return made
