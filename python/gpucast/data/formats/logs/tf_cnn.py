"""tf_cnn_benchmarks of TensorFlow.

Total images a second and the global batch are those of all workers; the number of GPUs is the
global batch over that of each device.

Source: tensorflow/benchmarks' benchmark_cnn.py; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    if not {"n", "share"} <= known.keys():
        return {}
    return {"gpus": str(round(float(known["n"]) / max(1.0, float(known["share"]))))}


LOG = Printed(
    name="tf-cnn", what="tf_cnn_benchmarks' output", program="tf_cnn_benchmarks", unit="images",
    marks=[r"images/sec: *[0-9.]+ \+/- ", "total images/sec: *[0-9]"], case="{model}",
    more=_gpus, warms=False,
    lines=(r"total images/sec: *<work_rate>",),
    facts=[
        r"Batch size: +<n> global", r" <share> per device",
        r"Model: +(?P<model>[a-z]\S+)",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
