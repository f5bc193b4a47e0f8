"""DeepSpeed's throughput timer.

``CurrSamplesPerSec`` is of the last step; the first line, which includes start-up, is left out
where others follow. n is the batch of all GPUs, as its configuration prints it.

Source: deepspeed/utils/timer.py, deepspeed/runtime/config.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED

LOG = Printed(
    name="deepspeed", what="DeepSpeed's log", program="DeepSpeed", unit="samples", rank=1,
    marks=[r"(?:Running|Curr)AvgSamplesPerSec=|CurrSamplesPerSec="],
    lines=(
        r"CurrSamplesPerSec=<work_rate>", r"global_step=<step>", r"stop\] +[0-9]+/<step>,",
    ),
    facts=[
        r"""["']?\btrain_batch_size["']?[ .:=]+ *<n>""",
        r"""["']?\b(?:train_)?micro_batch_size_per_gpu["']?[ .:=]+ *<micro>""",
        r"""["']?\bgradient_accumulation_steps["']?[ .:=]+ *<accumulation>""",
        r"\bworld_size +\.+ *<gpus>", *LAUNCHED,
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
