"""ABINIT's output.

A step is the whole run, by the wall time of the first process; the overall time at the end is a sum
over processes. n is the number of atoms; the user is asked for the GPUs.

Source: ABINIT's src/98_main/abinit.F90; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed

LINE = r"^- Proc\. +0 individual time \(sec\): cpu= *[0-9.]+ +wall= *<total>"
LOG = Printed(
    name="abinit", what="ABINIT's output", program="ABINIT", unit="atoms", job=True, marks=[LINE],
    lines=(LINE,),
    facts=[
        r"^\.Version +(?P<version>[0-9][0-9.]*) of ABINIT", r"^ +natom +<n>\s*$",
        r"^- *nproc *= *<ranks>",
    ],
    case="{version}",
)  # fmt: skip
FORMATS = (LOG.format,)
