"""HPCG's report.

A step is an iteration of the solver: the benchmark's total time over the optimized iterations. n is
the points of the global grid. Each process has a GPU in programs for GPUs; if the report names none
of these, the user is asked.

Source: HPCG's src/ReportResults.cpp; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _facts(known: Known) -> Mapping[str, str]:
    sides = [known[name] for name in ("nx", "ny", "nz") if name in known]
    gpus = {"gpus": known["ranks"]} if {"gpu", "ranks"} <= known.keys() else {}
    return {**gpus, **({"grid": " ".join(sides)} if len(sides) == 3 else {})}


LOG = Printed(
    name="hpcg", what="HPCG's report", program="HPCG", unit="points",
    marks=[r"Benchmark Time Summary::Total="],
    lines=(r"Benchmark Time Summary::Total=<total>",),
    facts=[
        r"Global Problem Dimensions::Global nx=<nx>", r"Global Problem Dimensions::Global ny=<ny>",
        r"Global Problem Dimensions::Global nz=<nz>",
        r"Machine Summary::Distributed Processes=<ranks>",
        r"Total number of optimized iterations=<steps>",
        r"(?P<gpu>HPCG-NVIDIA|NVIDIA HPCG|rocHPCG|GPU Name)",
    ],
    more=_facts,
    unclear="its processes may have a GPU each or none",
)  # fmt: skip
FORMATS = (LOG.format,)
