"""PyTorch Lightning's progress bar.

The rate in an epoch's last line is its mean. Each epoch is a sample; the first includes start-up
and is left out if others follow. If a rate has too few digits, the elapsed time is used. Progress
bars of validation and tests are not read. The log does not state the batch, and GPUs only in lines
such as ``GLOBAL_RANK: 0, MEMBER: 1/8``: the user is asked.

Source: lightning/pytorch/callbacks/progress/tqdm_progress.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED, VALUE

BAR = r"\b[Ee]poch[ :]+(?P<epoch>[0-9]+)[^\n|%]{0,40}%[^\n\[]{0,400}\[[^\n\]]{0,40}?[ ,]"
RATE = r"(?:it/s|s/it)"
LOG = Printed(
    name="lightning", what="PyTorch Lightning's progress bar", program="PyTorch Lightning",
    unit="samples", rank=2, averages_of="epoch",
    marks=[
        rf"Epoch [0-9]+[:/][^\n]{{0,400}}{RATE}[^\n\]]{{0,40}}\bv_num[=:]",
        ("GLOBAL_RANK: [0-9]+, MEMBER:", rf"Epoch [0-9]+[:/][^\n]{{0,400}}{RATE}"),
    ],
    lines=(
        BAR + r"<rate> *it/s", BAR + r"<seconds> *s/it",
        r"\bEpoch[^\n]{0,400}?\| *<steps>/[0-9]+ \[(?P<total>[0-9:]+)<",
        r"\bEpoch (?P<epoch>[0-9]+)/[0-9-]+ [^\n]{0,400}[^0-9.\n]<rate> *it/s",
    ),
    facts=[
        *LAUNCHED, rf"\bglobal[_ ]batch[_ ]size{VALUE}<n>", rf"\bbatch[_ ]size{VALUE}<batch>",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
