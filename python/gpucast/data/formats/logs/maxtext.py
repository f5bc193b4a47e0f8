"""MaxText's log.

Each step prints its seconds; the first one compiles and is left out if others follow. n is the
global batch in sequences, from the printed parameters.

Source: MaxText's metric_logger.py, max_utils.py and pyconfig.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed

LOG = Printed(
    name="maxtext", what="MaxText's log", program="MaxText", unit="sequences",
    marks=[r"completed step: *[0-9]+, seconds: *[0-9.]+"],
    lines=(r"completed step: *<step>, seconds: *<seconds>,",),
    facts=[
        r"\bNum_devices: *<gpus>", r"\bglobal_batch_size_to_train_on[:=] *<n>",
        r"\bper_device_batch_size[:=] *<micro>",
        r"\bgradient_accumulation_steps[:=] *<accumulation>",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
