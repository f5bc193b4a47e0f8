"""Megatron-LM's training log, and those of its forks (DeepSpeed, NeMo, GPT-NeoX, Pai).

Times are means over the iterations since the last line; the first line includes start-up and is
left out if others follow. n is the global batch in sequences.

Source: megatron/training/training.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED

MARK = r"elapsed time per iteration \((?:ms|s)\):? *[0-9]"
LOG = Printed(
    name="megatron", what="Megatron-LM's training log", program="Megatron-LM", unit="sequences",
    marks=[MARK],
    lines=(
        r"iteration +<step>/ *[0-9i]", r"elapsed time per iteration \(ms\):? *<ms>",
        r"elapsed time per iteration \(s\):? *<seconds>", r"global batch size: *<n>",
        r"samples/sec: *<work_rate> [|] iteration ",
    ),
    facts=[
        *LAUNCHED, r"using world size: *<gpus>", r"\bworld_size *\.+ *<gpus>",
        r"global_batch_size *[.=:]+ *<n>", r"^ +train_batch_size \.+ *<n>",
        r"^ +global_num_gpus \.+ *<gpus>",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
