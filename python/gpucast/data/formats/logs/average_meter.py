"""Training loops that print the ``AverageMeter`` of PyTorch's ImageNet example: timm, MoCo, Swin.

``Time 0.341 (0.365)`` is the last step and the mean since the epoch began, if the first line shows
this; the time between lines then follows from the means. Otherwise the lines' times of day or the
last steps are used. The user is asked for the batch, with the size that timm's rates imply.

Source: pytorch/examples' imagenet/main.py, timm's train.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED, VALUE

STEP = r"\[ *<step>/ *[0-9]+[^\[\]\n]*\](?!\[)"
TIME = r"[^\n]{0,200}?\b(?:[Bb]atch [Tt]ime|[Tt]ime|Batch):?\s+<instant>"
LOG = Printed(
    name="average-meter", what="loops like PyTorch's ImageNet example (AverageMeter)",
    program="PyTorch", unit="samples", rank=3,
    marks=[rf"{STEP}{TIME}(?:s, +[0-9.]+/s)?\s+\( *[0-9.]+s?[,)]"],
    lines=(
        rf"{STEP}{TIME}\s+\( *<mean>\)", rf"{STEP}{TIME}s, +<work_rate>/s +\( *<mean>s,",
        r"^\[?<clock>.*\[[0-9 ]+/",
    ),
    facts=[*LAUNCHED, rf"\bbatch_size{VALUE}<batch>"],
)  # fmt: skip
FORMATS = (LOG.format,)
