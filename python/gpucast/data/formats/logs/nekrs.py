"""nekRS's output.

Seconds a step are ``elapsedStep`` (in older versions ``eTimeStep``, or differences of ``elapsed``)
of each step; the first includes start-up and is left out. Without them, the solve time is divided
by the steps in the final statistics. n is the mesh's elements; each MPI task has a GPU if OCCA's
mode is CUDA, HIP or SYCL.

Source: nekRS's src/nrs.cpp, src/main.cpp; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    return {"gpus": known["ranks"]} if {"mode", "ranks"} <= known.keys() else {}


TOTAL = r"^ +(?:total )?solve +<total>s"
LOG = Printed(
    name="nekrs", what="nekRS's output", program="nekRS", unit="elements",
    marks=[r"^ *step= *[0-9]+ .*(?:elapsedStep|eTimeStep|elapsed) *= *[0-9]",
           ("udfExecuteStep", TOTAL)],
    lines=(
        r"^ *step= *<step>", r"step=.*\b(?:elapsedStep|eTimeStep) *= *<seconds> ?s",
        TOTAL,
        r"^ *step=(?!.*elapsedStep)(?!.*eTimeStep).*\belapsed *= *<elapsed> ?s",
    ),
    facts=[
        r"^ +makef +[0-9.e+-]+s .* <steps>$", r"MPI tasks:? *<ranks>",
        r"(?:active occa mode|OCCA mode|THREAD MODEL): *(?P<mode>CUDA|HIP|SYCL|DPCPP)",
        r"(?:[Nn]umber of elements|Nelements|nElements|Nel)\b[ :=]+<n>", r"nelgt[ :=]+<n>",
    ],
    more=_gpus,
)  # fmt: skip
FORMATS = (LOG.format,)
