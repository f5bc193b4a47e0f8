"""AMReX programs: Castro, Nyx, PeleC, AMR-Wind and others that print the time of each coarse step.

The first step includes start-up and is left out if others follow. If a program prints no steps, the
run time is divided by the steps, for which the user is asked. n is the cells of all levels
together, as last printed. GPUs are those that AMReX says it initialized.

Source: AMReX's Src/Amr/AMReX_Amr.cpp, AMReX_GpuDevice.cpp; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed

DEVICES = (
    r"MPI initialized with <ranks> MPI processes",
    r"(?:CUDA|HIP|SYCL) initialized with <per_rank> (?:GPU|device)s? per MPI rank",
    r"(?:CUDA|HIP|SYCL) initialized with <gpus> (?:GPU|device)s?(?! per)",
    r"<gpus> GPU\(?s?\)? used in total",
)
"""AMReX's lines on processes and GPUs."""
CELLS = (
    r"^ *Level (?P<level>[0-9]+) +[0-9]+ grids? +<cells> cells",
    r"\[Level (?P<level>[0-9]+) step [0-9]+\] Advanced <cells> cells",
)


def levels(known: Known) -> Mapping[str, str]:
    """Return the cells of all levels; each line states those of one."""
    counts = [float(text) for name, text in known.items() if name.startswith("cells of level")]
    return {"n": f"{sum(counts):.15g}"} if counts else {}


LOG = Printed(
    name="amrex", what="AMReX programs' output (Castro, Nyx, Pele, AMR-Wind)", program="AMReX",
    unit="cells",
    start=r"MPI initialized with [0-9]+ MPI processes",
    marks=[r"Coarse TimeStep time:? *=? *[0-9]", r"^WallClockTime\b.*Total: [0-9]",
           ("AMReX", r"^Run [Tt]ime(?: total)? *= *[0-9]"),
           ("AMReX", "TinyProfiler total time across")],
    lines=(
        r"^WallClockTime(?: in Evolve\(\) for step|:) <step>.*Total: <seconds>",
        r"STEP <step>\] Coarse", r"Coarse TimeStep time:? *=? *<seconds>", *CELLS,
        r"TinyProfiler total time across processes .*: *[0-9.]+ \.\.\. *[0-9.]+ \.\.\. *<total>",
        r"^Run [Tt]ime(?: total)? *= *<total>",
    ),
    facts=DEVICES, more=levels, keyed={"cells": "level"},
    unclear="no line says how many GPUs AMReX initialized",
)  # fmt: skip
FORMATS = (LOG.format,)
