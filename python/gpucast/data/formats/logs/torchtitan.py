"""torchtitan's metrics.

``tps`` is tokens a second of one GPU (in some versions, of the group that shares a sequence). n is
the global batch in sequences; seconds a step are its tokens over the rate of all GPUs.

Source: torchtitan/components/metrics.py and train.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED

LOG = Printed(
    name="torchtitan", what="torchtitan's log", program="torchtitan", unit="sequences",
    marks=[r"\b(?:tps|wps): *[0-9,]+ [^\n]{0,100}\bmfu:"],
    lines=(r"\bstep: *<step> ", r"\b(?:tps|wps): *<token_gpu_rate>"),
    facts=[
        r"global batch size:? *<n>", r"local batch size:? *<micro>",
        r"gradient accumulation steps:? *<accumulation>", r"sequence length:? *<sequence>",
        r"device mesh with [^\n]*?\[<mesh>\]\s*$", *LAUNCHED,
        r"training\.batch_size[= ]+<micro>", r"training\.(?:local_batch_size)[= ]+<micro>",
        r"training\.seq_len[= ]+<sequence>",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
