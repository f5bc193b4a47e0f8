"""Synthetic benchmarks of Horovod and BytePS.

Each iteration prints images a second of one GPU; the batch is that of one GPU, too.

Source: horovod's examples (pytorch_synthetic_benchmark.py and others); published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed

LOG = Printed(
    name="horovod", what="Horovod's synthetic benchmark", program="Horovod", unit="images",
    marks=[r"Iter #[0-9]+: *[0-9.]+ img/sec per GPU"], case="{model}", warms=False,
    lines=(r"Iter #<step>: *<gpu_rate> img/sec per GPU",),
    facts=[
        r"\bBatch size: *<micro>", r"\bNumber of GPUs: *<gpus>", r"Total img/sec on <gpus> GPU",
        r"\bModel: *(?P<model>\S+)",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
