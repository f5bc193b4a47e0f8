"""OpenCLIP's training log.

``Batch (t)`` is the time of a step. The number of GPUs is the total samples a second over those of
one GPU; n is the rounded samples of one GPU in a step times the GPUs.

Source: open_clip_train/train.py; published logs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _shares(known: Known) -> Mapping[str, str]:
    try:
        gpus = float(known["samples_rate"]) / float(known["share_rate"])
        share = float(known["share_rate"]) * float(known["time"])
    except (KeyError, ZeroDivisionError):
        return {}
    told = {} if "gpus" in known else {"gpus": str(round(gpus))}
    return told if {"n", "micro"} & known.keys() else {**told, "micro": str(max(1, round(share)))}


LOG = Printed(
    name="openclip", what="OpenCLIP's log", program="OpenCLIP", unit="samples",
    marks=[r"Train Epoch: .*Batch \(t\): *[0-9]"],
    lines=(
        r"Train Epoch: [0-9]+ \[ *<step>/", r"Batch \(t\): *<seconds>",
        r"Batch \(t\): *<time>, *<samples_rate>/s(?:, *<share_rate>/s/gpu)?",
    ),
    facts=[r"\bworld_size: *<gpus>", r"\bbatch_size: *<micro>", r"\baccum_freq: *<accumulation>"],
    more=_shares,
)  # fmt: skip
FORMATS = (LOG.format,)
