"""NeMo's progress: ``train_step_timing in s`` of each line.

n is the global batch in sequences, if the log states it; the launch command states the GPUs.

Source: NVIDIA/NeMo; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED, VALUE

LOG = Printed(
    name="nemo", what="NeMo's log", program="NeMo", unit="sequences", rank=1,
    marks=[r"train_step_timing in s" + VALUE + "[0-9]"],
    lines=(
        r"train_step_timing in s" + VALUE + "<seconds>", r"\bglobal_step" + VALUE + "<step>",
        r"\bglobal_batch_size" + VALUE + "<n>",
    ),
    facts=[
        *LAUNCHED, r"\bglobal_batch_size" + VALUE + "<n>", r"\btrainer\.devices=<per_node>",
        r"\btrainer\.num_nodes=<nodes>",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
