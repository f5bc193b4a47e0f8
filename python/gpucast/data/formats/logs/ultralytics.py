"""The training log of Ultralytics' YOLO.

The rate at the end of an epoch's progress bar is its mean; if it has too few digits, the elapsed
time is used. The first epoch is left out if others follow. ``batch`` is that of all GPUs;
``device`` lists them.

Source: ultralytics/engine/trainer.py; yolov5's train.py; published logs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed

BAR = r"^ +<epoch>/[0-9]+ +[0-9.]+G? .*"


def _gpus(known: Known) -> Mapping[str, str]:
    device = known.get("device", "")
    return {"gpus": str(device.count(",") + 1)} if device and "gpus" not in known else {}


LOG = Printed(
    name="ultralytics", what="Ultralytics' YOLO", program="Ultralytics", unit="images",
    averages_of="epoch", more=_gpus, marks=[r"^ +Epoch +(?:GPU_mem|gpu_mem) +(?:box|obj)"],
    lines=(
        BAR + r"\| *<steps>/[0-9]+ \[(?P<total>[0-9:]+)<", BAR + r"[ ,]<rate> ?it/s",
        BAR + r"[ ,]<seconds> ?s/it",
    ),
    facts=[
        r"engine/trainer: .*\bbatch=<n>", r"\btotal_batch_size=<n>", r"\bworld_size=<gpus>",
        r"engine/trainer: .*\bdevice=(?P<device>[0-9]+(?:,[0-9]+)*)",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
