"""WarpX's output.

Seconds a step are ``This step`` of each step; the first includes start-up and is left out. n is the
cells of all levels. GPUs are those that AMReX says it initialized.

Source: WarpX's Source/Evolve/WarpXEvolve.cpp; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.amrex import CELLS, DEVICES, levels
from gpucast.data.formats.logs.lines import Printed

LOG = Printed(
    name="warpx", what="WarpX's output", program="WarpX", unit="cells",
    start=r"MPI initialized with [0-9]+ MPI processes",
    marks=[r"(?:Evolve time|Walltime) = [0-9.eE+-]+(?: s)?; This step = "],
    lines=(r"(?:Evolve time|Walltime) = .*This step = <seconds>", *CELLS),
    facts=DEVICES, more=levels, keyed={"cells": "level"},
    unclear="no line says how many GPUs AMReX initialized",
)  # fmt: skip
FORMATS = (LOG.format,)
