"""SPECFEM3D and SPECFEM3D_GLOBE.

Seconds a step are the mean since the start, as last printed. The log states neither n nor GPUs.

Source: SPECFEM3D's src/specfem3D/check_stability.f90; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed

LINE = r"Mean elapsed time per time step in seconds = +<seconds>"
LOG = Printed(
    name="specfem", what="SPECFEM3D's output", program="SPECFEM3D", unit="elements", marks=[LINE],
    lines=(LINE,), averages_of="run",
)  # fmt: skip
FORMATS = (LOG.format,)
