"""fairseq's training log.

Updates a second (``ups``) or seconds since the start (``wall``) are used if they have enough
digits; otherwise words a second (``wps``), and the user is asked for the words of a batch over all
GPUs, which vary. GPUs are those that fairseq prints.

Source: fairseq/trainer.py, fairseq/logging/progress_bar.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED

V = r"""["']?[=:] *["']?"""
LOG = Printed(
    name="fairseq", what="fairseq's log", program="fairseq", unit="words",
    marks=[rf"\bwps{V}[0-9.]+.*\bwpb{V}[0-9]"],
    lines=(
        rf"\bwps{V}<work_rate>", rf"\bups{V}<rate>", rf"\bnum_updates{V}<step>",
        rf"[^_]\bwall{V}<elapsed>",
    ),
    facts=[r"training on <gpus> (?:GPUs|devices)", *LAUNCHED],
)  # fmt: skip
FORMATS = (LOG.format,)
