"""Step time against n, the paper's figure 3.

Measured and by the model; a line is a GPU count.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucast.show.plots import steps
from gpucast.show.plots.steps import Asked, Drawing

AXIS, CHOSEN = "-n", steps.EACH_COUNT


def drawings(asked: Asked) -> Iterator[Drawing]:
    """Yield the figure."""
    title = f"Step time against the number of {steps.size_word(asked.series)}"
    yield Drawing("steps", title, steps.step_times, asked.counts)
