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
from gpucast.util.units import bytes_in_words, duration

UNNAMED = "nccl-tests"

FEWEST_BYTES = 1000
"""Fewer bytes a step are those of another unit."""

BEYOND_LATENCY = 5
"""How many times the smallest collective's time the largest has to take to tell a bandwidth."""


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
    if bytes_per_step is not None and not FEWEST_BYTES <= bytes_per_step < math.inf:
        raise InputError(
            f"must be a number of bytes of at least {FEWEST_BYTES} (2.6e9 for 2.6 GB)",
            field="--bytes-per-step",
        )
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
    programs = distinct([s for s in timed if s.program != UNNAMED or s.gpus != 2], "program")
    programs = programs or [UNNAMED]
    if len(programs) > 1:
        raise InputError(
            f"holds several collectives: {', '.join(map(str, programs))}; keep the table of the "
            "one that the program waits for",
            file=data.name,
            field="program",
        )
    _refuse_unlike(timed, data.name)
    apart = {id(step) for step in timed}
    records = [record for record in data.records if id(record) not in apart]
    return replace(data, records=records), _network(timed, str(programs[0]), bytes_per_step)


def _refuse_unlike(timed: list[Step], name: str) -> None:
    """Refuse collectives of several machines, or of one GPU count over several numbers of nodes."""
    machines = distinct(timed, "machine")
    if len(machines) > 1:
        raise InputError(
            f"holds collectives of several machines: {', '.join(map(str, machines))}; keep those "
            "of the one that is asked about",
            file=name,
            field="machine",
        )
    for gpus in {step.gpus for step in timed}:
        nodes = distinct([step for step in timed if step.gpus == gpus], "nodes")
        if len(nodes) > 1:
            raise InputError(
                f"holds collectives of {gpus} GPUs on {' and '.join(map(str, nodes))} nodes; keep "
                "those that are spread as the program is",
                file=name,
                field="nodes",
            )


def _network(timed: list[Step], program: str, bytes_per_step: float | None) -> Network:
    seconds: dict[int, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for step in timed:
        if step.gpus > 1:
            seconds[step.gpus][step.n].extend(step.seconds)
    if not seconds:
        raise InputError("the collectives are of one GPU, which exchanges nothing", field="gpus")
    latency, per_byte = [], []
    for gpus, times_by_size in sorted(seconds.items()):
        medians = {size: float(np.median(times)) for size, times in times_by_size.items()}
        least, largest = min(medians), max(medians)
        if medians[largest] < BEYOND_LATENCY * medians[least]:
            raise InputError(
                f"{program} on {gpus} GPUs takes {duration(medians[largest])} for "
                f"{bytes_in_words(largest)} and {duration(medians[least])} for "
                f"{bytes_in_words(least)}, which tells no bandwidth; time 8 B and 1 GiB "
                "(nccl-tests: -b 8 -e 1G, OSU: -m 8:1073741824)",
                field="n",
            )
        latency.append(medians[least])
        per_byte.append((medians[largest] - medians[least]) / (largest - least))
    return Network(
        program=program,
        gpus=sorted(seconds),
        latency=latency,
        per_byte=per_byte,
        bytes=bytes_per_step,
    )
