"""What a network was measured to take, for the exchange of a program on it.

nccl-tests and OSU time a collective of n bytes among N GPUs. Loaded beside a program's steps, their
tables give the forms two terms: bytes at the measured time per byte, and the measured latency, each
at the N of a step (``collective`` and ``rounds`` of model/include/gpucast/model/scaling).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import distinct
from gpucast.errors import InputError
from gpucast.model.mixtures import Network
from gpucast.util.units import bytes_in_words

UNNAMED = "nccl-tests"

LARGE = 2**20
"""Bytes above which a collective takes its time by its bytes rather than by its latency."""


def is_collective(step: Step) -> bool:
    """Return whether a step is a collective of n bytes."""
    return step.unit == "B" and step.workload is not None and not step.workload.is_shared_out


def network_apart(data: Dataset, bytes_per_step: float | None) -> tuple[Dataset, Network | None]:
    """Return a program's records, and the network that the collectives beside them measured.

    Data of collectives alone, or of none, stay as they are, without a network.

    Args:
        data: steps of a program, and those of one collective.
        bytes_per_step: bytes that the program exchanges so in a step; None: not known.

    Raises:
        InputError: there are several collectives, or bytes without any.
    """
    timed = [step for step in data.steps if is_collective(step)]
    if bytes_per_step is not None and not (math.isfinite(bytes_per_step) and bytes_per_step > 0):
        raise InputError("is a number of bytes above 0", field="--bytes-per-step")
    if not timed or len(timed) == len(data.steps):
        if bytes_per_step is not None:
            raise InputError(
                "needs steps of a program and, beside them, a table of nccl-tests or OSU that "
                "timed the exchange",
                file=data.name,
                field="--bytes-per-step",
            )
        return data, None
    # A table of nccl-tests among two GPUs may not tell its operation.
    programs = [name for name in distinct(timed, "program") if name != UNNAMED] or [UNNAMED]
    if len(programs) > 1:
        raise InputError(
            f"holds several collectives: {', '.join(map(str, programs))}; keep the table of the "
            "one that the program waits for",
            file=data.name,
            field="program",
        )
    apart = {id(step) for step in timed}
    records = [record for record in data.records if id(record) not in apart]
    return replace(data, records=records), _network(timed, str(programs[0]), bytes_per_step)


def _network(timed: list[Step], program: str, bytes_per_step: float | None) -> Network:
    seconds: dict[int, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for step in timed:
        if step.gpus > 1:
            seconds[step.gpus][step.n].extend(step.seconds)
    if not seconds:
        raise InputError("the collectives are of one GPU, which exchanges nothing", field="gpus")
    latency, per_byte = [], []
    for gpus, times_by_size in sorted(seconds.items()):
        if max(times_by_size) < LARGE:
            raise InputError(
                f"the largest {program} on {gpus} GPUs is of {bytes_in_words(max(times_by_size))}, "
                "which tells latency alone; time 1 GB, or 1 MiB at least (-e 1G, -m 1000000000)",
                field="n",
            )
        medians = {size: float(np.median(times)) for size, times in times_by_size.items()}
        latency.append(min(medians.values()))
        per_byte.append(medians[max(medians)] / max(medians))
    return Network(
        program=program,
        gpus=sorted(seconds),
        latency=latency,
        per_byte=per_byte,
        bytes=bytes_per_step,
    )
