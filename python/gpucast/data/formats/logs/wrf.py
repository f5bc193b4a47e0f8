"""WRF's rsl.out and rsl.error.

Seconds a step are those of domain 1, whose steps include those of its nests. Slower first steps are
left out. The log states neither n nor GPUs.

Source: published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed

LINE = r"Timing for main[^\n]*: time \S+ on domain +1: +<seconds> elapsed seconds"
LOG = Printed(
    name="wrf", what="WRF's rsl.out", program="WRF", unit="cells", marks=[LINE], lines=(LINE,),
)  # fmt: skip
FORMATS = (LOG.format,)
