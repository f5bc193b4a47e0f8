"""OpenFOAM's solvers.

A step is a time step, or an iteration of a steady solver, from one ``ExecutionTime`` to the next:
the processors' time, which has more digits than the clock's and leaves out what they wait; where
that is more than a tenth, it is said. n is the cells, where ``checkMesh`` stands in the log; GPUs
are asked for.

Source: OpenFOAM's src/OpenFOAM/db/Time/Time.C; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs import lines
from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.log import Part
from gpucast.util.remarks import Kind

LINE = r"^ExecutionTime = <elapsed> s  ClockTime = <passed> s"


def _read(part: Part) -> None:
    lines.read(part)
    last = part.last(LINE)
    if last is not None:
        worked, passed = float(last["elapsed"]), float(last["passed"])
        if passed - 1 > 1.1 * worked:
            text = f"its clock says {passed:g} s where its processors worked {worked:g} s"
            part.remark(f"{text}: steps are of these, without waits", "seconds", Kind.READ_AS)


LOG = Printed(
    name="openfoam", what="OpenFOAM's log", program="OpenFOAM", unit="cells", line_a_step=True,
    start=r"^Exec +: ", marks=[LINE], lines=(LINE,), read=_read,
    facts=[r"^Build +: (?P<version>\S+)", r"^Exec +: (?P<solver>\w+)", r"^nProcs : <ranks>",
           r"^ +cells: +<n>"],
    case="{solver} {version}",
)  # fmt: skip
FORMATS = (LOG.format,)
