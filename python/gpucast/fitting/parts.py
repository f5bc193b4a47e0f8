"""Where the time of steps went, as programs print it: on GPUs, on the host, in communication."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from gpucast.data.records import Phases, Step
from gpucast.model.scaling_content import MeasuredParts


def parts_of(steps: Sequence[Step]) -> MeasuredParts | None:
    """The parts of every cell of which enough was printed; None where there is no such cell.

    Communication is copies, exchange, and calls where they were told apart. A program that does not
    time its kernels has spent on the GPUs what is left of the step.
    """
    found: dict[tuple[float, int], list[tuple[float, float, float]]] = defaultdict(list)
    for step in steps:
        if step.phases is not None:
            parts = _parts(step.phases, float(np.median(step.seconds)))
            if parts is not None:
                found[step.n, step.gpus].append(parts)
    if not found:
        return None
    cells = sorted(found)
    medians = np.array([np.median(found[cell], axis=0) for cell in cells])
    return MeasuredParts(
        n=[float(n) for n, _ in cells],
        gpus=[gpus for _, gpus in cells],
        t_gpu=medians[:, 0].tolist(),
        t_cpu=medians[:, 1].tolist(),
        t_com=medians[:, 2].tolist(),
    )


def _parts(phases: Phases, seconds: float) -> tuple[float, float, float] | None:
    copies = [each for each in (phases.h2d, phases.d2h, phases.exchange, phases.calls) if each]
    if not phases.cpu or not copies:
        return None
    cpu = float(np.median(phases.cpu))
    com = sum(float(np.median(each)) for each in copies)
    gpu = float(np.median(phases.kernel)) if phases.kernel else max(0.0, seconds - cpu - com)
    return (gpu, cpu, com) if gpu + cpu + com > 0 else None
