"""What a network was measured to take, for the exchange of a program on it.

nccl-tests and OSU time a collective of n bytes among N GPUs. Loaded beside a program's steps, their
tables give the forms two terms: bytes at the measured time per byte, and the measured latency, each
at the N of a step (``collective`` and ``rounds`` of model/include/gpucast/model/scaling).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection, distinct
from gpucast.errors import InputError
from gpucast.model.mixtures import Network
from gpucast.util.units import bytes_in_words, duration

UNNAMED = "nccl-tests"

BEYOND_LATENCY = 5
"""How many times the smallest collective's time the largest has to take to tell a bandwidth."""


_NAMES = re.compile("reduce|gather|scatter|all_?to_?all|broadcast|bcast", re.IGNORECASE)


def is_collective(step: Step) -> bool:
    """Return whether a step is a collective of n bytes in the GPUs' memory."""
    if step.unit != "B" or step.workload is None or step.path == "host":
        return False
    return step.program == UNNAMED or _NAMES.search(step.workload.name) is not None


def network_apart(
    data: Dataset, selection: StepSelection, bytes_per_step: float | None
) -> tuple[Dataset, Network | None]:
    """Return a program's records, and the network that the collectives beside them measured.

    Data of collectives alone, or of none, stay as they are, without a network, and so do data of
    which program, case or machine are chosen, unless bytes are stated.

    Args:
        data: steps of a program, and those of one collective.
        selection: chooses the machine of the collectives, too.
        bytes_per_step: bytes that the program exchanges so in a step; None: not known.

    Raises:
        InputError: there are several collectives, or bytes without any.
    """
    timed = [step for step in data.steps if is_collective(step)]
    if bytes_per_step is not None and not 0 < bytes_per_step < math.inf:
        raise InputError("must be a number of bytes above 0", field="--bytes-per-step")
    chosen = selection.program or selection.case or selection.machine
    if bytes_per_step is None and chosen is not None:
        return data, None
    if not timed or len(timed) == len(data.steps):
        if bytes_per_step is not None:
            raise InputError(
                "needs steps of a program and, beside them, a table of nccl-tests or OSU that "
                "timed the exchange",
                file=data.name,
                field="--bytes-per-step",
            )
        return data, None
    apart = {id(step) for step in timed}
    records = [record for record in data.records if id(record) not in apart]
    timed = [step for step in timed if selection.machine in (None, step.machine)]
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
    if bytes_per_step is not None and bytes_per_step * per_byte[-1] < latency[-1]:
        raise InputError(
            f"{bytes_in_words(bytes_per_step)} on {max(seconds)} GPUs take less than the latency "
            f"of {program}, {duration(latency[-1])}; state the bytes of a step in bytes (2.6e9)",
            field="--bytes-per-step",
        )
    return Network(
        program=program,
        gpus=sorted(seconds),
        latency=latency,
        per_byte=per_byte,
        bytes=bytes_per_step,
    )
