"""DeepSpeed's throughput timer, and the lines of its pipelines.

``CurrSamplesPerSec`` is the rate of the last step, ``iter time (s)`` the mean since the last line;
the first line includes start-up and is left out if others follow. ``SamplesPerSec`` of older
versions is a mean since the start, so that the times of day of the lines are used. n is the batch
of all GPUs in the printed configuration.

Source: deepspeed/utils/timer.py, deepspeed/runtime/config.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED

LOG = Printed(
    name="deepspeed", what="DeepSpeed's log", program="DeepSpeed", unit="samples", rank=1,
    marks=["SamplesPerSec=[0-9]", r"iter time \(s\): [0-9.]+ samples/sec:"],
    lines=(
        r"CurrSamplesPerSec=<work_rate>", r"global_step=<step>", r"\] +[0-9]+/<step>, \w+Sec=",
        r"\[<clock>\].* [0-9]+/[0-9]+, SamplesPerSec=", r"(?<![a-z])SamplesPerSec=<work_rate>",
        r"^steps: <step> ", r"iter time \(s\): <seconds> samples/sec: <work_rate>",
    ),
    facts=[
        r"""["']?\btrain_batch_size["']?[ .:=]+ *<n>""",
        r"""["']?\b(?:train_)?micro_batch_size_per_gpu["']?[ .:=]+ *<micro>""",
        r"""["']?\bgradient_accumulation_steps["']?[ .:=]+ *<accumulation>""",
        r"\bworld_size +\.+ *<gpus>", *LAUNCHED,
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
